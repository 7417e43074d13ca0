"""A bot's turn on the server: its move, how long it took, and what it says of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from klss_spiel.matches.referee import Player

_MOST_CANDIDATES: Final = 12
_LEAST_PROBABILITY: Final = 0.001
_LONGEST_REASON: Final = 300


def think(
    bot: Player, shown: Any, names: Mapping[int, str], spare: np.random.Generator
) -> tuple[int, float, dict[str, Any]]:
    """Asks a bot for its move; if it fails the human's game goes on with any legal move.

    Args:
      bot: who moves.
      shown: the state as the bot may see it.
      names: of the legal actions, at least one.
      spare: draws the move of a bot that fails.

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
        action = int(spare.choice(list(names)))
        failed = f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
        report = {"said": f"moved at random after {failed}", "failed": failed}
    seconds = time.monotonic() - start
    return action, seconds, {**report, "seconds": round(seconds, 3)}


def is_failure(report: Mapping[str, Any] | None) -> bool:
    """Whether a report is of a bot that failed and moved at random."""
    return report is not None and "failed" in report


def _plain_report(bot: Player) -> Any:
    report = getattr(bot, "report", None)
    if dataclasses.is_dataclass(report) and not isinstance(report, type):
        return dataclasses.asdict(report)
    return None if report is None else str(report)
