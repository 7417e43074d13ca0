"""Whole runs that are stopped in the middle, by Ctrl-C or a kill."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

from klss_spiel.jobs import compute_rows, job_from_columns
from klss_spiel.row_files import RowFile, read_rows
from tests.helpers.interrupts import heed_interrupts
from tests.helpers.job_functions import SCRIPT, log_of, processes_of_group, quick_square, wait_for

ROOT = pathlib.Path(__file__).parent.parent


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
    script.write_text(SCRIPT)
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


@pytest.mark.parametrize("seed", [0, 1])
def test_kills_at_random_times_lose_at_most_the_rows_in_flight(tmp_path, seed):
    """First a worker at its work, then the driver, each at a random moment."""
    path, log, script = tmp_path / "rows.jsonl", tmp_path / "log", tmp_path / "script.py"
    script.write_text(SCRIPT.replace("slow_square", "short_square_with_process"))
    rng = random.Random(seed)
    run = subprocess.Popen(
        [sys.executable, str(script), "processes:2", str(path), str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        wait_for(lambda: len(read_rows(path)) >= 3)
        time.sleep(rng.uniform(0.0, 0.2))
        started = [line.split() for line in log.read_text().splitlines()]
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(rng.choice(started)[1]), signal.SIGKILL)
        time.sleep(rng.uniform(0.0, 0.3))
        run.kill()
        run.wait(timeout=60)
        wait_for(lambda: not processes_of_group(run.pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    finished = [row["k"] for row in read_rows(path)]
    assert 3 <= len(finished) == len(set(finished))
    begun = {int(line.split()[0]) for line in log.read_text().splitlines()}
    # Two workers at the end; a job that the killed one was at may wait for its second turn.
    assert set(finished) <= begun and len(begun - set(finished)) <= 3
    second_log = tmp_path / "second"
    work = [job_from_columns(quick_square, {"k": k}, str(second_log)) for k in range(40)]
    rows = compute_rows(work, output=path)
    assert [row["square"] for row in rows] == [k**2 for k in range(40)]
    assert sorted(log_of(second_log) + finished) == list(range(40))


def test_another_process_cannot_write_the_same_file(tmp_path):
    path = tmp_path / "rows.csv"
    with RowFile(path):
        script = tmp_path / "script.py"
        script.write_text(SCRIPT)
        refused = subprocess.run(
            [sys.executable, str(script), "in_process", str(path), str(tmp_path / "log")],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert "being written by another process" in refused.stderr
    assert log_of(tmp_path / "log") == []
