"""Regret minimisers for simplices, as values.

A minimiser keeps one number per action, its *regret*, and sees each iteration
the *instant regret* of every action: the value of the action minus the value of
the strategy that was played. Its next strategy is proportional to the positive
part of `scores`, uniform where no score is positive. Both functions are
elementwise, so one call serves all infosets at once in any layout.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class RegretMinimizer:
    """One rule for turning regrets into strategies.

    Attributes:
      name: for tables and error messages.
      accumulate: (regret, instant regret, iteration) -> new regret. The first
        iteration is number 1.
      scores: (regret, last instant regret) -> scores of the next strategy.
    """

    name: str
    accumulate: Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
    scores: Callable[[jax.Array, jax.Array], jax.Array]


def _sum(regret: jax.Array, instant: jax.Array, iteration: jax.Array) -> jax.Array:
    del iteration
    return regret + instant


def _positive_sum(regret: jax.Array, instant: jax.Array, iteration: jax.Array) -> jax.Array:
    del iteration
    return jnp.maximum(regret + instant, 0.0)


def _regret_itself(regret: jax.Array, last_instant: jax.Array) -> jax.Array:
    del last_instant
    return regret


def _optimistic(regret: jax.Array, last_instant: jax.Array) -> jax.Array:
    return regret + last_instant


@dataclasses.dataclass(frozen=True)
class _Discounting:
    """`accumulate` of discounted regret matching; a value, so that it compares and pickles."""

    alpha: float
    beta: float

    def __call__(self, regret: jax.Array, instant: jax.Array, iteration: jax.Array) -> jax.Array:
        total = regret + instant
        up = iteration.astype(total.dtype) ** self.alpha
        down = iteration.astype(total.dtype) ** self.beta
        return total * jnp.where(total > 0.0, up / (up + 1.0), down / (down + 1.0))


def discounted_rm(alpha: float = 1.5, beta: float = 0.0) -> RegretMinimizer:
    """Discounted regret matching (Brown and Sandholm 2019, section 4).

    After iteration t positive regrets are multiplied by t^alpha / (t^alpha + 1)
    and negative ones by t^beta / (t^beta + 1). Their gamma weights the average:
    see the averaging schemes of `cfr`.
    """
    return RegretMinimizer(f"DCFR({alpha:g},{beta:g})", _Discounting(alpha, beta), _regret_itself)


# Regret matching (Hart and Mas-Colell 2000), the minimiser of CFR.
RM = RegretMinimizer("RM", _sum, _regret_itself)

# Regret matching+ (Tammelin 2014), the minimiser of CFR+.
RM_PLUS = RegretMinimizer("RM+", _positive_sum, _regret_itself)

# Predictive regret matching+ (Farina, Kroer and Sandholm 2021, algorithm PRM+)
# with the last instant regret as the prediction of the next; PCFR+ of Obscuro.
PRM_PLUS = RegretMinimizer("PRM+", _positive_sum, _optimistic)

# The parameters recommended by Brown and Sandholm, with quadratic averaging.
DISCOUNTED_RM = discounted_rm()

MINIMIZERS = {"rm": RM, "rm+": RM_PLUS, "prm+": PRM_PLUS, "dcfr": DISCOUNTED_RM}
