"""Players that search: the growing tree, subgames of a blueprint, trusted bots."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.settings import NO_REGION, parse_settings
from klss_spiel.algorithms.subgame import recipes
from klss_spiel.algorithms.subgame.bot import SubgameBot
from klss_spiel.budget import Budget, Clock
from klss_spiel.matches.players import (
    Seat,
    blueprint_of,
    register_player,
    seat_budget,
)
from klss_spiel.matches.referee import Player, close_player
from klss_spiel.specification import Specification, Value

_LEAST_SECONDS = 1e-3


class ClockedSearch:
    """A search bot that divides its clock's time among the moves.

    Attributes:
      bot: the bot.
      candidates: actions and probabilities of the last decision.
    """

    def __init__(self, bot: SearchBot, budget_is_given: bool) -> None:
        self.bot = bot
        self.candidates: list[tuple[int, float]] = []
        self._budget_is_given = budget_is_given

    @property
    def report(self) -> Any:
        """What the last search did."""
        return self.bot.report

    def step(self, state: Any) -> int:
        """The action to play."""
        clock = getattr(state, "clock", None)
        if clock is not None and not self._budget_is_given:
            # The referee's clock is the one that counts.
            remaining = max(clock.remaining, _LEAST_SECONDS)
            self.bot.search_player.budget = Clock(remaining, clock.increment)
        self.candidates, action = self.bot.step_with_policy(state)
        return int(action)

    def close(self) -> None:
        """Ends pondering."""
        self.bot.close()


def _make_search(
    seat: Seat,
    preset: str = "obscuro",
    nodes: int | None = None,
    seconds: float | None = None,
    iterations: int | None = None,
    evaluator: Value | Specification | None = None,
    limit: int | None = None,
    ponder: bool = False,
    **settings: Any,
) -> Player:
    given = any(limit is not None for limit in (nodes, seconds, iterations, seat.seconds))
    leaves = None if evaluator is None else _evaluator(seat, evaluator)
    # With a budget of time it is ready before anybody's clock runs.
    bot = SearchBot(
        seat.game,
        seat.player,
        seat_budget(seat, nodes, seconds, iterations),
        parse_settings(preset, **settings),
        seed=seat.seed,
        evaluator=leaves,
        belief_limit=limit,
        ponder=ponder,
    )
    return ClockedSearch(bot, given)


def _evaluator(seat: Seat, evaluator: Value | Specification) -> Any:
    from klss_spiel.evaluators import make_evaluator

    return make_evaluator(seat.game, Specification.nested(evaluator))


def _make_zs21_baseline(
    seat: Seat,
    depth: int = 3,
    nodes: int = 20_000,
    worlds: int | None = None,
    limit: int | None = None,
) -> Player:
    """Imperfect-information search to depth 1, then perfect information (ZS21, section 6).

    The agent of ZS21 whose tree is every own move at every sampled position and nothing
    below; there a perfect-information search with iterative deepening says what the
    position is worth. Nothing is carried over to the next move: the positions that many
    such trees hold would be more at every move.
    """
    settings = dataclasses.replace(parse_settings("zs21"), carry_over=NO_REGION)
    if worlds is not None:
        settings = dataclasses.replace(settings, min_infoset_size=worlds)
    engine = Specification("alphabeta", (), (("depth", depth), ("nodes", nodes)))
    # The first round makes the own moves' children, the second solves that game.
    budget = Budget(iterations=2)
    searched = search_game(seat.game, _evaluator(seat, engine), limit)
    bot = SearchBot(searched, seat.player, budget, settings, seed=seat.seed)
    return ClockedSearch(bot, budget_is_given=True)


def _make_subgame(seat: Seat, recipe: str = "1-klss", blueprint: str = "cfr:100") -> Player:
    policy = blueprint_of(str(seat.game), blueprint)
    return SubgameBot(
        policy,
        recipes.parse_recipe(recipe),
        seat.player,
        np.random.default_rng(seat.seed),
    )


def _make_trusted(seat: Seat, bot: Value | Specification) -> Player:
    """A bot that is given the true state: OpenSpiel's own, for comparison."""
    wanted = Specification.nested(bot)
    if wanted.name != "mcts":
        from klss_spiel.matches.players import make_player

        return Trusted(make_player(wanted, seat))
    return TrustedMcts(seat, **wanted.arguments)  # type: ignore[arg-type]


class Trusted:
    """Any player, told the truth; bots of OpenSpiel need it."""

    sees_everything = True

    def __init__(self, player: Player) -> None:
        self._player = player

    @property
    def report(self) -> Any:
        """What the player says of its last decision."""
        return getattr(self._player, "report", None)

    def step(self, state: Any) -> int:
        """The player's action at the true state."""
        return self._player.step(state)

    def close(self) -> None:
        """Ends what the player has started."""
        close_player(self._player)


class TrustedMcts:
    """OpenSpiel's MCTS on the true state."""

    sees_everything = True

    def __init__(self, seat: Seat, simulations: int = 100, exploration: float = 2.0) -> None:
        from open_spiel.python.algorithms import mcts

        rng = np.random.RandomState(seat.seed % 2**32)
        self._bot = mcts.MCTSBot(
            seat.game,
            exploration,
            simulations,
            mcts.RandomRolloutEvaluator(1, rng),
            random_state=rng,
        )

    def step(self, state: Any) -> int:
        """The most visited action."""
        return int(self._bot.step(state))


register_player("search", _make_search)
register_player("zs21_baseline", _make_zs21_baseline)
register_player("subgame", _make_subgame)
register_player("trusted", _make_trusted)
