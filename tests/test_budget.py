"""Tests of budgets and their clocks."""

import copy
import dataclasses
import pickle
import threading
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


def test_an_event_ends_a_run_from_outside():
    stop = threading.Event()
    clock = Budget(nodes=10, stop=stop).start()
    clock.spend(nodes=5)
    assert clock.fraction == 0.5 and not clock.stopped
    stop.set()
    assert clock.stopped and clock.exhausted and clock.fraction == 1.0
    assert Budget(nodes=10, stop=stop).start().exhausted
    with pytest.raises(ValueError, match="is_set"):
        Budget(nodes=1, stop=True)


def test_an_event_may_be_the_only_limit():
    stop = threading.Event()
    clock = Budget(stop=stop).start()
    clock.spend(nodes=10**9, iterations=10**9)
    assert clock.fraction == 0.0
    stop.set()
    assert clock.exhausted


def test_an_event_stays_behind_when_a_budget_travels():
    budget = Budget(nodes=10, stop=threading.Event())
    for other in (pickle.loads(pickle.dumps(budget)), copy.deepcopy(budget)):
        assert other == budget and hash(other) == hash(budget)
        assert other.stop is None
    assert dataclasses.replace(budget, nodes=5).stop is budget.stop
    assert "stop" not in repr(budget)
    with pytest.raises(TypeError, match="only its stop"):
        pickle.dumps(Budget(stop=threading.Event()))


def test_only_budgets_of_work_are_reproducible():
    assert Budget(nodes=1).reproducible and Budget(iterations=1).reproducible
    assert not Budget(nodes=1, seconds=1.0).reproducible
    assert not Budget(nodes=1, stop=threading.Event()).reproducible
