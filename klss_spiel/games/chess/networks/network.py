"""`network`: the package's own evaluation of 8x8 chess.

    board as a player sees it (768 inputs) -> 256 units, for both players
    squares of the units, cut to 0 .. 1 -> 1 number, by 8 sets of weights
    value = tanh(number), to the side to move

A player's view (`inputs`) has a 1 for each piece by owner, kind and cell. Both players
share the first layer; the output weights tell the side to move's units from the other's
and are chosen by the number of pieces. Weights are int16: an activation of 1 is 255, the
largest output weight of a set is 127. They are bounded so that no sum can overflow on any
board.

Where a king is gone or can be captured the network is not asked: the value is 1 or -1.
`run.train_evaluation` makes the file; `resolver(network)` is how it is meant to be used,
as it was trained on quiet positions.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel import weights
from klss_spiel.arrays import U64Array
from klss_spiel.games.chess.networks import network_kernels as kernels
from klss_spiel.games.chess.networks.inputs import MAX_PIECES, NUM_BUCKETS
from klss_spiel.games.chess.networks.nnue import check_board
from klss_spiel.games.chess.packed import positions as packed

SHIPPED: Final = "chess_network"

# Sums of a bias and a row for each of 64 pieces stay within int16.
LARGEST_ROW: Final = 1.9

_KIND: Final = "chess_network"
_GAME: Final = "python_dark_chess()"
_FEATURE_VERSION: Final = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Parameters:
    """Weights as training has them, in floating point.

    Attributes:
        bias: [256].
        rows: [768, 256].
        output_bias: [8].
        output: [8, 2, 256].
    """

    bias: npt.NDArray[Any]
    rows: npt.NDArray[Any]
    output_bias: npt.NDArray[Any]
    output: npt.NDArray[Any]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True, eq=False)
class Network:
    """A network in integers.

    Attributes:
        bias: [256] int16.
        rows: [768, 256] int16.
        output: [8, 2, 256] int16.
        output_scale: [8] float32, worth of a unit of the output's sums.
        output_bias: [8] float32.
    """

    bias: npt.NDArray[np.int16]
    rows: npt.NDArray[np.int16]
    output: npt.NDArray[np.int16]
    output_scale: npt.NDArray[np.float32]
    output_bias: npt.NDArray[np.float32]

    @classmethod
    def rounded(cls, parameters: Parameters) -> Network:
        """The network nearest to parameters in floating point."""

        def first(array: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
            cut = np.clip(array, -LARGEST_ROW, LARGEST_ROW)
            units: npt.NDArray[np.int16] = np.rint(cut * kernels.ONE_ACTIVATION).astype(np.int16)
            return units

        output = parameters.output.astype(np.float64)
        largest = np.abs(output).max(axis=(1, 2))
        step = np.where(largest > 0.0, largest, 1.0) / kernels.LARGEST_WEIGHT
        return cls(
            first(parameters.bias),
            first(parameters.rows),
            np.rint(output / step[:, None, None]).astype(np.int16),
            (step / kernels.ONE_ACTIVATION**2).astype(np.float32),
            parameters.output_bias.astype(np.float32),
        )

    def evaluate(
        self, board: packed.Layout, positions: U64Array, side: packed.Sides
    ) -> npt.NDArray[np.float32]:
        """[n] White's expected utility at positions [n, 4] of 8x8."""
        check_board(board.width, board.height, "network")
        words, sides = packed.checked(positions), packed.side_array(side, len(positions))
        values: npt.NDArray[np.float32] = kernels.evaluate_all(
            words,
            sides,
            self.bias,
            self.rows,
            self.output,
            self.output_scale,
            self.output_bias,
        )
        return values


def digest_of(network: Network) -> str:
    """The first digits of a hash of all weights."""
    found = hashlib.sha256()
    for field in _FIELDS:
        found.update(np.ascontiguousarray(getattr(network, field.name)).tobytes())
    return found.hexdigest()[:12]


def save_network(
    path: str | os.PathLike[str],
    network: Network,
    seed: int | None,
    command: str,
    licence: str,
    extra: Mapping[str, Any],
) -> None:
    """Writes a network with how it was made."""
    metadata = weights.Metadata(
        kind=_KIND,
        game=_GAME,
        feature_version=_FEATURE_VERSION,
        seed=seed,
        command=command,
        licence=licence,
        extra=extra,
    )
    weights.save(path, {f.name: getattr(network, f.name) for f in _FIELDS}, metadata)


def load_network(path: str | os.PathLike[str] = SHIPPED) -> Network:
    """A network from a file or the one that is shipped.

    Raises:
        WeightsError: the file is none of this kind, or sums of its weights could overflow.
    """
    found = weights.load(path, kind=_KIND, feature_version=_FEATURE_VERSION)
    tree = found.tree
    names = {field.name for field in _FIELDS}
    if not isinstance(tree, dict) or set(tree) != names:
        raise weights.WeightsError(f"{path}: expected the arrays {sorted(names)}, got {tree!r:.80}")
    network = Network(**tree)
    expected = {
        "bias": ((kernels.WIDTH,), np.int16),
        "rows": ((kernels.NUM_FEATURES, kernels.WIDTH), np.int16),
        "output": ((NUM_BUCKETS, 2, kernels.WIDTH), np.int16),
        "output_scale": ((NUM_BUCKETS,), np.float32),
        "output_bias": ((NUM_BUCKETS,), np.float32),
    }
    for name, (shape, dtype) in expected.items():
        array = tree[name]
        if array.shape != shape or array.dtype != dtype:
            raise weights.WeightsError(
                f"{path}: expected {name} {list(shape)} of {np.dtype(dtype)}, "
                f"got {list(array.shape)} of {array.dtype}"
            )
    _check_bounds(path, network)
    return network


def _check_bounds(path: str | os.PathLike[str], network: Network) -> None:
    """Refuses weights with which sums of some board could overflow."""
    rows, bias = (np.abs(a.astype(np.int64)) for a in (network.rows, network.bias))
    if (bias + MAX_PIECES * rows.max(axis=0) > np.iinfo(np.int16).max).any():
        raise weights.WeightsError(f"{path}: sums of 64 rows do not fit 16 bits")
    # A player's 256 products of 255^2 * 127 fit 32 bits.
    if np.abs(network.output.astype(np.int64)).max() > kernels.LARGEST_WEIGHT:
        raise weights.WeightsError(f"{path}: output weights beyond {kernels.LARGEST_WEIGHT}")
    if not (np.isfinite(network.output_scale).all() and np.isfinite(network.output_bias).all()):
        raise weights.WeightsError(f"{path}: output scales or biases are no finite numbers")


@functools.lru_cache(maxsize=4)
def _cached(path: str) -> Network:
    return load_network(path)


def shipped_network() -> Network:
    """The network that comes with the package; read once."""
    return _cached(SHIPPED)


_FIELDS = dataclasses.fields(Network)
