"""Every player of matches plays whole games of every kind."""

import os
import pathlib

import numpy as np
import pyspiel
import pytest

from klss_spiel.matches import players, records
from klss_spiel.matches.match import Match, play_match
from klss_spiel.matches.players import Seat, make_player
from klss_spiel.openspiel import load_game
from klss_spiel.veiled_state import veil


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "dark_hex(num_rows=2,num_cols=2)"])
@pytest.mark.parametrize(
    "player",
    [
        "random",
        "greedy(worlds=4)",
        "pimc(worlds=2,depth=2)",
        "ismcts(simulations=10)",
        "search(nodes=50)",
        "cheating(depth=2)",
        "trusted(mcts(simulations=10))",
        "cfr(10)",
        "subgame(recipe=1-klss,blueprint=cfr:10)",
    ],
)
def test_every_player_plays_whole_games(game, player):
    results = play_match(Match(game, (player, "random"), games=2))
    assert results.failed == []
    assert [row["reason"] for row in results.rows] == [None, None]


@pytest.mark.parametrize(
    "game",
    [
        "python_dark_chess(board=minimal4x3,horizon=10)",
        "python_kriegspiel(board=minimal4x3,horizon=10)",
    ],
)
@pytest.mark.parametrize(
    "player",
    [
        "greedy(worlds=4,limit=100)",
        "pimc(worlds=2,depth=2,limit=100)",
        "ismcts(simulations=5,limit=100)",
        "search(nodes=50,limit=100)",
        "cheating(depth=2)",
        "trusted(mcts(simulations=5))",
        "zs21_baseline(depth=2,nodes=200)",
    ],
)
def test_every_player_of_chess_plays_whole_games(game, player):
    results = play_match(Match(game, (player, "random"), games=2))
    assert results.failed == []
    assert [row["reason"] for row in results.rows] == [None, None]


def test_memory_does_not_grow_with_games():
    match = Match("kuhn_poker", ("random", "cfr(50)"), games=200)
    play_match(match)
    before = _resident()
    play_match(Match("kuhn_poker", ("random", "cfr(50)"), games=2000, seed=1))
    assert _resident() - before < 60e6


def _resident() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_the_players_are_listed():
    assert {"random", "search", "subgame", "pimc", "greedy", "cheating"} <= set(
        players.player_names()
    )
    assert players.sees_everything("cheating(depth=2)")
    assert not players.sees_everything("random")
    assert np.isfinite(players.seconds_by_clock(10.0, 0.1))


def test_players_of_mahjong_play_matches_and_no_other_game():
    match = Match("python_two_player_mahjong", ("mahjong_greedy", "random"), 2, seed=1)
    rows = play_match(match).rows
    assert [row["termination"] for row in rows] == [records.BY_RULE] * 2
    game = load_game("python_two_player_mahjong")
    for name in ("mahjong_blueprint", "mahjong_search(simulations=5)"):
        bot = make_player(name, Seat(game, 0, seed=1))
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(state.chance_outcomes()[0][0])
        player = state.current_player()
        assert bot.step(veil(state, player)) in state.legal_actions()
    with pytest.raises(ValueError, match="expected a game of two-player Mahjong, got kuhn"):
        make_player("mahjong_greedy", Seat(pyspiel.load_game("kuhn_poker"), 0))


def test_the_zs21_baseline_looks_at_sampled_positions_only():
    """Carrying trees over, it would hold more positions at every move."""
    game = pyspiel.load_game("python_dark_chess(board=microchess)")
    looked = 0
    for seed in range(4):
        players = [
            make_player("zs21_baseline(depth=1,worlds=8)", Seat(game, p, seed)) for p in (0, 1)
        ]
        state = game.new_initial_state()
        while not state.is_terminal() and len(state.history()) < 24:
            player = players[state.current_player()]
            state.apply_action(player.step(state))
            assert player.report.roots <= 8
            looked += 1
    assert looked > 30
