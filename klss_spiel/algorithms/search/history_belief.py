"""Every history of an OpenSpiel game that fits what one player has been told.

The belief starts with the start of the game and is advanced from one own decision to
the next: apply the own action, follow every move of chance and of the opponent until
the player is to move, keep the histories with the right information state string. In
a game of perfect recall that is exactly the player's infoset. Nothing is read from
the true state of the game.

Limits: the histories kept, and those waiting while they are followed, are held in
memory (a C++ state takes around 1 kB), and between two own decisions nothing can be
ruled out early. Past `limit` the belief either refuses (`ValueError`) or goes on with
a sample, and says so by `complete`.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from klss_spiel.search_game import Positions
from klss_spiel.tree import TERMINAL

# A sample is content after following so many states for each that it may hold: where
# the opponent can try and try again, all ways to go on would never be through.
_FOLLOWED_PER_HISTORY = 5


class HistoryBelief:
    """The infoset of a player, as states. Mutable.

    Attributes:
      player: whose belief.
      complete: whether no consistent history is missing.
      positions: [n] the states; before the first `advance`, the start of the game.
    """

    def __init__(
        self, game: Any, player: int, limit: int = 100_000, sample: bool = False, seed: int = 0
    ) -> None:
        """A belief before anything happened.

        Args:
          game: a sequential `pyspiel.Game` with information state strings.
          player: whose belief.
          limit: most histories to hold at any time.
          sample: past the limit keep a random sample instead of raising an error.
          seed: of the samples.
        """
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1 history, got {limit}")
        self.player = player
        self.complete = True
        self._game = game
        self._limit = limit
        self._sample = sample
        self._rng = np.random.default_rng(seed)
        self._states: list[Any] = [game.new_initial_state()]

    @property
    def positions(self) -> Positions:
        """[n] the states."""
        positions = np.empty(len(self._states), dtype=object)
        positions[:] = self._states
        return positions

    @property
    def weights(self) -> None:
        """None: all histories are alike."""
        return None

    def advance(self, action: int | None, information_state: str) -> None:
        """Moves on to the player's next decision.

        Decisions the player was not told about here (a game taken up in its middle)
        are passed by every action.

        Args:
          action: the own action taken at the last decision; None before the first.
          information_state: what the player is told now, being to move.

        Raises:
          ValueError: no history fits, or too many do and sampling is off.
        """
        states = self._states
        if action is not None:
            states = [state.child(action) for state in states if action in state.legal_actions()]
        decisions = self._next_decisions(states)
        while True:
            fitting = [
                state
                for state in decisions
                if state.information_state_string(self.player) == information_state
            ]
            if fitting:
                self._states = fitting
                return
            if not self.complete:
                break  # what fits was left out of the sample
            states = [state.child(a) for state in decisions for a in state.legal_actions()]
            if not states:
                break
            decisions = self._next_decisions(states)
        if self.complete:
            raise ValueError(
                f"no history of {self._game} gives player {self.player} the information state "
                f"{information_state!r}"
            )
        self._states = []

    def copy(self) -> HistoryBelief:
        """A belief that can be advanced on its own; it draws the same samples."""
        other = copy.copy(self)
        other._rng = copy.deepcopy(self._rng)
        return other

    def _next_decisions(self, states: list[Any]) -> list[Any]:
        """The states at which the player moves next, following everybody else's moves."""
        decisions = []
        waiting = list(states)
        followed, sampling = 0, False
        while waiting and followed < _FOLLOWED_PER_HISTORY * self._limit:
            if sampling:
                # In no order, so that what is left out when time is up is nothing special.
                followed += 1
                chosen = int(self._rng.integers(len(waiting)))
                waiting[chosen], waiting[-1] = waiting[-1], waiting[chosen]
            state = waiting.pop()
            mover = int(state.current_player())
            if mover == TERMINAL:
                continue
            if mover == self.player:
                decisions.append(state)
            else:
                waiting.extend(state.child(a) for a in state.legal_actions())
            if len(waiting) + len(decisions) > self._limit:
                if not self._sample:
                    raise ValueError(
                        f"more than {self._limit} histories of {self._game} fit what player "
                        f"{self.player} was told; raise belief_limit or allow sample_belief (of "
                        "SearchBot or search_game)"
                    )
                self.complete, sampling = False, True
                waiting = self._thin(waiting)
                decisions = self._thin(decisions)
        return decisions

    def _thin(self, states: list[Any]) -> list[Any]:
        """A random half."""
        keep = self._rng.permutation(len(states))[: (len(states) + 1) // 2]
        return [states[i] for i in np.sort(keep)]
