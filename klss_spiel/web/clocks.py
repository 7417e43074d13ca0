"""Clocks of a game between a human and a bot."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from klss_spiel.matches.players import seconds_by_clock
from klss_spiel.matches.referee import TimeControl
from klss_spiel.veiled_state import ClockReading


class GameClock:
    """Both players' clocks. Mutable.

    What the other player is shown of a clock changes only when a move is made: tries that
    an umpire refuses are nobody else's business.
    """

    def __init__(
        self, control: TimeControl | None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.control = control
        self._now = now
        base = math.inf if control is None else control.base
        self.remaining = [base, base]
        self._turn: tuple[int, float, float] | None = None

    def begin_turn(self, player: int) -> None:
        """The player's clock runs from now on, unless it does already."""
        if self._turn is None or self._turn[0] != player:
            self._turn = (player, self.remaining[player], self._now())

    def spend(self, player: int, seconds: float, turn_ends: bool) -> None:
        """Takes thinking time off a clock.

        Args:
          player: whose.
          seconds: thought about one action.
          turn_ends: the increment is for moves, not for tries.
        """
        self.remaining[player] = max(0.0, self.remaining[player] - seconds)
        if turn_ends:
            self._turn = None
            if self.control is not None:
                self.remaining[player] += self.control.increment

    def stop(self) -> None:
        """Nobody's clock runs any more."""
        self._turn = None

    def reading(self, player: int, patience: float) -> ClockReading | None:
        """What to tell a bot that would think for `patience` seconds: only if it cannot."""
        if self.control is None:
            return None
        increment = self.control.increment
        if seconds_by_clock(self.remaining[player], increment) >= patience:
            return None
        return ClockReading(self.remaining[player], increment)

    def as_json(self) -> dict[str, Any] | None:
        """[player] seconds as both may see them, and whose clock runs."""
        if self.control is None:
            return None
        shown = [round(seconds, 1) for seconds in self.remaining]
        running = None
        if self._turn is not None:
            running, at_start, since = self._turn
            shown[running] = round(max(0.0, at_start - (self._now() - since)), 1)
        return {"seconds": shown, "running": running, "increment": self.control.increment}
