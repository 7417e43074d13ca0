"""What a decision may cost here, and what it cost in the paper."""

from __future__ import annotations

import dataclasses

from klss_spiel.budget import Budget

# Obscuro, section 4 and appendix D: per move, on five cores of a server for each side.
PAPER_BUDGET = "5 s, 5 cores"


@dataclasses.dataclass(frozen=True)
class MoveBudget:
    """Nodes or seconds for each decision, on one core, and how much is remembered.

    Attributes:
      nodes: nodes that a search may add.
      seconds: how long it may search; updating the belief is not counted.
      belief_limit: positions above which a belief becomes a sample, of players in
        matches; None for the game's own limit, some millions.
    """

    nodes: int | None = None
    seconds: float | None = None
    belief_limit: int | None = None

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.seconds is None):
            raise ValueError(
                f"expected either nodes or seconds, got nodes={self.nodes}, seconds={self.seconds}"
            )
        if self.belief_limit is not None and self.belief_limit < 1:
            raise ValueError(f"expected a belief of at least 1 position, got {self.belief_limit}")
        if self.nodes is not None and self.nodes < 1:
            raise ValueError(f"expected at least 1 node, got {self.nodes}")
        if self.seconds is not None and not self.seconds > 0.0:
            raise ValueError(f"expected more than 0 seconds, got {self.seconds}")

    def __str__(self) -> str:
        amount = f"{self.nodes} nodes" if self.nodes is not None else f"{self.seconds:g} s"
        return f"{amount}, 1 core"

    @property
    def argument(self) -> str:
        """Nodes or seconds as an argument of a player's specification."""
        return f"nodes={self.nodes}" if self.nodes is not None else f"seconds={self.seconds:g}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """As arguments of a player's specification, the limit of beliefs included."""
        limit = () if self.belief_limit is None else (f"limit={self.belief_limit}",)
        return (self.argument, *limit)

    @property
    def columns(self) -> dict[str, float | None]:
        """As columns of a job."""
        return {"nodes": self.nodes, "seconds_per_move": self.seconds}

    def times(self, factor: int) -> MoveBudget:
        """So many times as much."""
        if self.nodes is not None:
            return dataclasses.replace(self, nodes=factor * self.nodes)
        assert self.seconds is not None
        return dataclasses.replace(self, seconds=factor * self.seconds)

    def of_search(self) -> Budget:
        """As a search takes it."""
        return Budget(nodes=self.nodes, seconds=self.seconds)


def budget_from_columns(columns: dict[str, float | None]) -> MoveBudget:
    """The inverse of `MoveBudget.columns`."""
    nodes = columns["nodes"]
    return MoveBudget(None if nodes is None else int(nodes), columns["seconds_per_move"])
