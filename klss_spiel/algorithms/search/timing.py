"""The time of one decision and of a game: what is left, and thinking on the other's time.

A decision is more than its search: the belief is brought up to date, the last tree is cut,
and the report is made. `MoveTimer` counts all of it.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import threading

from klss_spiel.algorithms.search.search import Search
from klss_spiel.budget import Budget, Clock, Now, longest_by_clock

# A search gets at least this share of a decision's time, whatever came before it.
_LEAST_SHARE = 0.05
# Trees grow no further than this while the other player thinks.
_MOST_PONDERED_NODES = 4_000_000


class MoveTimer:
    """What is left of a decision's budget. Mutable.

    Attributes:
      budget: of the whole decision.
      closing: seconds that are kept for what follows the search.
      longest: seconds that the decision may take if the player would otherwise not know
        what to hold possible; as many as there are in the budget unless a clock has more.
    """

    def __init__(
        self, budget: Budget, now: Now, closing: float = 0.0, longest: float = 0.0
    ) -> None:
        self.budget = budget
        self.closing = closing
        self.longest = max(longest, budget.seconds or 0.0)
        self._now = now
        self._start = now()

    def part(self, share: float = 1.0) -> Budget:
        """The budget of a search that begins now, with this share of the time that is left.

        Nodes and iterations are not divided: they are for every search.
        """
        seconds = self.budget.seconds
        if seconds is None:
            return self.budget
        left = seconds - (self._now() - self._start) - self.closing
        return dataclasses.replace(self.budget, seconds=max(_LEAST_SHARE * seconds, share * left))


class GameTimer:
    """A player's time in a game. Mutable.

    Attributes:
      budget: of every decision, or the clock of the game.
      remaining: seconds left on the clock; None without one.
    """

    def __init__(self, budget: Budget | Clock, now: Now) -> None:
        self.budget = budget
        self.now = now
        self.remaining: float | None = None
        self._closing = 0.0
        self._paid = 0.0
        self._began = now()
        self._searched: float | None = None
        self.restart()

    def restart(self) -> None:
        """A new game."""
        self._paid = 0.0
        self.remaining = self.budget.base if isinstance(self.budget, Clock) else None

    def begin(self) -> None:
        """A decision begins."""
        self._began, self._searched = self.now(), None

    @property
    def elapsed(self) -> float:
        """Seconds since the decision began."""
        return self.now() - self._began

    def timer(self) -> MoveTimer:
        """A timer of the decision that begins now."""
        budget, longest = self.budget, 0.0
        if isinstance(budget, Clock):
            assert self.remaining is not None
            # What was loaded or compiled since `begin` is gone from the clock.
            remaining = max(0.0, self.remaining - self.elapsed)
            budget, longest = budget.budget(remaining), longest_by_clock(remaining)
        return MoveTimer(budget, self.now, self._closing, longest)

    def search_ends(self) -> None:
        """The search is over; what follows takes as long as the last time."""
        self._searched = self.now()

    def end(self) -> None:
        """The decision is made."""
        if self._searched is not None:
            self._closing = max(0.5 * self._closing, self.now() - self._searched)
        if self.remaining is not None:
            self.remaining -= self.elapsed

    def move(self) -> None:
        """The player has moved, as far as is known yet."""
        if self.remaining is not None and isinstance(self.budget, Clock):
            self._paid = self.budget.increment
            self.remaining += self._paid

    def refuse(self) -> None:
        """The last move was a try that an umpire has refused: nothing is paid for it.

        Said again of the same move, or after somebody else has set the clock, it changes
        nothing.
        """
        if self.remaining is not None:
            self.remaining -= self._paid
        self._paid = 0.0


class Pondering:
    """A search that goes on in a thread until it is stopped."""

    def __init__(self, search: Search) -> None:
        self._stop = threading.Event()
        self._worker = concurrent.futures.ThreadPoolExecutor(1, "pondering")
        budget = Budget(nodes=_MOST_PONDERED_NODES, stop=self._stop)
        self._running = self._worker.submit(search.run, budget)

    def stop(self) -> None:
        """Ends the search; raises what went wrong in it."""
        self._stop.set()
        self._worker.shutdown()
        self._running.result()
