"""The subgame benchmark yields comparable rows, also without scipy."""

import importlib.util

import numpy as np
import pytest

from klss_spiel.openspiel import tree_from_game
from klss_spiel.run.suites import subgames as suite


def test_refinement_is_compared_with_the_same_solves():
    rows = list(suite._refine_rows("kuhn"))
    assert [row["contender"] for row in rows] == [
        suite._OURS,
        suite._FRESH,
        suite._SCIPY,
        suite._PLAIN,
    ]
    assert all({"suite", "game", "contender", "seconds", "ratio"} <= row.keys() for row in rows)
    assert all(row.keys() <= set(suite.COLUMNS) for row in rows)
    assert all(row["value_error"] < 1e-7 for row in rows if "value_error" in row)
    assert rows[0]["after"] == pytest.approx(rows[-1]["after"], abs=1e-6)


def test_a_missing_peer_is_reported_with_the_reason(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    rows = list(suite._refine_rows("kuhn"))
    assert [row["contender"] for row in rows if "skipped" in row] == [suite._SCIPY, suite._PLAIN]


def test_the_quick_tree_of_pennies_is_the_game():
    quick = suite.pennies_tree(7)
    game = tree_from_game("python_n_matching_pennies(n=7)")
    for name in ("parent", "player", "chance", "utility", "infoset", "sequence"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(game, name), err_msg=name)


def test_regions_do_not_grow_with_the_game():
    rows = list(suite._growth_rows(suite.Effort((), (60, 600), solves=3)))
    assert len({(row["contender"], row["region_nodes"]) for row in rows}) == 3
    assert {row["nodes"] for row in rows} == {421, 4201}
    assert all(row.keys() <= set(suite.COLUMNS) for row in rows)
