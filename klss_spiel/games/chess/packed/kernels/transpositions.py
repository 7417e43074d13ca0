"""Compiled transposition table of the alpha-beta search, and what its scores mean.

A score is an integer from the view of the side to move: a utility times UTILITY, or
WIN - k where the game is won k plies after the root, and the negative where it is lost.
A table is [t, 2] words, t a power of two: the key of a position with its side to move, and
score | depth | bound | move. Two positions share a key with probability 2^-64.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import ZERO
from klss_spiel.kernels import kernel

UTILITY: Final = 10_000
WIN: Final = 20_000
DECIDED: Final = 15_000  # scores beyond this are wins, below the negative losses

_SCORE_BITS: Final = np.uint64(0xFFFF)
_DEPTH_SHIFT: Final = np.uint64(16)
_DEPTH_BITS: Final = np.uint64(0xFF)
_BOUND_SHIFT: Final = np.uint64(24)
_BOUND_BITS: Final = np.uint64(3)
_MOVE_SHIFT: Final = np.uint64(32)
_SCORE_OFFSET: Final = 32_768
EXACT: Final = np.uint64(1)
LOWER: Final = np.uint64(2)
UPPER: Final = np.uint64(3)


@kernel
def probe(table: Any, key: Any, depth: Any, ply: Any, alpha: Any, beta: Any) -> Any:
    """Whether the table answers, its score, and the move it suggests (0 if none)."""
    slot = key & np.uint64(len(table) - 1)
    if table[slot, 0] != key:
        return False, 0, ZERO
    data = table[slot, 1]
    move = data >> _MOVE_SHIFT
    if np.int64((data >> _DEPTH_SHIFT) & _DEPTH_BITS) != depth:
        return False, 0, move
    score = np.int64(data & _SCORE_BITS) - _SCORE_OFFSET
    # Wins are stored by their distance from the position, not from the root.
    if score > DECIDED:
        score -= ply
    elif score < -DECIDED:
        score += ply
    bound = (data >> _BOUND_SHIFT) & _BOUND_BITS
    answers = (
        bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha)
    )
    return answers, score, move


@kernel
def store(table: Any, key: Any, depth: Any, ply: Any, score: Any, bound: Any, move: Any) -> Any:
    """Writes an entry over whatever is there."""
    if score > DECIDED:
        score += ply
    elif score < -DECIDED:
        score -= ply
    slot = key & np.uint64(len(table) - 1)
    table[slot, 0] = key
    table[slot, 1] = (
        np.uint64(score + _SCORE_OFFSET)
        | (np.uint64(depth) << _DEPTH_SHIFT)
        | (bound << _BOUND_SHIFT)
        | (move << _MOVE_SHIFT)
    )
