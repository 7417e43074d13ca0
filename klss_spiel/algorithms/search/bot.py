"""The search as an OpenSpiel bot."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyspiel
from absl import logging

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import (
    Decision,
    SearchPlayer,
    SearchReport,
)
from klss_spiel.algorithms.search.readiness import make_ready
from klss_spiel.algorithms.search.settings import OBSCURO, SearchSettings
from klss_spiel.budget import Budget, Clock
from klss_spiel.openspiel import load_game
from klss_spiel.search_game import LeafEvaluator, SearchGame
from klss_spiel.specification import Specification


class SearchBot(pyspiel.Bot):  # type: ignore[misc]  # pyspiel has no type stubs.
    """Plays any two-player zero-sum OpenSpiel game by search. Mutable.

    The bot reads of a state whose turn it is, the own player's information state
    string and the own legal actions; never the history, nor anything hidden. What
    others do (`inform_action`) is ignored: the own information state says what the
    player may know of it.

    Simultaneous moves: play the turn-based version (`pyspiel.convert_to_turn_based`).

    The probabilities at a decision depend on the seed and on what the player was told;
    the action is drawn from a stream of the seed and the `game_number`, so that a
    mixed strategy is mixed over games.

    Attributes:
      report: what the last search did; None before the first.
    """

    def __init__(
        self,
        game: Any,
        player: int,
        budget: Budget | Clock,
        settings: SearchSettings = OBSCURO,
        seed: int = 0,
        evaluator: LeafEvaluator | str | Specification | None = None,
        belief_limit: int | None = None,
        sample_belief: bool | None = None,
        ponder: bool = False,
    ) -> None:
        """A bot at the start of a game.

        With a budget of time everything that is to be compiled or loaded is so before
        this returns (`warm_up`).

        Args:
          game: a `pyspiel.Game`, a game string, or a `SearchGame`.
          player: for whom to play.
          budget: of every decision, or the clock of every game. The first decision of
            the first game may take twice as many nodes or iterations, but not twice the
            time; see `SearchSettings.opening_search`.
          settings: how to search.
          seed: with a budget of nodes or iterations, the same seed and observations
            give the same probabilities, and with the same `game_number` the same
            actions.
          evaluator: values of unfinished positions, or a name (`klss_spiel.evaluators`);
            None for the game's own.
          belief_limit: most positions a belief may hold; see `search_game`.
          sample_belief: past the limit go on with a sample; see `search_game`.
          ponder: search on while the other player thinks.

        Raises:
          TypeError: settings, a budget or an evaluator of another type.
          ValueError: a game that cannot be searched, or another player.
        """
        pyspiel.Bot.__init__(self)
        if not isinstance(settings, SearchSettings):
            raise TypeError(f"expected SearchSettings, got {settings!r}; see parse_settings")
        if not isinstance(budget, Budget | Clock):
            raise TypeError(f"expected a Budget or a Clock, got {budget!r}")
        if isinstance(game, SearchGame):
            if any(given is not None for given in (evaluator, belief_limit, sample_belief)):
                raise ValueError(
                    f"{game.name} is a SearchGame, which has its evaluator and beliefs already; "
                    "expected none of evaluator, belief_limit and sample_belief"
                )
            searched = game
        else:
            game = load_game(game) if isinstance(game, str) else game
            _refuse_simultaneous_moves(game)
            searched = search_game(game, evaluator, belief_limit, sample_belief)
        self._player = SearchPlayer(searched, player, settings, budget, seed, ponder)
        self.report: SearchReport | None = None
        self.game_number = 0
        if isinstance(budget, Clock) or budget.seconds is not None:
            self.warm_up(game if isinstance(game, pyspiel.Game) else None)

    @property
    def game_number(self) -> int:
        """Which game is being played. Draws depend on this, on the seed and the player.

        `restart` raises it. Whoever sets it starts the draws of that game anew: in a
        match every game can be repeated by itself.
        """
        return self._game_number

    @game_number.setter
    def game_number(self, number: int) -> None:
        self._game_number = number
        self._draws = np.random.default_rng([self._player.seed, self._player.player, number])

    def __reduce__(self) -> tuple[Any, ...]:
        """Bots pickle and copy with everything they remember."""
        return _bare_bot, (type(self),), self.__dict__.copy()

    def warm_up(self, game: Any = None) -> None:
        """Compiles or loads all that decisions need, so that it is not done on a clock.

        Args:
          game: the `pyspiel.Game`, whose first moves are played by tiny searches. Without
            it only the loops that all games share are made ready.
        """
        start = time.perf_counter()
        make_ready(game, self._player)
        logging.info("the search is ready after %.1f s", time.perf_counter() - start)

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
        action = decision.sample(self._draws)
        self._player.record_action(told, action)
        return _pairs(decision), action

    def step(self, state: Any) -> int:
        """The action that is played."""
        return self.step_with_policy(state)[1]

    def restart(self) -> None:
        """Starts the next game."""
        self._player.restart()
        self.report = None
        self.game_number += 1

    def close(self) -> None:
        """Ends what goes on between moves (pondering); `restart` begins another game."""
        self._player.close()

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


def _bare_bot(kind: type[SearchBot]) -> SearchBot:
    """A bot whose attributes are still to be set."""
    bot = kind.__new__(kind)
    pyspiel.Bot.__init__(bot)
    return bot


def _refuse_simultaneous_moves(game: Any) -> None:
    if not isinstance(game, pyspiel.Game):
        return
    dynamics = game.get_type().dynamics
    if dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(
            f"expected a game in which one player moves at a time, got {game}, which is "
            f"{dynamics}; play pyspiel.convert_to_turn_based(game)"
        )
