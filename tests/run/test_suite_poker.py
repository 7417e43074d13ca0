"""The poker benchmark yields comparable rows."""

import pytest

from klss_spiel.run.suites import poker as suite


def test_contenders_play_the_same_game():
    rows = list(suite.iteration_rows(3, rounds=1))
    assert [row["contender"] for row in rows] == [suite._OURS, suite._NODES, suite._OPENSPIEL]
    assert rows[0]["ratio"] == pytest.approx(1.0)
    # Three ranks by hands, six cards by nodes.
    assert rows[0]["hands"] == 3
    assert rows[0]["sequences"] < rows[1]["sequences"] == rows[2]["sequences"]
    assert all(set(row) <= set(suite.COLUMNS) for row in rows)


def test_growth_and_showdowns_say_how_many_hands_there_are():
    rows = [*suite.growth_rows(suite.leduc(2, 3, 2)), *suite.showdown_rows(5)]
    # C(3, 2) + 3 rank multisets; C(17, 2) hands of what a flop leaves of 20 cards.
    assert [row["hands"] for row in rows] == [6, 6, 136, 136]
    assert all(row["seconds"] > 0.0 for row in rows)
    assert all(set(row) <= set(suite.COLUMNS) for row in rows)
