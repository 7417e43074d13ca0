"""The suite that measures the speed-up by more processes."""

import pytest

from klss_spiel.jobs import job_from_columns
from klss_spiel.run.suites import scale as suite


def count(columns):
    return {"sum": sum(range(columns["k"])), "seconds_0": columns["k"], "longest_0": 1.0}


@pytest.mark.slow
def test_rows_say_how_much_faster_more_processes_are(monkeypatch):
    work = [job_from_columns(count, {"k": k}) for k in range(4)]
    monkeypatch.setattr(suite, "_match", lambda quick: ("counting", work))
    monkeypatch.setattr(suite, "num_cores", lambda: 3)
    rows = list(suite.rows(suite.MATCH, quick=True))
    assert [row["contender"] for row in rows] == ["processes:1", "processes:2", "processes:3"]
    assert rows[0]["ratio"] == 1.0
    assert [row["ratio"] for row in rows] == [rows[0]["seconds"] / row["seconds"] for row in rows]
    assert [row["target"] for row in rows] == [None, suite.TARGET, None]
    for row in rows:
        assert 0.0 < row["processor_seconds"] == pytest.approx(row["cores"] * row["seconds"])
    assert all(row["same_rows"] and set(row) == set(suite.COLUMNS) for row in rows)


def test_the_jobs_are_games_and_rows_of_a_table_with_results_beside_their_times():
    assert len(suite._match(True)[1]) == 8 and len(suite._match(False)[1]) == 80
    _, jobs = suite._table(True)
    assert len({job.group for job in jobs}) == 2  # one for each process
    assert suite._without_times({"seconds_0": 1, "longest_1": 2, "return_0": 3}) == {"return_0": 3}
