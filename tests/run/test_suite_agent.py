"""The agent benchmark yields a row per evaluator and per search."""

import pytest

from klss_spiel.games.chess.networks import teacher
from klss_spiel.run import benchmark
from klss_spiel.run.suites import agent as suite
from klss_spiel.run.suites import agent_search


def test_evaluators_and_searches_are_measured(monkeypatch):
    monkeypatch.setattr(teacher, "find_stockfish", lambda: None)
    monkeypatch.setattr(suite, "_QUICK", suite.Effort(games=2, repeats=1, depth=4))
    few = agent_search.Effort(nodes=(1_500,), unseen=2)
    monkeypatch.setattr(agent_search, "QUICK", few)
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
    decisions = [row for row in rows if row["task"] == "search"]
    assert [row["contender"] for row in decisions] == ["strong", "obscuro"] * 4
    assert all(row["nodes"] > 1_000 and row["bytes_per_node"] < 2_000 for row in decisions)
    one, two = (row for row in rows if row["task"] == "threads")
    # A second thread changes the order in which the tree grows, not what is asked of it.
    assert one["ratio"] == 1.0 and min(one["nodes"], two["nodes"]) > 1_000
    (belief,) = (row for row in rows if row["task"] == "belief")
    # Two of Black's quiet moves, in either order or not.
    assert 200 < belief["nodes"] < 400


@pytest.mark.slow
def test_first_moves_are_measured_with_and_without_compiled_code():
    cold, warm = agent_search.first_moves()
    assert cold["seconds"] > 2 * warm["seconds"]
    assert warm["wall_seconds"] > 0.1
