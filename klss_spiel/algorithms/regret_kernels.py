"""Compiled steps of CFR at one infoset, shared by all compiled loops of the package.

All functions work on flat vectors over sequences of which an infoset owns the
range [first, last); unsigned bounds are fastest. What a minimiser does is passed
as numbers: `rule(minimizer)` once, `at_iteration` once per iteration.

    numbers = rule(PRM_PLUS)                       # Python, before the loop
    step = at_iteration(numbers, t)                # compiled, first iteration is 1
    expected = expected_value(first, last, strategy, values)
    values[parent] += expected
    update(step, first, last, expected, values, regret, strategy)
    ...
    extend_plan(first, last, plan[parent], strategy, plan)

The readable counterpart is `regret.RegretMinimizer`; tests hold the two together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from klss_spiel.algorithms.regret import Prediction, RegretMinimizer
from klss_spiel.kernels import kernel


class Rule(NamedTuple):
    """A regret minimiser as numbers.

    Attributes:
      floor: regrets below it are raised to it; minus infinity for none.
      discounted: whether alpha and beta apply.
      alpha: power of the discount of positive regrets.
      beta: power of the discount of the others.
      optimism: weight of the last instant regret in the scores: 0 or 1. Minimisers
        that re-evaluate predictions take `update_reevaluated`, where it has no part.
    """

    floor: float
    discounted: bool
    alpha: float
    beta: float
    optimism: float


class Step(NamedTuple):
    """A rule at one iteration.

    Attributes:
      floor: as in `Rule`.
      discounted: whether the next two apply.
      gain: positive regrets are multiplied by it.
      loss: the others are multiplied by it.
      optimism: as in `Rule`.
    """

    floor: float
    discounted: bool
    gain: float
    loss: float
    optimism: float


def rule(minimizer: RegretMinimizer) -> Rule:
    """What compiled loops need to know of a minimiser."""
    alpha, beta = minimizer.discounts or (0.0, 0.0)
    return Rule(
        floor=0.0 if minimizer.truncated else -np.inf,
        discounted=minimizer.discounts is not None,
        alpha=float(alpha),
        beta=float(beta),
        optimism=1.0 if minimizer.prediction is Prediction.LAST else 0.0,
    )


def undiscounted(minimizer: RegretMinimizer) -> Step:
    """The step of a minimiser that does the same in every iteration."""
    if minimizer.discounts is not None or minimizer.prediction is Prediction.REEVALUATED:
        raise ValueError(
            f"expected a minimiser that neither discounts nor re-evaluates, got {minimizer}"
        )
    numbers = rule(minimizer)
    return Step(numbers.floor, False, 1.0, 1.0, numbers.optimism)


@kernel
def at_iteration(numbers: Any, iteration: int) -> Any:
    """The `Step` of a `Rule` at an iteration, counted from 1."""
    gain = 1.0
    loss = 1.0
    if numbers.discounted:
        up = float(iteration) ** numbers.alpha
        down = float(iteration) ** numbers.beta
        gain = up / (up + 1.0)
        loss = down / (down + 1.0)
    return Step(numbers.floor, numbers.discounted, gain, loss, numbers.optimism)


@kernel
def expected_value(first: Any, last: Any, strategy: Any, values: Any) -> float:
    """What the strategy gets at an infoset whose actions have the given values."""
    expected = 0.0
    for s in range(first, last):
        expected += strategy[s] * values[s]
    return expected


@kernel
def best_value(first: Any, last: Any, values: Any) -> float:
    """What the best action of an infoset gets."""
    best = -np.inf
    for s in range(first, last):
        best = max(best, values[s])
    return best


@kernel
def update(
    step: Any, first: Any, last: Any, expected: float, values: Any, regret: Any, strategy: Any
) -> None:
    """Updates the regrets and sets the next strategy of one infoset.

    Args:
      step: what the minimiser does in this iteration.
      first: the infoset's first sequence.
      last: the sequence after its last.
      expected: the value of the strategy that was played.
      values: [S] values of sequences.
      regret: [S] changes.
      strategy: [S] behaviour probabilities; changes.
    """
    total = 0.0
    for s in range(first, last):
        instant = values[s] - expected
        new = accumulated(step, regret[s], instant)
        regret[s] = new
        score = max(new + step.optimism * instant, 0.0)
        strategy[s] = score
        total += score
    normalize(first, last, total, strategy)


@kernel
def update_reevaluated(
    step: Any,
    first: Any,
    last: Any,
    expected: float,
    values: Any,
    predicted: Any,
    regret: Any,
    strategy: Any,
) -> float:
    """`update` with predictions made bottom-up; returns the infoset's predicted value.

    Args:
      step: what the minimiser does in this iteration.
      first: the infoset's first sequence.
      last: the sequence after its last.
      expected: the value of the strategy that was played.
      values: [S] values of sequences.
      predicted: [S] their values when everything below is played by the next strategies.
      regret: [S] changes.
      strategy: [S] behaviour probabilities; changes.
    """
    # Farina, Kroer and Sandholm compare with what the last strategy would get.
    reference = expected_value(first, last, strategy, predicted)
    total = 0.0
    for s in range(first, last):
        new = accumulated(step, regret[s], values[s] - expected)
        regret[s] = new
        score = max(new + (predicted[s] - reference), 0.0)
        strategy[s] = score
        total += score
    normalize(first, last, total, strategy)
    return expected_value(first, last, strategy, predicted)


@kernel
def accumulated(step: Any, regret: float, instant: float) -> Any:
    """The new regret of one action."""
    total = regret + instant
    if step.discounted:
        total *= step.gain if total > 0.0 else step.loss
    return max(total, step.floor)


@kernel
def normalize(first: Any, last: Any, total: float, strategy: Any) -> None:
    """Divides an infoset's scores by their total; uniform if that is 0."""
    if total > 0.0:
        for s in range(first, last):
            strategy[s] /= total
    else:
        uniform = 1.0 / float(last - first)
        for s in range(first, last):
            strategy[s] = uniform


@kernel
def extend_plan(first: Any, last: Any, reach: float, strategy: Any, plan: Any) -> None:
    """Sets an infoset's part of the realization plan; `reach` is its parent sequence's."""
    for s in range(first, last):
        plan[s] = reach * strategy[s]
