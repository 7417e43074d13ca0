"""Progress of long loops: log lines, or a bar in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any

from absl import logging

_SECONDS_BETWEEN_LINES = 3.0


class Progress:
    """Shows how far a loop has come, from its third second on.

    Mutable. Short loops show nothing. In a notebook it is a bar of tqdm's, if that is
    installed. Elsewhere it is a log line every three seconds, which binaries show on
    standard error (absl's default verbosity there) and a library keeps to itself.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what = what
        self._total = total
        self._start = time.monotonic()
        self._next_line = self._start + _SECONDS_BETWEEN_LINES
        self._in_notebook = _runs_in_notebook()
        self._bar = _make_bar(what, total) if self._in_notebook else None

    def update(self, done: int) -> None:
        """Says that `done` steps are finished."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
            if done == self._total:
                self._bar.close()
            return
        now = time.monotonic()
        if now < self._next_line:
            return
        self._next_line = now + _SECONDS_BETWEEN_LINES
        rate = done / (now - self._start)
        # Outside of binaries absl shows nothing below a warning.
        level = logging.WARNING if self._in_notebook else logging.INFO
        if not self._total:
            logging.log(level, "%s: %d, %s", self._what, done, _rate_text(rate))
            return
        left = f", {_duration_text((self._total - done) / rate)} left" if rate else ""
        logging.log(
            level,
            "%s: %d of %d (%.0f%%), %s%s",
            self._what,
            done,
            self._total,
            100.0 * done / self._total,
            _rate_text(rate),
            left,
        )


def _rate_text(rate: float) -> str:
    for unit, seconds in (("second", 1.0), ("minute", 60.0)):
        if rate * seconds >= 1.0:
            return f"{rate * seconds:.0f} per {unit}"
    return f"{rate * 3600.0:.0f} per hour"


def _duration_text(seconds: float) -> str:
    minutes = round(seconds / 60.0)
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _runs_in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code (a terminal's IPython has none)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _make_bar(what: str, total: int | None) -> Any:
    """A bar of tqdm's that shows itself after the first seconds; None without tqdm."""
    try:
        from tqdm import auto
    except ImportError:
        return None
    return auto.tqdm(desc=what, total=total, delay=_SECONDS_BETWEEN_LINES)
