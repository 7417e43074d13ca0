"""The simple evaluation against positions counted by hand."""

import numpy as np
import pytest

from klss_spiel.evaluators import make_evaluator
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators import simple
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import with_counts
from tests.helpers.chess_positions import mirrored


@pytest.mark.parametrize(
    ("fen", "pawns", "squares"),
    [
        # Both see their 16 pieces and the 16 squares ahead of the pawns.
        (boards.BOARDS["standard"], 0, 0),
        # Kings e1, a8: White sees 6 squares around e1, Black 4 around a8. The rook on h1
        # sees f1 and g1 (f1 is the king's already) and h2 to h8: 9 more with its own.
        ("k7/8/8/8/8/8/8/4K2R b - - 0 1", 5, 15 - 4),
        # White's pawn on e2 sees e3 and e4 and stands among the king's six squares; Black's
        # king on h8 sees 4, his knight on h1 its own square, f2 and g3. f2 is White's, too.
        ("7k/8/8/8/8/8/4P3/4K2n b - - 0 1", 1 - 3, 8 - 7),
        # En passant: the pawn beside and the square behind it are seen by the side to move.
        # White: king e1 6, pawn a4 with a5: 8. Black: king e8 6, pawn b4 with b3: 8, and 2.
        ("4k3/8/8/8/Pp6/8/8/4K3 b - a3 0 1", 0, 8 - 10),
    ],
)
def test_material_and_visible_squares_are_counted(fen, pawns, squares):
    position = boards.position_from_fen(fen)
    expected = np.tanh((pawns + 0.05 * squares) / 6)
    board = packed.layout(8, 8)
    for case, value in ((position, expected), (mirrored(position), -expected)):
        found = simple.evaluate(board, packed.pack([case]), case.side)
        assert found == pytest.approx([value], abs=1e-6)
    game = f"python_dark_chess(fen={fen})"
    first = with_counts(packed.pack([position]), 0)
    assert make_evaluator(game, "simple")(first) == pytest.approx([expected], abs=1e-6)


def test_kings_decide_and_small_boards_count():
    board = packed.layout(4, 3)
    # White's king on a1 sees 4 squares, his rook on d1 adds itself, c1 and the d file.
    position = boards.position_from_fen("1k2/4/K2R w - - 0 1")
    (value,) = simple.evaluate(board, packed.pack([position]), rules.WHITE)
    assert value == pytest.approx(np.tanh((5 + 0.05 * (8 - 6)) / 6), abs=1e-6)
    en_prise = boards.position_from_fen("3k/4/K2R w - - 0 1")
    assert simple.evaluate(board, packed.pack([en_prise]), rules.WHITE) == 1.0
    assert simple.evaluate(board, packed.pack([en_prise]), rules.BLACK) != 1.0
    gone = boards.position_from_fen("4/4/K2R w - - 0 1", need_kings=False)
    assert simple.evaluate(board, packed.pack([gone]), rules.BLACK) == 1.0
