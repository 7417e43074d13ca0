"""What a searching player plays in a game too large to tabulate: searched where asked for."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from klss_spiel.algorithms.search.player import Decision, SearchPlayer
from klss_spiel.arrays import FloatArray
from klss_spiel.budget import Clock

# A decision of the past: what the player was told, what could be done, what was done.
Past = tuple[str, tuple[int, ...], int]

_KEPT_SEARCHES = 500


class SearchedPolicy:
    """A `SearchPlayer`'s strategy, an infoset at a time. Mutable.

    With a budget of nodes or iterations a search depends on the seed and on what the
    player was told only. So the strategy is a fixed function of the information state,
    the one that `search_policy` tabulates, and no infoset needs to be searched twice.

    Attributes:
      searches: how often the player has searched.
      nodes: that these searches made, in all.
    """

    def __init__(self, player: SearchPlayer, kept_searches: int = _KEPT_SEARCHES) -> None:
        """The policy of a player at the start of a game.

        Args:
          player: whose strategy; it is not changed.
          kept_searches: how many of the last searches are kept to go on from; others are
            repeated when the game goes on from there.
        """
        if isinstance(player.budget, Clock) or player.budget.seconds is not None:
            raise ValueError(
                f"expected a budget of nodes or iterations, got {player.budget}: what is found in "
                "seconds is no fixed strategy"
            )
        if kept_searches < 1:
            raise ValueError(f"expected to keep at least 1 search, got {kept_searches}")
        self.player = player.player
        self.searches = 0
        self.nodes = 0
        self._start = player.fork()
        self._start.restart()
        self._kept_searches = kept_searches
        self._probabilities: dict[str, FloatArray] = {}
        # Players who have searched at an infoset and not acted yet, the last used at the end.
        self._searched: collections.OrderedDict[str, SearchPlayer] = collections.OrderedDict()

    def probabilities(self, past: Sequence[Past], told: str, legal: Sequence[int]) -> FloatArray:
        """[number of legal actions] with which the player plays them.

        Args:
          past: the player's earlier decisions in this game.
          told: the information state.
          legal: the legal actions.
        """
        if told not in self._probabilities:
            self._search(past, told, legal)
        return self._probabilities[told]

    def game(self) -> SearchedGame:
        """Somebody who plays the policy in a new game."""
        return SearchedGame(self)

    def _search(self, past: Sequence[Past], told: str, legal: Sequence[int]) -> SearchPlayer:
        here = self._after(past)
        decision: Decision = here.decide(told, legal)
        self._start.share_opening(here)
        self.searches += 1
        self.nodes += decision.report.new_nodes
        self._probabilities[told] = decision.probabilities
        self._searched[told] = here
        if len(self._searched) > self._kept_searches:
            self._searched.popitem(last=False)
        return here

    def _after(self, past: Sequence[Past]) -> SearchPlayer:
        """A player who has been through all these decisions."""
        if not past:
            return self._start.fork()
        told, legal, action = past[-1]
        if told in self._searched:
            self._searched.move_to_end(told)
            here = self._searched[told]
        else:
            here = self._search(past[:-1], told, legal)
        after = here.fork()
        after.record_action(told, action)
        return after


class SearchedGame:
    """One game of a `SearchedPolicy`. Mutable."""

    def __init__(self, policy: SearchedPolicy) -> None:
        self._policy = policy
        self._past: list[Past] = []

    def probabilities(self, state: Any) -> FloatArray:
        """[number of legal actions] with which the policy plays at a (veiled) state."""
        told, legal = state.information_state_string(), state.legal_actions()
        return np.asarray(self._policy.probabilities(self._past, told, legal))

    def record(self, state: Any, action: int) -> None:
        """Notes what was played at a state, by whomever it was chosen."""
        told, legal = state.information_state_string(), tuple(state.legal_actions())
        self._past.append((told, legal, action))
