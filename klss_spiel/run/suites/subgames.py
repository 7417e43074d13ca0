"""Speed of subgame solving: whole tables of solves, and growth with the game.

Two kinds of rows. `refine` times nested 1-KLSS at every infoset of a game of ZS21's
Table 1: building, solving with ties broken, updating. Against it stand the plain way,
which makes every subgame from scratch and hands a textbook program to scipy's linprog,
and ways of solving the very same subgames, already built. `ratio` is their time
divided by ours, in processor seconds, all on one core; `value_error` is the largest
difference of the smallest margins found, `after` the exploitability reached. `growth`
times one solve on n-matching pennies, where |I^k|
does not depend on n; `ratio` is the time divided by that of the smallest n.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from klss_spiel.algorithms.subgame.recipes import KLSS
from klss_spiel.algorithms.subgame.refine import refine
from klss_spiel.algorithms.subgame.solvers import (
    LinearProgramming,
    SolvableSubgame,
    sum_of_margins,
)
from klss_spiel.algorithms.subgame.subgame import Subgame, SubgameBuilder, build_subgame
from klss_spiel.arrays import FloatArray
from klss_spiel.games.signal.n_matching_pennies import n_matching_pennies_rules
from klss_spiel.linear_program import LinearSolver
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import klss_tables
from klss_spiel.tree import (
    CHANCE,
    NO_ACTION,
    NO_INFOSET,
    NO_PARENT,
    TERMINAL,
    GameTree,
    Infosets,
)
from klss_spiel.tree_builder import TreeBuilder

Row = dict[str, Any]

_SLACK: Final = 1e-9
_ZERO: Final = 1e-8

_SUITE: Final = "subgames"
_GROWTH: Final = "growth"
COLUMNS: Final = (
    *("suite", "task", "game", "solves", "contender", "seconds", "ratio", "after", "value_error"),
    *("skipped", "nodes", "region_nodes", "seconds_to_prepare"),
)
_OURS: Final = "klss_spiel"
_PLAIN: Final = "one by one, plain LP"
_FRESH: Final = "same subgames, fresh HiGHS models"
_SCIPY: Final = "same subgames, plain LP"
_NO_SCIPY: Final = "scipy is not installed (pip install scipy)"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
      tables: rows of ZS21's Table 1.
      numbers: sizes n of n-matching pennies.
      orders: orders k to solve there.
      solves: number of solves that one time is the mean of.
    """

    tables: tuple[str, ...]
    numbers: tuple[int, ...]
    orders: tuple[int, ...] = (1, 3, 5)
    solves: int = 50


_QUICK: Final = Effort(("kuhn", "goofspiel_ascending", "leduc"), (100, 1000, 10_000))
_FULL: Final = Effort(
    (*_QUICK.tables, "goofspiel_random", "liars_dice"), (100, 1000, 10_000, 100_000)
)


def parts(quick: bool) -> list[str]:
    """The rows of ZS21's Table 1, and growth."""
    return [*(_QUICK if quick else _FULL).tables, _GROWTH]


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Measures a part."""
    return _growth_rows(_QUICK if quick else _FULL) if part == _GROWTH else _refine_rows(part)


@dataclasses.dataclass(eq=False)
class _Recorder:
    """Linear programming that remembers what it was asked."""

    subgames: list[Subgame]
    bounds: list[FloatArray | None]
    behaviors: list[FloatArray]

    def solve(
        self, subgames: Sequence[SolvableSubgame], bounds: Sequence[FloatArray | None]
    ) -> list[FloatArray]:
        behaviors = LinearProgramming().solve(subgames, bounds)
        self.subgames += [subgame for subgame in subgames if isinstance(subgame, Subgame)]
        self.bounds += bounds
        self.behaviors += behaviors
        return behaviors


def _refine_rows(table: str) -> Iterator[Row]:
    setting = klss_tables.make_setting(table)
    recorder = _Recorder([], [], [])
    start = time.process_time()
    refined = refine(
        setting.blueprint,
        KLSS(1),
        lower_bounds=setting.lower_bounds,
        solver=recorder,
    )
    ours = time.process_time() - start
    common: Row = {"suite": _SUITE, "task": "refine", "game": table, "solves": len(refined.solved)}
    after = setting.exploitability(refined.policy)
    yield {**common, "contender": _OURS, "seconds": ours, "ratio": 1.0, "after": after}
    least = [
        float(subgame.margins(behavior).min())
        for subgame, behavior in zip(recorder.subgames, recorder.behaviors, strict=True)
    ]
    yield {**common, "contender": _FRESH, **_replay(recorder, least, ours, _fresh_solution)}
    if importlib.util.find_spec("scipy") is None:
        for contender in (_SCIPY, _PLAIN):
            missing = {"seconds": None, "ratio": None, "skipped": _NO_SCIPY}
            yield {**common, "contender": contender, **missing}
        return
    yield {**common, "contender": _SCIPY, **_replay(recorder, least, ours, _scipy_solution)}
    start = time.process_time()
    plain = _one_by_one(setting)
    seconds = time.process_time() - start
    result = {"seconds": seconds, "ratio": seconds / ours, "after": setting.exploitability(plain)}
    yield {**common, "contender": _PLAIN, **result}


def _one_by_one(setting: klss_tables.Setting) -> BehaviorPolicy:
    """The same nested refinement, written down as the paper describes it."""
    tree, player = setting.tree, klss_tables.PLAYER
    table = tree.infosets[player]
    result = setting.blueprint.probabilities[player].copy()
    following: dict[int, list[int]] = {}
    for infoset in table.decisions.tolist():
        before = int(table.sequence_infoset[table.parent_sequence[infoset]])
        following.setdefault(before, []).append(infoset)
    waiting = [(infoset, setting.blueprint) for infoset in following[NO_INFOSET]]
    while waiting:
        infoset, blueprint = waiting.pop()
        subgame = build_subgame(blueprint, infoset, KLSS(1), player)
        if subgame.is_empty:
            continue
        bounds = setting.lower_bounds[subgame.region.sequences]
        bounds[np.isin(subgame.region.sequences, np.arange(*_bounds_of(table, infoset)))] = 0.0
        _, plan = _scipy_solution(subgame, bounds)
        behavior = subgame.region.treeplex.behavior(plan, subgame.blueprint)
        current = blueprint.replace(
            player, subgame.on_tree(behavior, blueprint.probabilities[player])
        )
        result[table.sequences(infoset)] = current.probabilities[player][table.sequences(infoset)]
        waiting += [(after, current) for after in following.get(infoset, [])]
    return setting.blueprint.replace(player, result)


def _bounds_of(table: Infosets, infoset: int) -> tuple[int, int]:
    sequences = table.sequences(infoset)
    return sequences.start, sequences.stop


def _replay(
    recorder: _Recorder,
    least: list[float],
    ours: float,
    solve: Callable[[Subgame, FloatArray | None], tuple[float, FloatArray]],
) -> Row:
    start = time.process_time()
    values = [solve(s, b)[0] for s, b in zip(recorder.subgames, recorder.bounds, strict=True)]
    seconds = time.process_time() - start
    error = float(np.max(np.abs(np.array(values) - least), initial=0.0))
    return {"seconds": seconds, "ratio": seconds / ours, "value_error": error}


def _fresh_solution(
    subgame: SolvableSubgame, bounds: FloatArray | None
) -> tuple[float, FloatArray]:
    solution = LinearSolver().solve(
        subgame.form,
        subgame.player,
        lower_bounds=bounds,
        tie_break=sum_of_margins(subgame),
        fallback=subgame.blueprint,
    )
    return solution.value, solution.plan


def _scipy_solution(
    subgame: SolvableSubgame, bounds: FloatArray | None
) -> tuple[float, FloatArray]:
    """The textbook program, then the second objective with the first as a constraint."""
    from scipy import optimize, sparse

    form = subgame.form
    own, other = form.treeplexes
    size = own.num_sequences + other.num_infosets
    upper, equal, right = [], [], []
    payoff = sparse.coo_matrix(
        (form.value, (form.row, form.column)), (own.num_sequences, other.num_sequences)
    ).toarray()
    follows: list[list[int]] = [[] for _ in range(other.num_sequences)]
    for infoset in range(other.num_infosets):
        follows[other.parent_sequence[infoset]].append(infoset)
    for infoset in range(other.num_infosets):
        first = int(other.first_sequence[infoset])
        for sequence in range(first, first + int(other.num_actions[infoset])):
            line = np.zeros(size)
            line[: own.num_sequences] = -payoff[:, sequence]
            line[own.num_sequences + infoset] = 1.0
            for after in follows[sequence]:
                line[own.num_sequences + after] -= 1.0
            upper.append(line)
    parents = own.parent_sequence
    for infoset in range(own.num_infosets):
        line = np.zeros(size)
        first = int(own.first_sequence[infoset])
        line[first : first + own.num_actions[infoset]] = 1.0
        line[parents[infoset]] -= 1.0
        equal.append(line)
        right.append(0.0)
    if bounds is not None:
        for sequence in np.flatnonzero(bounds).tolist():
            line = np.zeros(size)
            line[sequence] = -1.0
            line[parents[own.sequence_infoset[sequence]]] += bounds[sequence]
            upper.append(line)
    cost = np.zeros(size)
    cost[: own.num_sequences] = -payoff[:, 0]
    cost[own.num_sequences + np.array(follows[0], dtype=int)] -= 1.0
    limits: list[tuple[float | None, float | None]] = [(1.0, 1.0)]
    limits += [(0.0, None)] * (own.num_sequences - 1)
    limits += [(None, None)] * other.num_infosets

    def optimum(cost: FloatArray, upper: list[FloatArray], rest: list[float]) -> Any:
        return optimize.linprog(
            cost,
            A_ub=sparse.csr_matrix(np.array(upper)),
            b_ub=rest,
            A_eq=sparse.csr_matrix(np.array(equal)),
            b_eq=right,
            bounds=limits,
            method="highs",
        )

    best = optimum(cost, upper, [0.0] * len(upper))
    value = -float(best.fun)
    second = sum_of_margins(subgame)
    if second is not None:
        assert second.plan_weights is not None and second.value_weights is not None
        weights = np.concatenate([second.plan_weights, second.value_weights])
        best = optimum(-weights, [*upper, cost], [0.0] * len(upper) + [_SLACK - value])
    return value, np.where(best.x < _ZERO, 0.0, best.x)[: own.num_sequences]


def _growth_rows(effort: Effort) -> Iterator[Row]:
    smallest: dict[int, float] = {}
    for number in effort.numbers:
        tree = pennies_tree(number)
        start = time.perf_counter()
        builder = SubgameBuilder(BehaviorPolicy.uniform(tree))
        prepared = time.perf_counter() - start
        decisions = tree.infosets[0].decisions
        # Away from the ends, where fewer numbers are possible.
        middle = len(decisions) // 2
        chosen = [int(decisions[middle + i % 10]) for i in range(effort.solves)]
        for order in effort.orders:
            recipe = KLSS(order)
            LinearProgramming().solve([builder.build(chosen[0], recipe)], [None])
            start = time.perf_counter()
            subgames = [builder.build(infoset, recipe) for infoset in chosen]
            LinearProgramming().solve(subgames, [None] * len(subgames))
            seconds = (time.perf_counter() - start) / len(chosen)
            base = smallest.setdefault(order, seconds)
            yield {
                "suite": _SUITE,
                "task": _GROWTH,
                "game": f"python_n_matching_pennies(n={number})",
                "contender": f"{order}-klss",
                "seconds": seconds,
                "ratio": seconds / base,
                "nodes": tree.num_nodes,
                "region_nodes": len(subgames[0].region.nodes),
                "seconds_to_prepare": prepared,
            }


def pennies_tree(number: int) -> GameTree:
    """N-matching pennies without the detour over OpenSpiel's states, which takes minutes."""
    rules = n_matching_pennies_rules(number)
    builder = TreeBuilder(f"python_n_matching_pennies(n={number})")
    actions = (0, 1)
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("p0", "p1"))
    for outcome, (probability, signal, payoffs) in enumerate(
        zip(rules.probabilities, rules.signals, rules.payoffs, strict=True)
    ):
        mine, theirs = f"p0 {signal[0]}", f"p1 {signal[1]}"
        first = builder.add_node(root, outcome, 0, (mine, theirs), actions, chance=probability)
        for row in actions:
            chosen = f"{mine} {row}"
            second = builder.add_node(first, row, 1, (chosen, f"{theirs} ?"), actions)
            for column in actions:
                builder.add_node(
                    second,
                    column,
                    TERMINAL,
                    (f"{chosen} end", f"{theirs} ? {column}"),
                    utility=payoffs[row][column],
                )
    return builder.build()
