"""Jobs on a real Ray cluster of two workers, which the tests start on this machine."""

import contextlib
import importlib.util
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from klss_spiel.jobs import JobError, compute_rows, job_from_columns
from klss_spiel.matches.match import Match, play_match
from klss_spiel.row_files import RowFile, read_rows
from tests.helpers import job_functions
from tests.helpers.interrupts import heed_interrupts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra cluster"),
]

ROOT = pathlib.Path(__file__).parent.parent


@pytest.fixture(scope="module")
def cluster():
    """The executor of a cluster with two cores."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Names of sockets must be short, which pytest's folders are not.
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--num-cpus=2", f"--port={port}", "--node-ip-address=127.0.0.1"),
        *("--include-dashboard=false", "--disable-usage-stats"),
        *(f"--temp-dir={folder}", "--object-store-memory=100000000"),
    ]
    head = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        job_functions.wait_for(lambda: _listens(port) or head.poll() is not None)
        time.sleep(5.0)
        assert head.poll() is None, "Ray has not started"
        yield f"ray:127.0.0.1:{port}"
    finally:
        head.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            head.wait(30.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(head.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def note_and_wait(columns, log):
    """Says who works on what; the first time, at number 3, until somebody ends it."""
    with open(log, "a") as file:
        file.write(f"{columns['k']} {os.getpid()}\n")
    attempts = [line for line in pathlib.Path(log).read_text().splitlines() if line[:2] == "3 "]
    if columns["k"] == 3 and len(attempts) == 1:
        time.sleep(600.0)
    time.sleep(0.2)
    return {"square": columns["k"] ** 2}


def is_alive(process):
    return pathlib.Path(f"/proc/{process}").exists()


def test_rows_are_those_of_other_executors(cluster, tmp_path):
    curves = [job_from_columns(job_functions.curve, {"game": "c", "k": k}) for k in (1, 2)]
    work = [*job_functions.squares([5, 13, 2, 8, 1, 7]), *curves]
    here = compute_rows(work, "in_process", tmp_path / "a.jsonl")
    there = compute_rows(work, cluster, tmp_path / "b.jsonl")
    assert here == there
    stored = [read_rows(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert sorted(map(str, stored[0])) == sorted(map(str, stored[1]))
    # And one goes on where the other stood.
    assert compute_rows(work, cluster, tmp_path / "a.jsonl") == here


def test_a_cluster_can_be_named_by_the_environment(cluster, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", cluster.removeprefix("ray:"))
    assert [row["square"] for row in compute_rows(job_functions.squares([3]), "ray:auto")] == [9]


def test_matches_are_those_of_other_executors(cluster):
    match = Match("leduc_poker", ("search(nodes=30)", "random"), games=6)
    games = [play_match(match, executor).rows for executor in ("in_process", cluster)]
    without_times = [
        sorted(
            str({name: value for name, value in row.items() if not name.endswith(("_0", "_1"))})
            + row["player_0"]
            + str(row["return_0"])
            for row in rows
        )
        for rows in games
    ]
    assert without_times[0] == without_times[1]
    assert len(without_times[0]) == 6


def test_a_killed_worker_costs_nothing_but_time(cluster, tmp_path):
    log, path = tmp_path / "log", tmp_path / "rows.jsonl"
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from tests import test_ray_executor as t\n"
        "work = [t.job_from_columns(t.note_and_wait, {'k': k}, sys.argv[3]) for k in range(12)]\n"
        "t.compute_rows(work, sys.argv[1], sys.argv[2])\n"
    )
    run = _start(script, cluster, path, log)
    try:
        # All others are finished and one worker is in the middle of number 3.
        job_functions.wait_for(lambda: len(read_rows(path)) == 11, seconds=120.0)
        attempts = [line.split() for line in log.read_text().splitlines()]
        (victim,) = [int(process) for k, process in attempts if k == "3"]
        os.kill(victim, signal.SIGKILL)
        printed, errors = run.communicate(timeout=120)
    finally:
        run.kill()
    assert run.returncode == 0, errors
    assert printed == "" and "k=3 is tried again: a worker of Ray's ended" in errors
    assert sorted(row["square"] for row in read_rows(path)) == [k**2 for k in range(12)]
    assert not any(row.get("error") for row in read_rows(path))
    tried = [int(line.split()[0]) for line in log.read_text().splitlines()]
    assert sorted(tried) == sorted([*range(12), 3])
    again = [line.split()[1] for line in log.read_text().splitlines() if line[:2] == "3 "]
    assert int(again[1]) != victim == int(again[0])


def test_a_job_that_kills_its_workers_becomes_an_error(cluster, tmp_path):
    log = tmp_path / "log"
    work = [job_from_columns(job_functions.die, {"k": k}, str(log)) for k in (1, 2, 3)]
    rows = compute_rows(work, cluster)
    assert [row.get("square") for row in rows] == [None, 4, 9]
    assert rows[0]["error"].startswith("WorkerDied: a worker of Ray's ended with ActorDiedError")
    assert sorted(job_functions.log_of(log)) == [1, 1, 2, 2, 3]


def test_errors_are_rows_unless_the_run_is_strict(cluster, tmp_path):
    path = tmp_path / "rows.csv"
    rows = compute_rows(job_functions.squares([13, 2]), cluster, path)
    assert [row.get("error") for row in rows] == ["ValueError: 13 is unlucky", None]
    with pytest.raises(JobError, match="13 is unlucky"):
        compute_rows(job_functions.squares([13, 2]), cluster, path, strict=True)


def test_workers_are_set_up_with_one_thread_each(cluster, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    work = [job_from_columns(job_functions.environment, {"k": k}) for k in range(8)]
    rows = compute_rows(work, cluster, setup=job_functions.set_up)
    assert {row["OMP_NUM_THREADS"] for row in rows} == {"1"}
    assert {row["XLA_FLAGS"] for row in rows} == {"--xla_cpu_multi_thread_eigen=false"}
    assert {row["SET_UP"] for row in rows} == {"yes"}
    assert len({row["process"] for row in rows}) == 2
    assert os.getpid() not in {row["process"] for row in rows}
    with pytest.raises(RuntimeError, match=r"cannot set up.*no such precision"):
        compute_rows(work, cluster, setup=job_functions.fail_to_set_up)
    with pytest.raises(RuntimeError, match=r"cannot start.*installed on all machines"):
        compute_rows(work, cluster, setup=job_functions.end_now)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_driver_leaves_whole_rows_and_goes_on(cluster, tmp_path, how):
    path, log, script = tmp_path / "rows.csv", tmp_path / "log", tmp_path / "script.py"
    script.write_text(job_functions.SCRIPT.replace("slow_square", "slow_square_with_process"))
    run = _start(script, cluster, path, log)
    try:
        job_functions.wait_for(lambda: len(read_rows(path)) >= 5)
        os.kill(run.pid, how)
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    if how == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
    assert run.returncode == -how
    # Nobody works on for a driver that is dead.
    workers = {int(line.split()[1]) for line in log.read_text().splitlines()}
    assert len(workers) == 2
    job_functions.wait_for(lambda: not any(map(is_alive, workers)))
    finished = sorted(row["k"] for row in read_rows(path))
    assert 5 <= len(finished) <= 8
    second_log = tmp_path / "second"
    work = [
        job_from_columns(job_functions.quick_square, {"k": k}, str(second_log)) for k in range(40)
    ]
    rows = compute_rows(work, cluster, output=path)
    assert [row["square"] for row in rows] == [k**2 for k in range(40)]
    assert sorted(job_functions.log_of(second_log) + finished) == list(range(40))


def test_another_driver_cannot_write_the_same_file(cluster, tmp_path):
    path, log = tmp_path / "rows.csv", tmp_path / "log"
    with RowFile(path), pytest.raises(ValueError, match="being written by another process"):
        compute_rows(job_functions.squares([1], str(log)), cluster, path)
    assert job_functions.log_of(log) == []


def test_a_cluster_that_does_not_run_is_refused(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # Nobody listens there.
        address = f"ray:127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(ValueError, match="expected a running Ray cluster at 127"):
            compute_rows(job_functions.squares([1]), address)


def _start(script, cluster, path, log):
    return subprocess.Popen(
        [sys.executable, str(script), cluster, str(path), str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
