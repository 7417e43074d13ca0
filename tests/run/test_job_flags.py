"""The flags of binaries that make rows, on a small binary of its own."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from klss_spiel.jobs import compute_rows, job_from_columns, shard, shard_stamp
from klss_spiel.row_files import read_rows
from klss_spiel.run import benchmark, job_flags, merge
from tests.helpers.interrupts import heed_interrupts
from tests.helpers.paths import ROOT

SCRIPT = """
from absl import flags
from klss_spiel.jobs import job_from_columns
from klss_spiel.run import job_flags, output
from tests.run import test_job_flags

def define_flags():
    output.define_flags()
    job_flags.define_flags()
    flags.DEFINE_string("plot", None, "figure")
    flags.DEFINE_multi_integer("k", [1, 2, 3], "numbers")

def main():
    job_flags.check_plot(flags.FLAGS.plot)
    jobs = [job_from_columns(test_job_flags.square, {"k": k}) for k in flags.FLAGS.k]
    with job_flags.computed_rows(jobs) as rows:
        output.emit(rows, flags.FLAGS.json)

if __name__ == "__main__":
    output.run_binary(define_flags, main)
"""


def square(columns):
    if columns["k"] == 13:
        raise ValueError("13 is unlucky")
    if columns["k"] == 99:
        time.sleep(60)
    return {"square": columns["k"] ** 2, "seconds": time.monotonic()}


@pytest.fixture
def command(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return [sys.executable, str(script)]


@pytest.fixture
def run(command):
    def run_binary(*arguments):
        return subprocess.run(
            [*command, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run_binary


def test_executors_and_files_give_the_same_table(run, tmp_path):
    path = tmp_path / "rows.csv"
    here = json.loads(run("--json").stdout)
    there = json.loads(run("--json", "--executor=processes:2", f"--output={path}").stdout)
    assert [(row["k"], row["square"]) for row in here] == [(1, 1), (2, 4), (3, 9)]
    assert [(row["k"], row["square"]) for row in there] == [(1, 1), (2, 4), (3, 9)]
    again = run("--json", f"--output={path}")
    assert json.loads(again.stdout) == there
    assert "3 of 3 are in the file" in again.stderr
    anew = json.loads(run("--json", f"--output={path}", "--noresume").stdout)
    assert anew != there
    assert len(read_rows(path)) == 3


def test_a_report_shows_what_a_file_has_and_computes_nothing(run, tmp_path):
    path = tmp_path / "rows.csv"
    run("--k=2", "--k=13", f"--output={path}")
    before = path.read_bytes()
    report = run("--json", "--report", "--k=2", "--k=13", "--k=99", f"--output={path}")
    assert [row["square"] for row in json.loads(report.stdout)] == [4]
    assert "has 1 of 3 jobs" in report.stderr
    assert path.read_bytes() == before
    missing = run("--report", f"--output={tmp_path / 'none.csv'}")
    assert "expected --report with an --output file that exists" in missing.stderr


def test_failed_rows_are_left_out_of_the_table_and_reported(run, tmp_path):
    path = tmp_path / "rows.csv"
    failed = run("--json", "--k=13", "--k=2", f"--output={path}")
    assert failed.returncode == 1
    assert [row["square"] for row in json.loads(failed.stdout)] == [4]
    assert "1 of 2 jobs failed, first k=13: ValueError: 13 is unlucky" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert ["error" in row for row in read_rows(path)] == [False, True]
    nothing = run("--k=13", "--k=2", "--strict")
    assert nothing.returncode == 1
    assert nothing.stdout == ""
    assert "error: k=13: ValueError: 13 is unlucky" in nothing.stderr


def test_bad_flags_are_refused_before_any_work(run, tmp_path):
    for arguments, reason in (
        (["--executor=threads"], "in_process, processes:N"),
        ([f"--output={tmp_path}/script.py/rows.csv"], "cannot write rows"),
        ([f"--plot={tmp_path}/script.py/figure.png"], "cannot write"),
    ):
        refused = run("--k=99", *arguments)  # It would take a minute.
        assert refused.returncode == 1
        assert re.search(reason, refused.stderr), refused.stderr
        assert refused.stdout == ""


def test_bad_shards_and_figures_are_refused(monkeypatch):
    assert job_flags.parse_shard("0/1") == (0, 1)
    for text in ("2/2", "1", "a/b", "-1/2"):
        with pytest.raises(ValueError, match="expected --shard=i/n"):
            job_flags.parse_shard(text)
    with pytest.raises(ValueError, match=r"ends in \.svg, \.pdf, \.png"):
        job_flags.check_plot("figure.gif")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="extra 'plot'"):
        job_flags.check_plot("figure.png")
    job_flags.check_plot(None)


def test_a_file_is_tried_without_a_trace(tmp_path):
    job_flags.check_writable(tmp_path / "deeper" / "figure.png")
    assert os.listdir(tmp_path / "deeper") == []
    (tmp_path / "old.png").write_text("old")
    job_flags.check_writable(tmp_path / "old.png")
    assert (tmp_path / "old.png").read_text() == "old"


def test_interruption_shows_what_was_finished(command, tmp_path):
    path = tmp_path / "rows.jsonl"
    running = subprocess.Popen(
        [*command, "--k=1", "--k=2", "--k=99", "--json", f"--output={path}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    end = time.monotonic() + 60.0
    while len(read_rows(path)) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    shown, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    # The signal may come just before the second row, already in the file, is handed on.
    numbers = [row["k"] for row in json.loads(shown)]
    assert numbers in ([1], [1, 2])
    assert f"{len(numbers)} of 3 jobs are finished" in errors
    assert "Traceback" not in errors


def shard_files(folder, numbers, count):
    """Files of all shards, as binaries write them."""
    jobs = [job_from_columns(square, {"k": k}) for k in numbers]
    files = [folder / f"{index}.csv" for index in range(count)]
    for index, file in enumerate(files):
        stamp = shard_stamp(index, count, len(jobs))
        compute_rows(shard(jobs, index, count), output=file, stamp=stamp)
    return files


def test_shards_of_a_binary_are_merged(run, tmp_path):
    files = [tmp_path / f"{i}.csv" for i in range(2)]
    for i in range(2):
        run(f"--shard={i}/2", f"--output={files[i]}")
    merged = tmp_path / "all.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "klss_spiel.run.merge", *files, f"--output={merged}", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [row["jobs"] for row in json.loads(done.stdout)] == [2, 1]
    # What is merged need not be computed again.
    resumed = run("--json", f"--output={merged}")
    assert "3 of 3 are in the file" in resumed.stderr
    assert [list(row) for row in json.loads(resumed.stdout)] == [["k", "square", "seconds"]] * 3


def test_missing_shards_and_jobs_are_named(tmp_path):
    files = shard_files(tmp_path, range(1, 8), 3)
    merged = merge.merge([str(file) for file in files])
    assert sorted(row["k"] for row in merged.rows) == list(range(1, 8))
    assert (merged.missing_shards, merged.missing_jobs, merged.failed) == ([], 0, [])
    merged = merge.merge([str(files[0]), str(files[2])])
    assert (merged.missing_shards, merged.missing_jobs) == (["1 of 3"], 2)


def test_rows_that_contradict_each_other_are_not_merged(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    jobs = [job_from_columns(square, {"k": k}) for k in (2, 13)]
    for path in paths:
        compute_rows(jobs, output=path)
    merged = merge.merge([str(path) for path in paths])  # Only their seconds differ.
    assert [row["k"] for row in merged.rows] == [2, 13]
    assert merged.failed == ["k=13"]
    paths[1].write_text(paths[1].read_text().replace('"square": 4', '"square": 5'))
    with pytest.raises(ValueError, match="differ in k=2: square is 4 and 5"):
        merge.merge([str(path) for path in paths])
    with pytest.raises(ValueError, match="which is none"):
        merge.merge([str(tmp_path / "none.csv")])


@pytest.mark.parametrize("name", benchmark.SUITES)
def test_suites_can_be_measured_in_parts(name):
    suite = benchmark.load_suite(name)
    for quick in (True, False):
        assert len(set(suite.parts(quick))) == len(suite.parts(quick)) > 1
    assert {"suite", "game", "task", "contender", "seconds", "ratio"} <= set(suite.COLUMNS)
