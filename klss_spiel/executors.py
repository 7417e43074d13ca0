"""Jobs, and where they run: in this process, or in several on this machine.

A job is a picklable value: a key, a function at the top level of a module, and its
arguments. An executor runs jobs and yields an `Outcome` for each as soon as it is known,
in any order. Executors are small values behind a protocol; `parse_executor` makes them
of texts such as `processes:4`.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol, TypeAlias, runtime_checkable

from klss_spiel.row_files import check_columns
from klss_spiel.row_formats import Row, columns_of, plain

# Run once in every process before its first job, e.g. to choose jax's precision.
Setup = Callable[[], object]

Outcomes: TypeAlias = "Generator[Outcome, None, None]"

IN_PROCESS = "in_process"
PROCESSES = "processes"

_ATTEMPTS = 2
_SECONDS_TO_END = 5.0
_READY = "ready"
# Where deaths are counted that no job is to blame for; keys of jobs are not empty.
_START = ""
# Read by OpenMP, OpenBLAS, MKL, Accelerate, numba and XLA when they are loaded.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",
)
_XLA_FLAGS = "XLA_FLAGS"
_ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false"


@dataclasses.dataclass(frozen=True)
class Job:
    """Something to compute.

    Attributes:
      key: identifies the job in a file, now and in later runs: it must tell apart all
        jobs of one file, and a job that has changed from what it was.
      function: from the arguments to a row, or to a list of rows; importable.
      arguments: of the function; picklable and small.
      columns: first columns of the job's rows, those that say what was asked.
      group: jobs of one group share something costly that the function caches, such as
        a blueprint; they run in one process if there is no reason not to.
    """

    key: str
    function: Callable[..., Row | Sequence[Row]]
    arguments: tuple[Any, ...] = ()
    columns: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    group: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key:
            raise ValueError(f"expected a text as the key of a job, got {self.key!r}")
        check_columns(self.columns)
        try:
            pickle.dumps(self)
        except Exception as error:
            raise ValueError(
                f"expected a function at the top level of a module and arguments that can be "
                f"pickled in the job {self.key!r}, got {self.function!r}: {error}"
            ) from error


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What has become of a job.

    Attributes:
      key: the job's.
      rows: its results, without the job's columns; empty if it failed.
      error: why it failed.
      details: where, for logs.
      parts: whether the job made a list of rows.
    """

    key: str
    rows: tuple[dict[str, Any], ...] = ()
    error: str | None = None
    details: str = ""
    parts: bool = False


@runtime_checkable
class Executor(Protocol):
    """Where jobs run."""

    def run(self, jobs: Sequence[Job], setup: Setup | None = None) -> Outcomes:
        """Runs jobs with different keys and yields what becomes of them, as it happens.

        Closing the iterator ends what is running.

        Args:
          jobs: what to run.
          setup: called in every process before its first job; importable.
        """


def run_job(job: Job) -> Outcome:
    """Runs one job here; whatever it raises but KeyboardInterrupt is its outcome."""
    try:
        result = job.function(*job.arguments)
        parts = not isinstance(result, Mapping)
        rows = tuple(plain(row) for row in (result if parts else [result]))
        if not rows or not all(isinstance(row, dict) for row in rows):
            raise ValueError(f"expected a row or a list of rows from a job, got {result!r}")
        check_columns(columns_of(rows))
        return Outcome(job.key, rows, parts=parts)
    except (Exception, SystemExit) as error:
        return Outcome(job.key, error=_text_of(error), details=traceback.format_exc())


def _text_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


@dataclasses.dataclass(frozen=True)
class InProcess:
    """Runs jobs here, one after another."""

    def run(self, jobs: Sequence[Job], setup: Setup | None = None) -> Outcomes:
        """See `Executor`."""
        if setup is not None and jobs:
            setup()
        for job in jobs:
            yield run_job(job)


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
        waiting = list(jobs)
        outcomes: list[Outcome] = []
        died: collections.Counter[str] = collections.Counter()
        workers: list[_Worker] = []
        try:
            while True:
                self._staff(workers, waiting, setup)
                # After giving out work, so that nobody waits for whoever takes outcomes.
                yield from outcomes
                outcomes = []
                if not waiting and not any(worker.job for worker in workers):
                    return
                for worker in _those_with_news(workers):
                    message = worker.receive()
                    if isinstance(message, Outcome):
                        outcomes.append(message)
                    elif isinstance(message, _Death):
                        workers.remove(worker)
                        worker.end()
                        key = None if worker.job is None else worker.job.key
                        if key is not None or not worker.ready:
                            died[key or _START] += 1
                        if died[_START] >= _ATTEMPTS:
                            raise RuntimeError(
                                f"processes for jobs cannot start: {message.reason}; is the main "
                                'code of the script under `if __name__ == "__main__":`?'
                            )
                        if worker.job is None:
                            continue
                        if died[worker.job.key] < _ATTEMPTS:
                            waiting.insert(0, worker.job)
                        else:
                            reason = f"WorkerDied: {message.reason} at this job, {_ATTEMPTS} times"
                            outcomes.append(Outcome(worker.job.key, error=reason))
        finally:
            for worker in workers:
                worker.stop()
            for worker in workers:
                worker.end()

    def _staff(self, workers: list[_Worker], waiting: list[Job], setup: Setup | None) -> None:
        """Gives jobs to those without work, and starts as many more as there is work for."""
        for worker in workers:
            if worker.ready and worker.job is None and waiting:
                job = _next_job(waiting, worker, workers)
                waiting.remove(job)
                worker.send(job)
        starting = sum(not worker.ready for worker in workers)
        missing = min(self.count - len(workers), len(waiting) - starting)
        if missing > 0:
            with _shared_cores(self.count):
                workers += [_Worker(setup) for _ in range(missing)]


def _next_job(waiting: Sequence[Job], worker: _Worker, workers: Sequence[_Worker]) -> Job:
    """The worker's own group first, then one that nobody works on, then any job."""
    if worker.group:
        for job in waiting:
            if job.group == worker.group:
                return job
    # Jobs without a group are nobody's, so that of many of them the first is taken at once.
    busy = {other.group for other in workers if other is not worker and other.job is not None}
    free = (job for job in waiting if not job.group or job.group not in busy)
    return next(free, waiting[0])


@dataclasses.dataclass(frozen=True)
class _Death:
    reason: str


@dataclasses.dataclass(frozen=True)
class _SetupFailure:
    reason: str


class _Worker:
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

    def receive(self) -> Outcome | _Death | None:
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
        return _Death(f"a process ended with {how}")

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


def _those_with_news(workers: Sequence[_Worker]) -> list[_Worker]:
    owners = {sign: worker for worker in workers for sign in worker.signs}
    return list(dict.fromkeys(owners[sign] for sign in connection.wait(list(owners))))


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
        pipe.send(_SetupFailure(_text_of(error)))
        return
    pipe.send(_READY)
    while True:
        try:
            key, pickled = pipe.recv()
        except EOFError:
            return
        try:
            job = pickle.loads(pickled)
        except Exception as error:
            outcome = Outcome(key, error=f"cannot be unpickled: {_text_of(error)}")
        else:
            outcome = run_job(job)
        pipe.send(outcome)


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


@contextlib.contextmanager
def _shared_cores(count: int) -> Iterator[None]:
    """Environment in which `count` processes together start as many threads as there are cores.

    What the user has set stays. The variables are read when libraries are loaded, so
    that they must be there before a process starts.
    """
    threads = max(1, _num_cores() // count)
    changes = {name: str(threads) for name in _THREAD_VARIABLES if name not in os.environ}
    xla_flags = os.environ.get(_XLA_FLAGS, "")
    if threads == 1 and "multi_thread_eigen" not in xla_flags:
        changes[_XLA_FLAGS] = f"{xla_flags} {_ONE_XLA_THREAD}".strip()
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


def _num_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # Not on macOS.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parse_executor(text: str) -> Executor:
    """The executor of a text: `in_process`, or `processes:N` with a number of processes."""
    name, _, argument = text.partition(":")
    if text == IN_PROCESS:
        return InProcess()
    if name == PROCESSES and argument.isdecimal() and int(argument) > 0:
        return Processes(int(argument))
    raise ValueError(f"expected the executor {IN_PROCESS} or {PROCESSES}:N, got {text!r}")
