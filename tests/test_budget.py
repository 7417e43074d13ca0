"""Tests of budgets and their clocks."""

import time

import pytest

from klss_spiel.budget import Budget


def test_a_budget_without_any_limit_is_refused():
    with pytest.raises(ValueError, match="seconds, nodes or iterations"):
        Budget()


@pytest.mark.parametrize("limit", [{"seconds": -1.0}, {"nodes": -1}, {"seconds": float("nan")}])
def test_negative_and_undefined_limits_are_refused(limit):
    with pytest.raises(ValueError, match="at least 0"):
        Budget(**limit)


def test_the_first_limit_reached_ends_the_run():
    clock = Budget(nodes=10, iterations=4).start()
    clock.spend(nodes=5)
    assert clock.fraction == 0.5
    assert not clock.exhausted
    clock.spend(iterations=4)
    assert clock.exhausted
    assert (clock.nodes, clock.iterations) == (5, 4)


@pytest.mark.parametrize("limit", [{"seconds": 0.0}, {"nodes": 0}, {"iterations": 0}])
def test_a_zero_budget_is_exhausted_at_once(limit):
    assert Budget(**limit).start().exhausted


def test_seconds_run_by_themselves():
    clock = Budget(seconds=0.01).start()
    time.sleep(0.02)
    assert clock.exhausted
