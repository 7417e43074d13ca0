"""Learning what an opponent does next from the own point of view.

OLSS paper, appendix D.1: a network of the blueprint's kind is trained by cross-entropy on the
opponent's actual moves in self-play of the blueprint; what it gives is the mixture over all
hands the opponent may hold (equation 12).
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from klss_spiel import weights
from klss_spiel.algorithms.blueprints import network
from klss_spiel.algorithms.blueprints.blueprint import NetworkBlueprint
from klss_spiel.algorithms.blueprints.environment import Chooser, EncodedGame, Features
from klss_spiel.arrays import BoolArray, LongArray

KIND = "environment_model"


class OpponentMoves(NamedTuple):
    """What opponents did. Letters: n moments, f features, m moves.

    Attributes:
        features: [n, f] what the player saw before the opponent's move.
        possible: [n, m] moves that were possible as far as the player knew.
        move: [n] what the opponent did.
    """

    features: Features
    possible: BoolArray
    move: LongArray


class ObservableGame(EncodedGame, Protocol):
    """A game whose opponents' moves can be watched."""

    @property
    def num_moves(self) -> int:
        """M."""

    def opponent_moves(
        self, choose: Chooser, num_games: int, batch: int, seed: int
    ) -> Iterator[OpponentMoves]:
        """Batches from self-play, without end."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to train; learning rate and batch are those of the paper's appendix D.1.

    Attributes:
        num_games: games side by side.
        batch: moves per update.
        width: of the network.
        blocks: residual layers of the network.
        learning_rate: of Adam.
        seed: of everything.
    """

    num_games: int = 256
    batch: int = 8192
    width: int = 256
    blocks: int = 2
    learning_rate: float = 1e-3
    seed: int = 0


def _loss(parameters: network.Parameters, samples: OpponentMoves) -> jax.Array:
    logits, _ = network.apply(parameters, jnp.asarray(samples.features))
    possible = jnp.asarray(samples.possible)
    log_probability = jax.nn.log_softmax(network.masked(logits, possible))
    return -jnp.take_along_axis(log_probability, samples.move[:, None], axis=1).mean()


@functools.partial(jax.jit, static_argnames="optimiser")
def _improve(
    parameters: network.Parameters,
    state: Any,
    samples: OpponentMoves,
    optimiser: optax.GradientTransformation,
) -> tuple[network.Parameters, Any, jax.Array]:
    loss, gradient = jax.value_and_grad(_loss)(parameters, samples)
    changes, state = optimiser.update(gradient, state, parameters)
    return optax.apply_updates(parameters, changes), state, loss


class ModelTrainer:
    """A model in training. Mutable; the same seed and number of updates give the same one.

    Attributes:
        parameters: the network now.
        updates: done so far.
    """

    def __init__(self, game: ObservableGame, blueprint: NetworkBlueprint, settings: Settings):
        """Starts with a random network."""
        self._batches = game.opponent_moves(
            blueprint.chooser(settings.seed), settings.num_games, settings.batch, settings.seed
        )
        self.parameters = network.init_parameters(
            jax.random.key(settings.seed),
            game.num_features,
            game.num_moves,
            settings.width,
            settings.blocks,
        )
        self._optimiser = optax.adam(settings.learning_rate)
        self._state = self._optimiser.init(self.parameters)
        self.updates = 0

    def update(self) -> tuple[float, float]:
        """Learns from a batch; returns the cross-entropy, and that of guessing blindly."""
        samples = next(self._batches)
        self.parameters, self._state, loss = _improve(
            self.parameters, self._state, samples, self._optimiser
        )
        self.updates += 1
        return float(loss), float(np.log(samples.possible.sum(axis=1)).mean())


def save_model(
    path: str | os.PathLike[str],
    game: ObservableGame,
    parameters: network.Parameters,
    seed: int,
    extra: Mapping[str, Any],
    command: str,
) -> None:
    """Writes a model with what it was trained for."""
    metadata = weights.Metadata(
        kind=KIND,
        game=game.name,
        feature_version=game.feature_version,
        seed=seed,
        extra=dict(extra),
        command=command,
    )
    weights.save(path, jax.tree.map(np.asarray, parameters), metadata)


def load_model(path: str | os.PathLike[str], game: ObservableGame) -> NetworkBlueprint:
    """Reads a model that was trained for this game, or refuses it; its values mean nothing."""
    found = weights.load(path, kind=KIND, game=game.name, feature_version=game.feature_version)
    return NetworkBlueprint(os.fspath(path), found.tree, 1.0)
