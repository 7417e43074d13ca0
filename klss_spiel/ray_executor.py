"""Jobs on a Ray cluster that is running already.

Ray (extra `cluster`) is imported when jobs run and not before. Workers are actors with one
core each, as many as the cluster has cores; cores that join later get work too. An actor
keeps what its jobs cache, such as a blueprint. The machines need this package, whatever
else jobs import, and the same versions of Python and Ray as the one that gives out work.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import pickle
import re
import socket
from collections.abc import Sequence
from typing import Any, Final

from klss_spiel import thread_limits
from klss_spiel.executors import Job, Outcome, Outcomes, Setup, run_pickled, text_of
from klss_spiel.worker_pools import Death, run_in_pool

MISSING: Final = "the executor ray needs the extra 'cluster': pip install 'klss_spiel[cluster]'"
_AUTO: Final = "auto"
# How often the cluster is asked whether it has grown.
_SECONDS_TO_WAIT: Final = 5.0
_SECONDS_TO_CONNECT: Final = 10.0
_LONGEST_REASON: Final = 300


@dataclasses.dataclass(frozen=True)
class Ray:
    """Runs jobs on a Ray cluster.

    A job whose worker dies, alone or with its machine, runs once more. When this process
    ends, however it ends, Ray ends its workers.

    Attributes:
      address: `auto` for the cluster that this machine belongs to (or that RAY_ADDRESS
        names), else HOST:PORT of its head.
    """

    address: str = _AUTO

    def __post_init__(self) -> None:
        if self.address != _AUTO and not re.fullmatch(r"[^\s:/]+:\d+", self.address):
            raise ValueError(f"expected auto or HOST:PORT of a cluster, got {self.address!r}")
        if importlib.util.find_spec("ray") is None:
            raise ValueError(MISSING)

    def run(self, jobs: Sequence[Job], setup: Setup | None = None) -> Outcomes:
        """See `Executor`."""
        if not jobs:
            return
        ray = importlib.import_module("ray")
        is_ours = not ray.is_initialized()
        if is_ours:
            self._connect(ray)
        try:
            yield from run_in_pool(_RayPool(ray), jobs, setup)
        finally:
            if is_ours:
                ray.shutdown()
                _let_ray_print(True)

    def _connect(self, ray: Any) -> None:
        _let_ray_print(False)
        try:
            if self.address != _AUTO:
                _check_listens(self.address)
            ray.init(address=self.address, log_to_driver=False, configure_logging=False)
        except (OSError, RuntimeError, ValueError) as error:
            _let_ray_print(True)
            raise ValueError(
                f"expected a running Ray cluster at {self.address}, got {text_of(error)}; "
                "`ray start --head` starts one"
            ) from error


def _check_listens(address: str) -> None:
    """Raises OSError unless there is somebody: Ray itself tries for many minutes."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=_SECONDS_TO_CONNECT):
        pass


def _let_ray_print(enabled: bool) -> None:
    """Whether Ray may write what happens on the cluster to standard output.

    That is for results. `log_to_driver` is about what workers print; for Ray's own news,
    such as a worker's death, there is no public switch.
    """
    importlib.import_module("ray._private.worker")._worker_logs_enabled = enabled  # type: ignore[attr-defined]


class _Actor:
    """What a worker does, in its own process."""

    def set_up(self, pickled: bytes) -> str | None:
        """Calls the pickled setup, if any; what it raises, as a text."""
        try:
            setup = pickle.loads(pickled)
            if setup is not None:
                setup()
        except Exception as error:
            return text_of(error)
        return None

    def run(self, key: str, pickled: bytes) -> Outcome:
        """Runs a pickled job."""
        return run_pickled(key, pickled)


class _RayPool:
    """See `worker_pools.Pool`."""

    hint = "is klss_spiel installed on all machines of the cluster?"

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        names = (*thread_limits.THREAD_VARIABLES, thread_limits.XLA_FLAGS)
        # One core, one thread; what the user has set here holds there too.
        variables = {name: os.environ[name] for name in names if name in os.environ}
        variables |= thread_limits.limiting_variables(threads=1)
        self._actor = ray.remote(
            num_cpus=1, max_restarts=0, max_task_retries=0, runtime_env={"env_vars": variables}
        )(_Actor)

    def capacity(self) -> int:
        # A cluster that grows on demand may have no core yet: one worker asks for it.
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    def hire(self, count: int, setup: Setup | None) -> list[_RayWorker]:
        return [_RayWorker(self._ray, self._actor.remote(), setup) for _ in range(count)]

    def with_news(self, workers: Sequence[_RayWorker]) -> list[_RayWorker]:
        owners = {w.answer: w for w in workers if w.answer is not None}
        finished, _ = self._ray.wait(list(owners), num_returns=1, timeout=_SECONDS_TO_WAIT)
        return [owners[answer] for answer in finished]


class _RayWorker:
    """See `worker_pools.Worker`.

    Attributes:
      answer: Ray's reference to what is awaited, or None.
    """

    def __init__(self, ray: Any, actor: Any, setup: Setup | None) -> None:
        self.ready = False
        self.job: Job | None = None
        self.group: str | None = None
        self.answer: Any = actor.set_up.remote(pickle.dumps(setup))
        self._ray = ray
        self._actor = actor

    def send(self, job: Job) -> None:
        self.job, self.group = job, job.group
        # In two steps, so that the worker can say what it cannot unpickle.
        self.answer = self._actor.run.remote(job.key, pickle.dumps(job))

    def receive(self) -> Outcome | Death | None:
        try:
            message = self._ray.get(self.answer)
        except self._ray.exceptions.RayError as error:
            return Death(f"a worker of Ray's ended with {_short(error)}")
        if not self.ready and message is not None:
            raise RuntimeError(f"cannot set up a worker for jobs: {message}")
        self.answer, self.ready, self.job = None, True, None
        return message if isinstance(message, Outcome) else None

    def stop(self) -> None:
        self._ray.kill(self._actor, no_restart=True)

    def end(self) -> None:
        """Nothing to wait for: Ray sees to it."""


def _short(error: Exception) -> str:
    """An error of Ray's, without the advice that follows."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("The actor is dead because")]
    return f"{type(error).__name__}: {(causes or lines or [''])[0]}"[:_LONGEST_REASON]
