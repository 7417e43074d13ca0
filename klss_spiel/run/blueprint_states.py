"""Long runs of CFR that go on after a kill: their state, saved every few minutes.

A file has regrets, strategies and averages in the precision they are computed in, and is
replaced in one step: whenever the run is killed, there is a whole file of some moment.
"""

from __future__ import annotations

import os
import pathlib
import time
from typing import Any

import numpy as np

from klss_spiel.algorithms.cfr_compiled import CompiledForm
from klss_spiel.algorithms.cfr_solution import Solution
from klss_spiel.npz_files import load_arrays
from klss_spiel.tree import PLAYERS

SECONDS_BETWEEN_SAVES = 240.0
_VECTORS = ("regret", "strategy", "average")


class SavedArrays:
    """Arrays in an npz file that is replaced now and then. Mutable.

    Attributes:
      path: the file.
    """

    def __init__(
        self, path: str | os.PathLike[str], seconds: float = SECONDS_BETWEEN_SAVES
    ) -> None:
        self.path = pathlib.Path(path)
        self._seconds = seconds
        self._next = time.monotonic() + seconds

    @property
    def is_due(self) -> bool:
        """Whether the last save is a few minutes ago."""
        return time.monotonic() >= self._next

    def save(self, arrays: dict[str, Any]) -> None:
        """Replaces the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Of this process alone: two workers may make the blueprint of one game.
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        try:
            with open(new, "wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.path)
        finally:
            new.unlink(missing_ok=True)
        self._next = time.monotonic() + self._seconds


def save_solution(saved: SavedArrays, solution: Solution, prepared: CompiledForm) -> None:
    """Saves where CFR stands."""
    state = solution.state_on(prepared)
    arrays = {f"{name}{p}": getattr(state[p], name) for p in PLAYERS for name in _VECTORS}
    saved.save({"iterations": np.array(solution.iterations), **arrays})


def restored_solution(saved: SavedArrays, prepared: CompiledForm) -> Solution | None:
    """Where CFR stood; None if nothing was saved.

    Raises:
      ValueError: the file is of another game or precision.
    """
    if not saved.path.exists():
        return None
    names = [f"{name}{p}" for p in PLAYERS for name in _VECTORS]
    data = load_arrays(saved.path, ("iterations", *names), "the state of a blueprint")
    kept = [(data[f"regret{p}"], data[f"strategy{p}"], data[f"average{p}"]) for p in PLAYERS]
    try:
        state = prepared.state_with(kept)
    except ValueError as error:
        raise ValueError(f"{saved.path}: {error}") from error
    return Solution(int(data["iterations"]), state=(prepared, state))
