"""`hunt(X)`: X, but where one side has nothing but the king, how near it is to being mated.

An evaluation that was made to tell who is winning says hardly anything of how to win: a bare
king against a queen is worth nearly 1 wherever it stands. Where the position is known a search
sees the mate; in Kriegspiel, where the king may be in many places, it has to be driven into
ever less room for that. So X is worth at most KNOWN_WIN, and against a bare king the rest is
progress:

    room   how few cells the bare king can walk to without being captured or capturing
    near   how near the other king is, whose help a queen or a rook needs

It is for sides with a queen, a rook, two bishops, or a bishop and a knight; others have to
promote first and are worth what X says. Pieces are walls, guarded or not: they move on before
the king arrives. Behind the resolver (`resolver(hunt(network))`) pieces that the king can
capture next are seen.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess.evaluators.packed_evaluation import PackedEvaluation
from klss_spiel.games.chess.networks.inputs import decided
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels.bits import (
    ONE,
    bit_count,
    first_cell,
    king_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.captures import attack_set
from klss_spiel.games.chess.packed.kernels.moves import BOARD, settle
from klss_spiel.kernels import kernel

# What X may be worth at most, and what progress may add where a bare king is hunted.
KNOWN_WIN: Final = 0.9
PROGRESS: Final = 0.1
# Of progress, what room counts; the rest is for the other king.
_ROOM: Final = 0.7
# With so many cells a king is free.
_FREE: Final = 32.0
_FARTHEST: Final = 6.0

_S3: Final = np.uint64(3)
_LOW: Final = np.uint64(7)


@kernel
def _can_mate(s0: Any, s1: Any, s2: Any, own: Any) -> Any:
    """Whether pieces can force mate against a bare king without a promotion."""
    if own & s2 & (~s1 | s0):
        return True
    bishops = bit_count(own & s0 & s1 & ~s2)
    knights = bit_count(own & ~s0 & s1 & ~s2)
    return bishops > 1 or (bishops > 0 and knights > 0)


@kernel
def _room(king: Any, safe: Any) -> Any:
    """How many cells a king can walk to among those that are safe, its own included."""
    reached, before = king, king ^ king
    while reached != before:
        before = reached
        reached |= king_attacks_of_set(reached) & safe
    return bit_count(reached)


@kernel
def _distance(cell: Any, other: Any) -> Any:
    """Steps of a king from one cell to another."""
    files = np.int64(cell & _LOW) - np.int64(other & _LOW)
    ranks = np.int64(cell >> _S3) - np.int64(other >> _S3)
    return max(abs(files), abs(ranks))


@kernel
def _hunt_all(positions: Any, sides: Any, masks: Any, values: Any) -> None:
    """Puts progress in the place of the values of positions with a bare king that is hunted."""
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        if decided(p0, p1, p2, p3, np.uint64(sides[i])):
            continue
        values[i] *= KNOWN_WIN
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), np.uint64(sides[i]))
        occupied = s0 | p1 | p2
        kings = occupied & ~s0 & p1 & p2
        for colour in range(2):
            bare = occupied & (s3 if colour else ~s3)
            if bare != kings & bare or bit_count(bare) != ONE:
                continue
            own = occupied & ~bare
            if bit_count(own & kings) != ONE or not _can_mate(s0, p1, p2, own):
                continue
            hunter = np.uint64(1 - colour)
            danger = attack_set(s0, p1, p2, own, own, hunter)
            room = np.float64(_room(bare, masks[BOARD] & ~danger & ~own))
            apart = np.float64(_distance(first_cell(bare), first_cell(own & kings)))
            progress = _ROOM * (1.0 - min(room, _FREE) / _FREE)
            progress += (1.0 - _ROOM) * (1.0 - (apart - 1.0) / _FARTHEST)
            value = KNOWN_WIN + PROGRESS * progress
            values[i] = value if colour else -value


@dataclasses.dataclass(frozen=True, eq=False)
class Hunt:
    """The evaluation that `hunt(X)` makes of X."""

    evaluation: PackedEvaluation

    def __call__(
        self, board: packed.Layout, positions: U64Array, side: packed.SideArray
    ) -> npt.NDArray[np.floating[Any]]:
        """[n] White's expected utility."""
        values = np.array(self.evaluation(board, positions, side), dtype=np.float64)
        _hunt_all(packed.checked(positions), side, board.masks, values)
        return values
