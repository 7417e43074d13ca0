"""The benchmark of values says what was reached and in what time."""

from klss_spiel.run.suites import values as suite


def test_rows_meet_the_targets_of_exploitability():
    rows = list(suite.rows("kuhn", quick=True))
    assert [row["task"] for row in rows] == [
        *("optimal values", "CFR-D", "CFR-D", "CFR on the whole game", "labels", "labels")
    ]
    assert rows[4]["gap"] == 0.0 and rows[5]["ratio"] > 0
    assert all(row.keys() == set(suite.COLUMNS) for row in rows)
    assert rows[0]["gap"] < rows[0]["target"] and 0 < rows[2]["gap"] < rows[2]["target"]
    assert [row["iterations"] for row in rows[1:3]] == [100, 500]
    assert rows[1]["gap"] > rows[2]["gap"] and rows[1]["seconds"] < rows[2]["seconds"]
    assert rows[2]["ratio"] == 1.0 and rows[3]["ratio"] > 0
    assert set(suite.parts(quick=True)) < set(suite.parts(quick=False))
