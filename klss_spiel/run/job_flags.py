"""Flags of binaries that make rows, and what they do: executor, file, shard, errors.

def main() -> None:
    with job_flags.computed_rows(make_jobs(config)) as rows:
        output.emit(rows, flags.FLAGS.json)
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from absl import flags, logging

from klss_spiel import jobs as job_module
from klss_spiel.executors import IN_PROCESS
from klss_spiel.jobs import FinishedJob, Job
from klss_spiel.plot import figures


def define_flags(timed: bool = False) -> None:
    """Defines the flags.

    Args:
      timed: whether rows are measurements of time.
    """
    flags.DEFINE_string(
        "output",
        None,
        "File (.csv or .jsonl) that gets every row as soon as it is finished. Rows already in it "
        "are not computed again: a run that was stopped goes on where it stood.",
    )
    flags.DEFINE_bool("resume", True, "--noresume empties the --output file first.")
    flags.DEFINE_bool(
        "report", False, "Only show what the --output file has, also while another run adds to it."
    )
    flags.DEFINE_string(
        "executor",
        IN_PROCESS,
        "Where rows are computed: in_process, processes:N on this machine, or on a running Ray "
        "cluster: ray:auto for this machine's, ray:HOST:PORT for another (extra 'cluster')."
        + (" Measure times in_process: processes disturb each other." if timed else ""),
    )
    flags.DEFINE_string(
        "shard",
        None,
        "i/n: only every n-th row from number i (0 to n - 1) on, for one of n machines; "
        "klss_spiel.run.merge joins their files.",
    )
    flags.DEFINE_bool("strict", False, "End at the first row that fails.")


def define_plot_flag(what: str) -> None:
    """Defines `--plot`, for a picture of `what`; `check_plot` checks it."""
    flags.DEFINE_string("plot", None, f"File (.svg, .pdf, .png) for {what}; extra 'plot'.")


@contextlib.contextmanager
def computed_rows(
    jobs: Sequence[Job],
    setup: Callable[[], object] | None = None,
    fields: Sequence[str] = (),
    progress: str = "rows",
) -> Iterator[list[dict[str, Any]]]:
    """Runs jobs as the flags say; the block gets their rows and shows them.

    After Ctrl-C the block gets what was finished; so it does if some jobs failed. Both
    end in an error after the block. If there is nothing to show the block does not run.

    Args:
      jobs: what to compute.
      setup: see `compute_rows`.
      fields: see `compute_rows`.
      progress: what lines of progress call the jobs.
    """
    values = flags.FLAGS
    stamp = {}
    if values.shard is not None:
        index, count = parse_shard(values.shard)
        stamp = job_module.shard_stamp(index, count, len(jobs))
        jobs = job_module.shard(jobs, index, count)
    if values.report:
        yield reported_rows(jobs, values.output)
        return
    finished: dict[str, FinishedJob] = {}
    interrupted = False
    try:
        with contextlib.closing(
            job_module.finish_jobs(
                jobs,
                executor=values.executor,
                output=values.output,
                progress=progress,
                resume=values.resume,
                strict=values.strict,
                setup=setup,
                fields=fields,
                stamp=stamp,
            )
        ) as running:
            for done in running:
                finished[done.job.key] = done
    except KeyboardInterrupt:
        logging.warning("interrupted: %d of %d jobs are finished", len(finished), len(jobs))
        interrupted = True
    in_order = [finished[job.key] for job in jobs if job.key in finished]
    rows = [dict(row) for done in in_order if done.error is None for row in done.rows]
    failures = [done for done in in_order if done.error is not None]
    if rows or not (interrupted or failures):
        yield rows
    if interrupted:
        raise KeyboardInterrupt
    if failures:
        first = failures[0]
        raise ValueError(
            f"{len(failures)} of {len(jobs)} jobs failed, first {first.job.key}: {first.error}"
        )


def reported_rows(jobs: Sequence[Job], path: str | None) -> list[dict[str, Any]]:
    """Rows of the jobs that a file has results of; see `--report`."""
    if path is None or not pathlib.Path(path).exists():
        raise ValueError(f"expected --report with an --output file that exists, got {path}")
    done = job_module.read_finished(jobs, path)
    if len(done) < len(jobs):
        logging.warning("%s has %d of %d jobs", path, len(done), len(jobs))
    return [dict(row) for job in done for row in job.rows]


def parse_shard(text: str) -> tuple[int, int]:
    """Number and count of a shard such as "0/4"."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not int(match[1]) < int(match[2]):
        raise ValueError(f"expected --shard=i/n with i from 0 to n - 1, got {text!r}")
    return int(match[1]), int(match[2])


def check_plot(path: str | None) -> None:
    """Raises ValueError if a figure cannot be drawn to a file, before hours are spent on it."""
    if path is None:
        return
    figures.check_format(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise ValueError(figures.MISSING)
    check_writable(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raises ValueError if a file cannot be written; what is in it stays."""
    file = pathlib.Path(path)
    existed = file.exists()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "ab"):
            pass
    except OSError as error:
        raise ValueError(f"cannot write {file}: {error.strerror}") from error
    if not existed:
        file.unlink()
