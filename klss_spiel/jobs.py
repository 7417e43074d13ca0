"""Jobs with stable keys become rows that are kept as they finish.

    jobs = [job_from_columns(measure, {"game": name, "seed": 0}) for name in names]
    rows = compute_rows(jobs, executor="processes:2", output="rows.csv")

The file (see `row_files`) gets each job's rows as soon as they are there. A job whose
rows are in it is not run again, so that a run that was killed, on whatever machine, goes
on where it stood. Rows do not depend on the executor, except for times: their order in the
file is that in which jobs end, their order in the result that of the jobs.

A job that raises becomes a row with an `error` and does not stop the others; it is tried
again by the next run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from absl import logging

from klss_spiel.executors import IN_PROCESS, Executor, Outcome, Setup, parse_executor
from klss_spiel.executors import Job as Job
from klss_spiel.progress import Progress
from klss_spiel.row_files import ERROR, KEY, PART, RowFile, latest_by_key, read_rows
from klss_spiel.row_formats import Row, flat, plain
from klss_spiel.versions import versions

# Columns that say which part of all jobs a file has; see `shard_stamp`.
SHARD = "shard"
ALL_JOBS = "jobs_in_all_shards"
_BOOKKEEPING = (KEY, PART, ERROR, SHARD, ALL_JOBS)


class JobError(RuntimeError):
    """A job failed in a run that is strict about it."""


@dataclasses.dataclass(frozen=True)
class FinishedJob:
    """A job with its rows.

    Attributes:
      job: the job.
      rows: its columns and results, without bookkeeping; if it failed one row of its
        columns and the `error`.
      error: why it failed.
      was_there: whether the rows are from an earlier run.
    """

    job: Job
    rows: tuple[dict[str, Any], ...]
    error: str | None = None
    was_there: bool = False


def job_from_columns(
    function: Callable[..., Row | Sequence[Row]],
    columns: Row,
    *arguments: Any,
    group: str = "",
) -> Job:
    """The job `function(columns, *arguments)`, whose key is what its columns say.

    Args:
      function: see `Job`; its rows need not repeat the columns.
      columns: everything that the rows depend on.
      *arguments: what does not belong into the rows because it does not change them.
      group: see `Job`.
    """
    columns = plain(columns)
    return Job(key_of(columns), function, (columns, *arguments), columns, group)


def key_of(columns: Row) -> str:
    """A text such as "game=kuhn_poker seed=0": different for different columns."""
    return " ".join(f"{_word(name)}={_word(value)}" for name, value in plain(columns).items())


def _word(value: Any) -> str:
    if isinstance(value, str) and value and not {" ", "=", '"'} & set(value):
        with contextlib.suppress(ValueError):
            json.loads(value)  # "1" must not look like 1.
            return json.dumps(value)
        return value
    return json.dumps(value)


def shard(jobs: Sequence[Job], index: int, count: int) -> list[Job]:
    """Every `count`-th of the jobs, from number `index` on: a share for one of many machines."""
    if not 0 <= index < count:
        raise ValueError(f"expected a shard from 0/{count} to {count - 1}/{count}, got {index}")
    return list(jobs[index::count])


def shard_stamp(index: int, count: int, num_jobs: int) -> dict[str, Any]:
    """Columns by which rows of shards tell what is missing when they are put together."""
    return {SHARD: f"{index} of {count}", ALL_JOBS: num_jobs}


def compute_rows(
    jobs: Sequence[Job],
    executor: str | Executor = IN_PROCESS,
    output: str | os.PathLike[str] | None = None,
    progress: str | None = "jobs",
    resume: bool = True,
    strict: bool = False,
    setup: Setup | None = None,
    fields: Sequence[str] = (),
    stamp: Row | None = None,
) -> list[dict[str, Any]]:
    """Runs jobs and returns their rows, in the order of the jobs.

    Ctrl-C (KeyboardInterrupt) ends the run; the file then has all rows that were finished.

    Args:
      jobs: what to compute. Equal jobs run once; different ones have different keys.
      executor: an `Executor`, or a text such as `processes:2`; see `parse_executor`.
      output: .csv or .jsonl file that gets every row as soon as it is finished.
      progress: what lines of progress call the jobs; None for no such lines.
      resume: take rows that are in the file from there; otherwise the file is emptied.
      strict: raise the first error of a job instead of making a row of it.
      setup: called once in every process that runs jobs; importable.
      fields: columns of results, if CSV is to have more than the first row has.
      stamp: more columns for the file, besides `versions()`.

    Returns:
      The rows: the job's columns and its results, or its columns and its `error`. The
      columns of bookkeeping (key, part, stamp) are only in the file.

    Raises:
      JobError: if a job fails and `strict`.
      ValueError: if jobs, executor or file are not what they should be.
    """
    with contextlib.closing(
        finish_jobs(jobs, executor, output, progress, resume, strict, setup, fields, stamp)
    ) as finished:
        rows = {done.job.key: done.rows for done in finished}
    return [dict(row) for job in jobs for row in rows[job.key]]


def finish_jobs(
    jobs: Sequence[Job],
    executor: str | Executor = IN_PROCESS,
    output: str | os.PathLike[str] | None = None,
    progress: str | None = "jobs",
    resume: bool = True,
    strict: bool = False,
    setup: Setup | None = None,
    fields: Sequence[str] = (),
    stamp: Row | None = None,
) -> Generator[FinishedJob, None, None]:
    """Yields each job once it is finished: first those from the file, then as they end.

    Whoever has seen enough closes the iterator (`contextlib.closing`), which ends the
    jobs that are running. Arguments as of `compute_rows`.
    """
    if isinstance(executor, str):
        executor = parse_executor(executor)
    by_key = _by_key(jobs)
    stamp = {**versions(), **(stamp or {})}
    with contextlib.ExitStack() as stack:
        file = None
        if output is not None and jobs:
            columns = list(flat(jobs[0].columns))
            file = stack.enter_context(RowFile(output, columns, fields, stamp, resume))
        present = _present(by_key, file.rows if file else (), stamp)
        yield from present.values()
        remaining = [job for key, job in by_key.items() if key not in present]
        if len(remaining) < len(by_key):
            found = len(by_key) - len(remaining)
            logging.info("%s: %d of %d are in the file", output, found, len(by_key))
        reporter = Progress(progress, len(remaining)) if progress else None
        outcomes = stack.enter_context(contextlib.closing(executor.run(remaining, setup)))
        for number, outcome in enumerate(outcomes, 1):
            done = _finished(by_key[outcome.key], outcome)
            if file is not None:
                file.append(_with_bookkeeping(done, outcome))
            if outcome.error is not None:
                logging.debug("%s", outcome.details)
                if strict:
                    raise JobError(f"{outcome.key}: {outcome.error}")
                logging.warning("%s failed: %s", outcome.key, outcome.error)
            if reporter is not None:
                reporter.update(number)
            yield done


def read_finished(jobs: Sequence[Job], output: str | os.PathLike[str]) -> list[FinishedJob]:
    """The jobs that a file has results of, in their order; nothing is computed or written."""
    return list(_present(_by_key(jobs), read_rows(output), versions()).values())


def _present(by_key: Mapping[str, Job], rows: Iterable[Row], stamp: Row) -> dict[str, FinishedJob]:
    """The jobs that rows of a file are results of, by key."""
    found = latest_by_key(rows)
    return {
        key: FinishedJob(job, _without_bookkeeping(found[key], stamp), was_there=True)
        for key, job in by_key.items()
        if key in found and found[key][0].get(ERROR) is None
    }


def _by_key(jobs: Sequence[Job]) -> dict[str, Job]:
    found: dict[str, Job] = {}
    for job in jobs:
        other = found.setdefault(job.key, job)
        if other is not job and other != job:
            raise ValueError(f"expected different keys of different jobs, got {job.key!r} twice")
    return found


def _finished(job: Job, outcome: Outcome) -> FinishedJob:
    results: Sequence[Mapping[str, Any]] = outcome.rows
    if outcome.error is not None:
        results = [{ERROR: outcome.error}]
    columns = plain(job.columns)
    return FinishedJob(job, tuple({**columns, **row} for row in results), outcome.error)


def _with_bookkeeping(done: FinishedJob, outcome: Outcome) -> list[dict[str, Any]]:
    count = len(done.rows)
    has_parts = outcome.parts and outcome.error is None
    return [
        {KEY: done.job.key, **({PART: f"{number}/{count}"} if has_parts else {}), **row}
        for number, row in enumerate(done.rows, 1)
    ]


def _without_bookkeeping(rows: Sequence[Row], stamp: Row) -> tuple[dict[str, Any], ...]:
    hidden = {*_BOOKKEEPING, *stamp}
    return tuple({name: value for name, value in row.items() if name not in hidden} for row in rows)
