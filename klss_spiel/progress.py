"""Progress of long loops, as log lines."""

import time

from absl import logging

_SECONDS_BETWEEN_LINES = 3.0


class Progress:
    """Logs how far a loop has come, at most every three seconds.

    Mutable. Short loops log nothing. Binaries show the lines on standard error
    (absl's default verbosity); inside a library they stay silent.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what = what
        self._total = total
        self._start = time.monotonic()
        self._next_line = self._start + _SECONDS_BETWEEN_LINES

    def update(self, done: int) -> None:
        """Says that `done` steps are finished."""
        now = time.monotonic()
        if now < self._next_line:
            return
        self._next_line = now + _SECONDS_BETWEEN_LINES
        rate = done / (now - self._start)
        if not self._total:
            logging.info("%s: %d, %s", self._what, done, _rate_text(rate))
            return
        left = f", {_duration_text((self._total - done) / rate)} left" if rate else ""
        logging.info(
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
