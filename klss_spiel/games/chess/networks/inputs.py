"""What a network sees of a packed position, compiled.

A board is looked at by both players. Each sees it from his own first rank on (Black's
view is upside down) and turned left to right if his king stands on the files a to d, so
that the own king is always on e to h.

Pieces are counted by owner and kind; rooks that may castle are rooks, a pawn that can be
captured en passant is a pawn: rights are not seen.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO, bit_count, first_cell
from klss_spiel.games.chess.packed.kernels.captures import attackers
from klss_spiel.games.chess.packed.kernels.moves import settle
from klss_spiel.kernels import kernel

MAX_PIECES: Final = 64
NUM_BUCKETS: Final = 8

_S1: Final = np.uint64(1)
_S2: Final = np.uint64(2)
_S3: Final = np.uint64(3)
_FILE: Final = np.uint64(7)
_QUEEN_SIDE: Final = np.uint64(4)  # files below this one
_UPSIDE_DOWN: Final = np.uint64(56)
_CASTLING_ROOK: Final = np.uint64(7)
_ROOK: Final = np.uint64(4)


@kernel
def decided(p0: Any, p1: Any, p2: Any, p3: Any, side: Any) -> Any:
    """1 if the side to move has won or can capture the king, -1 if its own is gone, else 0."""
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    occupied = s0 | p1 | p2
    own = occupied & (s3 if side else ~s3)
    kings = ~s0 & p1 & p2
    if not kings & own:
        return -1
    king = kings & ~own
    if not king:
        return 1
    if attackers(s0, p1, p2, own, occupied, first_cell(king), side):
        return 1
    return 0


@kernel
def piece_on(s0: Any, p1: Any, p2: Any, s3: Any, cell: Any) -> Any:
    """Kind from 0 (pawn) to 5 (king) of the piece on a cell, plus 8 for Black's; settled words."""
    kind = ((s0 >> cell) & ONE) | (((p1 >> cell) & ONE) << _S1) | (((p2 >> cell) & ONE) << _S2)
    if kind == _CASTLING_ROOK:
        kind = _ROOK
    return (kind - ONE) | (((s3 >> cell) & ONE) << _S3)


@kernel
def turns(s0: Any, p1: Any, p2: Any, s3: Any) -> Any:
    """What to xor cells with in White's and in Black's view; settled words, both kings."""
    kings = ~s0 & p1 & p2
    white = _FILE if (first_cell(kings & ~s3) & _FILE) < _QUEEN_SIDE else ZERO
    black = _FILE if (first_cell(kings & s3) & _FILE) < _QUEEN_SIDE else ZERO
    return white, black ^ _UPSIDE_DOWN


@kernel
def list_pieces(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, kinds: Any, cells: Any) -> Any:
    """Writes the pieces as both players see them; both kings must be there.

    Args:
        p0: first word of the position, and so on.
        p1: second word.
        p2: third word.
        p3: fourth word.
        side: to move.
        kinds: [MAX_PIECES] see `piece_on`.
        cells: [2, MAX_PIECES] cell in White's and in Black's view.

    Returns:
        Their number.
    """
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    white_turn, black_turn = turns(s0, p1, p2, s3)
    left = s0 | p1 | p2
    count = ZERO
    while left:
        cell = first_cell(left)
        kinds[count] = piece_on(s0, p1, p2, s3, cell)
        cells[0, count] = cell ^ white_turn
        cells[1, count] = cell ^ black_turn
        count += ONE
        left &= left - ONE
    return count


@kernel
def bucket_of(count: Any) -> Any:
    """Which set of output weights serves a position of `count` pieces."""
    return min((count - ONE) >> _S2, np.uint64(NUM_BUCKETS - 1))


@kernel
def decided_all(positions: Any, sides: Any) -> Any:
    """[n] White's utility where a king is gone or can be captured, 0 elsewhere."""
    values = np.empty(len(positions), dtype=np.int8)
    for i in range(len(positions)):
        side = np.uint64(sides[i])
        won = decided(positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3], side)
        values[i] = -won if side else won
    return values


@kernel
def piece_counts(positions: Any) -> Any:
    """[n] number of pieces of [n, 4] positions."""
    counts = np.empty(len(positions), dtype=np.uint8)
    for i in range(len(positions)):
        counts[i] = bit_count(positions[i, 0] | positions[i, 1] | positions[i, 2] | positions[i, 3])
    return counts
