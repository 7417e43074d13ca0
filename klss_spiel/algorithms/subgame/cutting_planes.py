"""Exact solutions of subgames in which the player has a handful of plans.

At one hand of poker, right after public cards, the player has less than ten pure plans
while the opponent has hundreds of hands. What a gadget maximises is then a concave,
piecewise linear function of a mixture of few plans, and the opponent's best answer at a
mixture is a plane above it that touches it there. Kelley's method (1960) solves the
program of the planes found so far, asks for the answer at its solution and adds its
planes, until none is below: some ten answers instead of thousands of iterations, and
instead of a linear program with a row for every opponent sequence.

The optima are those of `LinearProgramming` with `Ties.SUM`: among mixtures with the
same smallest margin the sum of margins weighted with D is maximised, here by adding it
with a small weight.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from klss_spiel.algorithms.subgame.recipes import Gadget
from klss_spiel.algorithms.subgame.solvers import SolvableSubgame
from klss_spiel.arrays import FloatArray
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE

MOST_PLANS = 64
# Of the second objective. Slopes of margins are of the size of payoffs, so that the first
# objective loses less than this times a payoff where it loses anything.
_TIE_WEIGHT = 1e-4


@dataclasses.dataclass(frozen=True)
class CuttingPlanes:
    """Exact solutions where the player has few plans: see `solvers.SubgameSolver`.

    Attributes:
      most_answers: after so many best answers a subgame is given up with an error.
    """

    most_answers: int = 500

    def solve(
        self, subgames: Sequence[SolvableSubgame], bounds: Sequence[FloatArray | None]
    ) -> list[FloatArray]:
        """See `SubgameSolver`."""
        if any(bound is not None for bound in bounds):
            raise ValueError("cutting planes cannot keep lower bounds; use linear programming")
        plans: dict[bytes, FloatArray] = {}
        found = []
        for subgame in subgames:
            treeplex = subgame.game.treeplex
            shape = treeplex.parent_sequence.tobytes() + treeplex.num_actions.tobytes()
            if shape not in plans:
                plans[shape] = pure_plans(treeplex)
            found.append(self._solve(subgame, plans[shape]))
        return found

    def _solve(self, subgame: SolvableSubgame, plans: FloatArray) -> FloatArray:
        # Compiled loops take a while to import.
        from klss_spiel.algorithms.subgame.cutting_plane_kernels import best_mixture

        game, gadget = subgame.game, subgame.recipe.gadget
        if game.operator is not None:
            raise ValueError("cutting planes need payoffs that are entries, got an operator")
        if gadget not in (Gadget.MAXMARGIN, Gadget.REACHING, Gadget.UNSAFE):
            raise ValueError(
                f"expected a gadget that maximises a smallest margin or mean, got {gadget.value}"
            )
        if game.num_roots == 0:
            raise ValueError("expected a subgame with roots, got none")
        if gadget == Gadget.MAXMARGIN:
            means = np.zeros((0, game.num_roots))
            second = subgame.root_reach / subgame.root_reach.sum()
        else:
            means = np.atleast_2d(subgame.root_weights)
            second = np.zeros(game.num_roots)
        mixture, answers = best_mixture(
            np.ascontiguousarray(plans.T),
            game.num_roots,
            game.parent,
            game.first,
            game.num_actions,
            game.root,
            game.row,
            game.column,
            game.value,
            means,
            second,
            _TIE_WEIGHT if gadget == Gadget.MAXMARGIN else 0.0,
            self.most_answers,
        )
        if answers >= self.most_answers:
            raise RuntimeError(
                f"the subgame at infoset {subgame.infoset} is not solved after {answers} answers"
            )
        return game.treeplex.behavior(mixture @ plans, subgame.blueprint)


def pure_plans(treeplex: Treeplex) -> FloatArray:
    """[n, S] realization plans of all pure strategies, those that play alike once.

    Raises:
      ValueError: there are more than `MOST_PLANS`.
    """
    follow: dict[int, list[int]] = {}
    for infoset, parent in enumerate(treeplex.parent_sequence.tolist()):
        follow.setdefault(parent, []).append(infoset)

    def below(sequence: int) -> list[tuple[int, ...]]:
        """The sequences that plans play after a sequence, itself among them."""
        choices = []
        for infoset in follow.get(sequence, []):
            first = int(treeplex.first_sequence[infoset])
            actions = range(first, first + int(treeplex.num_actions[infoset]))
            choices.append([plan for action in actions for plan in below(action)])
        count = int(np.prod([len(plans) for plans in choices]))
        if count > MOST_PLANS:
            raise ValueError(f"expected at most {MOST_PLANS} pure plans, got {count} or more")
        return [(sequence, *itertools.chain(*mix)) for mix in itertools.product(*choices)]

    played = below(EMPTY_SEQUENCE)
    plans = np.zeros((len(played), treeplex.num_sequences))
    for number, sequences in enumerate(played):
        plans[number, list(sequences)] = 1.0
    return plans
