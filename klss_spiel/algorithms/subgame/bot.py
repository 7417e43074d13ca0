"""A player that refines its blueprint while it plays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.subgame.recipes import SubgameRecipe
from klss_spiel.algorithms.subgame.refine import Refiner, Schedule
from klss_spiel.algorithms.subgame.solvers import LinearProgramming, SubgameSolver
from klss_spiel.algorithms.tree_bot import TreeBot
from klss_spiel.arrays import FloatArray
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.tree import NO_INFOSET


class SubgameBot(TreeBot):
    """Solves a subgame at every decision, nested, and plays its solution.

    At each of its turns the bot solves at its current infoset, starting from what
    it solved before on the way there: the strategy it plays is the one that
    `refine(blueprint, recipe, where=where)` returns, found at the visited infosets
    only. It sees nothing but its own information states. Mutable: solutions
    are kept, so that a situation met again costs nothing.
    """

    def __init__(
        self,
        blueprint: BehaviorPolicy,
        recipe: SubgameRecipe | str,
        player: int,
        rng: np.random.Generator,
        *,
        solver: SubgameSolver | None = None,
        lower_bounds: npt.ArrayLike | None = None,
        where: npt.ArrayLike | None = None,
    ) -> None:
        """Makes a bot for one seat.

        Args:
          blueprint: strategies of both players.
          recipe: the method.
          player: the bot's seat.
          rng: draws the moves.
          solver: by default linear programming.
          lower_bounds: as in `refine`.
          where: infosets at which to solve; by default every one at which the bot
            moves. With an `independent_set` this is ZS21's algorithm 14.
        """
        # First of all: it refuses what is no blueprint.
        refiner = Refiner(
            blueprint,
            recipe,
            player,
            Schedule.NESTED,
            solver or LinearProgramming(),
            lower_bounds,
        )
        super().__init__(refiner.tree, player, rng)
        self._where = None if where is None else set(np.asarray(where).tolist())
        self._refiner = refiner

    def behavior_at(self, infoset: int) -> FloatArray:
        """[actions] probabilities at one of the bot's decision infosets of the tree."""
        for step in self._way_to(infoset):
            self._refiner.solve([step])
        return self._refiner.behavior_at(infoset)

    def _way_to(self, infoset: int) -> list[int]:
        """Where to solve on the way to an infoset and at it, first to last."""
        infosets = self._tree.infosets[self._player]
        way = []
        while infoset != NO_INFOSET:
            if self._where is None:
                chosen = infosets.num_actions[infoset] > 0
            else:
                chosen = infoset in self._where
            if chosen:
                way.append(infoset)
            infoset = int(infosets.parent[infoset])
        return way[::-1]
