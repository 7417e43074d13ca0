"""Jobs become rows: keys, files that outlive a killed run, errors."""

import contextlib

import pytest

from klss_spiel import jobs, progress
from klss_spiel.jobs import Job, compute_rows, finish_jobs, job_from_columns, key_of, shard
from klss_spiel.row_files import RowFile, read_rows
from klss_spiel.versions import versions
from tests.helpers.job_functions import (
    bad_row,
    curve,
    interrupt_at_3,
    leave,
    log_of,
    no_rows,
    square,
    squares,
)

SUFFIXES = [".csv", ".jsonl"]


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
