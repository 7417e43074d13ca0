"""Programs that can be interrupted, wherever the tests run.

A shell that starts the tests in its background makes them, and every program they start,
ignore Ctrl-C.
"""

import signal


def heed_interrupts() -> None:
    """For `preexec_fn` of a program that a test interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
