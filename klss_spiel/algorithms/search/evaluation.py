"""A game's evaluator as a search uses it, and what a search spends.

An evaluator may run out of time (TimeoutError) or know that it has no answer
(`EvaluatorError`: an engine that died, a position it cannot take). Both are survived:
the positions count as even, the effort says what happened, and after a timeout the tree
grows no more. Everything else is an error in a program and is raised: exceptions of
other kinds, values of another shape, values that are not numbers.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.search_game import Children, EvaluatorError, Positions, SearchGame
from klss_spiel.tree import TERMINAL


@dataclasses.dataclass
class Effort:
    """What a search has spent and what went wrong. Mutable.

    Attributes:
      iterations: of the equilibrium algorithm.
      new_nodes: nodes added.
      seconds: in all.
      expanding: seconds spent choosing leaves and making their children.
      evaluating: seconds spent in the evaluator.
      solving: seconds spent on the equilibrium.
      faults: what went wrong, and how often.
    """

    iterations: int = 0
    new_nodes: int = 0
    seconds: float = 0.0
    expanding: float = 0.0
    evaluating: float = 0.0
    solving: float = 0.0
    faults: dict[str, int] = dataclasses.field(default_factory=dict)

    def count_fault(self, what: str) -> None:
        """Counts a fault."""
        self.faults[what] = self.faults.get(what, 0) + 1


class CheckedEvaluator:
    """The evaluator of a game, timed and checked. Mutable.

    Attributes:
      game: the game.
      effort: where time and faults are counted.
      timed_out: whether the evaluator has run out of time.
    """

    def __init__(self, game: SearchGame, effort: Effort | None = None) -> None:
        self.game = game
        self.effort = Effort() if effort is None else effort
        self.timed_out = False

    def values(self, positions: Positions) -> FloatArray:
        """[n] values of unfinished positions, between -1 and 1.

        Raises:
          ValueError: values of another shape, or that are not numbers.
        """
        if not len(positions):
            return np.zeros(0)
        start = time.perf_counter()
        try:
            values = np.asarray(self.game.evaluate(positions), dtype=np.float64)
        except TimeoutError as error:
            self.timed_out = True
            self.effort.count_fault(f"evaluator timed out{_said(error)}")
            return np.zeros(len(positions))
        except EvaluatorError as error:
            self.effort.count_fault(f"evaluator failed{_said(error)}")
            return np.zeros(len(positions))
        finally:
            self.effort.evaluating += time.perf_counter() - start
        if values.shape != (len(positions),):
            raise ValueError(
                f"expected {len(positions)} values of the evaluator, got shape {values.shape}"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"expected numbers of the evaluator, got {values[~np.isfinite(values)]}"
            )
        return np.clip(values, -1.0, 1.0)

    def child_values(self, children: Children) -> FloatArray:
        """[c] payoffs of terminal children and values of the others."""
        values = children.utility.copy()
        unfinished = np.flatnonzero(children.player != TERMINAL)
        values[unfinished] = self.values(children.position[unfinished])
        return values


def _said(error: Exception) -> str:
    return f": {error}" if str(error) else ""
