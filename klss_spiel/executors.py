"""Jobs, and where they run: in this process, in several of this machine, on a cluster.

A job is a picklable value: a key, a function at the top level of a module, and its
arguments. An executor runs jobs and yields an `Outcome` for each as soon as it is known,
in any order. Executors are small values behind a protocol; `parse_executor` makes them
of texts such as `processes:4` or `ray:auto`.
"""

from __future__ import annotations

import dataclasses
import pickle
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from klss_spiel.row_files import check_columns
from klss_spiel.row_formats import Row, columns_of, plain

# Run once in every process before its first job, e.g. to choose jax's precision.
Setup = Callable[[], object]

Outcomes: TypeAlias = "Generator[Outcome, None, None]"

IN_PROCESS = "in_process"
PROCESSES = "processes"

RAY = "ray"


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
        return Outcome(job.key, error=text_of(error), details=traceback.format_exc())


def run_pickled(key: str, pickled: bytes) -> Outcome:
    """Runs a pickled job here; that it cannot be unpickled is its outcome too."""
    try:
        job = pickle.loads(pickled)
    except Exception as error:
        return Outcome(key, error=f"cannot be unpickled: {text_of(error)}")
    return run_job(job)


def text_of(error: BaseException) -> str:
    """An error in one line: its kind and what it says."""
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


def parse_executor(text: str) -> Executor:
    """The executor of a text.

    `in_process`; `processes:N` with a number of processes; `ray:auto` or `ray:HOST:PORT`
    with a running Ray cluster (extra `cluster`).
    """
    name, _, argument = text.partition(":")
    if text == IN_PROCESS:
        return InProcess()
    if name == PROCESSES and argument.isdecimal() and int(argument) > 0:
        from klss_spiel.process_executor import Processes

        return Processes(int(argument))
    if name == RAY and argument:
        from klss_spiel.ray_executor import Ray

        return Ray(argument)
    raise ValueError(
        f"expected the executor {IN_PROCESS}, {PROCESSES}:N, {RAY}:auto or {RAY}:HOST:PORT, "
        f"got {text!r}"
    )
