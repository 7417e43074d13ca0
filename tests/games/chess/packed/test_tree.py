"""Trees of dark chess from compiled code against the walk over OpenSpiel's states."""

import numpy as np
import pyspiel
import pytest

import klss_spiel.openspiel
from klss_spiel.games.chess import boards
from klss_spiel.games.chess import dark_chess_play as play
from klss_spiel.games.chess.packed import tree as chess_tree
from klss_spiel.progress import Progress
from klss_spiel.tree import PLAYERS, TERMINAL, GameTree

_PAWNS = "k4/1p2p/5/P1P2/4K w - -"
_REPEATING = "k2/3/2K w - -"


def _tree(fen: str, horizon: int, rules: str = "paper") -> GameTree:
    start = boards.position_from_fen(fen)
    setup = play.DarkChessSetup(start, horizon, play.RULES[rules])
    return chess_tree.game_tree(setup, "small", max_nodes=10_000_000)


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
    compiled = _tree(fen, horizon, rules)
    name = f"python_dark_chess(fen={fen},horizon={horizon},rules={rules})"
    tree = klss_spiel.openspiel.tree_from_game(pyspiel.load_game(name), from_states=True)
    for field in ("parent", "action", "player", "utility", "level_start"):
        assert np.array_equal(getattr(compiled, field), getattr(tree, field)), field
    for player in PLAYERS:
        assert np.array_equal(compiled.infoset[player], tree.infoset[player])
        assert compiled.infosets[player].labels == tree.infosets[player].labels


def test_repetitions_end_the_game():
    horizon = 9
    compiled = _tree(_REPEATING, horizon)
    depth = np.repeat(np.arange(horizon + 1), np.diff(compiled.level_start))
    drawn = (compiled.player == TERMINAL) & (compiled.utility == 0)
    early = np.flatnonzero(drawn & (depth < horizon))
    assert set(depth[early]) == {8}
    state = pyspiel.load_game(f"python_dark_chess(fen={_REPEATING},horizon={horizon})")
    for node in early[:: max(1, len(early) // 20)]:
        line = []
        while node:
            line.append(int(compiled.action[node]))
            node = compiled.parent[node]
        walk = state.new_initial_state()
        for action in reversed(line):
            assert not walk.is_terminal()
            walk.apply_action(action)
        assert walk.is_terminal()
        assert walk.returns() == [0.0, 0.0]


def test_minimal_4x3_has_the_known_size():
    compiled = _tree(boards.BOARDS["minimal4x3"], 6)
    assert np.diff(compiled.level_start).tolist() == [1, 9, 27, 211, 1094, 8444, 37512]
    terminal = compiled.player == TERMINAL
    utilities = [int((compiled.utility[terminal] == u).sum()) for u in (1, 0, -1)]
    assert utilities == [803, 34174, 3422]
    assert [len(infosets.decisions) for infosets in compiled.infosets] == [830, 3573]


def test_a_tree_that_is_too_large_is_refused():
    setup = play.DarkChessSetup(boards.position_of("standard"), 5)
    with pytest.raises(ValueError, match="max_nodes"):
        chess_tree.game_tree(setup, "large", max_nodes=10_000)


@pytest.mark.slow
def test_mate2_has_the_known_size():
    setup = play.DarkChessSetup(boards.position_of("mate2"), 6)
    compiled = chess_tree.game_tree(setup, "mate2", max_nodes=10_000_000)
    assert np.diff(compiled.level_start).tolist() == [1, 16, 186, 2955, 33337, 516888, 5918591]


def test_progress_is_told_while_enumerating():
    told = []

    class Listener(Progress):
        def update(self, done):
            told.append(done)

    tree = klss_spiel.openspiel.tree_from_game(
        "python_dark_chess(board=minimal4x3,horizon=4)", progress=Listener("test")
    )
    assert told == tree.level_start[2:].tolist()
