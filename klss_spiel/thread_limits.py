"""How many threads libraries start in processes that share a machine.

BLAS, numba and XLA each start as many threads as there are cores. In n processes on n
cores these would fight, so that each process is told its share when it starts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

# Read by OpenMP, OpenBLAS, MKL, Accelerate, numba and XLA when they are loaded.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",
)
XLA_FLAGS = "XLA_FLAGS"
_ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false"


def limiting_variables(threads: int) -> dict[str, str]:
    """Environment variables that limit libraries to so many threads.

    What the user has set in this process's environment is not among them.
    """
    changes = {name: str(threads) for name in THREAD_VARIABLES if name not in os.environ}
    xla_flags = os.environ.get(XLA_FLAGS, "")
    if threads == 1 and "multi_thread_eigen" not in xla_flags:
        changes[XLA_FLAGS] = f"{xla_flags} {_ONE_XLA_THREAD}".strip()
    return changes


@contextlib.contextmanager
def shared_cores(count: int) -> Iterator[None]:
    """Environment in which `count` processes together start as many threads as there are cores.

    What the user has set stays. The variables are read when libraries are loaded, so
    that they must be there before a process starts.
    """
    changes = limiting_variables(max(1, num_cores() // count))
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Not on macOS.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
