"""Speed and quality of values: linear programs at a border, CFR-D to its targets.

`optimal values` times one linear program for ranges of random strategies; `gap` is how far
range times value is from summing to zero. `CFR-D` runs 500 iterations with bottoms solved
warm, everything compiled before: `gap` is the exploitability of the trunk (also after the
first 100), `target` the figure it is meant to stay below in `target_seconds`. `CFR on the
whole game` is what the same number of iterations costs without a cut, `gap` then being the
exploitability of its trunk; `ratio` is a row's time over that of CFR-D. `labels` are the
values of situations that networks learn from, by 100 iterations of CFR+ on the bottoms, for
several ranges at once (in lanes) and one by one; `seconds` are those of one situation,
`ratio` is over lanes, and `gap` is the largest difference between both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.values.border import Border
from klss_spiel.algorithms.values.bottoms import Bottoms
from klss_spiel.algorithms.values.completion import trunk_exploitability
from klss_spiel.algorithms.values.depth_limited import solve_trunk
from klss_spiel.algorithms.values.optimal import optimal_values
from klss_spiel.algorithms.values.ranges import ranges
from klss_spiel.algorithms.values.training import random_ranges
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run.value_domains import cut_domain
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import PLAYERS

Row = dict[str, Any]

_SUITE: Final = "values"
COLUMNS: Final = (
    *("suite", "task", "game", "contender", "iterations", "seconds", "ratio", "gap"),
    *("target", "target_seconds"),
)
_FIRST: Final = 100  # where a trunk is measured on the way
_ITERATIONS: Final = 500
_INNER: Final = 5  # updates of the bottoms before each player's update of the trunk
_PROGRAMS: Final = 5
_LABELS: Final = 16
_LABEL_ITERATIONS: Final = 100

# Exploitability and seconds to stay below, by domain.
TARGETS: Final = {
    "kuhn": (0.01, 1.0),
    "leduc": (0.01, 4.0),
    "kriegspiel_2": (1e-5, 1.0),
    "dark_2": (2e-5, 12.0),
    "dark_4": (1e-4, 12.0),
}
_QUICK: Final = ("kuhn", "leduc")


def parts(quick: bool) -> Sequence[str]:
    """The domains."""
    return _QUICK if quick else tuple(TARGETS)


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Measures one domain."""
    border = cut_domain(part).border
    rng = np.random.default_rng(0)
    drawn = [
        ranges(border, BehaviorPolicy.random(border.tree, rng))
        for _ in range(1 if quick else _PROGRAMS)
    ]
    start = time.perf_counter()
    found = [optimal_values(border, at_border) for at_border in drawn]
    seconds = (time.perf_counter() - start) / len(drawn)
    gap = max(float(np.abs(values.imbalance()).max()) for values in found)
    yield _row(part, "optimal values", "klss_spiel", seconds, gap, target=1e-10, limit=0.5)

    solve_trunk(border, Bottoms(border, 1, warm=True), 2)  # compiles
    bottoms = Bottoms(border, _INNER, warm=True)
    start = time.perf_counter()
    solution = solve_trunk(border, bottoms, _FIRST)
    split = time.perf_counter() - start
    gap = trunk_exploitability(border, solution.average_behavior)
    yield _row(part, "CFR-D", "klss_spiel", split, gap, iterations=_FIRST)
    start = time.perf_counter()
    solution = solve_trunk(border, bottoms, _ITERATIONS - _FIRST, start=solution)
    split += time.perf_counter() - start
    gap = trunk_exploitability(border, solution.average_behavior)
    target, limit = TARGETS[part]
    yield _row(part, "CFR-D", "klss_spiel", split, gap, target, limit, _ITERATIONS, 1.0)

    form = cfr.prepare(sequence_form_from_tree(border.tree))
    start = time.perf_counter()
    whole = cfr.solve(form, _ITERATIONS)
    seconds = time.perf_counter() - start
    policy = BehaviorPolicy(border.tree, whole.average_behavior)
    gap = trunk_exploitability(border, border.trunk_of(policy))
    yield _row(
        part,
        "CFR on the whole game",
        "klss_spiel",
        seconds,
        gap,
        iterations=_ITERATIONS,
        ratio=seconds / split,
    )
    yield from _labels(part, border, rng)


def _labels(part: str, border: Border, rng: np.random.Generator) -> Iterator[Row]:
    """Situations labelled in lanes and one by one."""
    questions = random_ranges(border, _LABELS, rng)
    Bottoms(border, 1).many(questions[:1])  # compiles
    bottoms = Bottoms(border, _LABEL_ITERATIONS)
    start = time.perf_counter()
    together = bottoms.many(questions)
    lanes = (time.perf_counter() - start) / _LABELS
    start = time.perf_counter()
    alone = [bottoms(question) for question in questions]
    seconds = (time.perf_counter() - start) / _LABELS
    gap = max(
        float(np.abs(first[p] - second[p]).max())
        for first, second in zip(together, alone, strict=True)
        for p in PLAYERS
    )
    ratio, count = seconds / lanes, _LABEL_ITERATIONS
    yield _row(part, "labels", "in lanes", lanes, gap, iterations=count, ratio=1.0)
    yield _row(part, "labels", "one by one", seconds, gap, iterations=count, ratio=ratio)


def _row(
    game: str,
    task: str,
    contender: str,
    seconds: float,
    gap: float,
    target: float | None = None,
    limit: float | None = None,
    iterations: int | None = None,
    ratio: float | None = None,
) -> Row:
    return {
        "suite": _SUITE,
        "task": task,
        "game": game,
        "contender": contender,
        "iterations": iterations,
        "seconds": seconds,
        "ratio": ratio,
        "gap": gap,
        "target": target,
        "target_seconds": limit,
    }
