"""How long an anytime algorithm may run: once (`Budget`), or in all of a game (`Clock`).

With `nodes` or `iterations` a run is reproducible; with `seconds`, `stop` or a clock it
is not.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

# Seconds since some moment; tests have their own.
Now = Callable[[], float]

# Of the time that is left, the part to use for one move, and the part of the increment.
_SHARE_OF_CLOCK = 1.0 / 30.0
_SHARE_OF_INCREMENT = 0.8
_LARGEST_SHARE = 0.25
# What is never planned to be used: machines pause. Of little time, half.
_RESERVED_SECONDS = 0.3


class StopSignal(Protocol):
    """Something that is set once, from outside: a `threading.Event` or the like."""

    def is_set(self) -> bool:
        """Whether it has been set."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """Limits of one run; the first one reached ends it. At least one is needed.

    `stop` belongs to the process and the run at hand, and not to the value: budgets that
    differ only in it are equal, and it is left behind when a budget is pickled or copied.
    A budget that nothing else limits cannot be pickled.

    Attributes:
      seconds: wall-clock time.
      nodes: work spent on growing a tree: nodes added plus attempts that added none.
      iterations: iterations of the equilibrium algorithm.
      stop: ends the run as soon as it is set, and may be the only limit.
    """

    seconds: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    stop: StopSignal | None = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        given = {name: value for name, value in self._limits().items() if value is not None}
        if not given and self.stop is None:
            raise ValueError("expected a budget of seconds, nodes or iterations, got none of them")
        for name, value in given.items():
            if math.isnan(value) or value < 0:
                raise ValueError(f"expected a budget of {name} of at least 0, got {value}")
        if self.stop is not None and not callable(getattr(self.stop, "is_set", None)):
            raise ValueError(f"expected a stop with is_set(), such as an event, got {self.stop!r}")

    def _limits(self) -> dict[str, float | None]:
        return {"seconds": self.seconds, "nodes": self.nodes, "iterations": self.iterations}

    def __reduce__(self) -> tuple[Any, ...]:
        if all(limit is None for limit in self._limits().values()):
            raise TypeError("a budget that only its stop limits cannot be pickled or copied")
        return type(self), (self.seconds, self.nodes, self.iterations)

    @property
    def reproducible(self) -> bool:
        """Whether runs end at the same point whatever the machine does."""
        return self.seconds is None and self.stop is None

    def start(self, now: Now = time.monotonic) -> Meter:
        """A meter that has just begun to run."""
        return Meter(self, now)


def seconds_by_clock(remaining: float, increment: float) -> float:
    """How long to think about one move of a game with a clock."""
    longest = longest_by_clock(remaining)
    usable = longest / _LARGEST_SHARE
    return min(_SHARE_OF_CLOCK * usable + _SHARE_OF_INCREMENT * increment, longest)


def longest_by_clock(remaining: float) -> float:
    """How long one move may take if more than the usual hangs on it."""
    usable = remaining - min(_RESERVED_SECONDS, 0.5 * remaining)
    return max(0.0, _LARGEST_SHARE * usable)


@dataclasses.dataclass(frozen=True)
class Clock:
    """The time one player has for a game.

    Attributes:
      base: seconds at the start.
      increment: seconds added after every own move; tries that an umpire refuses are none.
    """

    base: float
    increment: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.base) and self.base > 0.0):
            raise ValueError(f"expected a clock that runs, got {self.base} seconds")
        if not (math.isfinite(self.increment) and self.increment >= 0.0):
            raise ValueError(f"expected an increment of at least 0, got {self.increment}")

    @classmethod
    def parse(cls, text: str) -> Clock:
        """Reads minutes+seconds such as "3+2", or seconds such as "9s+0.1"."""
        base, _, increment = text.partition("+")
        try:
            seconds = float(base[:-1]) if base.endswith("s") else 60.0 * float(base)
            return cls(seconds, float(increment or 0.0))
        except ValueError as error:
            reason = f" ({error})" if "expected" in str(error) else ""
            raise ValueError(
                f"expected a clock such as 3+2 or 9s+0.1, got {text!r}{reason}"
            ) from None

    def budget(self, remaining: float) -> Budget:
        """The budget of the next move, of so many seconds that are left."""
        return Budget(seconds=seconds_by_clock(remaining, self.increment))


class Meter:
    """What has been spent of a budget. Mutable."""

    def __init__(self, budget: Budget, now: Now = time.monotonic) -> None:
        self.budget = budget
        self.nodes = 0
        self.iterations = 0
        self._now = now
        self._start = now()

    @property
    def seconds(self) -> float:
        """Time since the meter began to run."""
        return self._now() - self._start

    @property
    def seconds_left(self) -> float:
        """Time until the budget is spent; infinite where time is no part of it."""
        limit = self.budget.seconds
        return math.inf if limit is None else limit - self.seconds

    def spend(self, nodes: int = 0, iterations: int = 0) -> None:
        """Records work done."""
        self.nodes += nodes
        self.iterations += iterations

    @property
    def stopped(self) -> bool:
        """Whether the run was ended from outside."""
        return self.budget.stop is not None and self.budget.stop.is_set()

    @property
    def fraction(self) -> float:
        """Share of the budget that is spent: 0 at the start, 1 or more at the end.

        0 until the end with a budget that only its stop limits.
        """
        shares = [float(self.stopped)]
        for spent, limit in (
            (self.nodes, self.budget.nodes),
            (self.iterations, self.budget.iterations),
        ):
            if limit is not None:
                shares.append(spent / limit if limit else 1.0)
        if self.budget.seconds is not None:
            shares.append(self.seconds / self.budget.seconds if self.budget.seconds else 1.0)
        return max(shares)

    @property
    def exhausted(self) -> bool:
        """Whether a limit has been reached."""
        return self.fraction >= 1.0
