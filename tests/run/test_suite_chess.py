"""The chess benchmark yields comparable rows, also without its optional peers."""

import importlib.util

import pytest

from klss_spiel.run.suites import chess as suite

_TINY = suite.Effort(seconds=0.001, repeats=1, positions=60, belief=300)


def _check(rows):
    for row in rows:
        assert row["suite"] == "chess"
        assert {"game", "contender", "seconds", "ratio"} <= row.keys() <= set(suite.COLUMNS)
        assert "skipped" in row or row["per_second"] > 0


@pytest.fixture(autouse=True)
def _little_effort(monkeypatch):
    monkeypatch.setattr(suite, "_QUICK", _TINY)


def test_kernels_are_compared_with_independent_programs():
    rows = [*suite._kernels(_TINY), *suite._beliefs(_TINY)]
    _check(rows)
    assert {"python-chess", "pyffish"} <= {row["contender"] for row in rows}
    update = next(row for row in rows if row["task"] == "successors in a belief update")
    assert update["bytes_per_position"] <= 40
    # The peers must be slower, or something is measured that does not happen.
    assert all(row["ratio"] > 1 for row in rows if row["contender"] != "klss_spiel")


def test_a_missing_peer_is_reported_with_the_reason(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    rows = list(suite._kernels(_TINY))
    _check(rows)
    skipped = {row["contender"]: row["skipped"] for row in rows if "skipped" in row}
    assert skipped.keys() == {"python-chess", "pyffish"}
    assert "not installed" in skipped["pyffish"]


@pytest.mark.slow
def test_the_whole_suite_runs():
    rows = [row for part in suite.parts(quick=True) for row in suite.rows(part, quick=True)]
    _check(rows)
    assert {"dark_chess", "kriegspiel", "8x8"} <= {row["game"] for row in rows}
    nodes = [row["nodes"] for row in rows if "minimal4x3" in row["game"]]
    assert nodes == [47298, 47298]
