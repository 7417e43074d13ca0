"""`simple`: material and the number of squares that each player sees, nothing else.

Obscuro, section 4, item 6 (weaker evaluation function) takes into account the difference
of material and the number of squares visible to each player. Deviations: the paper gives
no weights; here material is 1, 3, 3, 5, 9 and a visible square is worth VISIBLE_SQUARE of
a pawn, and a lead becomes a utility as in the hand-made evaluation. As for every
evaluation, a king that is gone or can be captured decides.

Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess.evaluators.packed_evaluation import PackedSetup, on_positions
from klss_spiel.games.chess.networks.inputs import decided
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO, bit_count
from klss_spiel.games.chess.packed.kernels.captures import material
from klss_spiel.games.chess.packed.kernels.moves import settle
from klss_spiel.games.chess.packed.kernels.observations import visible
from klss_spiel.kernels import kernel

VISIBLE_SQUARE: Final = 0.05  # in pawns
PAWNS_PER_UNIT: Final = 6.0  # a lead of so many pawns is worth tanh(1)


@kernel
def _evaluate_all(positions: Any, sides: Any, masks: Any) -> Any:
    """[n] White's expected utility at [n, 4] positions."""
    values = np.empty(len(positions), dtype=np.float32)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        won = decided(p0, p1, p2, p3, side)
        if won:
            values[i] = -won if side else won
            continue
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
        occupied = s0 | p1 | p2
        pawns = material(s0, p1, p2, occupied & ~s3) - material(s0, p1, p2, occupied & s3)
        _, white = visible(p0, p1, p2, p3, side, ZERO, masks)
        _, black = visible(p0, p1, p2, p3, side, ONE, masks)
        squares = np.int64(bit_count(white)) - np.int64(bit_count(black))
        values[i] = np.tanh((pawns + VISIBLE_SQUARE * squares) / PAWNS_PER_UNIT)
    return values


def evaluate(
    board: packed.Layout, positions: U64Array, side: packed.Sides
) -> npt.NDArray[np.float32]:
    """[n] White's expected utility at positions [n, 4] of any board."""
    words, sides = packed.checked(positions), packed.side_array(side, len(positions))
    values: npt.NDArray[np.float32] = _evaluate_all(words, sides, board.masks)
    return values


def simple_evaluator(setup: PackedSetup) -> Evaluator:
    """The simple evaluation of a game of dark chess."""
    return on_positions("simple", evaluate, setup)
