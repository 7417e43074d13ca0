"""What is kept of a game: one row, which is one line of JSON."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

# How games end.
BY_RULE = "rules"
BY_ERROR = "error"
BY_ILLEGAL_ACTION = "illegal action"
BY_TIME = "time"


@dataclasses.dataclass(frozen=True)
class GameRecord:
    """A finished game.

    Attributes:
      returns: payoffs of players 0 and 1.
      actions: all actions, chance's included, as OpenSpiel numbers them.
      moves: the players' actions as the game writes them (UCI in chess).
      termination: BY_RULE, or why a player lost: BY_ERROR, BY_ILLEGAL_ACTION, BY_TIME.
      loser: who lost otherwise than by the rules, else None.
      reason: what went wrong then.
      seconds: each player's thinking time.
      longest: each player's longest thought.
      least_left: what each player's clock showed when it showed least; None without clocks.
      reports: what players say about their decisions, if they were asked.
    """

    returns: tuple[float, float]
    actions: tuple[int, ...]
    moves: tuple[str, ...]
    termination: str = BY_RULE
    loser: int | None = None
    reason: str | None = None
    seconds: tuple[float, float] = (0.0, 0.0)
    longest: tuple[float, float] = (0.0, 0.0)
    least_left: tuple[float, float] | None = None
    reports: tuple[Any, ...] = ()

    def row(self) -> dict[str, Any]:
        """Columns for a file of rows."""
        clocks = {}
        if self.least_left is not None:
            clocks = {f"least_left_{n}": round(left, 4) for n, left in enumerate(self.least_left)}
        return {
            "return_0": self.returns[0],
            "return_1": self.returns[1],
            "termination": self.termination,
            "loser": self.loser,
            "reason": self.reason,
            "plies": len(self.moves),
            "moves": " ".join(self.moves),
            "actions": list(self.actions),
            "seconds_0": round(self.seconds[0], 4),
            "seconds_1": round(self.seconds[1], 4),
            "longest_0": round(self.longest[0], 4),
            "longest_1": round(self.longest[1], 4),
            **clocks,
            **({"reports": list(self.reports)} if self.reports else {}),
        }


def score_of(payoff: float, even: float = 0.0) -> float:
    """1, 1/2 or 0: whether a payoff is above, at or below that of an even game."""
    if math.isclose(payoff, even, abs_tol=1e-9):
        return 0.5
    return 1.0 if payoff > even else 0.0
