"""Another program that is told lines and answers by lines, as chess engines do."""

from __future__ import annotations

import contextlib
import queue
import shlex
import subprocess
import threading
import time
import weakref
from collections.abc import Callable
from typing import IO

_SECONDS_TO_END = 5.0


class ProgramError(RuntimeError):
    """A program did not start, has ended, or does not answer as it should."""


class LineProgram:
    """A program behind pipes. Mutable; used by one thread at a time.

    It ends with `close`, or when nobody holds this object any more.
    """

    def __init__(self, command: str) -> None:
        """Starts the program.

        Args:
          command: the program with its arguments, quoted as in a shell.
        """
        words = shlex.split(command)
        if not words:
            raise ProgramError(f"expected a command, got {command!r}")
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",  # what is no text is no answer either
                bufsize=1,
            )
        except OSError as error:
            raise ProgramError(f"cannot start {command!r}: {error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._lines: queue.Queue[str | None] = queue.Queue()
        # It must not hold this object, which would never be let go then.
        threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True).start()
        self._end = weakref.finalize(self, _end, process)

    def tell(self, line: str) -> None:
        """Sends a line."""
        try:
            self._input.write(line + "\n")
            self._input.flush()
        except (OSError, ValueError) as error:  # ValueError: closed
            raise ProgramError(f"the program has ended: {error}") from error

    def ask(
        self,
        line: str,
        wanted: str,
        seconds: float,
        heard: Callable[[str], None] | None = None,
    ) -> str:
        """Sends a line and returns the first answer whose first word is `wanted`.

        Args:
          line: what to ask.
          wanted: first word of the answer.
          seconds: to wait for it.
          heard: called with all other lines that come meanwhile.

        Raises:
          ProgramError: no such answer within that time.
        """
        self.tell(line)
        deadline = time.monotonic() + seconds
        while True:
            try:
                answer = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise ProgramError(
                    f"expected {wanted} within {seconds:g} s after {line!r}"
                ) from None
            if answer is None:
                self._lines.put(None)  # it stays true for whoever asks next
                raise ProgramError(f"expected {wanted} after {line!r}, but the program ended")
            if answer.split()[:1] == [wanted]:
                return answer
            if heard is not None:
                heard(answer)

    def close(self) -> None:
        """Says `quit` and waits until the program has ended; kills one that does not."""
        self._end()


def _read(lines: IO[str], heard: queue.Queue[str | None]) -> None:
    with lines:
        for line in lines:
            heard.put(line.rstrip("\n"))
    heard.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        process.stdin.write("quit\n")
        process.stdin.flush()
    with contextlib.suppress(OSError, ValueError):
        process.stdin.close()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
