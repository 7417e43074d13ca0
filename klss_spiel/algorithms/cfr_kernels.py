"""The compiled engine's loop: CFR over a sequence form stored by rows.

Letters as in `sequence_form`; numbers of sequences are those of `cfr_compiled`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from klss_spiel.algorithms import regret_kernels
from klss_spiel.kernels import kernel

# Unsigned indices spare numba the test for negative ones, half of the time here.
_ONE = np.uint64(1)


class PlayerRows(NamedTuple):
    """One player's treeplex and payoffs.

    Attributes:
      first: [I + 1] first sequence of each infoset, then S. Infosets come after the
        infoset that owns their parent; sequences before first[0] are roots.
      parent: [I] the sequence each infoset follows.
      start: [S + 1] where each sequence's payoffs start in `source` and `value`.
      source: [E] the opponent's sequence.
      value: [E] own payoff.
    """

    first: Any
    parent: Any
    start: Any
    source: Any
    value: Any


class PlayerVectors(NamedTuple):
    """What the loop keeps of one player; all [S] and changed in place.

    Attributes:
      regret: the minimiser's cumulative regrets.
      strategy: current behaviour probabilities.
      plan: realization plan of `strategy`.
      average: weighted sum of the plans played so far.
      values: counterfactual values of the last iteration.
      bonus: what each sequence pays besides the entries of the payoff matrix.
    """

    regret: Any
    strategy: Any
    plan: Any
    average: Any
    values: Any
    bonus: Any


@kernel
def fill_uniform(rows: Any, strategy: Any) -> None:
    """Uniform behaviour ([S]) wherever something is chosen."""
    for i in range(len(rows.parent)):
        begin, end = rows.first[i], rows.first[i + 1]
        for s in range(begin, end):
            strategy[s] = 1.0 / float(end - begin)


@kernel
def fill_plan(rows: Any, strategy: Any, plan: Any) -> None:
    """The plan ([S]) of a strategy; where nothing is chosen it is left alone."""
    for i in range(len(rows.parent)):
        before = plan[rows.parent[i]]
        for s in range(rows.first[i], rows.first[i + 1]):
            plan[s] = strategy[s] * before


@kernel
def iterate(
    count: int,
    iteration: int,
    rule: Any,
    averaging: int,
    rows_0: Any,
    rows_1: Any,
    vectors_0: Any,
    vectors_1: Any,
    answered: Any,
    predicted_0: Any,
    predicted_1: Any,
) -> None:
    """`count` iterations: player 0 updates, then player 1.

    Args:
      count: how many.
      iteration: how many there were before.
      rule: `regret_kernels.Rule`.
      averaging: iteration t weighs t to this power in the average.
      rows_0: `PlayerRows` of player 0.
      rows_1: the same of player 1.
      vectors_0: `PlayerVectors` of player 0.
      vectors_1: the same of player 1.
      answered: player 0's plan that player 1 answers: `vectors_0.plan` itself to
        alternate, a copy (overwritten) to answer the one before.
      predicted_0: None, or [S] a vector of player 0 to work with if predictions are
        re-evaluated. None is another type, for which numba compiles less.
      predicted_1: the same of player 1.
    """
    for number in range(iteration + 1, iteration + count + 1):
        for s in range(len(answered)):
            answered[s] = vectors_0.plan[s]
        update_player(number, rule, averaging, rows_0, vectors_0, vectors_1.plan, predicted_0)
        update_player(number, rule, averaging, rows_1, vectors_1, answered, predicted_1)


@kernel
def update_player(
    number: int,
    rule: Any,
    averaging: int,
    rows: Any,
    vectors: Any,
    opponent_plan: Any,
    predicted: Any,
) -> None:
    """One player's part of iteration `number`, against any plan of the opponent.

    Arguments as of `iterate`.
    """
    weight = float(number) ** averaging
    step = regret_kernels.at_iteration(rule, number)
    if predicted is None:
        _update_infosets(step, weight, rows, vectors, opponent_plan)
    else:
        _reevaluate_infosets(step, weight, rows, vectors, opponent_plan, predicted)


@kernel
def _update_infosets(step: Any, weight: float, rows: Any, vectors: Any, opponent_plan: Any) -> None:
    """One player's regrets and strategies bottom-up, then the new plan.

    The loops of `_add_payoffs`, `regret_kernels.expected_value`, `update` and `normalize`
    are written out: infosets are so small that calls with arrays take a third of the time.
    """
    first, parent, values = rows.first, rows.parent, vectors.values
    start, source, value = rows.start, rows.source, rows.value
    regret, strategy = vectors.regret, vectors.strategy
    _begin(weight, vectors)
    count = np.uint64(len(parent))
    for after in range(count):
        i = count - after - _ONE
        begin, end = np.uint64(first[i]), np.uint64(first[i + _ONE])
        expected = 0.0
        for s in range(begin, end):
            own = values[s]
            for e in range(np.uint64(start[s]), np.uint64(start[s + _ONE])):
                own += value[e] * opponent_plan[np.uint64(source[e])]
            values[s] = own
            expected += strategy[s] * own
        values[np.uint64(parent[i])] += expected
        total = 0.0
        for s in range(begin, end):
            instant = values[s] - expected
            new = regret_kernels.accumulated(step, regret[s], instant)
            regret[s] = new
            score = max(new + step.optimism * instant, 0.0)
            strategy[s] = score
            total += score
        if total > 0.0:
            for s in range(begin, end):
                strategy[s] /= total
        else:
            uniform = 1.0 / float(end - begin)
            for s in range(begin, end):
                strategy[s] = uniform
    _finish(rows, vectors, opponent_plan)


@kernel
def _reevaluate_infosets(
    step: Any, weight: float, rows: Any, vectors: Any, opponent_plan: Any, predicted: Any
) -> None:
    """`_update_infosets` with predictions under the next strategies, made bottom-up.

    Args:
      step: what the minimiser does in this iteration.
      weight: of the plan in the average.
      rows: `PlayerRows`.
      vectors: `PlayerVectors`.
      opponent_plan: [S of the opponent].
      predicted: [S] overwritten with values under the next strategies.
    """
    first, parent, values = rows.first, rows.parent, vectors.values
    regret, strategy = vectors.regret, vectors.strategy
    _begin(weight, vectors)
    for s in range(len(predicted)):
        predicted[s] = 0.0
    count = np.uint64(len(parent))
    for after in range(count):
        i = count - after - _ONE
        begin, end = np.uint64(first[i]), np.uint64(first[i + _ONE])
        _add_payoffs(begin, end, rows, opponent_plan, values)
        # Until here `predicted` is what the next strategies below get more than the last.
        for s in range(begin, end):
            predicted[s] += values[s]
        expected = regret_kernels.expected_value(begin, end, strategy, values)
        of_next = regret_kernels.update_reevaluated(
            step, begin, end, expected, values, predicted, regret, strategy
        )
        above = np.uint64(parent[i])
        values[above] += expected
        predicted[above] += of_next - expected
    _finish(rows, vectors, opponent_plan)


@kernel
def _begin(weight: float, vectors: Any) -> None:
    """Adds the plan to the average and forgets the last iteration's values."""
    plan, average, values, bonus = vectors.plan, vectors.average, vectors.values, vectors.bonus
    for s in range(len(plan)):
        average[s] += weight * plan[s]
        values[s] = bonus[s]


@kernel
def _finish(rows: Any, vectors: Any, opponent_plan: Any) -> None:
    """Values of the roots, and the plan of the new strategy top-down."""
    first, parent, plan = rows.first, rows.parent, vectors.plan
    _add_payoffs(np.uint64(0), np.uint64(first[0]), rows, opponent_plan, vectors.values)
    for i in range(np.uint64(len(parent))):
        begin, end = np.uint64(first[i]), np.uint64(first[i + _ONE])
        reach = plan[np.uint64(parent[i])]
        regret_kernels.extend_plan(begin, end, reach, vectors.strategy, plan)


@kernel
def _add_payoffs(begin: Any, end: Any, rows: Any, opponent_plan: Any, values: Any) -> None:
    """Adds what the sequences [begin, end) earn against the opponent's plan."""
    start, source, value = rows.start, rows.source, rows.value
    for s in range(begin, end):
        total = values[s]
        for e in range(np.uint64(start[s]), np.uint64(start[s + _ONE])):
            total += value[e] * opponent_plan[np.uint64(source[e])]
        values[s] = total
