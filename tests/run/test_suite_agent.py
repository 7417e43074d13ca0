"""The agent benchmark yields a row per evaluator and per search."""

from klss_spiel.games.chess.networks import teacher
from klss_spiel.run import benchmark
from klss_spiel.run.suites import agent as suite


def test_evaluators_and_searches_are_measured(monkeypatch):
    monkeypatch.setattr(teacher, "find_stockfish", lambda: None)
    monkeypatch.setattr(suite, "_QUICK", suite.Effort(games=2, repeats=1, depth=4))
    rows = list(benchmark.run(benchmark.Config(("agent",), quick=True)))
    assert all(row["suite"] == "agent" and row["seconds"] > 0 for row in rows)
    assert all(row.keys() - {"key"} <= set(suite.COLUMNS) for row in rows)
    evaluations = {row["contender"]: row for row in rows if row["task"] == "evaluation"}
    assert list(evaluations) == list(suite._EVALUATORS)
    assert {"handmade", "simple", "network", "resolver(network)"} <= set(evaluations)
    # Looking at captures must cost something, or something else is measured.
    assert evaluations["resolver(handmade)"]["nodes"] > 1
    searches = [row for row in rows if row["task"] == "alpha-beta"]
    assert [row["contender"] for row in searches] == ["klss_spiel", "without table"] * 3
    with_table, without = (sum(row["nodes"] for row in searches[i::2]) for i in range(2))
    assert 1000 < with_table < without
