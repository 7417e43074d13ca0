"""CFR-D and depth-limited solving: CFR on a trunk with a value function at its border.

CFR-D (Burch, Johanson and Bowling 2014) solves the bottoms in every iteration; with a
learned value function the same loop is DeepStack's. The loop is `cfr.solve`.
"""

from __future__ import annotations

from collections.abc import Callable

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.cfr import Solution
from klss_spiel.algorithms.regret import RM_PLUS, RegretMinimizer
from klss_spiel.algorithms.values.border import Border
from klss_spiel.arrays import FloatArray
from klss_spiel.search_game import ValueFunction

Pair = tuple[FloatArray, FloatArray]


def solve_trunk(
    border: Border,
    values: ValueFunction,
    iterations: int,
    minimizer: RegretMinimizer = RM_PLUS,
    averaging: int = cfr.LINEAR,
    alternating: bool = True,
    start: Solution | None = None,
) -> Solution:
    """Trunk strategies by CFR with a value function at the border.

    Args:
      border: the border.
      values: from ranges to counterfactual values.
      iterations: how many more iterations to run.
      minimizer: the regret minimiser at the trunk's infosets.
      averaging: UNIFORM, LINEAR or QUADRATIC.
      alternating: player 1 answers player 0's newest strategy; the value function is
        then asked twice in every iteration.
      start: an earlier solution to go on from.

    Returns:
      The solution on the trunk's sequences: its `average_behavior` is what
      `completion.trunk_exploitability` measures.

    Raises:
      ValueError: a value function of another game's border.
    """
    known = getattr(values, "border", border)
    if known.tree.name != border.tree.name or known.sizes != border.sizes:
        raise ValueError(f"expected a value function of {border}, got one of {known}")
    return cfr.solve(
        border.trunk_part.form,
        iterations,
        minimizer=minimizer,
        averaging=averaging,
        alternating=alternating,
        start=start,
        border=border.trunk_sequence,
        values=values,
    )


class RecordedValues:
    """A value function that remembers the ranges it was asked about. Mutable."""

    def __init__(self, values: ValueFunction, keep: Callable[[int], bool] | None = None) -> None:
        """Wraps a value function.

        Args:
          values: who answers.
          keep: which questions, by their number from 0, to remember; all by default.
        """
        self.values = values
        if hasattr(values, "border"):
            self.border: Border = values.border
        self.questions: list[Pair] = []
        self.answers: list[Pair] = []
        self._keep = keep or (lambda number: True)
        self._number = 0

    def __call__(self, ranges: Pair) -> Pair:
        """The wrapped function's values."""
        answer = self.values(ranges)
        if self._keep(self._number):
            self.questions.append((ranges[0].copy(), ranges[1].copy()))
            self.answers.append((answer[0], answer[1]))
        self._number += 1
        return answer[0], answer[1]
