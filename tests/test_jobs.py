"""Jobs become rows: executors, files that outlive a killed run, errors."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from klss_spiel import jobs, progress, ray_executor, thread_limits, worker_pools
from klss_spiel.executors import InProcess, Outcome, parse_executor
from klss_spiel.jobs import Job, compute_rows, finish_jobs, job_from_columns, key_of, shard
from klss_spiel.process_executor import Processes
from klss_spiel.ray_executor import Ray
from klss_spiel.row_files import RowFile, read_rows
from klss_spiel.versions import versions
from tests.helpers.interrupts import heed_interrupts

ROOT = pathlib.Path(__file__).parent.parent
SUFFIXES = [".csv", ".jsonl"]

# Functions of jobs. What they did is written to a file, for other processes see no lists.


def square(columns, log=None):
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{columns['k']}\n")
    if columns["k"] == 13:
        raise ValueError("13 is unlucky")
    return {"square": columns["k"] ** 2, "half": columns["k"] / 2}


def curve(columns):
    return [{"x": x, "y": x * columns["k"]} for x in (1, 2, 4)]


def interrupt_at_3(columns):
    if columns["k"] == 3:
        raise KeyboardInterrupt
    return {"square": columns["k"] ** 2}


def die(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']}\n")
    deaths = pathlib.Path(log).read_text().split().count(str(columns["k"]))
    if columns["k"] == 1 or (columns["k"] == 2 and deaths == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": columns["k"] ** 2}


def environment(columns):
    time.sleep(0.2)  # Long enough for both processes to get work.
    names = ("OMP_NUM_THREADS", "XLA_FLAGS", "SET_UP")
    return {"process": os.getpid(), **{name: os.environ.get(name) for name in names}}


def set_up():
    os.environ["SET_UP"] = "yes"


def fail_to_set_up():
    raise ValueError("no such precision")


def end_now(*_):
    os._exit(3)


def leave(columns):
    sys.exit("enough")


def bad_row(columns):
    return {"a": {1, 2}} if columns["k"] else {"key": 1}


def no_rows(columns):
    return []


def squares(numbers, log=None):
    return [job_from_columns(square, {"game": "g", "k": k}, log) for k in numbers]


def log_of(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


# Jobs.


def test_keys_tell_columns_apart():
    assert key_of({"game": "kuhn_poker", "seed": 0}) == "game=kuhn_poker seed=0"
    columns = [
        {"a": "1"},
        {"a": 1},
        {"a": 1.0},
        {"a": None},
        {"a": "null"},
        {"a": "1 b=2"},
        {"a": 1, "b": 2},
        {"a": "1", "b": 2},
        {"a": ""},
        {"a": '"1"'},
        {"a": [1]},
        {"a": "[1]"},
        {"a": True},
        {"a=1 b": 2},
    ]
    assert len({key_of(c) for c in columns}) == len(columns)


def test_jobs_that_cannot_be_sent_are_refused():
    for function, arguments in ((lambda: {}, ()), (square, (lambda: 1,))):
        with pytest.raises(ValueError, match="top level of a module"):
            Job("a", function, arguments)
    with pytest.raises(ValueError, match="text as the key"):
        Job("", square)
    with pytest.raises(ValueError, match="other names than 'error'"):
        Job("a", square, columns={"error": 1})


def test_equal_jobs_run_once_and_different_ones_need_different_keys(tmp_path):
    log = tmp_path / "log"
    rows = compute_rows(squares([2, 3, 2], str(log)))
    assert [row["square"] for row in rows] == [4, 9, 4]
    assert log_of(log) == [2, 3]
    with pytest.raises(ValueError, match="'a' twice"):
        compute_rows([Job("a", square, ({"k": 1},)), Job("a", square, ({"k": 2},))])


def test_shards_are_a_partition():
    numbers = list(range(7))
    parts = [shard(squares(numbers), i, 3) for i in range(3)]
    assert sorted(job.columns["k"] for part in parts for job in part) == numbers
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(ValueError, match="from 0/3 to 2/3, got 3"):
        shard(squares(numbers), 3, 3)


# Rows.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_finished_rows_are_not_computed_again(tmp_path, suffix):
    path, log = tmp_path / "deeper" / f"rows{suffix}", tmp_path / "log"
    rows = compute_rows(squares([1, 2], str(log)), output=path)
    assert rows == [{"game": "g", "k": k, "square": k**2, "half": k / 2} for k in (1, 2)]
    before = path.read_bytes()
    again = compute_rows(squares([3, 2, 1], str(log)), output=path)
    assert again[1:] == rows[::-1]
    assert log_of(log) == [1, 2, 3]
    assert path.read_bytes().startswith(before)
    stored = read_rows(path)
    assert [row["k"] for row in stored] == [1, 2, 3]
    assert stored[0]["key"] == "game=g k=1"
    assert all(versions().items() <= row.items() for row in stored)
    compute_rows(squares([3], str(log)), output=path, resume=False)
    assert log_of(log) == [1, 2, 3, 3]
    assert [row["k"] for row in read_rows(path)] == [3]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_of_one_job_are_all_there_or_computed_again(tmp_path, suffix):
    path = tmp_path / f"curve{suffix}"
    both = [job_from_columns(curve, {"k": k}) for k in (1, 2)]
    rows = compute_rows(both, output=path)
    assert [(row["k"], row["x"], row["y"]) for row in rows] == [
        (k, x, k * x) for k in (1, 2) for x in (1, 2, 4)
    ]
    lines = path.read_text().splitlines(keepends=True)
    # Without its last line the second job is not finished, though that line was not torn.
    path.write_text("".join(lines[:-1]))
    with contextlib.closing(finish_jobs(both, output=path)) as finished:
        assert [(done.job.columns["k"], done.was_there) for done in finished] == [
            (1, True),
            (2, False),
        ]
    assert compute_rows(both, output=path) == rows
    assert len(read_rows(path)) == 3 + 2 + 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_errors_are_rows_that_stop_nothing_and_are_tried_again(tmp_path, suffix):
    path, log = tmp_path / f"rows{suffix}", tmp_path / "log"
    rows = compute_rows(squares([13, 2], str(log)), output=path)
    assert rows[0] == {"game": "g", "k": 13, "error": "ValueError: 13 is unlucky"}
    assert rows[1]["square"] == 4
    assert {row["k"]: row.get("error") for row in read_rows(path)} == {
        13: "ValueError: 13 is unlucky",
        2: None,
    }
    compute_rows(squares([13, 2], str(log)), output=path)
    assert log_of(log) == [13, 2, 13]
    with pytest.raises(jobs.JobError, match="game=g k=13: ValueError: 13 is unlucky"):
        compute_rows(squares([13, 2], str(log)), output=path, strict=True)


def test_whatever_a_job_does_wrong_is_an_error_of_that_job():
    wrong = [
        job_from_columns(leave, {"n": 0}),
        job_from_columns(bad_row, {"k": 0}),
        job_from_columns(bad_row, {"k": 1}),
        job_from_columns(no_rows, {"n": 1}),
    ]
    errors = [row["error"] for row in compute_rows(wrong)]
    assert errors[0] == "SystemExit: enough"
    assert "other names than 'key'" in errors[1]
    assert "got set" in errors[2]
    assert "a row or a list of rows" in errors[3]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_interruption_passes_and_leaves_what_was_finished(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    stopped = [job_from_columns(interrupt_at_3, {"k": k}) for k in (1, 2, 3, 4)]
    with pytest.raises(KeyboardInterrupt):
        compute_rows(stopped, output=path)
    assert [row["k"] for row in read_rows(path)] == [1, 2]
    RowFile(path).close()  # It is not locked any more.


def test_a_file_is_refused_before_any_work(tmp_path):
    log = tmp_path / "log"
    other = tmp_path / "other.csv"
    other.write_text("key,board,perft\na,8x8,20\n")
    for output, reason in (
        (tmp_path / "rows.txt", r"\.csv or \.jsonl"),
        (other, "another command"),
        (log / "rows.csv", "cannot write"),
    ):
        log.write_text("")
        with pytest.raises(ValueError, match=reason):
            compute_rows(squares([1], str(log)), output=output)
        assert log_of(log) == []
    with pytest.raises(ValueError, match="expected the executor"):
        compute_rows(squares([1]), "threads:2")


def test_progress_counts_what_is_left_to_do(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    compute_rows(squares([1]), output=path)
    seen = []

    class Recorder(progress.Progress):
        def __init__(self, what, total):
            super().__init__(what, total)
            seen.append((what, total))

        def update(self, done):
            seen.append(done)

    monkeypatch.setattr(jobs, "Progress", Recorder)
    compute_rows(squares([1, 2, 3]), output=path, progress="squares")
    assert seen == [("squares", 2), 1, 2]
    compute_rows(squares([4]), output=path, progress=None)
    assert len(seen) == 3


def test_whoever_has_seen_enough_stops(tmp_path):
    path, log = tmp_path / "rows.jsonl", tmp_path / "log"
    with contextlib.closing(finish_jobs(squares(range(5), str(log)), output=path)) as finished:
        for done in finished:
            if done.job.columns["k"] == 2:
                break
    assert log_of(log) == [0, 1, 2]
    assert len(read_rows(path)) == 3


# Executors.


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


# Whole processes that are stopped in the middle.

_SCRIPT = """
import sys
from tests import test_jobs
from klss_spiel.jobs import compute_rows, job_from_columns

if __name__ == "__main__":
    work = [job_from_columns(test_jobs.slow_square, {"k": k}, sys.argv[3]) for k in range(40)]
    compute_rows(work, sys.argv[1], sys.argv[2])
"""


def slow_square(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']}\n")
    time.sleep(0.1 if columns["k"] < 8 else 60)
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def slow_square_with_process(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']} {os.getpid()}\n")
    time.sleep(0.1 if columns["k"] < 8 else 60)
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def quick_square(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']}\n")
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def processes_of_group(group):
    """Ids of living processes of a process group, zombies not counted."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group_of_process = path.read_text().rpartition(")")[2].split()[:3]
            if int(group_of_process) == group and state != "Z":
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize(
    ("executor", "how"),
    [
        ("in_process", signal.SIGKILL),
        ("in_process", signal.SIGINT),
        ("processes:2", signal.SIGKILL),
        ("processes:2", signal.SIGINT),
    ],
)
def test_a_stopped_run_leaves_whole_rows_and_goes_on(tmp_path, executor, how):
    path, log, script = tmp_path / "rows.csv", tmp_path / "log", tmp_path / "script.py"
    script.write_text(_SCRIPT)
    run = subprocess.Popen(
        [sys.executable, str(script), executor, str(path), str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    try:
        wait_for(lambda: len(read_rows(path)) >= 5)
        if how == signal.SIGINT:
            os.killpg(run.pid, signal.SIGINT)  # As a terminal does: to all of them.
        else:
            run.kill()
        _, errors = run.communicate(timeout=60)
        # Nobody works on for a driver that is dead.
        wait_for(lambda: not processes_of_group(run.pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    assert run.returncode == -how
    if how == signal.SIGINT:
        assert errors.count("Traceback") == 1 and "KeyboardInterrupt" in errors
    finished = sorted(row["k"] for row in read_rows(path))
    assert 5 <= len(finished) <= 8
    second_log = tmp_path / "second"
    work = [job_from_columns(quick_square, {"k": k}, str(second_log)) for k in range(40)]
    rows = compute_rows(work, output=path)
    assert [row["square"] for row in rows] == [k**2 for k in range(40)]
    assert sorted(log_of(second_log) + finished) == list(range(40))


def test_another_process_cannot_write_the_same_file(tmp_path):
    path = tmp_path / "rows.csv"
    with RowFile(path):
        script = tmp_path / "script.py"
        script.write_text(_SCRIPT)
        refused = subprocess.run(
            [sys.executable, str(script), "in_process", str(path), str(tmp_path / "log")],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "being written by another process" in refused.stderr
    assert log_of(tmp_path / "log") == []
