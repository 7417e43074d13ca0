"""Fits the package's own network to values of positions.

    trainer = Trainer(Settings(), seed=0)
    for epoch in range(settings.epochs):
        loss = trainer.epoch(data)
    network = Network.rounded(trainer.parameters)

The error is the mean square of tanh(number) less the target, minimised by Adam over
batches in an order that follows from seed and epoch: the same data, settings and seed give
the same network. The rate of learning falls from epoch to epoch.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess.networks import network_kernels, training_kernels
from klss_spiel.games.chess.networks.inputs import NUM_BUCKETS
from klss_spiel.games.chess.networks.network import (
    LARGEST_ROW,
    Parameters,
)
from klss_spiel.games.chess.packed import positions as packed

State = dict[str, dict[str, npt.NDArray[Any]]]

_NO_BOUND: Final = 100.0
_LARGEST_OUTPUT: Final = 1.98  # one large weight would make the others coarse
_BOUNDS: Final = {
    "bias": LARGEST_ROW,
    "rows": LARGEST_ROW,
    "output_bias": _NO_BOUND,
    "output": _LARGEST_OUTPUT,
}
_FIRST_BIAS: Final = 0.2  # units start where their squares have a slope
_FIRST_SPREAD: Final = 0.08


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        epochs: passes over the data.
        batch: positions per step.
        rate: of learning in the first epoch.
        last_rate: in the last epoch; geometric in between.
    """

    epochs: int = 12
    batch: int = 8192
    rate: float = 2e-3
    last_rate: float = 2e-5

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch) < 1 or min(self.rate, self.last_rate) <= 0.0:
            raise ValueError(f"expected positive numbers to train with, got {self}")

    def rate_of(self, epoch: int) -> float:
        """Rate of learning of an epoch, from 0 on."""
        share = epoch / max(self.epochs - 1, 1)
        return float(self.rate * (self.last_rate / self.rate) ** share)


@dataclasses.dataclass(frozen=True, eq=False)
class Labelled:
    """Positions with values.

    Attributes:
        positions: [n, 4] packed positions of 8x8 with both kings.
        sides: [n] side to move.
        targets: [n] float32, values to the side to move.
    """

    positions: U64Array
    sides: packed.SideArray
    targets: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.targets)


def first_parameters(rng: np.random.Generator) -> Parameters:
    """Where training starts."""
    width = network_kernels.WIDTH
    rows = rng.normal(0.0, _FIRST_SPREAD, (network_kernels.NUM_FEATURES, width))
    output = rng.normal(0.0, 1.0 / np.sqrt(2.0 * width), (NUM_BUCKETS, 2, width))
    # All numbers of pieces start alike.
    output[:] = output[0]
    return Parameters(
        np.full(width, _FIRST_BIAS, dtype=np.float32),
        rows.astype(np.float32),
        np.zeros(NUM_BUCKETS, dtype=np.float32),
        output.astype(np.float32),
    )


class Trainer:
    """Parameters and what Adam remembers of them. Mutable."""

    def __init__(self, settings: Settings, seed: int, parameters: Parameters | None = None) -> None:
        """Starts at `parameters`, or at random ones."""
        self.settings = settings
        self.epochs = 0
        self._seed = seed
        rng = np.random.default_rng([seed, 0])
        self.parameters = parameters or first_parameters(rng)
        arrays = self.parameters.arrays()
        self._means = {name: np.zeros_like(array) for name, array in arrays.items()}
        self._squares = {name: np.zeros_like(array) for name, array in arrays.items()}
        self._gradient = tuple(np.zeros_like(array) for array in arrays.values())
        self._steps = 0

    def state(self) -> State:
        """Everything that training changes, for a checkpoint."""
        return {
            "parameters": self.parameters.arrays(),
            "means": self._means,
            "squares": self._squares,
            "steps": {"steps": np.array(self._steps)},
        }

    def restore(self, epochs: int, state: State) -> None:
        """Goes on from a checkpoint."""
        self.epochs = epochs
        self.parameters = Parameters(**state["parameters"])
        self._means, self._squares = state["means"], state["squares"]
        self._steps = int(state["steps"]["steps"])

    def epoch(self, data: Labelled, watch: Callable[[int], None] | None = None) -> float:
        """One pass over the data; returns the mean loss.

        Args:
            data: at least one position.
            watch: is told after every step how many positions are done.
        """
        if not len(data):
            raise ValueError("expected at least one position to train on, got none")
        rng = np.random.default_rng([self._seed, 1, self.epochs])
        order = rng.permutation(len(data))
        rate = self.settings.rate_of(self.epochs)
        total = 0.0
        for start in range(0, len(order), self.settings.batch):
            batch = order[start : start + self.settings.batch]
            total += self._step(data, batch, rate) * len(batch)
            if watch is not None:
                watch(start + len(batch))
        self.epochs += 1
        return total / len(data)

    def _step(self, data: Labelled, batch: npt.NDArray[np.int64], rate: float) -> float:
        arrays = self.parameters.arrays()
        loss = training_kernels.loss_and_gradient(
            data.positions,
            data.sides,
            data.targets,
            batch,
            self.parameters.bias,
            self.parameters.rows,
            self.parameters.output_bias,
            self.parameters.output,
            self._gradient,
        )
        self._steps += 1
        for (name, array), gradient in zip(arrays.items(), self._gradient, strict=True):
            training_kernels.adam_step(
                array.reshape(-1),
                gradient.reshape(-1),
                self._means[name].reshape(-1),
                self._squares[name].reshape(-1),
                self._steps,
                rate,
                _BOUNDS[name],
            )
        return float(loss)


def predict(parameters: Parameters, data: Labelled) -> npt.NDArray[Any]:
    """[n] values to the side to move, in floating point."""
    everything = np.arange(len(data))
    numbers = training_kernels.predict(
        data.positions, data.sides, everything, *parameters.arrays().values()
    )
    values: npt.NDArray[Any] = np.tanh(numbers)
    return values
