"""Positions with the opponent's pieces put elsewhere, compiled."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    ONE,
    ZERO,
    beside,
    bit_count,
    first_cell,
)
from klss_spiel.games.chess.packed.kernels.captures import attackers
from klss_spiel.games.chess.packed.kernels.legality import keep_legal
from klss_spiel.games.chess.packed.kernels.moves import BOARD, LAST, MAX_MOVES, generate, settle
from klss_spiel.games.chess.packed.kernels.observations import hash_words, visible
from klss_spiel.games.chess.packed.kernels.umpire import is_dead
from klss_spiel.kernels import kernel

# Of so many draws one leaves a piece where it is, one makes a queen of a pawn (of these so many
# others let it capture once, and one of them often), and one makes another piece of a piece: it
# need not be known which have been captured.
_STAYS: Final = np.uint64(2)
_PROMOTES: Final = np.uint64(8)
_CAPTURES: Final = np.uint64(4)
_CHANGES: Final = np.uint64(6)
_KINDS: Final = np.uint64(4)  # knight, bishop, rook, queen

_DARK_CELLS: Final = np.uint64(0xAA55AA55AA55AA55)
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FILE: Final = np.uint64(0x0101010101010101)
_S7: Final = np.uint64(7)
_S33: Final = np.uint64(33)
_TWO: Final = np.uint64(2)


@kernel
def _drawn(cells: Any, number: Any) -> Any:
    """One cell of a set, as a set, by a random number."""
    for _ in range(number % bit_count(cells)):
        cells &= cells - ONE
    return cells & (ZERO - cells)


@kernel
def scatter(positions: Any, salt: Any, viewer: Any, sighted: Any, masks: Any) -> Any:
    """Puts some pieces of the opponent elsewhere, the viewer being to move.

    Pawns do not go back, or become queens anywhere; some pieces become others, other bishops
    keep the colour of their cells. Positions in which the viewer could capture the king are
    left out.

    Args:
        positions: [n, 4] packed positions.
        salt: of the random numbers.
        viewer: colour of the player who believes.
        sighted: whether the viewer sees cells as in dark chess; what is seen stays as it is.
        masks: which board.

    Returns:
        [m, 4] positions.
    """
    player = np.uint64(viewer)
    board = masks[BOARD]
    found = np.empty_like(positions)
    count = 0
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        random = hash_words(p0, p1, p2, p3, np.uint64(salt) + np.uint64(i) * _STEP)
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), player)
        s1, s2 = p1, p2
        unseen = board
        if sighted:
            _, seen = visible(p0, p1, p2, p3, player, player, masks)
            unseen &= ~seen
        left = (s0 | s1 | s2) & (~s3 if player else s3) & unseen
        while left:
            here = left & (ZERO - left)
            left &= left - ONE
            random = (random ^ (random >> _S33)) * _STEP + ONE
            draw = random >> _S33
            if draw % _STAYS == ZERO:
                continue
            draw //= _STAYS
            b0, b1, b2 = (s0 & here) != ZERO, (s1 & here) != ZERO, (s2 & here) != ZERO
            free = unseen & ~(s0 | s1 | s2)
            if b0 and not b1 and not b2:
                if draw % _PROMOTES == ZERO:
                    b2 = True
                else:
                    cell = first_cell(here)
                    ahead = here - ONE if not player else ~(here | (here - ONE))
                    files = _FIRST_FILE << (cell & _S7)
                    if draw % _PROMOTES < _CAPTURES:
                        files |= beside(files)
                    if draw % _PROMOTES == ONE:
                        files = FULL
                    free &= ahead & files & ~masks[LAST + (player ^ ONE)]
                draw //= _PROMOTES
            elif b0 or not (b1 and b2):  # no king
                if draw % _CHANGES == ZERO:
                    kind = (draw // _CHANGES) % _KINDS
                    b0, b1, b2 = (kind & ONE) != ZERO, kind < _TWO, kind >= _TWO
                    draw //= _KINDS
                elif b0 and b1 and not b2:
                    free &= _DARK_CELLS if here & _DARK_CELLS else ~_DARK_CELLS
                elif b0 and b1:
                    b0 = b1 = False  # a rook that may not castle any more
                draw //= _CHANGES
            if free == ZERO:
                continue
            there = _drawn(free, draw)
            s0, s1, s2, s3 = s0 & ~here, s1 & ~here, s2 & ~here, s3 & ~here
            if b0:
                s0 |= there
            if b1:
                s1 |= there
            if b2:
                s2 |= there
            if not player:
                s3 |= there
        foes = (s0 | s1 | s2) & (~s3 if player else s3)
        king = foes & ~s0 & s1 & s2
        rooks = foes & s0 & s1 & s2
        if king != (~p0 & p1 & p2 & (~p3 if player else p3)):
            s0, s1 = s0 & ~rooks, s1 & ~rooks
        occupied = s0 | s1 | s2
        if attackers(s0, s1, s2, occupied & ~foes, occupied, first_cell(king), player):
            continue
        found[count, 0] = s0
        found[count, 1] = s1
        found[count, 2] = s2
        found[count, 3] = s3
        count += 1
    return found[:count]


@kernel
def goes_on(positions: Any, viewer: Any, sighted: Any, masks: Any) -> Any:
    """[n] whether the game is not over at [n, 4] positions, the viewer being to move."""
    player = np.uint64(viewer)
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    found = np.empty(len(positions), dtype=np.bool_)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        count = generate(p0, p1, p2, p3, player, masks, FULL, FULL, ONE, moves)
        if not sighted:
            count = keep_legal(p0, p1, p2, p3, player, moves, count)
        found[i] = count > ZERO
        if not sighted:
            s0, _ = settle(p0, p3, p3 & ~(p0 | p1 | p2), player)
            found[i] &= not is_dead(s0, p1, p2)
    return found
