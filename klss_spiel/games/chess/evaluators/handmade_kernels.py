"""Counts that describe positions for evaluation, and a hand-made evaluation of them.

One pass over a position gives both colours' counts, in the order of FEATURES. Moves and
sight are counted for each colour as if it were to move, without castling and en passant.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    JUMPS,
    NOT_FIRST_FILE,
    NOT_LAST_FILE,
    ONE,
    ZERO,
    ahead,
    bishop_attacks,
    bit_count,
    first_cell,
    pawn_attacks_of_set,
    rook_attacks,
)
from klss_spiel.games.chess.packed.kernels.moves import BOARD, DOUBLE, settle
from klss_spiel.kernels import kernel

FEATURES: Final = (
    "pawns",
    "knights",
    "bishops",
    "rooks",
    "queens",
    "kings",
    "mobility",  # moves of all pieces, a promotion counted once
    "attacked_cells",  # cells that some piece attacks
    "advance",  # ranks that the pawns have left behind, beyond their second
    "passed_pawns",  # no enemy pawn ahead on the same or a neighbouring file
    "attacked_value",  # of own pieces without the king that the enemy attacks
    "hanging_value",  # of those among them that no own piece guards
    "king_attacked",  # 1 if the enemy attacks the king
    "king_zone",  # cells around the king that the enemy attacks
)
NUM_FEATURES: Final = len(FEATURES)
_KINGS: Final = FEATURES.index("kings")
_MOBILITY: Final = FEATURES.index("mobility")
_ATTACKED_CELLS: Final = FEATURES.index("attacked_cells")
_ADVANCE: Final = FEATURES.index("advance")
_PASSED: Final = FEATURES.index("passed_pawns")
_ATTACKED_VALUE: Final = FEATURES.index("attacked_value")
_HANGING_VALUE: Final = FEATURES.index("hanging_value")
_KING_ATTACKED: Final = FEATURES.index("king_attacked")
_KING_ZONE: Final = FEATURES.index("king_zone")

PIECE_VALUES: Final = (1, 3, 3, 5, 9)

# In pawns, White's count minus Black's; common chess lore, not tuned. What is attacked
# counts for little if its owner is to move, and for more if not.
WEIGHTS: Final = np.array(
    [
        [1.0, 3.0, 3.2, 5.0, 9.0, 0.0, 0.03, 0.02, 0.05, 0.3, -0.02, -0.05, 0.0, -0.05],
        [1.0, 3.0, 3.2, 5.0, 9.0, 0.0, 0.03, 0.02, 0.05, 0.3, -0.05, -0.40, 0.0, -0.10],
    ],
    dtype=np.float32,
)
_PAWNS_PER_UNIT: Final = np.float32(6.0)  # this lead is worth tanh(1) = 0.76

_S3: Final = np.uint64(3)
_S8: Final = np.uint64(8)
_S16: Final = np.uint64(16)
_S32: Final = np.uint64(32)


@kernel
def _attacks(p0: Any, p1: Any, p2: Any, own: Any, occupied: Any, side: Any, board: Any) -> Any:
    """Cells a colour attacks, and the number of moves of its pieces other than pawns."""
    reach = pawn_attacks_of_set(own & p0 & ~p1 & ~p2, side) & board
    count = ZERO
    left = own & (p1 | p2)
    while left:
        cell = first_cell(left)
        here = left & (ZERO - left)
        if not here & p0 and here & p1:
            cells = JUMPS[cell, 1] if here & p2 else JUMPS[cell, 0]
        else:
            cells = ZERO
            if here & p0 & (p1 ^ p2):
                cells = bishop_attacks(cell, occupied)
            if here & p2:
                cells |= rook_attacks(cell, occupied)
        cells &= board
        reach |= cells
        count += bit_count(cells & ~own)
        left &= left - ONE
    return reach, count


@kernel
def _value(p0: Any, p1: Any, p2: Any, cells: Any) -> Any:
    """Sum of PIECE_VALUES on `cells`; kings count nothing."""
    pawns = bit_count(cells & p0 & ~p1 & ~p2)
    minor = bit_count(cells & p1 & ~p2)
    rooks = bit_count(cells & p2 & ~(p0 ^ p1))
    queens = bit_count(cells & p0 & ~p1 & p2)
    return (
        pawns * np.uint64(1) + minor * np.uint64(3) + rooks * np.uint64(5) + queens * np.uint64(9)
    )


@kernel
def _shadow(pawns: Any, side: Any) -> Any:
    """Cells ahead of pawns on their own and the neighbouring files."""
    wide = pawns | ((pawns << ONE) & NOT_FIRST_FILE) | ((pawns >> ONE) & NOT_LAST_FILE)
    if side:
        wide |= wide >> _S8
        wide |= wide >> _S16
        wide |= wide >> _S32
        return wide >> _S8
    wide |= wide << _S8
    wide |= wide << _S16
    wide |= wide << _S32
    return wide << _S8


@kernel
def _count(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, masks: Any, height: Any, out: Any) -> Any:
    """Writes [2, NUM_FEATURES] counts of one position."""
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    board = masks[BOARD]
    occupied = s0 | p1 | p2
    white_reach, white_moves = _attacks(s0, p1, p2, occupied & ~s3, occupied, ZERO, board)
    black_reach, black_moves = _attacks(s0, p1, p2, occupied & s3, occupied, ONE, board)
    for colour in range(2):
        tint = np.uint64(colour)
        own = occupied & (s3 if colour else ~s3)
        foes = occupied & ~own
        reach, danger, count = white_reach, black_reach, white_moves
        if colour:
            reach, danger, count = black_reach, white_reach, black_moves
        pawns = own & s0 & ~p1 & ~p2
        empty = board & ~occupied
        one = ahead(pawns, tint) & empty
        two = ahead(ahead(pawns & masks[DOUBLE + tint], tint) & empty, tint) & empty
        count += bit_count(one) + bit_count(two)
        # Two pawns that attack one piece have a move each.
        east, west = pawns & NOT_LAST_FILE, pawns & NOT_FIRST_FILE
        count += bit_count(ahead(east, tint) << ONE & foes)
        count += bit_count(ahead(west, tint) >> ONE & foes)
        king = own & ~s0 & p1 & p2
        row = out[colour]
        row[0] = bit_count(pawns)
        row[1] = bit_count(own & ~s0 & p1 & ~p2)
        row[2] = bit_count(own & s0 & p1 & ~p2)
        row[3] = bit_count(own & p2 & ~(s0 ^ p1))
        row[4] = bit_count(own & s0 & ~p1 & p2)
        row[_KINGS] = bit_count(king)
        row[_MOBILITY] = count
        row[_ATTACKED_CELLS] = bit_count(reach)
        advance = ZERO
        left = pawns
        while left:
            rank = first_cell(left) >> _S3
            advance += np.uint64(height - 2) - rank if colour else rank - ONE
            left &= left - ONE
        row[_ADVANCE] = advance
        row[_PASSED] = bit_count(pawns & ~_shadow(foes & s0 & ~p1 & ~p2, tint ^ ONE))
        row[_ATTACKED_VALUE] = _value(s0, p1, p2, own & danger)
        row[_HANGING_VALUE] = _value(s0, p1, p2, own & danger & ~reach)
        row[_KING_ATTACKED] = bit_count(king & danger)
        zone = JUMPS[first_cell(king), 1] & board if king else ZERO
        row[_KING_ZONE] = bit_count(zone & danger)


@kernel
def _height(masks: Any) -> Any:
    """Ranks of the board."""
    height = 0
    while height < 8 and masks[BOARD] >> np.uint64(8 * height) & ONE:
        height += 1
    return height


@kernel
def count_features(positions: Any, sides: Any, masks: Any) -> Any:
    """[n, 2, NUM_FEATURES] counts of [n, 4] positions with side to move [n]."""
    height = _height(masks)
    out = np.empty((len(positions), 2, NUM_FEATURES), dtype=np.int16)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        _count(p0, p1, p2, p3, np.uint64(sides[i]), masks, height, out[i])
    return out


@kernel
def evaluate_all(positions: Any, sides: Any, masks: Any, weights: Any) -> Any:
    """[n] White's expected utility.

    Args:
        positions: [n, 4] packed positions.
        sides: [n] side to move of each.
        masks: which board.
        weights: [2, NUM_FEATURES] worth in pawns of what the side to move has, and of
            what the other side has.
    """
    height = _height(masks)
    counts = np.empty((2, NUM_FEATURES), dtype=np.int16)
    values = np.empty(len(positions), dtype=np.float32)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.int64(sides[i])
        other = 1 - side
        _count(p0, p1, p2, p3, np.uint64(side), masks, height, counts)
        if counts[side, _KINGS] == 0:
            value = np.float32(-1.0)
        elif counts[other, _KINGS] == 0 or counts[other, _KING_ATTACKED]:
            value = np.float32(1.0)
        else:
            lead = np.float32(0.0)
            for j in range(NUM_FEATURES):
                lead += weights[0, j] * counts[side, j] - weights[1, j] * counts[other, j]
            value = np.float32(np.tanh(lead / _PAWNS_PER_UNIT))
        values[i] = -value if side else value
    return values
