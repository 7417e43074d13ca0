"""Trees of dark chess from compiled code against the walk over OpenSpiel's states."""

import dataclasses

import numpy as np
import pyspiel
import pytest

import klss_spiel.openspiel
from klss_spiel import tree as game_tree
from klss_spiel.games.chess import boards
from klss_spiel.games.chess import dark_chess_play as play
from klss_spiel.games.chess.packed import tree as chess_tree

_PAWNS = "k4/1p2p/5/P1P2/4K w - -"
_REPEATING = "k2/3/2K w - -"


def _arrays(fen: str, horizon: int, rules: str = "paper") -> chess_tree.TreeArrays:
    start = boards.position_from_fen(fen)
    return chess_tree.tree_arrays(play.DarkChessSetup(start, horizon, play.RULES[rules]))


@pytest.mark.parametrize(
    ("fen", "horizon", "rules"),
    [
        (boards.BOARDS["minimal4x3"], 4, "paper"),
        (boards.BOARDS["minimal4x3"], 4, "observe_on_turn"),
        (boards.BOARDS["mate2"], 3, "paper"),
        (_PAWNS, 4, "paper"),
        (_PAWNS, 4, "observe_on_turn"),
        ("k4/4P/5/p4/4K w - -", 4, "thesis"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -", 2, "paper"),
        # The third repetition comes at ply 8, the fifty-move draw at ply 1 or 2.
        ("k2/1P1/2K b - - 98 60", 3, "no_move_draws"),
        ("2k/3/K2 b - - 98 60", 4, "paper"),
    ],
)
def test_the_tree_is_the_one_that_walking_the_states_gives(fen, horizon, rules):
    arrays = _arrays(fen, horizon, rules)
    name = f"python_dark_chess(fen={fen},horizon={horizon},rules={rules})"
    tree = klss_spiel.openspiel.tree_from_game(pyspiel.load_game(name), from_states=True)
    for field in ("parent", "action", "player", "utility", "level_start"):
        assert np.array_equal(getattr(arrays, field), getattr(tree, field)), field
    for player in game_tree.PLAYERS:
        assert np.array_equal(arrays.infoset[player], tree.infoset[player])
        assert arrays.labels[player] == tree.infosets[player].labels


def test_repetitions_end_the_game():
    horizon = 9
    arrays = _arrays(_REPEATING, horizon)
    depth = np.repeat(np.arange(horizon + 1), np.diff(arrays.level_start))
    drawn = (arrays.player == chess_tree.TERMINAL) & (arrays.utility == 0)
    early = np.flatnonzero(drawn & (depth < horizon))
    assert set(depth[early]) == {8}
    state = pyspiel.load_game(f"python_dark_chess(fen={_REPEATING},horizon={horizon})")
    for node in early[:: max(1, len(early) // 20)]:
        line = []
        while node:
            line.append(int(arrays.action[node]))
            node = arrays.parent[node]
        walk = state.new_initial_state()
        for action in reversed(line):
            assert not walk.is_terminal()
            walk.apply_action(action)
        assert walk.is_terminal()
        assert walk.returns() == [0.0, 0.0]


def test_minimal_4x3_has_the_known_size():
    arrays = _arrays(boards.BOARDS["minimal4x3"], 6)
    assert np.diff(arrays.level_start).tolist() == [1, 9, 27, 211, 1094, 8444, 37512]
    terminal = arrays.player == chess_tree.TERMINAL
    utilities = [int((arrays.utility[terminal] == u).sum()) for u in (1, 0, -1)]
    assert utilities == [803, 34174, 3422]
    assert [sum(map(bool, labels)) for labels in arrays.labels] == [830, 3573]


def test_a_tree_that_is_too_large_is_refused():
    setup = play.DarkChessSetup(boards.position_of("standard"), 5)
    with pytest.raises(ValueError, match="max_nodes"):
        chess_tree.tree_arrays(setup, max_nodes=10_000)


@pytest.mark.slow
def test_mate2_has_the_known_size():
    setup = play.DarkChessSetup(boards.position_of("mate2"), 6)
    arrays = chess_tree.tree_arrays(setup)
    assert np.diff(arrays.level_start).tolist() == [1, 16, 186, 2955, 33337, 516888, 5918591]
    assert dataclasses.is_dataclass(arrays)
