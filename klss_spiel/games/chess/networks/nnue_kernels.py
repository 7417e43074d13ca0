"""Compiled inference of HalfKAv2_hm networks; `nnue` says what they compute.

Everything is integers and exact. Rows of int16 are added as int16, which wraps as in the
programs these networks are made for, and is what makes the compiler use whole registers.
Sums are carried over between positions that differ in a few pieces, as children of one
parent do, while the own king stays where it is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.networks.inputs import (
    NUM_BUCKETS,
    bucket_of,
    decided,
    piece_on,
    turns,
)
from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO, bit_count, first_cell
from klss_spiel.games.chess.packed.kernels.moves import settle
from klss_spiel.kernels import kernel

PLANES: Final = 11  # five kinds of each owner, and one that both kings share
CELLS: Final = 64
FEATURES_PER_KING: Final = PLANES * CELLS
FIRST_OUTPUTS: Final = 16  # fifteen for the next layer, one goes past it
SECOND_OUTPUTS: Final = 32
PASSED_BY: Final = FIRST_OUTPUTS - 1
OUTPUT_SCALE: Final = 16  # units of the sums per unit of the value

_KING: Final = np.uint64(5)
_KIND: Final = np.uint64(7)
_COLOUR_SHIFT: Final = np.uint64(3)
_KING_PLANE: Final = np.uint64(PLANES - 1)
_MOST: Final = np.int16(127)  # activations are 0 .. 127, for 0 .. 1
_WEIGHT_SHIFT: Final = 6
_PASSED_BY_MULTIPLIER: Final = 600 * OUTPUT_SCALE
_PASSED_BY_DIVISOR: Final = 127 << _WEIGHT_SHIFT
_NO_KING: Final = np.uint64(64)  # nothing is carried over


@kernel
def _truncated(numerator: Any, denominator: Any) -> Any:
    """A quotient that is rounded towards zero; the denominator is positive."""
    if numerator >= 0:
        return numerator // denominator
    return -(-numerator // denominator)


@kernel
def _king_bucket(cell: Any) -> Any:
    """Number of the own king's cell, which is on the files e to h, from h8 on."""
    return (
        (np.uint64(7) - (cell >> np.uint64(3))) * np.uint64(4)
        + np.uint64(7)
        - (cell & np.uint64(7))
    )


@kernel
def _feature(kind: Any, cell: Any, viewer: Any) -> Any:
    """Row of a piece within the rows of one king cell."""
    plane = _KING_PLANE
    if kind & _KIND != _KING:
        enemy = (kind >> _COLOUR_SHIFT) ^ viewer
        plane = np.uint64(2) * (kind & _KIND) + enemy
    return plane * np.uint64(CELLS) + cell


@kernel
def _add_row(total: Any, row: Any) -> Any:
    for j in range(len(total)):
        total[j] += row[j]


@kernel
def _subtract_row(total: Any, row: Any) -> Any:
    for j in range(len(total)):
        total[j] -= row[j]


@kernel
def _multiply_halves(total: Any, out: Any) -> Any:
    """Products of the two halves, each cut to 0 .. 127, as 0 .. 126."""
    half = len(out)
    for j in range(half):
        first = min(max(total[j], np.int16(0)), _MOST)
        second = min(max(total[j + half], np.int16(0)), _MOST)
        out[j] = np.int16(first * second) >> np.int16(7)


@kernel
def _dot(first: Any, second: Any) -> Any:
    total = np.int32(0)
    for j in range(len(first)):
        total = np.int32(total + np.int32(np.int32(first[j]) * np.int32(second[j])))
    return total


@kernel
def _layers(hidden: Any, bucket: Any, layers: Any, inputs: Any) -> Any:
    """What the layers make of the products, in 1 / OUTPUT_SCALE.

    Args:
        hidden: [width] products; the side to move's come first.
        bucket: which layers.
        layers: see `evaluate_all`.
        inputs: [32] room for the inputs of the second layer.
    """
    first_bias, first, second_bias, second, third_bias, third = layers
    passed_by = 0
    inputs[:] = 0
    for k in range(FIRST_OUTPUTS):
        total = np.int64(first_bias[bucket, k]) + _dot(hidden, first[bucket, k])
        if k == PASSED_BY:
            passed_by = total
        else:
            squared = (total * total) >> (2 * _WEIGHT_SHIFT + 7)
            inputs[k] = min(squared, 127)
            inputs[k + PASSED_BY] = min(max(total >> _WEIGHT_SHIFT, 0), 127)
    value = np.int64(third_bias[bucket])
    for k in range(SECOND_OUTPUTS):
        total = np.int64(second_bias[bucket, k]) + _dot(inputs, second[bucket, k])
        value += min(max(total >> _WEIGHT_SHIFT, 0), 127) * np.int64(third[bucket, k])
    return value + _truncated(passed_by * _PASSED_BY_MULTIPLIER, _PASSED_BY_DIVISOR)


@kernel
def evaluate_all(
    positions: Any, sides: Any, bucket: Any, bias: Any, rows: Any, material: Any, layers: Any
) -> Any:
    """What a network says of positions, to the side to move.

    Args:
        positions: [n, 4] packed positions of 8x8.
        sides: [n] side to move of each.
        bucket: which layers to use, or -1 for those of the number of pieces.
        bias: [width] int16.
        rows: [features, width] int16.
        material: [features, 8] int32, worth of each piece by bucket.
        layers: (first_bias [8, 16], first [8, 16, width], second_bias [8, 32], second
            [8, 32, 32], third_bias [8], third [8, 32]): int32 biases, int16 weights.

    Returns:
        units: [n, 2] material and the rest, in 1 / OUTPUT_SCALE.
        won: [n] 1 or -1 where a king is gone or can be captured; units are 0 there.
    """
    n = len(positions)
    half = len(bias) // 2
    units = np.zeros((n, 2), dtype=np.int32)
    won = np.zeros(n, dtype=np.int8)
    totals = np.empty((2, len(bias)), dtype=np.int16)
    leads = np.empty((2, NUM_BUCKETS), dtype=np.int32)
    hidden = np.empty(len(bias), dtype=np.int16)
    inputs = np.zeros(32, dtype=np.int16)
    carried_kings = np.full(2, _NO_KING)
    c0, c1, c2, c3 = ZERO, ZERO, ZERO, ZERO
    for i in range(n):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        won[i] = decided(p0, p1, p2, p3, side)
        if won[i]:
            continue
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
        occupied = s0 | p1 | p2
        changed = (s0 ^ c0) | (p1 ^ c1) | (p2 ^ c2) | (s3 ^ c3)
        few = bit_count(changed) + bit_count(changed) < bit_count(occupied)
        turned = turns(s0, p1, p2, s3)
        kings = ~s0 & p1 & p2
        for viewer in range(2):
            player = np.uint64(viewer)
            king = first_cell(kings & (s3 if viewer else ~s3))
            turn = turned[viewer]
            start = _king_bucket(king ^ turn) * np.uint64(FEATURES_PER_KING)
            if few and carried_kings[viewer] == king:
                left = changed & (c0 | c1 | c2)
                while left:
                    cell = first_cell(left)
                    piece = piece_on(c0, c1, c2, c3, cell)
                    row = start + _feature(piece, cell ^ turn, player)
                    _subtract_row(totals[viewer], rows[row])
                    _subtract_row(leads[viewer], material[row])
                    left &= left - ONE
                left = changed & occupied
            else:
                totals[viewer] = bias
                leads[viewer] = 0
                left = occupied
            while left:
                cell = first_cell(left)
                row = start + _feature(piece_on(s0, p1, p2, s3, cell), cell ^ turn, player)
                _add_row(totals[viewer], rows[row])
                _add_row(leads[viewer], material[row])
                left &= left - ONE
            carried_kings[viewer] = king
            is_mover = player == side
            _multiply_halves(totals[viewer], hidden[:half] if is_mover else hidden[half:])
        c0, c1, c2, c3 = s0, p1, p2, s3
        used = np.int64(bucket_of(bit_count(occupied))) if bucket < 0 else np.int64(bucket)
        lead = np.int64(leads[side, used]) - np.int64(leads[side ^ ONE, used])
        units[i, 0] = _truncated(lead, 2)
        units[i, 1] = _layers(hidden, used, layers, inputs)
    return units, won


@kernel
def decode_leb128(data: Any, values: Any) -> Any:
    """Reads signed LEB128 numbers into `values`; returns how many bytes, -1 if too few."""
    at = 0
    for i in range(len(values)):
        result = np.int64(0)
        shift = 0
        while True:
            if at >= len(data):
                return -1
            byte = np.int64(data[at])
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                if byte & 64:
                    result -= np.int64(1) << shift
                break
        values[i] = result
    return at
