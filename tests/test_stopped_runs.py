"""Whole runs that are stopped in the middle, by Ctrl-C or a kill."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

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
