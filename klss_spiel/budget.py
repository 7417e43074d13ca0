"""How long an anytime algorithm may run.

With `nodes` or `iterations` a run is reproducible; with `seconds` it is not.
"""

from __future__ import annotations

import dataclasses
import math
import time


@dataclasses.dataclass(frozen=True)
class Budget:
    """Limits of one run; the first one reached ends it. At least one is needed.

    Attributes:
      seconds: wall-clock time.
      nodes: work spent on growing a tree: nodes added plus attempts that added none.
      iterations: iterations of the equilibrium algorithm.
    """

    seconds: float | None = None
    nodes: int | None = None
    iterations: int | None = None

    def __post_init__(self) -> None:
        given = {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }
        if not given:
            raise ValueError("expected a budget of seconds, nodes or iterations, got none of them")
        for name, value in given.items():
            if math.isnan(value) or value < 0:
                raise ValueError(f"expected a budget of {name} of at least 0, got {value}")

    def start(self) -> Clock:
        """A clock that has just begun to run."""
        return Clock(self)


class Clock:
    """What has been spent of a budget. Mutable."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.nodes = 0
        self.iterations = 0
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the clock began to run."""
        return time.monotonic() - self._start

    def spend(self, nodes: int = 0, iterations: int = 0) -> None:
        """Records work done."""
        self.nodes += nodes
        self.iterations += iterations

    @property
    def fraction(self) -> float:
        """Share of the budget that is spent: 0 at the start, 1 or more at the end."""
        shares = []
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
