"""Self-play training of one network for both seats.

An update plays a few decisions in every game, turns them into advantages and takes one
step of Adam. The sequence of decisions of a game mixes both players'; as the game is
zero-sum, what the next decision is worth to one player is minus what it is worth to the
other, and generalised advantage estimation runs along the mixed sequence with these signs.

Deviations from the paper: see `losses`; a teacher can be cloned before self-play
(`Settings.clone_updates`), and the blueprint is a running mean of the weights
(`Settings.averaging`); the paper does neither.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from klss_spiel.algorithms.blueprints import network
from klss_spiel.algorithms.blueprints.environment import BatchEnvironment, TrainableGame
from klss_spiel.algorithms.blueprints.losses import ACH, CLONE, Loss, Samples, total_loss
from klss_spiel.arrays import BoolArray, LongArray

Floats = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        loss: of self-play.
        clone_updates: updates that learn the teacher's actions before self-play.
        clone_batch: decisions per step of Adam in these updates; 0 for all of an update. (A
            teacher's actions are no noisy returns: many small steps learn more of them.)
        num_games: games side by side.
        steps: decisions per game and update; their product is the batch.
        width: of the network.
        blocks: residual layers of the network.
        learning_rate: of Adam.
        last_learning_rate: reached after `decay_updates`, linearly.
        decay_updates: see there, in steps of Adam; 0 keeps the rate.
        discount: per decision (gamma).
        trace: of advantage estimation (lambda).
        gradient_norm: gradients are clipped to it.
        averaging: decay per update of the running mean of weights that is the blueprint; 0
            for the last weights.
        seed: of everything.
    """

    loss: Loss = ACH
    clone_updates: int = 0
    clone_batch: int = 0
    num_games: int = 256
    steps: int = 16
    width: int = 256
    blocks: int = 2
    learning_rate: float = 1e-3
    last_learning_rate: float = 1e-4
    decay_updates: int = 0
    discount: float = 0.995
    trace: float = 0.95
    gradient_norm: float = 1.0
    averaging: float = 0.995
    seed: int = 0

    def __post_init__(self) -> None:
        batch = self.num_games * self.steps
        if self.clone_batch and batch % self.clone_batch:
            raise ValueError(
                f"expected a clone_batch that divides the {batch} decisions of an update, "
                f"got {self.clone_batch}"
            )


class Report(NamedTuple):
    """Means over an update."""

    policy_loss: float
    value_loss: float
    entropy: float


def mixed_advantages(
    values: Floats,
    players: LongArray,
    rewards: Floats,
    done: BoolArray,
    discount: float,
    trace: float,
) -> Floats:
    """Advantages along a sequence of decisions of both players.

    Letters: t decisions, g games.

    Args:
        values: [t + 1, g] value of each decision to who makes it.
        players: [t + 1, g] who makes it.
        rewards: [t, g] what the decision won at once for who made it.
        done: [t, g] whether the game ended with it.
        discount: per decision.
        trace: lambda.

    Returns:
        [t, g].
    """
    advantages = np.zeros_like(rewards)
    later = np.zeros(rewards.shape[1], np.float32)
    for t in reversed(range(len(rewards))):
        sign = np.where(players[t + 1] == players[t], 1.0, -1.0).astype(np.float32)
        going_on = np.where(done[t], np.float32(0.0), discount * sign).astype(np.float32)
        error = rewards[t] + going_on * values[t + 1] - values[t]
        later = error + trace * going_on * later
        advantages[t] = later
    return advantages


@functools.partial(jax.jit, static_argnames=("loss", "optimiser"), donate_argnums=(0, 1))
def _improve(
    parameters: network.Parameters,
    optimiser_state: Any,
    samples: Samples,
    loss: Loss,
    optimiser: optax.GradientTransformation,
) -> tuple[network.Parameters, Any, dict[str, jax.Array]]:
    gradient, parts = jax.grad(total_loss, has_aux=True)(parameters, samples, loss)
    changes, optimiser_state = optimiser.update(gradient, optimiser_state, parameters)
    return optax.apply_updates(parameters, changes), optimiser_state, parts


@jax.jit
def _blend(
    average: network.Parameters, now: network.Parameters, kept: jax.Array
) -> network.Parameters:
    blended: network.Parameters = jax.tree.map(lambda a, b: kept * a + (1 - kept) * b, average, now)
    return blended


@functools.cache
def _optimiser(settings: Settings) -> optax.GradientTransformation:
    """One object per settings: a jitted function is compiled anew for every new one."""
    rate: Any = settings.learning_rate
    if settings.decay_updates:
        rate = optax.linear_schedule(
            settings.learning_rate, settings.last_learning_rate, settings.decay_updates
        )
    return optax.chain(optax.clip_by_global_norm(settings.gradient_norm), optax.adam(rate))


class Trainer:
    """A network in training. Mutable.

    The same settings and number of updates give the same network on the same machine.

    Attributes:
        settings: how.
        updates: done so far.
        parameters: the network now.
        average: the running mean of its weights.
    """

    def __init__(self, game: TrainableGame, settings: Settings) -> None:
        """Starts with a random network."""
        self.settings = settings
        self.updates = 0
        self._scale = game.reward_scale
        self._environment: BatchEnvironment = game.environment(settings.num_games, settings.seed)
        self._key = jax.random.key(settings.seed)
        self.parameters = network.init_parameters(
            jax.random.fold_in(self._key, 0),
            game.num_features,
            game.num_actions,
            settings.width,
            settings.blocks,
        )
        self.average = jax.tree.map(jnp.copy, self.parameters)
        self._optimiser = _optimiser(settings)
        self._optimiser_state = self._optimiser.init(self.parameters)

    def start_from(self, parameters: network.Parameters) -> None:
        """Takes the weights of another network of the same shape.

        Raises:
            ValueError: if the shapes differ.
        """
        shapes = [jax.tree.map(np.shape, tree) for tree in (self.parameters, parameters)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"expected weights of shapes {shapes[0]}, got {shapes[1]}")
        self.parameters = jax.tree.map(jnp.array, parameters)
        self.average = jax.tree.map(jnp.copy, self.parameters)

    def update(self) -> Report:
        """Plays a batch of decisions and learns from it."""
        cloning = self.updates < self.settings.clone_updates
        samples = self._play(cloning)
        loss = CLONE if cloning else self.settings.loss
        size = len(samples.action)
        batch = self.settings.clone_batch if cloning and self.settings.clone_batch else size
        for at in range(0, size - batch + 1, batch):
            part = Samples(*(array[at : at + batch] for array in samples))
            self.parameters, self._optimiser_state, parts = _improve(
                self.parameters, self._optimiser_state, part, loss, self._optimiser
            )
        self.updates += 1
        # The mean is over few weights at first: the random start must not linger.
        kept = min(self.settings.averaging, self.updates / (self.updates + 10.0))
        self.average = _blend(self.average, self.parameters, np.float32(kept))
        return Report(float(parts["policy"]), float(parts["value"]), float(parts["entropy"]))

    def _play(self, cloning: bool) -> Samples:
        environment, settings = self._environment, self.settings
        key = jax.random.fold_in(self._key, self.updates + 1)
        features, legal, chosen, probability = [], [], [], []
        values, players, rewards, done = [], [], [], []
        for step in range(settings.steps):
            seen = environment.observe()
            actions, probabilities, value = network.choose(
                self.parameters, seen.features, seen.legal, jax.random.fold_in(key, step)
            )
            action = np.asarray(actions, np.int64)
            if cloning:
                action = environment.teacher_actions(seen.legal)
            outcome = environment.step(action)
            features.append(seen.features)
            legal.append(seen.legal)
            chosen.append(action)
            probability.append(np.asarray(probabilities))
            values.append(np.asarray(value))
            players.append(seen.player)
            sign = np.where(seen.player == 0, 1.0, -1.0)
            rewards.append((sign * outcome.points / self._scale).astype(np.float32))
            done.append(outcome.done)
        seen = environment.observe()
        _, _, value = network.choose(self.parameters, seen.features, seen.legal, key)
        values.append(np.asarray(value))
        players.append(seen.player)
        value_table = np.stack(values)
        advantages = mixed_advantages(
            value_table,
            np.stack(players),
            np.stack(rewards),
            np.stack(done),
            settings.discount,
            settings.trace,
        )
        return Samples(
            features=np.concatenate(features),
            legal=np.concatenate(legal),
            action=np.concatenate(chosen),
            probability=np.concatenate(probability),
            advantage=advantages.reshape(-1),
            target=(advantages + value_table[:-1]).reshape(-1),
        )

    def state(self) -> dict[str, Any]:
        """Everything that decides how training goes on, for checkpoints."""
        return {
            "parameters": jax.tree.map(np.asarray, self.parameters),
            "average": jax.tree.map(np.asarray, self.average),
            "optimiser": jax.tree.map(np.asarray, self._optimiser_state),
            "environment": dict(self._environment.state()),
        }

    def restore(self, updates: int, state: dict[str, Any]) -> None:
        """Goes on from what `state` returned after so many updates."""
        self.updates = updates
        self.parameters = jax.tree.map(jnp.asarray, state["parameters"])
        self.average = jax.tree.map(jnp.asarray, state["average"])
        self._optimiser_state = jax.tree.map(jnp.asarray, state["optimiser"])
        self._environment.restore(state["environment"])
