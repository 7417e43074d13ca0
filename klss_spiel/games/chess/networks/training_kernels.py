"""Compiled loss, gradient and Adam of the package's own network (`training`).

A position has at most 32 of 768 inputs per player, so only the rows of its pieces are
read and changed: several hundred thousand positions per second on one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.games.chess.networks.inputs import MAX_PIECES, bucket_of, list_pieces
from klss_spiel.games.chess.networks.network_kernels import feature
from klss_spiel.kernels import kernel


@kernel
def _add(total: Any, row: Any) -> Any:
    for j in range(len(total)):
        total[j] += row[j]


@kernel
def _weigh(units: Any, weights: Any, products: Any) -> Any:
    """Adds squares of units, cut to 0 .. 1, times weights to `products`, unit by unit."""
    zero, one = units.dtype.type(0), units.dtype.type(1)
    for j in range(len(units)):
        cut = min(max(units[j], zero), one)
        products[j] += cut * cut * weights[j]


@kernel
def _push_back(
    units: Any, weights: Any, slope: Any, weights_gradient: Any, units_slope: Any
) -> Any:
    """Gradient of the output weights (added), and slopes at the units (written)."""
    zero, one, two = units.dtype.type(0), units.dtype.type(1), units.dtype.type(2)
    for j in range(len(units)):
        cut = min(max(units[j], zero), one)
        weights_gradient[j] += slope * cut * cut
        inside = one if zero < units[j] < one else zero
        units_slope[j] = slope * weights[j] * two * cut * inside


@kernel
def predict(
    positions: Any, sides: Any, order: Any, bias: Any, rows: Any, output_bias: Any, output: Any
) -> Any:
    """[n] numbers before tanh at positions[order], to the side to move; kings present."""
    width = len(bias)
    zero = bias.dtype.type(0)
    found = np.empty(len(order), dtype=bias.dtype)
    units = np.empty(width, dtype=bias.dtype)
    products = np.empty(width, dtype=bias.dtype)
    kinds = np.empty(MAX_PIECES, dtype=np.uint64)
    cells = np.empty((2, MAX_PIECES), dtype=np.uint64)
    for i in range(len(order)):
        position = positions[order[i]]
        side = np.uint64(sides[order[i]])
        count = list_pieces(position[0], position[1], position[2], position[3], side, kinds, cells)
        bucket = bucket_of(count)
        products[:] = zero
        for viewer in range(2):
            player = np.uint64(viewer)
            units[:] = bias
            for k in range(count):
                _add(units, rows[feature(kinds[k], cells[viewer, k], player)])
            _weigh(units, output[bucket, side ^ player], products)
        total = output_bias[bucket]
        for j in range(width):
            total += products[j]
        found[i] = total
    return found


@kernel
def loss_and_gradient(
    positions: Any,
    sides: Any,
    targets: Any,
    order: Any,
    bias: Any,
    rows: Any,
    output_bias: Any,
    output: Any,
    gradient: Any,
) -> Any:
    """Mean squared error of a batch, and its gradient.

    Args:
        positions: [n, 4] packed positions of 8x8 with both kings.
        sides: [n] side to move of each.
        targets: [n] values to the side to move.
        order: [batch] which of them.
        bias: [width] parameters, as in `network.Parameters`, and so on.
        rows: [768, width].
        output_bias: [8].
        output: [8, 2, width].
        gradient: four arrays of these shapes, overwritten.
    """
    bias_gradient, rows_gradient, output_bias_gradient, output_gradient = gradient
    bias_gradient[:] = 0
    rows_gradient[:] = 0
    output_bias_gradient[:] = 0
    output_gradient[:] = 0
    width = len(bias)
    zero = bias.dtype.type(0)
    units = np.empty((2, width), dtype=bias.dtype)
    products = np.empty(width, dtype=bias.dtype)
    units_slope = np.empty(width, dtype=bias.dtype)
    kinds = np.empty(MAX_PIECES, dtype=np.uint64)
    cells = np.empty((2, MAX_PIECES), dtype=np.uint64)
    share = 2.0 / len(order)
    loss = 0.0
    for i in range(len(order)):
        position = positions[order[i]]
        side = np.uint64(sides[order[i]])
        count = list_pieces(position[0], position[1], position[2], position[3], side, kinds, cells)
        bucket = bucket_of(count)
        products[:] = zero
        for viewer in range(2):
            player = np.uint64(viewer)
            units[viewer] = bias
            for k in range(count):
                _add(units[viewer], rows[feature(kinds[k], cells[viewer, k], player)])
            _weigh(units[viewer], output[bucket, side ^ player], products)
        total = output_bias[bucket]
        for j in range(width):
            total += products[j]
        value = np.tanh(total)
        error = value - targets[order[i]]
        loss += error * error
        slope = bias.dtype.type(share * error * (1.0 - value * value))
        output_bias_gradient[bucket] += slope
        for viewer in range(2):
            player = np.uint64(viewer)
            seat = side ^ player
            _push_back(
                units[viewer],
                output[bucket, seat],
                slope,
                output_gradient[bucket, seat],
                units_slope,
            )
            _add(bias_gradient, units_slope)
            for k in range(count):
                _add(rows_gradient[feature(kinds[k], cells[viewer, k], player)], units_slope)
    return loss / len(order)


@kernel
def adam_step(
    parameter: Any, gradient: Any, mean: Any, square: Any, step: Any, rate: Any, bound: Any
) -> Any:
    """One step of Adam (Kingma and Ba 2015, Algorithm 1) on flat arrays, then cuts to a bound.

    Args:
        parameter: [n] changed.
        gradient: [n].
        mean: [n] of gradients, changed.
        square: [n] mean of squared gradients, changed.
        step: number of this step, from 1 on.
        rate: of learning.
        bound: largest size of a parameter.
    """
    kind = parameter.dtype.type
    keep_mean, keep_square, least = kind(0.9), kind(0.999), kind(1e-8)
    one = kind(1.0)
    mean_scale = kind(rate / (1.0 - 0.9**step))
    square_scale = kind(1.0 / (1.0 - 0.999**step))
    most = kind(bound)
    for i in range(len(parameter)):
        mean[i] = keep_mean * mean[i] + (one - keep_mean) * gradient[i]
        square[i] = keep_square * square[i] + (one - keep_square) * gradient[i] * gradient[i]
        changed = parameter[i] - mean_scale * mean[i] / (np.sqrt(square[i] * square_scale) + least)
        parameter[i] = min(max(changed, -most), most)
