"""Jobs in several processes of this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any

from klss_spiel.executors import Job, Outcome, Outcomes, Setup, run_pickled, text_of
from klss_spiel.thread_limits import shared_cores
from klss_spiel.worker_pools import Death, run_in_pool

_SECONDS_TO_END = 5.0
_READY = "ready"


@dataclasses.dataclass(frozen=True)
class Processes:
    """Runs jobs in fresh processes of this machine, one each at a time.

    The processes are spawned, not forked: jax does not survive a fork. They share the
    cores: with as many processes as cores each computes with one thread. A job whose
    process dies runs once more in another one. When this process ends, however it ends,
    so do the others.

    Attributes:
      count: how many processes.
    """

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"expected at least one process, got {self.count}")

    def run(self, jobs: Sequence[Job], setup: Setup | None = None) -> Outcomes:
        """See `Executor`."""
        return run_in_pool(_ProcessPool(self.count), jobs, setup)


class _ProcessPool:
    """See `worker_pools.Pool`."""

    hint = 'is the main code of the script under `if __name__ == "__main__":`?'

    def __init__(self, count: int) -> None:
        self._count = count

    def capacity(self) -> int:
        return self._count

    def hire(self, count: int, setup: Setup | None) -> list[_ProcessWorker]:
        with shared_cores(self._count):
            return [_ProcessWorker(setup) for _ in range(count)]

    def with_news(self, workers: Sequence[_ProcessWorker]) -> list[_ProcessWorker]:
        owners = {sign: worker for worker in workers for sign in worker.signs}
        return list(dict.fromkeys(owners[sign] for sign in connection.wait(list(owners))))


@dataclasses.dataclass(frozen=True)
class _SetupFailure:
    reason: str


class _ProcessWorker:
    """A process that runs jobs. Mutable.

    Attributes:
      ready: whether it has started.
      job: what it is doing.
      group: of its last job.
    """

    def __init__(self, setup: Setup | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other_end = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=_serve, args=(other_end, setup), daemon=True
        )
        with _no_interruption():
            self.process.start()
        # Now only the process holds it, so that its death ends the pipe.
        other_end.close()
        self.ready = False
        self.job: Job | None = None
        self.group: str | None = None

    @property
    def signs(self) -> tuple[Any, ...]:
        """What gets ready when there is news."""
        return (self._pipe, self.process.sentinel)

    def send(self, job: Job) -> None:
        self.job, self.group = job, job.group
        with contextlib.suppress(OSError):  # It has died, which will be noticed.
            # In two steps, so that the worker can say what it cannot unpickle.
            self._pipe.send((job.key, pickle.dumps(job)))

    def receive(self) -> Outcome | Death | None:
        """The news; None is that the process is ready."""
        try:
            if self._pipe.poll():
                message = self._pipe.recv()
                if isinstance(message, _SetupFailure):
                    raise RuntimeError(f"cannot set up a process for jobs: {message.reason}")
                self.ready, self.job = True, None
                return message if isinstance(message, Outcome) else None
        except (EOFError, OSError, pickle.UnpicklingError):
            pass
        self.process.join(_SECONDS_TO_END)
        code = self.process.exitcode
        how = f"code {code}" if code is None or code >= 0 else signal.Signals(-code).name
        return Death(f"a process ended with {how}")

    def stop(self) -> None:
        """Asks the process to end."""
        self._pipe.close()  # That is enough for one that waits.
        if self.job is not None or not self.ready:
            self.process.terminate()

    def end(self) -> None:
        """Waits until the process has ended."""
        self._pipe.close()
        self.process.join(_SECONDS_TO_END)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(pipe: Any, setup: Setup | None) -> None:
    """What a worker does."""
    # Ctrl-C reaches every process of a terminal; the first one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        if setup is not None:
            setup()
    except Exception as error:
        pipe.send(_SetupFailure(text_of(error)))
        return
    pipe.send(_READY)
    while True:
        try:
            key, pickled = pipe.recv()
        except EOFError:
            return
        pipe.send(run_pickled(key, pickled))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


@contextlib.contextmanager
def _no_interruption() -> Iterator[None]:
    """Postpones Ctrl-C, also for processes started now, until they know what to do with it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
