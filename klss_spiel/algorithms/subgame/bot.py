"""A player that refines its blueprint while it plays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from klss_spiel.algorithms.subgame.recipes import SubgameRecipe
from klss_spiel.algorithms.subgame.refine import Refiner, Schedule
from klss_spiel.algorithms.subgame.solvers import LinearProgramming, SubgameSolver
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.tree import NO_INFOSET


class SubgameBot(pyspiel.Bot):  # type: ignore[misc]
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
        super().__init__()
        self._player = player
        self._rng = rng
        self._where = None if where is None else set(np.asarray(where).tolist())
        self._refiner = Refiner(
            blueprint,
            recipe,
            player,
            Schedule.NESTED,
            solver or LinearProgramming(),
            lower_bounds,
        )

    def player_id(self) -> int:
        """The bot's seat."""
        return self._player

    def provides_policy(self) -> bool:
        """The bot can tell with what probability it plays each action."""
        return True

    def restart(self) -> None:
        """Starts a new game; nothing to forget, since infosets know their past."""

    def restart_at(self, state: Any) -> None:
        """Continues from a state."""

    def inform_action(self, state: Any, player: int, action: int) -> None:
        """Ignored: it would tell the bot hidden moves."""

    def get_policy(self, state: Any) -> list[tuple[int, float]]:
        """Actions and probabilities at a state in which the bot is to move."""
        label = state.information_state_string(self._player)
        infosets = self._refiner.tree.infosets[self._player]
        infoset = infosets.index_of_label.get(label)
        if infoset is None:
            raise ValueError(
                f"player {self._player} of {self._refiner.tree.name} has no information state "
                f"{label!r}; the bot was made for another game"
            )
        for step in self._way_to(infoset):
            self._refiner.solve([step])
        probabilities = self._refiner.behavior_at(infoset)
        return [
            (int(a), float(q))
            for a, q in zip(infosets.actions(infoset), probabilities, strict=True)
        ]

    def step(self, state: Any) -> int:
        """Draws an action."""
        return self.step_with_policy(state)[1]

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """Probabilities of the actions, and one drawn from them."""
        policy = self.get_policy(state)
        probabilities = np.array([q for _, q in policy])
        choice = int(self._rng.choice(len(policy), p=probabilities / probabilities.sum()))
        return policy, policy[choice][0]

    def _way_to(self, infoset: int) -> list[int]:
        """Where to solve on the way to an infoset and at it, first to last."""
        infosets = self._refiner.tree.infosets[self._player]
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
