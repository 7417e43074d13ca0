"""What the players of dark chess see, compiled: visible cells, observations, keys.

An observation is five words: the packed position as the player sees it, and the set
of visible cells (own pieces, cells they can move to, the pawn that can be captured en
passant; Obscuro, appendix A). Words 0..3 are zero outside the visible cells. Two things
a position says are hidden: whether a foreign rook may still castle, and whether an own
pawn could be captured en passant (it would tell of an enemy pawn beside it).

That a pawn is blocked by something unseen needs no word of its own: if the cell ahead
were empty, it would be visible.

A key is a 64-bit hash of an observation; different observations share one with
probability 2^-64 each time two are compared.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    ZERO,
    ahead,
    bishop_attacks_of_set,
    fold,
    king_attacks_of_set,
    knight_attacks_of_set,
    pawn_attacks_of_set,
    rook_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.moves import BOARD, DOUBLE, sides
from klss_spiel.kernels import kernel

# Odd words without pattern (from the digits of pi); any such words would do.
_K0: Final = np.uint64(0x243F6A8885A308D3)
_K1: Final = np.uint64(0x13198A2E03707345)
_K2: Final = np.uint64(0xA4093822299F31D1)
_K3: Final = np.uint64(0x082EFA98EC4E6C89)
_K4: Final = np.uint64(0x452821E638D01377)
_K5: Final = np.uint64(0xBE5466CF34E90C6D)


@kernel
def hash_words(p0: Any, p1: Any, p2: Any, p3: Any, p4: Any) -> Any:
    """64-bit hash of five words."""
    return fold(fold(p0 ^ _K0, p1 ^ _K1) ^ p4 ^ _K4, fold(p2 ^ _K2, p3 ^ _K3) ^ _K5)


@kernel
def extend_key(key: Any, own_move: Any, observed: Any) -> Any:
    """Key of a sequence of own moves and observations, one longer than that of `key`.

    `own_move` is zero where the other player moved: no move is the zero word.
    """
    return fold(fold(key ^ _K0, own_move ^ _K1) ^ _K2, observed ^ _K3)


@kernel
def visible(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, viewer: Any, masks: Any) -> Any:
    """Own cells and visible cells of the player of colour `viewer`."""
    mover, other, passing = sides(p0, p1, p2, p3, side)
    own, foes = (mover, other) if viewer == side else (other, mover)
    empty = masks[BOARD] & ~(own | foes)
    pawns = own & ((p0 & ~p1 & ~p2) | passing)
    reach = knight_attacks_of_set(own & ~p0 & p1 & ~p2)
    reach |= king_attacks_of_set(own & ~p0 & p1 & p2)
    reach |= bishop_attacks_of_set(own & p0 & (p1 ^ p2), empty)
    reach |= rook_attacks_of_set(own & p2 & (~p1 | p0), empty)
    seen = own | (reach & masks[BOARD])
    seen |= ahead(pawns, viewer) & empty
    seen |= ahead(ahead(pawns & masks[DOUBLE + viewer], viewer) & empty, viewer) & empty
    seen |= pawn_attacks_of_set(pawns, viewer) & foes
    if viewer == side:
        seen |= passing | ahead(passing, viewer)
    return own, seen


@kernel
def observe(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, viewer: Any, masks: Any) -> Any:
    """The five words of a player's observation, and whether he can move at all.

    The last is meaningful while both kings are on the board.
    """
    own, seen = visible(p0, p1, p2, p3, side, viewer, masks)
    if viewer != side:
        passing = p3 & ~(p0 | p1 | p2)  # an own pawn, shown as one
        p0 |= passing
        if not viewer:
            p3 &= ~passing
    rooks = p0 & p1 & p2 & ~own
    p0 &= ~rooks
    p1 &= ~rooks
    return p0 & seen, p1 & seen, p2 & seen, p3 & seen, seen, (seen & ~own) != ZERO


@kernel
def visible_all(positions: Any, sides: Any, viewer: Any, masks: Any) -> Any:
    """[n] cells visible to `viewer` (one colour) in each of [n, 4] positions."""
    seen = np.empty(len(positions), dtype=np.uint64)
    player = np.uint64(viewer)
    for i in range(len(positions)):
        _, cells = visible(
            positions[i, 0],
            positions[i, 1],
            positions[i, 2],
            positions[i, 3],
            np.uint64(sides[i]),
            player,
            masks,
        )
        seen[i] = cells
    return seen


@kernel
def observe_all(positions: Any, sides: Any, viewer: Any, masks: Any) -> Any:
    """[n, 5] observations of `viewer` (one colour) in each of [n, 4] positions."""
    seen = np.empty((len(positions), 5), dtype=np.uint64)
    player = np.uint64(viewer)
    for i in range(len(positions)):
        o0, o1, o2, o3, cells, _ = observe(
            positions[i, 0],
            positions[i, 1],
            positions[i, 2],
            positions[i, 3],
            np.uint64(sides[i]),
            player,
            masks,
        )
        seen[i, 0] = o0
        seen[i, 1] = o1
        seen[i, 2] = o2
        seen[i, 3] = o3
        seen[i, 4] = cells
    return seen


@kernel
def keys_and_mobility(positions: Any, sides: Any, masks: Any) -> Any:
    """Keys of both players' observations, and whether the side to move can move.

    Args:
        positions: [n, 4] packed positions.
        sides: [n] side to move of each.
        masks: which board.

    Returns:
        keys: [n, 2] key of White's and of Black's observation.
        can_move: [n] whether there is a pseudo-legal move, should both kings be there.
    """
    n = len(positions)
    keys = np.empty((n, 2), dtype=np.uint64)
    can_move = np.empty(n, dtype=np.bool_)
    for i in range(n):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        o0, o1, o2, o3, cells, moves = observe(p0, p1, p2, p3, side, np.uint64(0), masks)
        keys[i, 0] = hash_words(o0, o1, o2, o3, cells)
        if side == ZERO:
            can_move[i] = moves
        o0, o1, o2, o3, cells, moves = observe(p0, p1, p2, p3, side, np.uint64(1), masks)
        keys[i, 1] = hash_words(o0, o1, o2, o3, cells)
        if side != ZERO:
            can_move[i] = moves
    return keys, can_move
