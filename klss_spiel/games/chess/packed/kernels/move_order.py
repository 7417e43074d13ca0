"""Compiled order in which the alpha-beta search tries moves.

The table's move first, then captures and promotions (the most valuable victim, then the
least valuable attacker), then killers, then quiet moves by their history. Any order gives
the same scores; a good one prunes more.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS
from klss_spiel.kernels import kernel

# A move carries its rank in its upper half.
RANK_SHIFT: Final = np.uint64(32)
WORD_BITS: Final = np.uint64(0xFFFFFFFF)
_TABLE_RANK: Final = np.uint64(1 << 30)
_CAPTURE_RANK: Final = np.uint64(1 << 28)
_KILLER_RANK: Final = np.uint64(1 << 27)
_HISTORY_LIMIT: Final = np.uint64(1 << 26)
_WORTH: Final = np.array([0, 1, 3, 4, 5, 9, 20, 5], dtype=np.uint64)  # only to order moves

_CELL: Final = np.uint64(63)
_THREE_BITS: Final = np.uint64(7)
_FROM_TO: Final = np.uint64(4095)
_TARGET_SHIFT: Final = np.uint64(6)
_PROMOTION_SHIFT: Final = np.uint64(12)
_ARRIVES_SHIFT: Final = np.uint64(18)
_S1: Final = np.uint64(1)
_S2: Final = np.uint64(2)
_S4: Final = np.uint64(4)


@kernel
def rank_moves(
    p0: Any,
    p1: Any,
    p2: Any,
    foes: Any,
    table_move: Any,
    moves: Any,
    killers: Any,
    history: Any,
) -> Any:
    """Writes into the upper half of each move how early it should be tried.

    Args:
        p0: first word of the position, and so on.
        p1: second word.
        p2: third word.
        foes: cells of the side not to move.
        table_move: what the transposition table suggests; 0 for nothing.
        moves: [m] moves, changed in place.
        killers: [2] quiet moves that caused the last cut-offs at this ply.
        history: [4096] how often quiet moves of the side to move caused cut-offs.
    """
    for i in range(len(moves)):
        word = moves[i]
        public = word & PUBLIC_BITS
        target = (word >> _TARGET_SHIFT) & _CELL
        promotion = (word >> _PROMOTION_SHIFT) & _THREE_BITS
        if public == table_move:
            rank = _TABLE_RANK
        elif (foes >> target) & ONE or promotion:
            victim = (
                ((p0 >> target) & ONE)
                | (((p1 >> target) & ONE) << _S1)
                | (((p2 >> target) & ONE) << _S2)
            )
            mover = (word >> _ARRIVES_SHIFT) & _THREE_BITS
            rank = _CAPTURE_RANK + ((_WORTH[victim] + _WORTH[promotion]) << _S4 << _S1)
            rank -= ZERO if promotion else _WORTH[mover]
        elif public == killers[0]:
            rank = _KILLER_RANK + ONE
        elif public == killers[1]:
            rank = _KILLER_RANK
        else:
            rank = history[word & _FROM_TO]
        moves[i] = word | (rank << RANK_SHIFT)


@kernel
def pick(moves: Any, ply: Any, start: Any, count: Any) -> Any:
    """Brings the move of highest rank to `start`, and returns it."""
    best = start
    for i in range(start + ONE, count):
        if moves[ply, i] > moves[ply, best]:
            best = i
    word = moves[ply, best]
    moves[ply, best] = moves[ply, start]
    moves[ply, start] = word
    return word & WORD_BITS


@kernel
def note_cutoff(
    side: Any, ply: Any, depth: Any, word: Any, words: Any, killers: Any, history: Any
) -> Any:
    """Remembers a quiet move that refuted the position of a ply.

    Args:
        side: to move.
        ply: of the position.
        depth: plies that were left to search; deeper cut-offs count more.
        word: the move.
        words: [D, 4 or more] settled position of each ply.
        killers: [D, 2].
        history: [2, 4096].
    """
    occupied = words[ply, 0] | words[ply, 1] | words[ply, 2]
    promotes = (word >> _PROMOTION_SHIFT) & _THREE_BITS
    if promotes or (occupied >> ((word >> _TARGET_SHIFT) & _CELL)) & ONE:
        return
    public = word & PUBLIC_BITS
    if killers[ply, 0] != public:
        killers[ply, 1] = killers[ply, 0]
        killers[ply, 0] = public
    count = history[side, word & _FROM_TO] + np.uint64(depth * depth)
    history[side, word & _FROM_TO] = min(count, _HISTORY_LIMIT)
