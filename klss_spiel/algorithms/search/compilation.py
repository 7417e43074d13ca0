"""How long numba compiles, so that reports can count that time apart."""

from __future__ import annotations

import functools
import time
from types import TracebackType
from typing import Any

from absl import logging
from numba.core import event

_COMPILE_EVENT = "numba:compile"


@functools.cache
def _say_once() -> None:
    logging.warning("compiling the loops of the search; this happens once per machine")


class CompilationTimer(event.Listener):  # type: ignore[misc]  # numba has no type stubs.
    """Adds up the seconds in which numba compiles while the timer is entered. Mutable.

    Loading what was compiled before is not counted. The first loop to be compiled in a
    process is worth a log line: a user may otherwise wonder why nothing happens.

    Attributes:
      seconds: spent so far.
      functions: how many loops were compiled.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.functions = 0
        self._depth = 0
        self._start = 0.0

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function, possibly within another."""
        if not self._depth:
            self._start = time.perf_counter()
            _say_once()
        self._depth += 1
        self.functions += 1

    def on_end(self, event: Any) -> None:
        """Numba is done with a function."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._start

    def __enter__(self) -> CompilationTimer:
        event.register(_COMPILE_EVENT, self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        event.unregister(_COMPILE_EVENT, self)
