"""Which pseudo-legal moves obey the rules of check, compiled.

Dark chess knows no check; Kriegspiel and programs of ordinary chess do. Words and letters are
those of `kernels.moves`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    ONE,
    ZERO,
    bishop_attacks,
    first_cell,
    rook_attacks,
)
from klss_spiel.games.chess.packed.kernels.moves import (
    CASTLING,
    EN_PASSANT,
    apply,
    attacked,
    settle,
)
from klss_spiel.kernels import kernel

_CELL: Final = np.uint64(63)
_TARGET_SHIFT: Final = np.uint64(6)
_KIND_SHIFT: Final = np.uint64(15)
_THREE_BITS: Final = np.uint64(7)


@kernel
def is_legal(s0: Any, s1: Any, s2: Any, s3: Any, side: Any, word: Any) -> Any:
    """Whether a pseudo-legal move obeys the rules of check; settled words."""
    if (word >> _KIND_SHIFT) & _THREE_BITS == CASTLING:
        occupied = s0 | s1 | s2
        foes = occupied & (~s3 if side else s3)
        source = word & _CELL
        crossed = (source + ((word >> _TARGET_SHIFT) & _CELL)) >> ONE
        for cell in (source, crossed):
            if attacked(s0, s1, s2, foes, occupied, cell, side):
                return False
    c0, c1, c2, c3 = apply(s0, s1, s2, s3, side, word)
    # The pawn that has just stepped twice gives no check to its own king.
    occupied = c0 | c1 | c2 | c3
    own = (c0 | c1 | c2) & (c3 if side else ~c3)
    king = first_cell(own & ~c0 & c1 & c2)
    return not attacked(c0, c1, c2, (c0 | c1 | c2) & ~own, occupied, king, side)


@kernel
def unpinned(s0: Any, s1: Any, s2: Any, s3: Any, side: Any) -> Any:
    """Pieces of a side whose moves, but for en passant, are all legal; settled words.

    Those on no line with their king, which there has to be, unless it is in check; the king is
    not among them.
    """
    occupied = s0 | s1 | s2
    own = occupied & (s3 if side else ~s3)
    king = first_cell(own & ~s0 & s1 & s2)
    if attacked(s0, s1, s2, occupied & ~own, occupied, king, side):
        return ZERO
    lines = bishop_attacks(king, occupied) | rook_attacks(king, occupied)
    return own & ~lines & ~(ONE << king)


@kernel
def is_surely_legal(free: Any, word: Any) -> Any:
    """Whether a pseudo-legal move is one of the `unpinned` that need no further look."""
    is_passing = (word >> _KIND_SHIFT) & _THREE_BITS == EN_PASSANT
    return (free >> (word & _CELL)) & ONE and not is_passing


@kernel
def keep_legal(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, moves: Any, count: Any) -> Any:
    """Moves the legal ones to the front and returns how many; the side has a king."""
    typed = p0 | p1 | p2
    s0, s3 = settle(p0, p3, p3 & ~typed, side)
    free = unpinned(s0, p1, p2, s3, side)
    kept = ZERO
    for i in range(count):
        word = moves[i]
        if is_surely_legal(free, word) or is_legal(s0, p1, p2, s3, side, word):
            moves[kept] = word
            kept += ONE
    return kept
