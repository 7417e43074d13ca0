"""What `Treeplex` and `best_response` do, for treeplexes that fill the memory.

A `Treeplex` keeps its levels once it is asked for a strategy: twenty bytes for every
sequence. These loops go through its infosets, which come after those they follow, and
keep nothing; they work in the precision of what they are given.

Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.kernels import kernel
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE

Vector = npt.NDArray[Any]


def realization_plan(treeplex: Treeplex, behavior: Vector) -> Vector:
    """[S] as `Treeplex.realization_plan`."""
    plan = np.empty_like(behavior)
    plan[EMPTY_SEQUENCE] = 1.0
    _fill_plan(*_arrays(treeplex), behavior, plan)
    return plan


def behavior_of(treeplex: Treeplex, plan: Vector) -> Vector:
    """[S] as `Treeplex.behavior`: uniform where the plan does not lead."""
    behavior = np.empty_like(plan)
    behavior[EMPTY_SEQUENCE] = 1.0
    _fill_behavior(*_arrays(treeplex), plan, behavior)
    return behavior


def best_response_value(treeplex: Treeplex, gradient: Vector) -> float:
    """As `best_response.best_response_value`; `gradient` ([S]) is overwritten."""
    add_best_responses(treeplex, gradient, 0)
    return float(gradient[EMPTY_SEQUENCE])


def add_best_responses(treeplex: Treeplex, gradient: Vector, first_infoset: int) -> None:
    """Adds the best of each infoset to the sequence before it, later infosets first.

    Args:
      treeplex: the responder's.
      gradient: [S] overwritten.
      first_infoset: infosets with lower numbers are left alone.
    """
    first, num_actions, parent = (array[first_infoset:] for array in _arrays(treeplex))
    _add_best(first, num_actions, parent, gradient)


def _arrays(treeplex: Treeplex) -> tuple[Any, Any, Any]:
    return treeplex.first_sequence, treeplex.num_actions, treeplex.parent_sequence


@kernel
def _fill_plan(first: Any, num_actions: Any, parent: Any, behavior: Any, plan: Any) -> None:
    for i in range(len(first)):
        before = plan[parent[i]]
        for s in range(first[i], first[i] + num_actions[i]):
            plan[s] = behavior[s] * before


@kernel
def _fill_behavior(first: Any, num_actions: Any, parent: Any, plan: Any, behavior: Any) -> None:
    for i in range(len(first)):
        begin, end = first[i], first[i] + num_actions[i]
        total = 0.0
        for s in range(begin, end):
            total += max(plan[s], 0.0)
        for s in range(begin, end):
            if total > 0.0:
                behavior[s] = max(plan[s], 0.0) / total
            else:
                behavior[s] = 1.0 / num_actions[i]


@kernel
def _add_best(first: Any, num_actions: Any, parent: Any, gradient: Any) -> None:
    for after in range(len(first)):
        i = len(first) - 1 - after
        best = gradient[first[i]]
        for s in range(first[i] + 1, first[i] + num_actions[i]):
            best = max(best, gradient[s])
        gradient[parent[i]] += best
