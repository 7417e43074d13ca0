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
        if self._total:
            logging.info(
                "%s: %d of %d (%.0f%%), %.0f per second",
                self._what,
                done,
                self._total,
                100.0 * done / self._total,
                rate,
            )
        else:
            logging.info("%s: %d, %.0f per second", self._what, done, rate)
