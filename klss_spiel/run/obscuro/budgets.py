"""What a decision may cost here, and what it cost in the paper."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from klss_spiel.budget import Budget

# Obscuro, section 4 and appendix D: per move, on five cores of a server for each side.
PAPER_BUDGET = "5 s, 5 cores"


@dataclasses.dataclass(frozen=True)
class MoveBudget:
    """Nodes or seconds for each decision, on one core, and how much is remembered.

    Attributes:
      nodes: nodes that a search may add.
      seconds: how long it may take, updating the belief included.
      belief_limit: positions above which a belief becomes a sample, of players in
        matches; None for the game's own limit, some millions.
      evaluator: specification of what values leaves; None for the game's own. It is in
        the keys of rows: name it where rows should outlive a change of the default.
    """

    nodes: int | None = None
    seconds: float | None = None
    belief_limit: int | None = None
    evaluator: str | None = None

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
        evaluator = () if self.evaluator is None else (f"evaluator={self.evaluator}",)
        return (self.argument, *limit, *evaluator)

    @property
    def columns(self) -> dict[str, Any]:
        """As columns of a job."""
        evaluator = {} if self.evaluator is None else {"evaluator": self.evaluator}
        return {"nodes": self.nodes, "seconds_per_move": self.seconds, **evaluator}

    def times(self, factor: int) -> MoveBudget:
        """So many times as much."""
        if self.nodes is not None:
            return dataclasses.replace(self, nodes=factor * self.nodes)
        assert self.seconds is not None
        return dataclasses.replace(self, seconds=factor * self.seconds)

    def of_search(self) -> Budget:
        """As a search takes it."""
        return Budget(nodes=self.nodes, seconds=self.seconds)


def budget_from_columns(columns: Mapping[str, Any]) -> MoveBudget:
    """The inverse of `MoveBudget.columns`."""
    nodes = columns["nodes"]
    return MoveBudget(
        nodes=None if nodes is None else int(nodes),
        seconds=columns["seconds_per_move"],
        evaluator=columns.get("evaluator"),
    )
