"""The search as an OpenSpiel bot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import Decision, SearchPlayer, SearchReport
from klss_spiel.algorithms.search.settings import OBSCURO, SearchSettings
from klss_spiel.budget import Budget
from klss_spiel.search_game import LeafEvaluator, SearchGame


class SearchBot(pyspiel.Bot):  # type: ignore[misc]  # pyspiel has no type stubs.
    """Plays any two-player zero-sum OpenSpiel game by search. Mutable.

    The bot reads of a state whose turn it is, the own player's information state
    string and the own legal actions; never the history, nor anything hidden. What
    others do (`inform_action`) is ignored: the own information state says what the
    player may know of it.

    Simultaneous moves: play the turn-based version (`pyspiel.convert_to_turn_based`).

    Attributes:
      report: what the last search did; None before the first.
    """

    def __init__(
        self,
        game: Any,
        player: int,
        budget: Budget,
        settings: SearchSettings = OBSCURO,
        seed: int = 0,
        evaluator: LeafEvaluator | None = None,
    ) -> None:
        """A bot at the start of a game.

        Args:
          game: a `pyspiel.Game`, a game string, or a `SearchGame`.
          player: for whom to play.
          budget: of every decision. The first decision of the first game may take
            twice as much; see `SearchSettings.opening_search`.
          settings: how to search.
          seed: with a budget of nodes or iterations, the same seed and observations
            give the same actions.
          evaluator: values of unfinished positions; None for the game's own.
        """
        pyspiel.Bot.__init__(self)
        searched = game if isinstance(game, SearchGame) else search_game(game, evaluator)
        self._player = SearchPlayer(searched, player, settings, budget, seed)
        self.report: SearchReport | None = None

    @property
    def search_player(self) -> SearchPlayer:
        """The player behind the bot, for a look at its search."""
        return self._player

    def player_id(self) -> int:
        """For whom the bot plays."""
        return self._player.player

    def provides_policy(self) -> bool:
        """Whether `step_with_policy` works."""
        return True

    def get_policy(self, state: Any) -> list[tuple[int, float]]:
        """Actions and probabilities, without playing one."""
        decision = self._decide(state)
        return _pairs(decision)

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """Actions and probabilities, and the action that is played."""
        decision = self._decide(state)
        told = state.information_state_string(self._player.player)
        action = decision.sample(np.random.default_rng([self._player.seed, *told.encode()]))
        self._player.record_action(told, action)
        return _pairs(decision), action

    def step(self, state: Any) -> int:
        """The action that is played."""
        return self.step_with_policy(state)[1]

    def restart(self) -> None:
        """Starts a new game."""
        self._player.restart()
        self.report = None

    def restart_at(self, state: Any) -> None:
        """Starts at a state; what happened before is inferred from the next decision."""
        del state
        self.restart()

    def inform_action(self, state: Any, player_id: int, action: int) -> None:
        """Does nothing: another player's action is hidden information."""
        del state, player_id, action

    def _decide(self, state: Any) -> Decision:
        player = self._player.player
        if state.is_terminal():
            raise ValueError("expected a state in which a move is due, got the end of a game")
        if state.current_player() != player:
            raise ValueError(
                f"expected a state in which player {player} moves, got one of player "
                f"{state.current_player()}"
            )
        told = state.information_state_string(player)
        decision = self._player.decide(told, state.legal_actions(player))
        self.report = decision.report
        return decision


def _pairs(decision: Decision) -> list[tuple[int, float]]:
    return [(a, float(q)) for a, q in zip(decision.actions, decision.probabilities, strict=True)]
