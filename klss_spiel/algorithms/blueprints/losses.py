"""Losses of actor-critic training, as values.

ACH: actor-critic hedge (Fu et al., "Actor-Critic Policy Optimization in a Large-Scale
Imperfect-Information Game", ICLR 2022), which moves the centred logit of the action taken by
the advantage over the probability it was taken with. PPO: Schulman et al. 2017. Constants
of both: OLSS paper, appendix D, table 4.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from klss_spiel.algorithms.blueprints import network


class Samples(NamedTuple):
    """Decisions to learn from. Letters: n decisions, f features, a actions.

    Attributes:
        features: [n, f].
        legal: [n, a].
        action: [n] what was done.
        probability: [n] with which probability.
        advantage: [n].
        target: [n] what the value should have been.
    """

    features: Any
    legal: Any
    action: Any
    probability: Any
    advantage: Any
    target: Any


@dataclasses.dataclass(frozen=True)
class Loss:
    """Which loss, with its constants.

    Attributes:
        name: "ach", "ppo", or "clone" for learning a teacher's actions.
        entropy: weight of the entropy (beta).
        value: weight of the squared error of values (alpha); half of it counts.
        clip: bound of the change of a probability (epsilon).
        logit_bound: of a centred logit (l_th); ACH only.
        step: scale of the policy's part (eta); ACH only.
        probability_floor: least probability to divide by; ACH only, not in the paper.
        normalise: whether advantages are scaled to mean 0 and deviation 1; PPO only.
    """

    name: str
    entropy: float
    value: float = 0.5
    clip: float = 0.5
    logit_bound: float = 8.0
    step: float = 1.0
    probability_floor: float = 0.02
    normalise: bool = False


# A smaller network that learns for minutes instead of days needs more entropy than the
# paper's 5e-4 to keep trying things.
ACH = Loss("ach", entropy=5e-3)
PPO = Loss("ppo", entropy=0.01, normalise=True)
CLONE = Loss("clone", entropy=0.0)
LOSSES = {loss.name: loss for loss in (ACH, PPO, CLONE)}


def total_loss(
    parameters: network.Parameters, samples: Samples, loss: Loss
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The loss, and its parts for reports."""
    logits, values = network.apply(parameters, samples.features)
    log_probability = jax.nn.log_softmax(network.masked(logits, samples.legal))
    probability = jnp.exp(log_probability)
    index = samples.action[:, None]
    log_chosen = jnp.take_along_axis(log_probability, index, axis=1)[:, 0]
    ratio = jnp.exp(log_chosen) / samples.probability
    advantage = samples.advantage
    if loss.normalise:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    if loss.name == "ach":
        number = samples.legal.sum(axis=1)
        mean = jnp.where(samples.legal, logits, 0.0).sum(axis=1) / number
        centred = jnp.take_along_axis(logits, index, axis=1)[:, 0] - mean
        rising = (advantage >= 0) & (ratio < 1 + loss.clip) & (centred < loss.logit_bound)
        falling = (advantage < 0) & (ratio > 1 - loss.clip) & (centred > -loss.logit_bound)
        weight = jnp.where(rising | falling, loss.step, 0.0)
        divisor = jnp.maximum(samples.probability, loss.probability_floor)
        policy = -(weight * centred / divisor * advantage).mean()
    elif loss.name == "ppo":
        clipped = jnp.clip(ratio, 1 - loss.clip, 1 + loss.clip)
        policy = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
    else:
        policy = -log_chosen.mean()
    value = 0.5 * jnp.square(values - samples.target).mean()
    safe = jnp.where(samples.legal, log_probability, 0.0)
    entropy = -(probability * safe).sum(axis=1).mean()
    total = policy + loss.value * value - loss.entropy * entropy
    return total, {"policy": policy, "value": value, "entropy": entropy}
