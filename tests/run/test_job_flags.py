"""The flags of binaries that make rows, on a small binary of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from klss_spiel.row_files import read_rows
from klss_spiel.run import benchmark, job_flags
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


def merge(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "klss_spiel.run.merge", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


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


def test_failed_rows_are_left_out_of_the_table_and_reported(run, tmp_path):
    path = tmp_path / "rows.csv"
    failed = run("--json", "--k=13", "--k=2", f"--output={path}")
    assert failed.returncode == 1
    assert [row["square"] for row in json.loads(failed.stdout)] == [4]
    assert "1 of 2 jobs failed, first k=13: ValueError: 13 is unlucky" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert ["error" in row for row in read_rows(path)] == [False, True]
    for arguments in (("--k=13",), ("--k=13", "--k=2", "--strict")):
        nothing = run(*arguments)
        assert nothing.returncode == 1
        assert nothing.stdout == ""
        assert "k=13: ValueError: 13 is unlucky" in nothing.stderr


def test_bad_flags_are_refused_before_any_work(run, tmp_path):
    for arguments, reason in (
        (["--executor=threads"], "in_process or processes:N"),
        (["--output=rows.json"], r"\.csv or \.jsonl"),
        ([f"--output={tmp_path}/script.py/rows.csv"], "cannot write rows"),
        (["--plot=figure.pdf"], r"ends in \.png"),
        ([f"--plot={tmp_path}/script.py/figure.png"], "cannot write"),
        (["--shard=2/2"], "expected --shard=i/n"),
        (["--shard=1"], "expected --shard=i/n"),
    ):
        refused = run("--k=99", *arguments)  # It would take a minute.
        assert refused.returncode == 1
        assert re.search(reason, refused.stderr), refused.stderr
        assert refused.stdout == ""


def test_a_file_is_tried_without_a_trace(tmp_path):
    job_flags.check_writable(tmp_path / "deeper" / "figure.png")
    assert os.listdir(tmp_path / "deeper") == []
    (tmp_path / "old.png").write_text("old")
    job_flags.check_writable(tmp_path / "old.png")
    assert (tmp_path / "old.png").read_text() == "old"


def test_interruption_shows_what_was_finished(command, tmp_path):
    path = tmp_path / "rows.jsonl"
    running = subprocess.Popen(
        [*command, "--k=1", "--k=99", "--json", f"--output={path}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60.0
    while not read_rows(path) and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    shown, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert [row["k"] for row in json.loads(shown)] == [1]
    assert "1 of 2 jobs are finished" in errors
    assert "Traceback" not in errors


def test_shards_are_merged_and_missing_ones_named(run, tmp_path):
    files = [tmp_path / f"{i}.csv" for i in range(3)]
    numbers = [f"--k={k}" for k in range(1, 8)]
    shown = [
        json.loads(run(*numbers, "--json", f"--shard={i}/3", f"--output={files[i]}").stdout)
        for i in range(3)
    ]
    assert sorted(row["k"] for rows in shown for row in rows) == list(range(1, 8))
    merged = tmp_path / "all.jsonl"
    done = merge(*files, f"--output={merged}")
    assert done.returncode == 0, done.stderr
    assert sorted(row["k"] for row in read_rows(merged)) == list(range(1, 8))
    # What is merged need not be computed.
    resumed = run(*numbers, "--json", f"--output={merged}")
    assert "7 of 7 are in the file" in resumed.stderr
    assert [list(row) for row in json.loads(resumed.stdout)] == [["k", "square", "seconds"]] * 7
    missing = merge(files[0], files[2], f"--output={merged}")
    assert missing.returncode == 1
    assert "no rows of the shards 1 of 3; 2 jobs are missing" in missing.stderr
    assert len(read_rows(merged)) == 5


def test_rows_that_contradict_each_other_are_not_merged(run, tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        run("--k=2", "--k=13", f"--output={path}")
    output = tmp_path / "all.csv"
    failed = merge(*paths, f"--output={output}")  # Their seconds differ, which is as it should be.
    assert failed.returncode == 1
    assert "1 jobs failed, first k=13" in failed.stderr
    assert [row["k"] for row in read_rows(output)] == [2, 13]
    paths[1].write_text(paths[1].read_text().replace('"square": 4', '"square": 5'))
    output.unlink()
    contradiction = merge(*paths, f"--output={output}")
    assert contradiction.returncode == 1
    assert "differ in k=2: square is 4 and 5" in contradiction.stderr
    assert not output.exists()
    for arguments, reason in (
        ((paths[0],), "--output=FILE"),
        ((f"--output={output}",), "expected files of rows"),
        ((tmp_path / "none.csv", f"--output={output}"), "which is none"),
        ((paths[0], "--output=all.txt"), r"\.csv or \.jsonl"),
    ):
        refused = merge(*arguments)
        assert refused.returncode == 1
        assert re.search(reason, refused.stderr), refused.stderr


@pytest.mark.parametrize("name", benchmark.SUITES)
def test_suites_can_be_measured_in_parts(name):
    suite = benchmark.load_suite(name)
    for quick in (True, False):
        assert len(set(suite.parts(quick))) == len(suite.parts(quick)) > 1
    assert {"suite", "game", "task", "contender", "seconds", "ratio"} <= set(suite.COLUMNS)
