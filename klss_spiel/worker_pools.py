"""Jobs given out to workers that may die: the one loop behind `Processes` and `Ray`.

A pool hires workers and says who has news; what a worker is (a process of this machine,
an actor of a cluster) only the pool knows.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from absl import logging

from klss_spiel.executors import Job, Outcome, Outcomes, Setup

ATTEMPTS = 2
# Where deaths are counted that no job is to blame for; keys of jobs are not empty.
_START = ""


@dataclasses.dataclass(frozen=True)
class Death:
    """The news that a worker is no more.

    Attributes:
      reason: what is known of it.
    """

    reason: str


class Worker(Protocol):
    """Runs jobs, one at a time. Mutable.

    Attributes:
      ready: whether it has started.
      job: what it is doing.
      group: of its last job.
    """

    ready: bool
    job: Job | None
    group: str | None

    def send(self, job: Job) -> None:
        """Gives it work."""

    def receive(self) -> Outcome | Death | None:
        """The news; None is that it is ready. RuntimeError if it cannot be set up."""

    def stop(self) -> None:
        """Asks it to end, whatever it is doing."""

    def end(self) -> None:
        """Waits until it has ended."""


W = TypeVar("W", bound=Worker)


class Pool(Protocol, Generic[W]):
    """Where workers come from.

    Attributes:
      hint: what may be wrong if none can start.
    """

    hint: str

    def capacity(self) -> int:
        """How many workers there may be now, at least one."""

    def hire(self, count: int, setup: Setup | None) -> Sequence[W]:
        """Starts workers."""

    def with_news(self, workers: Sequence[W]) -> Sequence[W]:
        """Waits for news, for a while; whose `receive` has some."""


def run_in_pool(pool: Pool[W], jobs: Sequence[Job], setup: Setup | None) -> Outcomes:
    """What `Executor.run` does, with the workers of a pool.

    A job whose worker dies runs once more with another one.
    """
    waiting = list(jobs)
    outcomes: list[Outcome] = []
    died: collections.Counter[str] = collections.Counter()
    workers: list[W] = []
    try:
        while True:
            _give_out(workers, waiting)
            starting = sum(not worker.ready for worker in workers)
            if len(waiting) > starting and died[_START] < ATTEMPTS:
                missing = min(pool.capacity() - len(workers), len(waiting) - starting)
                if missing > 0:
                    workers += pool.hire(missing, setup)
            # After giving out work, so that nobody waits for whoever takes outcomes.
            yield from outcomes
            outcomes = []
            if not waiting and not any(worker.job for worker in workers):
                return
            for worker in pool.with_news(workers):
                message = worker.receive()
                if isinstance(message, Outcome):
                    outcomes.append(message)
                elif isinstance(message, Death):
                    workers.remove(worker)
                    worker.end()
                    failed = _account_for(worker, message, died, waiting)
                    if failed is not None:
                        outcomes.append(failed)
                    if died[_START] >= ATTEMPTS and not workers:
                        raise RuntimeError(
                            f"workers for jobs cannot start: {message.reason}; {pool.hint}"
                        )
                else:
                    died[_START] = 0
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.end()


def _account_for(
    worker: Worker, death: Death, died: collections.Counter[str], waiting: list[Job]
) -> Outcome | None:
    """Lets a dead worker's job wait again, or returns its failure."""
    if worker.job is None:
        if not worker.ready:
            died[_START] += 1
        return None
    died[worker.job.key] += 1
    if died[worker.job.key] < ATTEMPTS:
        logging.warning("%s is tried again: %s", worker.job.key, death.reason)
        waiting.insert(0, worker.job)
        return None
    reason = f"WorkerDied: {death.reason} at this job, {ATTEMPTS} times"
    return Outcome(worker.job.key, error=reason)


def _give_out(workers: Sequence[Worker], waiting: list[Job]) -> None:
    for worker in workers:
        if worker.ready and worker.job is None and waiting:
            job = next_job(waiting, worker, workers)
            waiting.remove(job)
            worker.send(job)


def next_job(waiting: Sequence[Job], worker: Worker, workers: Sequence[Worker]) -> Job:
    """The worker's own group first, then one that nobody works on, then any job."""
    if worker.group:
        for job in waiting:
            if job.group == worker.group:
                return job
    # Jobs without a group are nobody's, so that of many of them the first is taken at once.
    busy = {other.group for other in workers if other is not worker and other.job is not None}
    free = (job for job in waiting if not job.group or job.group not in busy)
    return next(free, waiting[0])
