"""The search agent at Kriegspiel: whole games without an exception, and how well it plays."""

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.policy import search_policy
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.best_response import exploitability
from klss_spiel.budget import Budget
from klss_spiel.games.chess import boards
from klss_spiel.openspiel import tree_from_game

SMALL_BOARDS = [board for board in boards.BOARDS if board != "standard"]


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


@pytest.mark.slow
@pytest.mark.parametrize("opponents", [("search", "search"), ("search", "random")])
@pytest.mark.parametrize("board", SMALL_BOARDS)
def test_fifty_games_on_every_small_board(board, opponents):
    # On the board of 4x8 squares two hundred nodes do not mate in eighty plies.
    nodes, horizon = (1000, 200) if board == "demichess" else (200, 80)
    won = 0.0
    for seed in range(50):
        sides = opponents if seed % 2 == 0 else opponents[::-1]
        name = f"python_kriegspiel(board={board},horizon={horizon})"
        state, reports = play(name, sides, seed, nodes=nodes, belief_limit=20_000)
        check(reports)
        won += state.returns()[sides.index("search")]
    # A win more than the random player: half a point above half of the games at least.
    if "random" in opponents:
        assert won >= 1.0


@pytest.mark.slow
def test_self_play_on_the_standard_board():
    """Two hundred games, some minutes each dozen."""
    name = "python_kriegspiel(horizon=160)"
    for seed in range(200):
        _, reports = play(name, ("search", "search"), seed, nodes=2000, belief_limit=20_000)
        check(reports)


@pytest.mark.slow
def test_a_random_player_is_beaten_on_the_standard_board():
    """A tenth of a second per move suffices; with few nodes mates are not found in time."""
    won = 0.0
    for seed in range(4):
        sides = ("search", "random") if seed % 2 == 0 else ("random", "search")
        state, reports = play("python_kriegspiel", sides, seed, nodes=4000)
        check(reports)
        won += state.returns()[sides.index("search")]
    assert won >= 3


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
