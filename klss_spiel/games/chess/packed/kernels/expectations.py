"""How far positions of Kriegspiel are from what the umpire says later, compiled.

A row of expectations is [NUM_WORDS] words: a cell that pieces of the opponent have to attack
and how many of them (0 for no cell), cells that they have to be gone from, cells where a pawn or
another piece of theirs has to stand, and kinds of pieces that they need for a check.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import FULL, ONE, ZERO, bit_count, first_cell
from klss_spiel.games.chess.packed.kernels.captures import attackers
from klss_spiel.games.chess.packed.kernels.moves import settle
from klss_spiel.kernels import kernel

ATTACKED: Final = 0
ATTACKERS: Final = 1
FREE: Final = 2
PAWN: Final = 3
PIECE: Final = 4
CHECKERS: Final = 5
NUM_WORDS: Final = 6

# Kinds of pieces in CHECKERS: knights, sliders along lines, and along diagonals.
JUMPERS: Final = np.uint64(1)
LINERS: Final = np.uint64(2)
SLANTERS: Final = np.uint64(4)

# Columns of costs: of too few attackers, of a piece that has to go or to come, of a kind of
# pieces that there is none of.
ATTACK_COST: Final = 0
LEAVE_COST: Final = 1
ENTER_COST: Final = 2
KIND_COST: Final = 3
NUM_COSTS: Final = 4
# Part that further cells without attackers cost at the same turn.
REPEATED: Final = 0.2


@kernel
def disappointments(
    positions: Any, side: Any, viewer: Any, expected: Any, turns: Any, costs: Any
) -> Any:
    """What expectations cost that positions do not meet.

    A cell counts at the first row that says something of it.

    Args:
        positions: [n, 4] packed positions.
        side: to move in all of them.
        viewer: colour of the player who believes.
        expected: [k, NUM_WORDS] rows in order.
        turns: [k] of the opponent until then. One move can bring attackers of many cells, so
            that of those expected at the same turn only the first missing counts in full.
        costs: [k, NUM_COSTS] of what a row expects.

    Returns:
        [n] sums of costs.
    """
    mover, player = np.uint64(side), np.uint64(viewer)
    sums = np.zeros(len(positions))
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), mover)
        occupied = s0 | p1 | p2
        foes = occupied & (~s3 if player else s3)
        pawns = foes & s0 & ~p1 & ~p2
        pieces = foes & ~pawns
        new, disappointed = FULL, -1.0
        for j in range(len(expected)):
            row = expected[j]
            sums[i] += costs[j, LEAVE_COST] * bit_count(row[FREE] & foes & new)
            missing = (row[PAWN] & ~pawns) | (row[PIECE] & ~pieces)
            sums[i] += costs[j, ENTER_COST] * bit_count(missing & new)
            new &= ~(row[FREE] | row[PAWN] | row[PIECE])
            if row[ATTACKED] != ZERO:
                cell = first_cell(row[ATTACKED])
                found = attackers(s0, p1, p2, foes, occupied, cell, player ^ ONE)
                if bit_count(found) < row[ATTACKERS]:
                    again = turns[j] == disappointed
                    sums[i] += costs[j, ATTACK_COST] * (REPEATED if again else 1.0)
                    disappointed = turns[j]
                new &= ~row[ATTACKED]
            kinds = row[CHECKERS]
            if (
                (kinds & JUMPERS and not pieces & ~s0 & p1 & ~p2)
                or (kinds & LINERS and not pieces & p2 & (~p1 | s0))
                or (kinds & SLANTERS and not (pawns | (pieces & s0 & (p1 ^ p2))))
            ):
                sums[i] += costs[j, KIND_COST]
    return sums
