"""Solvers that binaries run side by side: ours and OpenSpiel's.

A contender is started on a game and then advanced by iterations; its average
strategy is read as a policy on our tree, so that one best response judges all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyspiel

from klss_spiel.algorithms import cfr, regret
from klss_spiel.openspiel import policy_from_openspiel
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import GameTree


class Run(Protocol):
    """A contender at work on one game."""

    def advance(self, iterations: int) -> None:
        """Runs more iterations."""

    def policy(self) -> BehaviorPolicy:
        """The average strategy so far."""


@dataclasses.dataclass(frozen=True)
class Contender:
    """A solver: its name, and how to start it on a turn-based game and its tree."""

    name: str
    start: Callable[[Any, GameTree], Run]


class _Ours:
    def __init__(
        self,
        tree: GameTree,
        minimizer: regret.RegretMinimizer,
        averaging: int,
        engine: str,
        dtype: Any,
    ) -> None:
        self._tree = tree
        self._prepared = cfr.prepare(sequence_form_from_tree(tree), engine, dtype)
        self._minimizer = minimizer
        self._averaging = averaging
        self._solution: cfr.Solution | None = None

    def advance(self, iterations: int) -> None:
        self._solution = cfr.solve(
            self._prepared, iterations, self._minimizer, self._averaging, start=self._solution
        )

    def policy(self) -> BehaviorPolicy:
        if self._solution is None:
            return BehaviorPolicy.uniform(self._tree)
        return BehaviorPolicy(self._tree, self._solution.average_behavior)


class _OpenSpiel:
    """Anything of OpenSpiel's with one method per iteration and an average policy."""

    def __init__(
        self, tree: GameTree, game: Any, step: Callable[[], Any], average: Callable[[], Any]
    ) -> None:
        self._tree = tree
        self._game = game
        self._step = step
        self._average = average

    def advance(self, iterations: int) -> None:
        for _ in range(iterations):
            self._step()

    def policy(self) -> BehaviorPolicy:
        return policy_from_openspiel(self._tree, self._game, self._average())


def ours(
    name: str,
    minimizer: regret.RegretMinimizer = regret.RM_PLUS,
    averaging: int = cfr.LINEAR,
    engine: str = "compiled",
    dtype: Any = None,
) -> Contender:
    """Our CFR loop with a minimiser, an averaging scheme and an engine."""
    return Contender(name, lambda game, tree: _Ours(tree, minimizer, averaging, engine, dtype))


def compiled(game: Any) -> Any:
    """The game itself if it is written in C++, otherwise its cached tree.

    OpenSpiel's C++ solvers walk Python states slowly; on the cached tree the
    comparison is between solvers.
    """
    short_name = game.get_type().short_name
    if short_name.startswith("python_") or "python_" in str(game):
        return pyspiel.convert_to_cached_tree(game)
    return game


def openspiel_cpp(name: str, solver: str) -> Contender:
    """A C++ solver of OpenSpiel's by its class name, e.g. CFRPlusSolver."""

    def start(game: Any, tree: GameTree) -> Run:
        running = getattr(pyspiel, solver)(compiled(game))
        step = getattr(running, "evaluate_and_update_policy", None) or running.run_iteration
        average = getattr(running, "tabular_average_policy", running.average_policy)
        return _OpenSpiel(tree, game, step, average)

    return Contender(name, start)


def _start_openspiel_python(game: Any, tree: GameTree) -> Run:
    from open_spiel.python.algorithms import cfr as openspiel_cfr

    solver = openspiel_cfr.CFRPlusSolver(game)
    return _OpenSpiel(tree, game, solver.evaluate_and_update_policy, solver.average_policy)


KLSS_SPIEL = ours("klss_spiel")
KLSS_SPIEL_FLOAT32 = ours("klss_spiel float32", dtype=np.float32)
KLSS_SPIEL_JAX = ours("klss_spiel jax", engine="jax")
KLSS_SPIEL_JAX_FLOAT32 = ours("klss_spiel jax float32", engine="jax", dtype=np.float32)
OPENSPIEL_CPP = openspiel_cpp("openspiel_cpp", "CFRPlusSolver")
OPENSPIEL_PYTHON = Contender("openspiel_python", _start_openspiel_python)

# What `compare_cfr` runs: ours by minimiser, OpenSpiel's by algorithm.
COMPARED = (
    ours("klss_spiel CFR", regret.RM, cfr.UNIFORM),
    ours("klss_spiel CFR+", regret.RM_PLUS, cfr.LINEAR),
    ours("klss_spiel PCFR+", regret.REEVALUATED_PRM_PLUS, cfr.QUADRATIC),
    ours("klss_spiel PCFR+ cheap", regret.PRM_PLUS, cfr.QUADRATIC),
    ours("klss_spiel DCFR", regret.DISCOUNTED_RM, cfr.QUADRATIC),
    openspiel_cpp("OpenSpiel CFR", "CFRSolver"),
    openspiel_cpp("OpenSpiel CFR+", "CFRPlusSolver"),
    openspiel_cpp("OpenSpiel MCCFR", "ExternalSamplingMCCFRSolver"),
)
