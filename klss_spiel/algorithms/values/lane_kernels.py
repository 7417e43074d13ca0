"""CFR on one form for several ranges at once: every number is a row of L lanes.

The loop of `cfr_kernels` with payoffs that depend on the lane by the opponent's range
only. Structure and payoffs are read once for all lanes, which in games larger than the
processor's caches is most of the time. Each lane does the same operations in the same
order as the loop for one range, so that results are equal to the last bit.

Letters as in `cfr_kernels`, and L lanes, b border infosets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from klss_spiel.algorithms import regret_kernels
from klss_spiel.kernels import kernel

# The number of lanes L. It is fixed so that loops over lanes are unrolled.
LANES = 8

_ONE = np.uint64(1)


class LaneVectors(NamedTuple):
    """What the loop keeps of one player; all [S, L] and changed in place.

    Attributes as of `cfr_kernels.PlayerVectors`.
    """

    regret: Any
    strategy: Any
    plan: Any
    average: Any
    values: Any


@kernel
def iterate(
    count: int,
    rule: Any,
    averaging: int,
    rows: Any,
    opposing: Any,
    ranges: Any,
    vectors: Any,
    answered: Any,
) -> None:
    """`count` iterations from the first: player 0 updates, then player 1.

    Args:
      count: how many.
      rule: `regret_kernels.Rule` of a minimiser that does not re-evaluate predictions.
      averaging: iteration t weighs t to this power in the average.
      rows: a pair of `PlayerRows`.
      opposing: a pair of [E] the opponent's border infoset of each payoff.
      ranges: a pair of [b, L] each player's ranges.
      vectors: a pair of `LaneVectors`.
      answered: player 0's plan that player 1 answers, as in `cfr_kernels.iterate`.
    """
    for number in range(1, count + 1):
        weight = float(number) ** averaging
        step = regret_kernels.at_iteration(rule, number)
        answered[:] = vectors[0].plan
        _update(step, weight, rows[0], opposing[0], ranges[1], vectors[0], vectors[1].plan)
        _update(step, weight, rows[1], opposing[1], ranges[0], vectors[1], answered)


@kernel
def _update(
    step: Any,
    weight: float,
    rows: Any,
    opposing: Any,
    ranges: Any,
    vectors: Any,
    opponent_plan: Any,
) -> None:
    """One player's regrets and strategies bottom-up, then the new plan."""
    first, parent = rows.first, rows.parent
    values, plan = vectors.values, vectors.plan
    regret, strategy = vectors.regret, vectors.strategy
    for s in range(len(plan)):
        for lane in range(LANES):
            vectors.average[s, lane] += weight * plan[s, lane]
            values[s, lane] = 0.0
    expected, total = np.empty(LANES), np.empty(LANES)
    count = np.uint64(len(parent))
    for after in range(count):
        i = count - after - _ONE
        begin, end = np.uint64(first[i]), np.uint64(first[i + _ONE])
        _add_payoffs(begin, end, rows, opposing, ranges, opponent_plan, values)
        for lane in range(LANES):
            expected[lane] = 0.0
            total[lane] = 0.0
        for s in range(begin, end):
            for lane in range(LANES):
                expected[lane] += strategy[s, lane] * values[s, lane]
        above = np.uint64(parent[i])
        for lane in range(LANES):
            values[above, lane] += expected[lane]
        for s in range(begin, end):
            for lane in range(LANES):
                instant = values[s, lane] - expected[lane]
                new = regret_kernels.accumulated(step, regret[s, lane], instant)
                regret[s, lane] = new
                score = max(new + step.optimism * instant, 0.0)
                strategy[s, lane] = score
                total[lane] += score
        uniform = 1.0 / float(end - begin)
        for s in range(begin, end):
            for lane in range(LANES):
                whole = total[lane]
                strategy[s, lane] = strategy[s, lane] / whole if whole > 0.0 else uniform
    for number in range(count):
        i = np.uint64(number)
        begin, end = np.uint64(first[i]), np.uint64(first[i + _ONE])
        above = np.uint64(parent[i])
        for s in range(begin, end):
            for lane in range(LANES):
                plan[s, lane] = plan[above, lane] * strategy[s, lane]


@kernel
def _add_payoffs(
    begin: Any, end: Any, rows: Any, opposing: Any, ranges: Any, opponent_plan: Any, values: Any
) -> None:
    """Adds what the sequences [begin, end) earn against the opponent's plan and range."""
    start, source, value = rows.start, rows.source, rows.value
    for s in range(begin, end):
        for e in range(np.uint64(start[s]), np.uint64(start[s + _ONE])):
            pays = value[e]
            other = np.uint64(source[e])
            root = np.uint64(opposing[e])
            for lane in range(LANES):
                values[s, lane] += (pays * ranges[root, lane]) * opponent_plan[other, lane]
