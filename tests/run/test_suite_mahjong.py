"""The benchmark of Mahjong says what is compared; times themselves are not tested."""

from klss_spiel.run import benchmark
from klss_spiel.run.suites import mahjong


def test_steps_are_compared_with_the_rules_and_with_openspiel(monkeypatch):
    spent = []

    def measure(work, seconds):
        spent.append(seconds)
        return 1.0, float(work())

    monkeypatch.setattr(mahjong, "_rate", measure)
    rows = list(mahjong.rows("steps", quick=True))
    assert rows[0]["contender"] == "klss_spiel"
    assert len(rows) == 3 and len(spent) == 3
    assert rows[0]["ratio"] == 1.0
    assert all(set(row) == set(mahjong.COLUMNS) for row in rows)
    # A random game has some fifty decisions; a call of ours plays 100 in 256 games.
    assert rows[0]["per_second"] == 25_600
    assert all(5 < row["per_second"] < 250 for row in rows[1:])


def test_the_suite_is_known_to_the_binary():
    assert "mahjong" in benchmark.SUITES
    assert list(mahjong.parts(True)) == ["steps", "training", "search"]


def test_searches_are_those_of_the_shipped_player(monkeypatch):
    monkeypatch.setattr(mahjong, "_rate", lambda work, seconds: (1.0, float(work())))
    rows = list(mahjong.rows("search", quick=True))
    assert [row["per_second"] for row in rows] == [1000, 1000, 4000]
    assert all(set(row) == set(mahjong.COLUMNS) for row in rows)
