"""Solving built subgames: exactly by linear programming, or by CFR with a budget.

Both take any number of independent subgames at once and return, for each, the
player's behaviour inside the region. What the player would do after own moves that
he now never makes stays what the blueprint does.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from klss_spiel.algorithms.subgame.gadgets import MarginGame
from klss_spiel.algorithms.subgame.recipes import Gadget, SubgameRecipe
from klss_spiel.arrays import FloatArray, sum_at
from klss_spiel.budget import Budget
from klss_spiel.linear_program import LinearSolver, TieBreak
from klss_spiel.sequence_form import SequenceForm, join_forms

# Iterations between looks at the clock.
_CHUNK = 50


class SolvableSubgame(Protocol):
    """What solvers look at: attributes as of `subgame.Subgame`."""

    @property
    def recipe(self) -> SubgameRecipe:
        """The method."""

    @property
    def game(self) -> MarginGame:
        """The margins."""

    @property
    def form(self) -> SequenceForm:
        """With the recipe's gadget at the root."""

    @property
    def root_reach(self) -> FloatArray:
        """[R] D of each root."""

    @property
    def root_weights(self) -> FloatArray:
        """[R] or [n, R]."""

    @property
    def blueprint(self) -> FloatArray:
        """[S of the region] the blueprint's behaviour."""

    @property
    def player(self) -> int:
        """Whose strategy is refined."""

    @property
    def infoset(self) -> int:
        """The infoset it was built for."""


class SubgameSolver(Protocol):
    """Anything that solves subgames."""

    def solve(
        self, subgames: Sequence[SolvableSubgame], bounds: Sequence[FloatArray | None]
    ) -> list[FloatArray]:
        """For each subgame, [S of its region] the player's new behaviour.

        Args:
          subgames: subgames that do not depend on each other, none empty.
          bounds: for each, [S of its region] least probabilities, or None.
        """


class Ties(enum.Enum):
    """Which of several optimal strategies to take.

    FIRST is the vertex that the simplex method meets, SUM the largest sum of
    margins weighted with how often the roots are reached (where the gadget has
    margins to sum; FIRST elsewhere), RANDOM a random vertex.
    """

    FIRST = "first"
    SUM = "sum"
    RANDOM = "random"


@dataclasses.dataclass(frozen=True)
class LinearProgramming:
    """Exact solutions.

    Attributes:
      ties: which of the optimal strategies to take.
      seed: of RANDOM; the choice at an infoset depends on the seed and the infoset
        alone, not on what was solved before.
    """

    ties: Ties = Ties.SUM
    seed: int = 0

    def solve(
        self, subgames: Sequence[SolvableSubgame], bounds: Sequence[FloatArray | None]
    ) -> list[FloatArray]:
        """See `SubgameSolver`."""
        solver = LinearSolver()
        return [
            solver.solve(
                subgame.form,
                subgame.player,
                lower_bounds=bound,
                tie_break=self._tie_break(subgame),
                fallback=subgame.blueprint,
            ).behavior
            for subgame, bound in zip(subgames, bounds, strict=True)
        ]

    def _tie_break(self, subgame: SolvableSubgame) -> TieBreak | None:
        if self.ties == Ties.SUM:
            return sum_of_margins(subgame)
        if self.ties == Ties.RANDOM:
            rng = np.random.default_rng([self.seed, subgame.infoset])
            return TieBreak.random(subgame.game.treeplex, rng)
        return None


def sum_of_margins(subgame: SolvableSubgame) -> TieBreak | None:
    """A second objective: the sum of the margins, weighted with D of their roots.

    The smallest margin can rarely be raised above 0, and then many strategies are
    optimal; this picks one that improves the other margins too. None where the gadget
    maximises a mean of margins already.
    """
    gadget, game = subgame.recipe.gadget, subgame.game
    if gadget in (Gadget.UNSAFE, Gadget.REACHING):
        return None
    weights = subgame.root_reach if gadget != Gadget.PLAYING else np.ones(game.num_roots)
    at_root = game.column < game.num_roots
    plan_weights = sum_at(
        game.row[at_root],
        game.value[at_root] * weights[game.column[at_root]],
        game.treeplex.num_sequences,
    )
    # The gadget's own infosets come first: one, or one per root. Payoffs below the
    # roots of a resolve gadget are multiplied with chance's weights.
    before = game.num_roots if gadget == Gadget.RESOLVE else 1
    value_weights = np.zeros(before + len(game.parent))
    after_root = np.flatnonzero(game.parent < game.num_roots)
    root = game.parent[after_root]
    value_weights[before + after_root] = weights[root] / subgame.root_weights[root]
    return TieBreak(plan_weights=plan_weights, value_weights=value_weights)


@dataclasses.dataclass(frozen=True)
class Cfr:
    """Approximate solutions by counterfactual regret minimisation.

    Subgames given together are solved as one game, and share the budget.

    Attributes:
      budget: iterations or seconds (which are not reproducible) of each call; a plain
        number means iterations.
      minimizer: a key of `regret.MINIMIZERS`.
      averaging: power of the iteration's number in the average: 0, 1 or 2.
    """

    budget: Budget | int = 1000
    minimizer: str = "rm+"
    averaging: int = 1

    def solve(
        self, subgames: Sequence[SolvableSubgame], bounds: Sequence[FloatArray | None]
    ) -> list[FloatArray]:
        """See `SubgameSolver`."""
        # Compiled loops take a while to import, which linear programming need not wait for.
        from klss_spiel.algorithms import cfr, regret

        if any(bound is not None for bound in bounds):
            raise ValueError("CFR cannot keep lower bounds; solve by linear programming")
        if not subgames:
            return []
        budget = self.budget
        if isinstance(budget, int):
            budget = Budget(iterations=budget)
        if budget.nodes is not None:
            raise ValueError("subgames do not grow: expected a budget of iterations or seconds")
        joint, numbers = join_forms([subgame.form for subgame in subgames])
        prepared = cfr.prepare(joint)
        chunk = budget.iterations if budget.reproducible else _CHUNK
        clock, solution = budget.start(), None
        while solution is None or not clock.exhausted:
            assert chunk is not None
            steps = chunk
            if budget.iterations is not None:
                steps = min(chunk, budget.iterations - clock.iterations)
            solution = cfr.solve(
                prepared,
                steps,
                minimizer=regret.MINIMIZERS[self.minimizer],
                averaging=self.averaging,
                start=solution,
            )
            clock.spend(iterations=steps)
        player = subgames[0].player
        plans = solution.average_sum_of(player)
        return [
            subgame.game.treeplex.behavior(plans[number], subgame.blueprint)
            for subgame, number in zip(subgames, numbers[player], strict=True)
        ]
