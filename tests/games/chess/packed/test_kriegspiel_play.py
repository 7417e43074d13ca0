"""The search agent at Kriegspiel: whole games without an exception, and how well it plays."""

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.policy import search_policy
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.best_response import exploitability
from klss_spiel.budget import Budget
from klss_spiel.openspiel import tree_from_game
from tests.helpers.self_play import SMALL_BOARDS, check_self_play, score_against_random


def play(name, opponents, seed, nodes=300, actions=100_000, **beliefs):
    """Plays a game of search bots and "random"; returns the state and all reports."""
    game = pyspiel.load_game(name)
    bots = [
        None if who == "random" else SearchBot(game, p, Budget(nodes=nodes), seed=seed, **beliefs)
        for p, who in enumerate(opponents)
    ]
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    reports = []
    while not state.is_terminal() and actions:
        bot = bots[state.current_player()]
        if bot is None:
            action = int(rng.choice(state.legal_actions()))
        else:
            action = bot.step(state)
            reports.append(bot.report)
        state.apply_action(action)
        actions -= 1
    return state, reports


def check(reports):
    for report in reports:
        assert not any("uniformly" in reason for reason in report.degraded), report
        assert report.forced or report.belief_size > 0
        assert report.belief_effective <= report.belief_size + 1e-6


@pytest.mark.parametrize("opponents", [("search", "search"), ("random", "search")])
def test_standard_kriegspiel_is_played(opponents):
    _, reports = play("python_kriegspiel", opponents, seed=2, actions=60, belief_limit=3000)
    check(reports)
    assert len(reports) > 20
    assert not all(report.belief_complete for report in reports)


def test_no_move_on_a_small_board_is_left_to_chance():
    """Through states the sampled belief died out: most moves were played uniformly."""
    _, reports = play("python_kriegspiel(board=microchess)", ("search", "search"), 1, nodes=100)
    check(reports)
    assert all(report.belief_complete for report in reports)


@pytest.mark.parametrize(
    ("options", "nodes"), [("board=microchess,horizon=40", 100), ("horizon=30", 300)]
)
def test_a_sample_of_games_ends_by_the_rules(options, nodes):
    check_self_play(f"python_kriegspiel({options})", 2, nodes)


@pytest.mark.slow
@pytest.mark.parametrize("board", SMALL_BOARDS)
def test_fifty_games_on_every_small_board_end_by_the_rules(board):
    check_self_play(f"python_kriegspiel(board={board})", 50, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("board", SMALL_BOARDS)
def test_a_random_player_is_beaten_on_every_small_board(board):
    assert score_against_random(f"python_kriegspiel(board={board},horizon=200)", 50, 2000) > 0.5


@pytest.mark.slow
def test_two_hundred_games_on_the_standard_board_end_by_the_rules():
    check_self_play("python_kriegspiel", 200, 2000)


@pytest.mark.slow
def test_a_random_player_is_beaten_on_the_standard_board():
    """Some stalemates are not seen with so few nodes."""
    assert score_against_random("python_kriegspiel", 200, 4000) > 0.95


def mean_exploitability(name, nodes, seeds):
    tree = tree_from_game(name)
    policies = (search_policy(name, OBSCURO, Budget(nodes=nodes), s, tree=tree) for s in seeds)
    return np.mean([exploitability(policy) for policy in policies])


def test_exploitability_of_the_agent_falls_with_its_budget():
    name = "python_kriegspiel(board=minimal4x3,horizon=4,count_tries=true)"
    few, many = (mean_exploitability(name, nodes, range(3)) for nodes in (20, 100))
    assert few > 0.2
    assert many < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["horizon=3", "horizon=5,count_tries=true"])
def test_exploitability_on_minimal4x3_falls_with_the_budget(rules):
    """A forced win for White if tries do not count, and by the fifth ply if they do."""
    name = f"python_kriegspiel(board=minimal4x3,{rules})"
    few, some, many = (mean_exploitability(name, nodes, range(3)) for nodes in (20, 100, 500))
    assert few > some > many
    assert many < 0.02
