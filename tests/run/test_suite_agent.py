"""The agent benchmark yields a row per evaluator and per search."""

import itertools
import os
import sys
from types import SimpleNamespace

import pytest

from klss_spiel.evaluators import make_evaluator
from klss_spiel.games.chess.networks import teacher
from klss_spiel.run import benchmark
from klss_spiel.run.suites import agent as suite
from klss_spiel.run.suites import agent_search
from tests.helpers import fake_uci


def test_evaluators_and_searches_are_measured(monkeypatch):
    monkeypatch.setattr(teacher, "find_stockfish", lambda: None)
    monkeypatch.setattr(suite, "_QUICK", suite.Effort(games=2, sample=20, repeats=1, depth=4))
    few = agent_search.Effort(nodes=(1_500,), unseen=2, repeats=1)
    monkeypatch.setattr(agent_search, "QUICK", few)
    rows = list(benchmark.run(benchmark.Config(("agent",), quick=True)))
    assert all(row["suite"] == "agent" and row["seconds"] > 0 for row in rows)
    assert all(row.keys() - {"key"} <= set(suite.COLUMNS) for row in rows)
    evaluations = {row["contender"]: row for row in rows if row["task"] == "evaluation"}
    assert list(evaluations) == [*suite._EVALUATORS, "alphabeta(depth=3)"]
    assert {"handmade", "simple", "network", "resolver(network)"} <= set(evaluations)
    # Looking at captures must cost something, or something else is measured.
    assert evaluations["resolver(handmade)"]["nodes"] > 1
    searched = evaluations["alphabeta(depth=3)"]
    assert (searched["children"], searched.get("wall_seconds")) == (20, None)
    # Hundreds of positions for each child take longer than one.
    assert searched["ratio"] > 10
    first = evaluations["handmade"]["ns_per_child"]
    assert searched["ratio"] == pytest.approx(searched["ns_per_child"] / first)
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
    belief, heard = (row for row in rows if row["task"] == "belief")
    # Two of Black's quiet moves, in either order or not; one, of which nothing is heard.
    assert 200 < belief["nodes"] < 400
    assert (heard["game"], heard["nodes"]) == ("1 unseen moves in Kriegspiel", 20)


def test_a_program_is_measured_by_the_wall_and_ended(monkeypatch, tmp_path):
    folder = tmp_path / "of programs"  # the space is to be quoted
    folder.mkdir()
    program, told = folder / "stockfish", folder / "pid"
    program.write_text(
        f"#!/bin/sh\necho $$ > '{told}'\nexec '{sys.executable}' '{fake_uci.__file__}'\n", "utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setattr(teacher, "find_stockfish", lambda: str(program))
    monkeypatch.setattr(suite, "_evaluators", lambda game: iter(_handmade(game)))
    row = list(suite._evaluations(suite.Effort(games=2, sample=5, repeats=1, depth=1)))[-1]
    assert (row["contender"], row["children"]) == ('uci("stockfish",depth=1)', 5)
    # What this process does is the smaller part.
    assert row["wall_seconds"] > row["seconds"] > 0
    assert row["ns_per_child"] == pytest.approx(row["wall_seconds"] / 5 * 1e9)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text("utf-8")), 0)


def _handmade(game):
    return [("handmade", make_evaluator(game, "handmade"))]


@pytest.mark.parametrize("task", [agent_search.searches, agent_search.threads])
def test_the_fastest_of_some_decisions_counts(task, monkeypatch):
    """By the processor in searches, by the wall with threads."""
    report = SimpleNamespace(new_nodes=10, iterations=1)
    times = itertools.cycle([(2.0, 1.0), (1.0, 2.0), (3.0, 3.0)])

    def decision(game, plies, settings, nodes):
        seconds = next(times) if nodes == 10 else (9.0, 9.0)  # the latter only compiles
        return agent_search._Measured(report, *seconds, nodes=10, allocated=80)

    monkeypatch.setattr(agent_search, "_decision_after", decision)
    rows = list(task(agent_search.Effort(nodes=(10,), unseen=1, repeats=3)))
    assert {row["nodes_per_second"] for row in rows} == {10.0}
    assert agent_search.FULL.repeats == 3


@pytest.mark.slow
def test_first_moves_are_measured_with_and_without_compiled_code():
    cold, warm = agent_search.first_moves()
    assert cold["seconds"] > 2 * warm["seconds"]
    assert warm["wall_seconds"] > 0.1
