"""Compiled inference of the package's own network; `network` says what it computes.

Positions that follow each other are often children of one parent, so the sums of a
player's units are carried from one to the next: rows of pieces that are gone are
subtracted, those of new ones added. Sums are integers, so that the order does not matter.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.networks.inputs import bucket_of, decided, piece_on, turns
from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO, bit_count, first_cell
from klss_spiel.games.chess.packed.kernels.moves import settle
from klss_spiel.kernels import kernel

NUM_FEATURES: Final = 12 * 64
WIDTH: Final = 256  # units of a player; a constant makes the loops twice as fast
ONE_ACTIVATION: Final = 255  # an activation of 1, in int16
LARGEST_WEIGHT: Final = 127  # of the output; times an activation it fits int16

_MOST: Final = np.int16(ONE_ACTIVATION)
_KIND: Final = np.uint64(7)
_COLOUR_SHIFT: Final = np.uint64(3)
_KINDS: Final = np.uint64(6)
_CELLS: Final = np.uint64(64)
_NO_TURN: Final = np.uint64(64)  # nothing is carried over


@kernel
def feature(kind: Any, cell: Any, viewer: Any) -> Any:
    """Row of a piece of `inputs` in a player's view: own pieces first, then enemies."""
    enemy = (kind >> _COLOUR_SHIFT) ^ viewer
    return (enemy * _KINDS + (kind & _KIND)) * _CELLS + cell


@kernel
def _add_row(total: Any, rows: Any, row: Any) -> Any:
    for j in range(WIDTH):
        total[j] += rows[row, j]


@kernel
def _subtract_row(total: Any, rows: Any, row: Any) -> Any:
    for j in range(WIDTH):
        total[j] -= rows[row, j]


@kernel
def _weigh_squares(total: Any, weights: Any) -> Any:
    """Sum of squared activations, cut to 0 .. 1, by their weights."""
    found = np.int32(0)
    for j in range(WIDTH):
        activation = min(max(total[j], np.int16(0)), _MOST)
        # At most 255 * 127: both factors of the last product fit int16.
        weighed = np.int32(np.int16(activation * weights[j]))
        found = np.int32(found + np.int32(weighed * np.int32(activation)))
    return found


@kernel
def evaluate_all(
    positions: Any,
    sides: Any,
    bias: Any,
    rows: Any,
    output: Any,
    output_scale: Any,
    output_bias: Any,
) -> Any:
    """[n] White's expected utility.

    Args:
        positions: [n, 4] packed positions of 8x8.
        sides: [n] side to move of each.
        bias: [WIDTH] int16.
        rows: [NUM_FEATURES, WIDTH] int16.
        output: [8, 2, WIDTH] int16: weights of the side to move's units, of the other's.
        output_scale: [8] float32, what to multiply the sums by ...
        output_bias: [8] float32, ... and add.
    """
    n = len(positions)
    values = np.empty(n, dtype=np.float32)
    totals = np.empty((2, WIDTH), dtype=np.int16)
    carried_turns = np.full(2, _NO_TURN)
    c0, c1, c2, c3 = ZERO, ZERO, ZERO, ZERO
    for i in range(n):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        value = np.float32(decided(p0, p1, p2, p3, side))
        if value == np.float32(0.0):
            s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
            occupied = s0 | p1 | p2
            carried = c0 | c1 | c2
            changed = (s0 ^ c0) | (p1 ^ c1) | (p2 ^ c2) | (s3 ^ c3)
            few = bit_count(changed) + bit_count(changed) < bit_count(occupied)
            bucket = bucket_of(bit_count(occupied))
            found = np.float32(0.0)
            turned = turns(s0, p1, p2, s3)
            for viewer in range(2):
                player = np.uint64(viewer)
                turn = turned[viewer]
                total = totals[viewer]
                if few and carried_turns[viewer] == turn:
                    left = changed & carried
                    while left:
                        cell = first_cell(left)
                        piece = piece_on(c0, c1, c2, c3, cell)
                        _subtract_row(total, rows, feature(piece, cell ^ turn, player))
                        left &= left - ONE
                    left = changed & occupied
                else:
                    for j in range(WIDTH):
                        total[j] = bias[j]
                    left = occupied
                while left:
                    cell = first_cell(left)
                    piece = piece_on(s0, p1, p2, s3, cell)
                    _add_row(total, rows, feature(piece, cell ^ turn, player))
                    left &= left - ONE
                carried_turns[viewer] = turn
                # The sums of both players together may not fit 32 bits.
                found += np.float32(_weigh_squares(total, output[bucket, side ^ player]))
            c0, c1, c2, c3 = s0, p1, p2, s3
            number = found * output_scale[bucket] + output_bias[bucket]
            value = np.float32(np.tanh(number))
        values[i] = -value if side else value
    return values
