"""The bots of a game on the server: their moves, how long they took, what they say of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from klss_spiel.matches.players import Seat, make_player
from klss_spiel.matches.referee import Player, close_player
from klss_spiel.openspiel import load_game, turn_based

_MOST_CANDIDATES: Final = 12
_LEAST_PROBABILITY: Final = 0.001
_LONGEST_REASON: Final = 300


class Table:
    """The bots of one game, made to be asked from elsewhere. Mutable."""

    def __init__(self, game: str, seats: Mapping[int, tuple[str, int]], seconds: float) -> None:
        """Lets bots sit down.

        Args:
          game: its string.
          seats: player -> specification and seed of the bot.
          seconds: per move, for bots whose specification does not say.
        """
        loaded = turn_based(load_game(game))
        self._bots: dict[int, Player] = {
            player: make_player(specification, Seat(loaded, player, seed, seconds))
            for player, (specification, seed) in seats.items()
        }

    def think(
        self, player: int, shown: Any, names: Mapping[int, str], spare: Sequence[int]
    ) -> tuple[int, float, dict[str, Any]]:
        """A bot's turn; see `think`."""
        return think(self._bots[player], shown, names, spare)

    def close(self) -> None:
        """Ends what bots have started; also while one of them thinks."""
        errors = []
        for bot in self._bots.values():
            try:
                close_player(bot)
            except Exception as error:
                errors.append(type(error).__name__)
        if errors:
            # The text of an error may name what is hidden.
            raise RuntimeError(f"a bot did not close: {', '.join(errors)}")


def think(
    bot: Player, shown: Any, names: Mapping[int, str], spare: Sequence[int]
) -> tuple[int, float, dict[str, Any]]:
    """Asks a bot for its move; if it fails the human's game goes on with any legal move.

    Args:
      bot: who moves.
      shown: the state as the bot may see it.
      names: of the legal actions, at least one.
      spare: seed of the move of a bot that fails.

    Returns:
      The action, the seconds it took, and the report for after the game: `said` by the bot,
      `seconds`, the `candidates` it weighed, and `failed`, the error of a bot that failed.
    """
    start = time.monotonic()
    report: dict[str, Any] = {}
    try:
        action = int(bot.step(shown))
        if action not in names:
            raise ValueError(f"expected a legal action, got {action}")
        report["said"] = _plain_report(bot)
        candidates = sorted(getattr(bot, "candidates", ()), key=lambda pair: -pair[1])
        shares = [
            [names[a], round(float(q), 4)]
            for a, q in candidates[:_MOST_CANDIDATES]
            if a in names and q >= _LEAST_PROBABILITY
        ]
        if shares:
            report["candidates"] = shares
    except Exception as error:
        action, report = at_random(names, spare, f"{type(error).__name__}: {error}")
    seconds = time.monotonic() - start
    return action, seconds, {**report, "seconds": round(seconds, 3)}


def at_random(
    names: Mapping[int, str], spare: Sequence[int], reason: str
) -> tuple[int, dict[str, Any]]:
    """The move and the report of a bot that has failed."""
    failed = reason[:_LONGEST_REASON]
    action = int(np.random.default_rng(list(spare)).choice(list(names)))
    return action, {"said": f"moved at random after {failed}", "failed": failed}


def is_failure(report: Mapping[str, Any] | None) -> bool:
    """Whether a report is of a bot that failed and moved at random."""
    return report is not None and "failed" in report


def _plain_report(bot: Player) -> Any:
    report = getattr(bot, "report", None)
    if dataclasses.is_dataclass(report) and not isinstance(report, type):
        return dataclasses.asdict(report)
    return None if report is None else str(report)
