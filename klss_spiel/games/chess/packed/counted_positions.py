"""Packed positions with counts, as a search holds them: [n, 5 or more] words.

Words 0 to 3 are the packed board (`packed.positions`); word 4 has the plies played in its
lower half and the count towards the fifty-move rule in the quarter above. Who is to move
follows from the plies. The last quarter and words after these are the game's own
(`kernels.tries` for Kriegspiel).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array

BOARD_WORDS: Final = 4
_CLOCK_SHIFT: Final = np.uint64(32)
_PLIES: Final = np.uint64(0xFFFFFFFF)
_CLOCK: Final = np.uint64(0xFFFF)


def with_counts(words: U64Array, plies: npt.ArrayLike, clock: npt.ArrayLike = 0) -> U64Array:
    """[n, 5] positions of packed boards [n, 4]; counts are one for all or [n]."""
    positions = np.empty((len(words), BOARD_WORDS + 1), dtype=np.uint64)
    positions[:, :BOARD_WORDS] = words
    played, quiet = np.asarray(plies, dtype=np.uint64), np.asarray(clock, dtype=np.uint64)
    positions[:, BOARD_WORDS] = played | quiet << _CLOCK_SHIFT
    return positions


def boards_of(positions: U64Array) -> U64Array:
    """[n, 4] packed boards."""
    return np.ascontiguousarray(positions[:, :BOARD_WORDS])


def counts_of(positions: U64Array) -> tuple[U64Array, U64Array]:
    """[n] plies played and [n] plies since the last capture or pawn move."""
    counts = positions[:, BOARD_WORDS]
    return counts & _PLIES, counts >> _CLOCK_SHIFT & _CLOCK


def with_clock_from(positions: U64Array, least: npt.ArrayLike) -> U64Array:
    """The positions, all else as it is, with a count towards fifty moves not below `least`."""
    _, clock = counts_of(positions)
    missing = np.maximum(clock, np.asarray(least, dtype=np.uint64)) - clock
    counted = positions.copy()
    counted[:, BOARD_WORDS] += missing << _CLOCK_SHIFT
    return counted


def has_pawns(positions: U64Array, colour: int) -> npt.NDArray[np.bool_]:
    """[n] whether a colour has pawns; one that can be captured en passant counts for both."""
    p0, p1, p2, p3 = (positions[:, word] for word in range(BOARD_WORDS))
    pawns = p0 & ~p1 & ~p2 & (p3 if colour else ~p3)
    passing = p3 & ~(p0 | p1 | p2)
    found: npt.NDArray[np.bool_] = (pawns | passing) != 0
    return found


def sides_of(positions: U64Array, first: int) -> npt.NDArray[np.uint8]:
    """[n] who is to move; `first` moved first in the game."""
    plies = positions[:, BOARD_WORDS].astype(np.uint8)  # their last bit is enough
    return plies + np.uint8(first) & np.uint8(1)
