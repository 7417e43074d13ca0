"""Where jobs run: in this process, in several, with workers that die."""

import os
import pathlib
import subprocess
import sys

import pytest

from klss_spiel import ray_executor, thread_limits, worker_pools
from klss_spiel.executors import InProcess, Outcome, parse_executor
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.process_executor import Processes
from klss_spiel.ray_executor import Ray
from klss_spiel.row_files import read_rows
from tests.helpers.job_functions import (
    curve,
    die,
    end_now,
    environment,
    fail_to_set_up,
    log_of,
    set_up,
    squares,
)

ROOT = pathlib.Path(__file__).parent.parent


def test_executors_are_known_by_name():
    assert parse_executor("in_process") == InProcess()
    assert parse_executor("processes:3") == Processes(3)
    for text in ("processes", "processes:0", "processes:x", "in_process:1", "ray", "ray:", ""):
        with pytest.raises(ValueError, match="in_process, processes:N, ray:auto or ray:HOST:PORT"):
            parse_executor(text)
    with pytest.raises(ValueError, match="at least one process"):
        Processes(0)


def test_clusters_are_known_by_address_and_need_the_extra(monkeypatch):
    monkeypatch.setattr(ray_executor.importlib.util, "find_spec", lambda name: name)
    assert parse_executor("ray:auto") == Ray("auto")
    assert parse_executor("ray:10.0.0.1:6379") == Ray("10.0.0.1:6379")
    for text in ("ray:2", "ray:host", "ray:host:port", "ray:http://host:1", "ray: :1"):
        with pytest.raises(ValueError, match="auto or HOST:PORT"):
            parse_executor(text)
    monkeypatch.setattr(ray_executor.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'klss_spiel\[cluster\]'"):
        compute_rows(squares([1]), "ray:auto")


def test_ray_is_imported_by_nothing_but_a_run_on_a_cluster():
    script = """
import sys
from klss_spiel.executors import parse_executor
from klss_spiel.jobs import compute_rows
from klss_spiel import ray_executor
ray_executor.importlib.util.find_spec = lambda name: name
assert compute_rows([], parse_executor("ray:auto")) == []
assert not [name for name in sys.modules if name.split(".")[0] == "ray"]
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


class Flaky:
    """A pool of one worker at a time that does as it is told. Mutable."""

    hint = "look for the cause"

    def __init__(self, news):
        self.news = list(news)

    def capacity(self):
        return 1

    def hire(self, count, setup):
        return [FlakyWorker(self) for _ in range(count)]

    def with_news(self, workers):
        return workers[:1]


class FlakyWorker:
    def __init__(self, pool):
        self.ready, self.job, self.group, self.pool = False, None, None, pool

    def send(self, job):
        self.job = job

    def receive(self):
        if self.pool.news.pop(0) == "dies":
            return worker_pools.Death("it fell")
        job, self.ready, self.job = self.job, True, None
        return None if job is None else Outcome(job.key, ({"done": True},))

    def stop(self):
        pass

    def end(self):
        pass


def test_deaths_at_the_start_end_a_run_only_if_nobody_can_start():
    work = squares([1, 2])

    def run(news):
        return [outcome.error for outcome in worker_pools.run_in_pool(Flaky(news), work, None)]

    fine = ["starts", "works", "works"]
    assert run(fine) == run(["dies", *fine]) == [None, None]
    # Once somebody has started, starting is no longer in doubt.
    assert run(["dies", "starts", "dies", "dies", *fine]) == [None, None]
    with pytest.raises(RuntimeError, match="cannot start: it fell; look for the cause"):
        run(["dies", "dies", *fine])


def test_rows_do_not_depend_on_the_executor(tmp_path):
    numbers = [5, 13, 2, 8, 1, 7]
    work = [*squares(numbers), *(job_from_columns(curve, {"game": "c", "k": k}) for k in (1, 2))]
    here = compute_rows(work, "in_process", tmp_path / "a.jsonl")
    there = compute_rows(work, "processes:2", tmp_path / "b.jsonl")
    assert here == there
    stored = [read_rows(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert sorted(map(str, stored[0])) == sorted(map(str, stored[1]))
    # And one goes on where the other stood.
    assert compute_rows(work, "in_process", tmp_path / "b.jsonl") == here


def test_processes_share_the_cores_and_are_set_up(monkeypatch):
    monkeypatch.setattr(thread_limits, "num_cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    work = [job_from_columns(environment, {"k": k}) for k in range(4)]
    before = dict(os.environ)
    rows = compute_rows(work, "processes:2", setup=set_up)
    assert dict(os.environ) == before
    assert {row["OMP_NUM_THREADS"] for row in rows} == {"2"}
    assert {row["SET_UP"] for row in rows} == {"yes"}
    assert len({row["process"] for row in rows}) == 2
    assert os.getpid() not in {row["process"] for row in rows}


def test_threads_are_limited_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.setattr(thread_limits, "num_cores", lambda: 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/nowhere")
    with thread_limits.shared_cores(3):
        assert os.environ["OMP_NUM_THREADS"] == "7"
        assert os.environ["NUMBA_NUM_THREADS"] == "1"
        assert os.environ["XLA_FLAGS"].split() == [
            "--xla_dump_to=/nowhere",
            "--xla_cpu_multi_thread_eigen=false",
        ]
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=/nowhere"
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_a_killed_process_costs_one_more_attempt_then_an_error(tmp_path):
    log = tmp_path / "log"
    work = [job_from_columns(die, {"k": k}, str(log)) for k in (1, 2, 3)]
    rows = compute_rows(work, "processes:2", tmp_path / "rows.jsonl")
    assert rows[0]["error"] == "WorkerDied: a process ended with SIGKILL at this job, 2 times"
    assert [row.get("square") for row in rows] == [None, 4, 9]
    assert sorted(log_of(log)) == [1, 1, 2, 2, 3]


def test_processes_that_cannot_start_are_an_error():
    with pytest.raises(RuntimeError, match=r"cannot set up.*no such precision"):
        compute_rows(squares([1]), "processes:1", setup=fail_to_set_up)
    with pytest.raises(RuntimeError, match="cannot start: a process ended with code 3"):
        compute_rows(squares([1]), "processes:1", setup=end_now)


def test_jobs_of_one_group_stay_together():
    class Busy:
        ready = True

        def __init__(self, group, job):
            self.group, self.job = group, job

    waiting = [Job(f"{group}{i}", curve, group=group) for group in "abc" for i in range(2)]
    at_a, at_b = Busy("a", waiting[0]), Busy("b", None)
    assert worker_pools.next_job(waiting, at_b, [at_a, at_b]).key == "b0"
    assert worker_pools.next_job(waiting, Busy(None, None), [at_a, at_b]).key == "b0"
    assert worker_pools.next_job(waiting[:2], at_b, [at_a, at_b]).key == "a0"
    ungrouped = [Job(str(i), curve) for i in range(2)]
    assert worker_pools.next_job(ungrouped, Busy("", None), [Busy("", ungrouped[0])]).key == "0"
