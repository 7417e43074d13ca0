"""All bottoms at once by CFR: values of continuations that are (nearly) optimal.

The bottoms below a border form a forest. Each player's plan starts with 1 at every root
and the payoffs a player meets are weighted with the opponent's range, so that regrets and
averages are meaningful also where a player's own range is zero.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from klss_spiel.algorithms import cfr, regret_kernels
from klss_spiel.algorithms.cfr_compiled import CompiledForm, compile_form
from klss_spiel.algorithms.cfr_kernels import PlayerVectors
from klss_spiel.algorithms.cfr_solution import Method
from klss_spiel.algorithms.regret import RM_PLUS, Prediction, RegretMinimizer
from klss_spiel.algorithms.values.border import NOT_BELOW, Border
from klss_spiel.algorithms.values.optimal import (
    bottom_sequences,
    optimal_values,
    values_against,
)
from klss_spiel.algorithms.values.ranges import Ranges
from klss_spiel.algorithms.values.reduction import ReducedForm, reduce_form
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.linear_program import LinearSolver
from klss_spiel.search_game import ValueFunction
from klss_spiel.sequence_form import SequenceForm, Treeplex, make_sequence_form
from klss_spiel.tree import PLAYERS, TERMINAL

Pair = tuple[FloatArray, FloatArray]


@dataclasses.dataclass(frozen=True, eq=False)
class LinearValues:
    """The value function of exact optima: a linear program for every question."""

    border: Border

    def __call__(self, ranges: Pair) -> Pair:
        """Optimal counterfactual values for ranges ([b_0], [b_1])."""
        of_ranges = Ranges.of(self.border, ranges)
        return optimal_values(self.border, of_ranges, LinearSolver()).counterfactual


class Bottoms:
    """The value function that solves all bottoms by CFR.

    Mutable where it is warm: it goes on from the regrets of the last question, since the
    ranges of one iteration of a trunk are close to those of the next. The values are then
    what the iterates got on average, which is what regret minimisation in the trunk needs
    (regrets of the bottoms go on from question to question, so that the whole is CFR on the
    game whose trunk updates once for several updates below).

    A cold one starts afresh and gives counterfactual best response values against the
    average strategies.
    """

    def __init__(
        self,
        border: Border,
        iterations: int,
        warm: bool = False,
        minimizer: RegretMinimizer = RM_PLUS,
        averaging: int = cfr.LINEAR,
        alternating: bool = True,
        reduced: bool = True,
    ) -> None:
        """Prepares the bottoms.

        Args:
          border: the border.
          iterations: of CFR for each question.
          warm: whether to go on from the last question.
          minimizer: the regret minimiser at every infoset.
          averaging: UNIFORM, LINEAR or QUADRATIC.
          alternating: as in `cfr.solve`.
          reduced: leave out what never pays anything: faster, with the same values.
        """
        if iterations < 1:
            raise ValueError(f"expected a number of iterations of at least 1, got {iterations}")
        self.border = border
        self.iterations = iterations
        self.warm = warm
        self._method = Method(minimizer, averaging, alternating)
        forest = _forest(border)
        self._reduced = reduce_form(forest) if reduced else None
        self._compiled = compile_form(forest if self._reduced is None else self._reduced.form)
        self._state = self._compiled.initial_state()
        self._done = 0
        self._opposing = opposing_roots(border.bottom_root, self._compiled, self._reduced)

    def __call__(self, ranges: Pair) -> Pair:
        """Counterfactual values for ranges ([b_0], [b_1])."""
        self.border.check_values(ranges, "ranges")
        weighted = weighted_form(self._compiled, self._opposing, ranges)
        if not self.warm:
            state = weighted.run(weighted.initial_state(), 0, self.iterations, self._method)
            behaviors = self._averages(weighted, state)
            of_ranges = Ranges.of(self.border, ranges)
            return values_against(self.border, of_ranges, behaviors).counterfactual
        sums = [np.zeros(size) for size in self.border.sizes]
        for _ in range(self.iterations):
            self._state = weighted.run(self._state, self._done, 1, self._method)
            self._done += 1
            for p in PLAYERS:
                sums[p] += self._state[p].values[1 : 1 + self.border.sizes[p]]
        return sums[0] / self.iterations, sums[1] / self.iterations

    def many(self, questions: Sequence[Pair]) -> list[Pair]:
        """Values for several ranges, the same as one by one.

        Cold ones solve for several ranges at once (`lane_kernels`).
        """
        from klss_spiel.algorithms.values.lane_kernels import LANES

        minimizer = self._method.minimizer
        if self.warm or minimizer.prediction is Prediction.REEVALUATED:
            return [self(ranges) for ranges in questions]
        answers: list[Pair] = []
        for start in range(0, len(questions), LANES):
            answers += self._in_lanes(questions[start : start + LANES])
        return answers

    def _in_lanes(self, questions: Sequence[Pair]) -> list[Pair]:
        from klss_spiel.algorithms.values import lane_kernels

        for ranges in questions:
            self.border.check_values(ranges, "ranges")
        count, form = lane_kernels.LANES, self._compiled
        reach = [np.zeros((size, count)) for size in self.border.sizes]
        for lane, ranges in enumerate(questions):
            for p in PLAYERS:
                reach[p][:, lane] = ranges[p]
        vectors = []
        for of_player in form.initial_state():
            strategy, plan = (
                np.repeat(vector[:, None], count, axis=1)
                for vector in (of_player.strategy, of_player.plan)
            )
            zeros = [np.zeros_like(plan) for _ in range(3)]
            vectors.append(lane_kernels.LaneVectors(zeros[0], strategy, plan, zeros[1], zeros[2]))
        method = self._method
        plan = vectors[0].plan
        lane_kernels.iterate(
            self.iterations,
            regret_kernels.rule(method.minimizer),
            method.averaging,
            form.rows,
            self._opposing,
            (reach[0], reach[1]),
            (vectors[0], vectors[1]),
            plan if method.alternating else plan.copy(),
        )
        answers = []
        for lane, ranges in enumerate(questions):
            first, second = (
                PlayerVectors(
                    regret=v.regret[:, lane],
                    strategy=v.strategy[:, lane],
                    plan=v.plan[:, lane],
                    average=v.average[:, lane],
                    values=v.values[:, lane],
                    bonus=np.zeros(len(v.plan)),
                )
                for v in vectors
            )
            of_ranges = Ranges.of(self.border, ranges)
            behaviors = self._averages(form, (first, second))
            answers.append(values_against(self.border, of_ranges, behaviors).counterfactual)
        return answers

    def behaviors(self) -> Pair:
        """For each player, [S of the bottoms] the average behaviour of a warm one so far."""
        return self._averages(self._compiled, self._state)

    def solve(self, ranges: Pair) -> Pair:
        """For each player, [S of the bottoms] average behaviour, from a cold start."""
        weighted = weighted_form(self._compiled, self._opposing, ranges)
        state = weighted.run(weighted.initial_state(), 0, self.iterations, self._method)
        return self._averages(weighted, state)

    def _averages(self, form: CompiledForm, state: object) -> Pair:
        players = form.players_of(state)  # type: ignore[arg-type]
        found = players[0].average_behavior, players[1].average_behavior
        if self._reduced is None:
            return found
        return self._reduced.expand(0, found[0]), self._reduced.expand(1, found[1])


def _forest(border: Border) -> SequenceForm:
    """The bottoms with the border infosets' sequences as roots that nobody chooses."""
    whole = border.bottom_part.form
    treeplexes = []
    for p in PLAYERS:
        treeplex, roots = whole.treeplexes[p], border.sizes[p]
        treeplexes.append(
            Treeplex(
                parent_sequence=treeplex.parent_sequence[roots:],
                first_sequence=treeplex.first_sequence[roots:],
                num_actions=treeplex.num_actions[roots:],
                num_sequences=treeplex.num_sequences,
            )
        )
    return SequenceForm((treeplexes[0], treeplexes[1]), whole.row, whole.column, whole.value)


class StackedBottoms:
    """The value function that solves down to a second border and asks another one there.

    Network stacking (Moravcik et al. 2017; Sestak's thesis, section 5.3): the games between
    two borders are solved by CFR for each question, with a value function at the deeper one.
    The values are the iterates' averages, later ones weighing more.
    """

    def __init__(
        self,
        border: Border,
        deeper: Border,
        values: ValueFunction,
        iterations: int,
        minimizer: RegretMinimizer = RM_PLUS,
    ) -> None:
        """Prepares the games between the borders.

        Args:
          border: the border whose values are wanted.
          deeper: a border of the same tree, everywhere below the first.
          values: the value function there.
          iterations: of CFR for each question.
          minimizer: the regret minimiser at every infoset.
        """
        if deeper.tree is not border.tree or np.any(border.root[deeper.nodes] == NOT_BELOW):
            raise ValueError("expected a second border of the same tree, below the first")
        self.border = border
        self._values = values
        self._iterations = iterations
        self._method = Method(minimizer, cfr.LINEAR, False)
        middle = _forest(border)
        tree = border.tree
        leaves = np.flatnonzero(
            (tree.player == TERMINAL) & (border.root != NOT_BELOW) & (deeper.root == NOT_BELOW)
        )
        numbers = [bottom_sequences(border, p, leaves) for p in PLAYERS]
        payoffs = tree.chance_reach[leaves] * tree.utility[leaves]
        form = make_sequence_form(middle.treeplexes, numbers[0], numbers[1], payoffs)
        self._compiled = compile_form(form)
        self._opposing = opposing_roots(border.bottom_root, self._compiled)
        first, second = (sequences_to(border, deeper, p) for p in PLAYERS)
        self._deeper = first, second
        # For each player, [b] the border infoset above each deeper one.
        above = [border.bottom_root[p][self._deeper[p]] for p in PLAYERS]
        self._above = above[0], above[1]

    def __call__(self, ranges: Pair) -> Pair:
        """Counterfactual values for ranges ([b_0], [b_1])."""
        self.border.check_values(ranges, "ranges")

        values = _ScaledRanges(self._values, ranges, self._above)
        weighted = weighted_form(self._compiled, self._opposing, ranges)
        state = weighted.initial_state()
        sums = [np.zeros(size) for size in self.border.sizes]
        total = 0
        for number in range(self._iterations):
            state = weighted.run_trunk(state, number, 1, self._method, self._deeper, values)
            total += number + 1
            for p in PLAYERS:
                sums[p] += (number + 1) * state[p].values[1 : 1 + self.border.sizes[p]]
        return sums[0] / total, sums[1] / total


@dataclasses.dataclass(frozen=True, eq=False)
class _ScaledRanges:
    """A value function asked with plans that start from 1 at the first border's infosets."""

    values: ValueFunction
    roots: Pair
    above: tuple[IntArray, IntArray]

    def __call__(self, ranges: tuple[Any, Any]) -> tuple[Any, Any]:
        first, second = (ranges[p] * self.roots[p][self.above[p]] for p in PLAYERS)
        return self.values((first, second))


def sequences_to(border: Border, deeper: Border, player: int) -> IntArray:
    """[b of the deeper border] the sequence in the first's bottoms before each infoset."""
    _, first = np.unique(deeper.node_infoset[player], return_index=True)
    return bottom_sequences(border, player, deeper.nodes[first])


def opposing_roots(
    root: tuple[IntArray, IntArray], compiled: CompiledForm, reduced: ReducedForm | None = None
) -> tuple[IntArray, IntArray]:
    """For each player, [E] the opponent's root of each payoff entry.

    Args:
      root: for each player, [S] the root (from 0) above each sequence of a forest.
      compiled: the forest, or its reduced form.
      reduced: how that was reduced, if it was.
    """
    roots = []
    for p in PLAYERS:
        sequences = compiled.choices[1 - p].sequence[compiled.rows[p].source]
        if reduced is not None:
            sequences = reduced.first(1 - p)[sequences]
        roots.append(root[1 - p][sequences])
    return roots[0], roots[1]


def weighted_form(
    compiled: CompiledForm, opposing: tuple[IntArray, IntArray], ranges: Pair
) -> CompiledForm:
    """The form in which each player's payoffs are weighted with the opponent's range."""
    rows = compiled.rows
    first, second = (
        rows[p]._replace(value=rows[p].value * ranges[1 - p][opposing[p]]) for p in PLAYERS
    )
    return dataclasses.replace(compiled, rows=(first, second))
