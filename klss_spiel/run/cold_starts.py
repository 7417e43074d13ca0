"""What a script costs from starting Python to a strategy: imports, compiling, iterations.

Every contender runs CFR+ in a process of its own. Ours run twice with folders for
compiled code that are empty at first: the first process compiles, the second reads.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping

import pyspiel

from klss_spiel.algorithms import compilation_cache

_OPENSPIEL = """
import sys
import pyspiel

solver = pyspiel.CFRPlusSolver(pyspiel.load_game(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    solver.evaluate_and_update_policy()
solver.tabular_average_policy()
"""

_OURS = """
import sys
from klss_spiel.algorithms import cfr, compilation_cache

compilation_cache.enable()
cfr.solve(sys.argv[1], int(sys.argv[2]), engine=sys.argv[3]).average
"""


@dataclasses.dataclass(frozen=True)
class ColdStart:
    """One process from its start to its end.

    Attributes:
      contender: its name; for ours with the number of the process.
      seconds: of processor time, all threads together: a busy machine changes it little.
      wall_seconds: on the clock.
    """

    contender: str
    seconds: float
    wall_seconds: float


def measure(game: str, iterations: int) -> Iterator[ColdStart]:
    """Runs OpenSpiel C++ first, then each of our engines twice.

    Args:
      game: a game string of OpenSpiel's own, with turns.
      iterations: of CFR+.
    """
    if pyspiel.load_game(game).get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ValueError(f"expected a game with turns, got {game}")
    yield run_script("openspiel_cpp", _OPENSPIEL, (game, str(iterations)), {})
    for engine, name in (("auto", "klss_spiel"), ("jax", "klss_spiel jax")):
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                "NUMBA_CACHE_DIR": os.path.join(folder, "numba"),
                "XDG_CACHE_HOME": folder,
                "JAX_ENABLE_X64": "1",
            }
            for process in ("first process", "second process"):
                arguments = (game, str(iterations), engine)
                yield run_script(f"{name}, {process}", _OURS, arguments, environment)


def run_script(
    contender: str, script: str, arguments: tuple[str, ...], environment: Mapping[str, str]
) -> ColdStart:
    """Runs a script in a process of its own, with changes to the environment."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("JAX_") and name != compilation_cache.SWITCH
    }
    before, start = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**inherited, **environment},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall_seconds, after = time.perf_counter() - start, os.times()
    user = after.children_user - before.children_user
    system = after.children_system - before.children_system
    return ColdStart(contender, user + system, wall_seconds)
