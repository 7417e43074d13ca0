"""Objects that live in a process of their own, so that the page never waits for them.

A search computes, but it also compiles, loads and copies, and some of that holds the
interpreter's lock for seconds. What thinks is therefore made in another process and asked
through a pipe, by a thread that does nothing but wait (`klss_spiel.web.searches`).

Processes are forked by a server of their own that has imported what they need and has
started no threads. They end with this process, however it ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import multiprocessing.forkserver
import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

from klss_spiel.thread_limits import shared_cores

_SECONDS_TO_CLOSE: Final = 3.0
_READY: Final = "ready"
_FORKSERVER: Final = "forkserver"


class WorkerError(RuntimeError):
    """What a worker raised, in words, or that it has died."""


class Worker(Protocol):
    """An object somewhere, made with `factory(*arguments)`; for threads that may wait."""

    def ready(self) -> None:
        """Returns when the object is made."""

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method of the object returns; one call at a time."""

    def close(self) -> None:
        """Ends the object by its method `close`, also while it is being made or asked."""


@dataclasses.dataclass(frozen=True)
class Workers:
    """How workers are made.

    Attributes:
      apart: each in a process of its own, which must be able to import what it is made of;
        else in this process, where a bot of a notebook can be reached.
      setup: called in each process before all else; importable.
    """

    apart: bool = True
    setup: Callable[[], object] | None = None

    def start(self, factory: Callable[..., Any], *arguments: Any) -> Worker:
        """A worker with an object that is being made; for threads, since processes start."""
        if self.apart:
            return _Apart(self.setup, factory, arguments)
        return _Here(factory, arguments)

    def prepare(self, modules: Sequence[str], count: int) -> None:
        """Lets processes that start later find modules imported.

        Args:
          modules: what to import.
          count: how many processes are to share this machine's cores.
        """
        if _start_method() == _FORKSERVER:
            multiprocessing.get_context(_FORKSERVER).set_forkserver_preload(list(modules))
            with shared_cores(count):
                multiprocessing.forkserver.ensure_running()


class _Here:
    """An object of this process. Mutable."""

    def __init__(self, factory: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._factory = factory
        self._arguments = arguments
        self._made: Any = None
        self._closed = False

    def ready(self) -> None:
        """See `Worker`."""
        if self._made is None:
            self._made = self._factory(*self._arguments)
        if self._closed:  # before it was made
            self._made.close()

    def call(self, method: str, *arguments: Any) -> Any:
        """See `Worker`."""
        return getattr(self._made, method)(*arguments)

    def close(self) -> None:
        """See `Worker`."""
        self._closed = True
        if self._made is not None:
            self._made.close()


class _Apart:
    """An object of another process. Mutable; `close` may be called from any thread."""

    def __init__(
        self,
        setup: Callable[[], object] | None,
        factory: Callable[..., Any],
        arguments: tuple[Any, ...],
    ) -> None:
        context: Any = multiprocessing.get_context(_start_method())
        self._pipe, other_end = context.Pipe()
        self._sending = threading.Lock()
        self._process = context.Process(
            target=_serve, args=(other_end, setup, factory, arguments), daemon=True
        )
        self._process.start()
        # Now only the process holds it, so that its death ends the pipe.
        other_end.close()
        self._is_ready = False

    def ready(self) -> None:
        """See `Worker`."""
        if not self._is_ready:
            self._receive()
            self._is_ready = True

    def call(self, method: str, *arguments: Any) -> Any:
        """See `Worker`."""
        self.ready()
        try:
            message = pickle.dumps((method, arguments))
        except Exception as error:
            raise WorkerError(f"{method} cannot be asked for: {error}") from error
        try:
            with self._sending:
                self._pipe.send_bytes(message)
        except OSError:
            raise WorkerError("the process has ended") from None
        return self._receive()

    def _receive(self) -> Any:
        try:
            answer, failure = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, OSError):
            raise WorkerError("the process has ended") from None
        if failure is not None:
            raise WorkerError(failure)
        return answer

    def close(self) -> None:
        """See `Worker`."""
        with contextlib.suppress(OSError), self._sending:
            self._pipe.send(None)
        for end in (lambda: None, self._process.terminate, self._process.kill):
            end()
            self._process.join(_SECONDS_TO_CLOSE)
            if not self._process.is_alive():
                return


def _start_method() -> str:
    known = multiprocessing.get_all_start_methods()
    return _FORKSERVER if _FORKSERVER in known else "spawn"


def _serve(
    pipe: Connection,
    setup: Callable[[], object] | None,
    factory: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """What a process does: makes the object and answers calls, one after another."""
    # Ctrl-C reaches every process of a terminal; the server decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    made: list[Any] = []
    calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()

    def listen() -> None:
        """Beside the work: the end must be heard also while the object computes."""
        while (message := _next_message(pipe)) is not None:
            calls.put(message)
        for one in made:
            with contextlib.suppress(Exception):
                one.close()
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()

    def make() -> str:
        if setup is not None:
            setup()
        made.append(factory(*arguments))
        return _READY

    _answer(pipe, make)
    while True:
        method, given = calls.get()
        _answer(pipe, lambda m=method, g=given: getattr(made[0], m)(*g))  # type: ignore[misc]


def _next_message(pipe: Connection) -> Any:
    """A call; None if there will be none."""
    try:
        return pipe.recv()
    except Exception:  # the server has ended, however it did, or nobody can read what it says
        return None


def _answer(pipe: Connection, work: Callable[[], Any]) -> None:
    """Sends what is returned, or what is raised in words: errors may not pickle."""
    try:
        answer = pickle.dumps((work(), None))
    except Exception as error:
        answer = pickle.dumps((None, f"{type(error).__name__}: {error}"))
    with contextlib.suppress(OSError):  # nobody listens any more, which `listen` notices
        pipe.send_bytes(answer)
