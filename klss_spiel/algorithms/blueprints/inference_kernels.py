"""The network of `network` without gradients: the parts that are not products of matrices.

Letters: n rows, f features, w width, a actions, c of them that are legal anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.kernels import kernel


@kernel
def first_layer(features: Any, weight: Any, bias: Any, hidden: Any) -> None:
    """Writes relu(features weight + bias) ([n, w]); most features are 0 and cost little."""
    width = weight.shape[1]
    index = np.empty(features.shape[1], np.int64)
    for i in range(features.shape[0]):
        number = 0
        for f in range(features.shape[1]):
            index[number] = f
            number += features[i, f] != 0
        out = hidden[i]
        out[:] = bias
        # Four at a time: sums are loaded and stored less often.
        at = 0
        while at + 4 <= number:
            first, second, third, fourth = index[at], index[at + 1], index[at + 2], index[at + 3]
            x, y, z, u = (
                features[i, first],
                features[i, second],
                features[i, third],
                features[i, fourth],
            )
            for j in range(width):
                out[j] += (
                    x * weight[first, j]
                    + y * weight[second, j]
                    + z * weight[third, j]
                    + u * weight[fourth, j]
                )
            at += 4
        while at < number:
            x = features[i, index[at]]
            for j in range(width):
                out[j] += x * weight[index[at], j]
            at += 1
        for j in range(width):
            out[j] = max(out[j], np.float32(0))


@kernel
def add_block(hidden: Any, product: Any, bias: Any) -> None:
    """Adds relu(product + bias) to `hidden` ([n, w])."""
    for i in range(hidden.shape[0]):
        for j in range(hidden.shape[1]):
            hidden[i, j] += max(product[i, j] + bias[j], np.float32(0))


@kernel
def masked_softmax(logits: Any, legal: Any, columns: Any, probabilities: Any) -> None:
    """Writes probabilities of legal actions; the rest of `probabilities` is left as it is.

    Args:
        logits: [n, c].
        legal: [n, a]; a row without any stays as it is.
        columns: [c] actions of the logits; those that are legal anywhere.
        probabilities: [n, a].
    """
    for i in range(logits.shape[0]):
        most = np.float32(-np.inf)
        for j in range(columns.shape[0]):
            if legal[i, columns[j]]:
                most = max(most, logits[i, j])
        total = np.float32(0)
        for j in range(columns.shape[0]):
            if legal[i, columns[j]]:
                share = np.exp(logits[i, j] - most)
                probabilities[i, columns[j]] = share
                total += share
        for j in range(columns.shape[0] if total > 0 else 0):
            probabilities[i, columns[j]] /= total
