"""A trained network as a blueprint, and its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from klss_spiel import weights
from klss_spiel.algorithms.blueprints import inference_kernels as kernels
from klss_spiel.algorithms.blueprints import network
from klss_spiel.algorithms.blueprints.environment import Chooser, Features, TrainableGame
from klss_spiel.arrays import BoolArray, FloatArray, LongArray

KIND = "blueprint"
# So many rows at a time stay in a processor's cache.
_ROWS_AT_ONCE = 256


class NetworkBlueprint:
    """Probabilities and values from a network; see `klss_spiel.search_game.Blueprint`.

    Rows of features stand for infosets. Values are in units of the game.

    Attributes:
        name: for reports.
        parameters: of the network.
        scale: units of the game per unit of the network's value.
        num_actions: of the game.
    """

    def __init__(self, name: str, parameters: network.Parameters, scale: float) -> None:
        self.name = name
        self.parameters = jax.tree.map(_contiguous, parameters)
        self.scale = scale
        self.num_actions = int(parameters["policy"]["bias"].shape[0])

    def evaluate(
        self, features: Features, legal: BoolArray
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Probabilities [n, a] of legal actions ([n, a]) and values [n] of features [n, f]."""
        probabilities = np.zeros(legal.shape, np.float32)
        values = np.zeros(len(features), np.float32)
        # Columns of actions that nobody may take are left out.
        columns = np.flatnonzero(legal.any(axis=0))
        policy = self.parameters["policy"]
        weight, bias = policy["weight"][:, columns], policy["bias"][columns]
        for start in range(0, len(features), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            hidden = self._hidden(features[part])
            logits = hidden @ weight + bias
            kernels.masked_softmax(logits, legal[part], columns, probabilities[part])
            value = self.parameters["value"]
            values[part] = (hidden @ value["weight"] + value["bias"])[:, 0]
        return probabilities, values * np.float32(self.scale)

    def _hidden(self, features: Features) -> npt.NDArray[np.float32]:
        """[n, w] what the heads see; as `network.apply`."""
        layer = self.parameters["input"]
        hidden = np.empty((len(features), len(layer["bias"])), np.float32)
        kernels.first_layer(features, layer["weight"], layer["bias"], hidden)
        for block in self.parameters["blocks"]:
            kernels.add_block(hidden, hidden @ block["weight"], block["bias"])
        return hidden

    def chooser(self, seed: int, sampled: bool = True) -> Chooser:
        """A player of many games: samples from the strategy, or plays its most likely action."""
        rng = np.random.default_rng(seed)

        def choose(features: Features, legal: BoolArray) -> LongArray:
            probabilities, _ = self.evaluate(features, legal)
            if not sampled:
                likeliest: LongArray = probabilities.argmax(axis=1)
                return likeliest
            return sample_rows(probabilities, rng)

        return choose


def _contiguous(array: Any) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(array, np.float32)


def sample_rows(probabilities: npt.NDArray[Any], rng: np.random.Generator) -> LongArray:
    """[n] one column of each row ([n, a]), by its probabilities."""
    cumulative: FloatArray = np.cumsum(probabilities, axis=1, dtype=np.float64)
    points = rng.random(len(probabilities)) * cumulative[:, -1]
    column = (cumulative <= points[:, None]).sum(axis=1)
    found: LongArray = np.minimum(column, probabilities.shape[1] - 1).astype(np.int64)
    return found


def save_blueprint(
    path: str | os.PathLike[str],
    game: TrainableGame,
    parameters: network.Parameters,
    seed: int,
    extra: Mapping[str, Any],
    command: str | None = None,
) -> None:
    """Writes a network with what it was trained for."""
    more: dict[str, Any] = {} if command is None else {"command": command}
    metadata = weights.Metadata(
        kind=KIND,
        game=game.name,
        feature_version=game.feature_version,
        seed=seed,
        extra={"reward_scale": game.reward_scale, **extra},
        **more,
    )
    weights.save(path, jax.tree.map(np.asarray, parameters), metadata)


def load_blueprint(path: str | os.PathLike[str], game: TrainableGame) -> NetworkBlueprint:
    """Reads a network that was trained for this game, or refuses it."""
    found = weights.load(path, kind=KIND, game=game.name, feature_version=game.feature_version)
    scale = float(found.metadata.extra["reward_scale"])
    return NetworkBlueprint(os.fspath(path), found.tree, scale)
