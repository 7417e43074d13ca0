"""One side's pieces alone, compiled: what a player of Kriegspiel sees.

They are packed as positions are (`kernels.moves`), the own castling rights included. That an
own pawn could be captured en passant is left out: it would tell of an enemy pawn.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.moves import EN_PASSANT, apply, complete_word, settle
from klss_spiel.kernels import kernel

_KIND_SHIFT: Final = np.uint64(15)
_LOW: Final = np.uint64(7)


@kernel
def own_pieces(positions: Any, sides: Any, player: Any) -> Any:
    """[n, 4] the player's pieces at positions [n, 4 or more] with sides [n] to move."""
    pieces = np.empty((len(positions), 4), dtype=np.uint64)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), np.uint64(sides[i]))
        own = (s0 | p1 | p2) & (s3 if player else ~s3)
        pieces[i, 0], pieces[i, 1], pieces[i, 2], pieces[i, 3] = (
            s0 & own,
            p1 & own,
            p2 & own,
            s3 & own,
        )
    return pieces


@kernel
def own_pieces_after(pieces: Any, player: Any, move: Any) -> Any:
    """[4] the player's pieces after a move of the player's, given those before it ([4])."""
    p0, p1, p2, p3 = pieces[0], pieces[1], pieces[2], pieces[3]
    word = complete_word(p0, p1, p2, p3, np.uint64(move))
    # Whatever a pawn captures is no own piece, though one may stand where a pawn would be
    # that was captured en passant.
    if (word >> _KIND_SHIFT) & _LOW == EN_PASSANT:
        word &= ~(_LOW << _KIND_SHIFT)
    after = np.empty(4, dtype=np.uint64)
    after[0], after[1], after[2], after[3] = apply(p0, p1, p2, p3, np.uint64(player), word)
    return after
