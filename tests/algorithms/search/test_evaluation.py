"""Tests of what a search does about evaluators that fail, and of compile times."""

import dataclasses

import numba
import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search import compilation, player
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.compilation import CompilationTimer
from klss_spiel.algorithms.search.evaluation import CheckedEvaluator
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.search_game import EvaluatorError

LEDUC = "leduc_poker"


def leduc_state(*actions):
    state = pyspiel.load_game(LEDUC).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def failing(positions):
    raise EvaluatorError("engine gone")


def late(positions):
    raise TimeoutError


@pytest.mark.parametrize(
    ("evaluator", "words"), [(failing, "failed: engine gone"), (late, "timed out")]
)
@pytest.mark.parametrize("worker", [False, True])
def test_an_evaluator_without_an_answer_is_survived_and_reported(evaluator, words, worker):
    settings = dataclasses.replace(OBSCURO, worker=worker)
    bot = SearchBot(LEDUC, 0, Budget(nodes=300), settings, evaluator=evaluator)
    state = leduc_state(0, 3)
    policy, action = bot.step_with_policy(state)
    assert action in state.legal_actions()
    assert sum(q for _, q in policy) == pytest.approx(1.0)
    assert any(words in text for text in bot.report.degraded)


def mistyped(positions):
    return positions.no_such_attribute


def undefined(positions):
    return np.full(len(positions), np.nan)


def misshapen(positions):
    return np.zeros(len(positions) + 1)


@pytest.mark.parametrize(
    ("evaluator", "error", "words"),
    [
        (mistyped, AttributeError, "no_such_attribute"),
        (undefined, ValueError, "expected numbers"),
        (misshapen, ValueError, "got shape"),
    ],
)
@pytest.mark.parametrize("worker", [False, True])
def test_an_error_in_an_evaluators_code_is_raised(evaluator, error, words, worker):
    settings = dataclasses.replace(OBSCURO, worker=worker)
    bot = SearchBot(LEDUC, 0, Budget(nodes=300), settings, evaluator=evaluator)
    with pytest.raises(error, match=words):
        bot.step(leduc_state(0, 3))


def test_compiling_is_said_and_timed(monkeypatch):
    said = []
    monkeypatch.setattr(compilation.logging, "warning", lambda *words: said.append(words[0]))
    compilation._say_once.cache_clear()

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    with CompilationTimer() as timer:
        assert outer(1) == 4
        assert outer(2) == 6
    assert timer.functions == 2  # one within the other
    assert timer.seconds > 0.0
    assert len(said) == 1
    assert "compiling" in said[0]
    before = timer.seconds
    assert outer(1.5) == 5.0  # nobody listens any more
    assert timer.seconds == before


def test_the_first_move_of_a_process_counts_loading_and_compiling_apart():
    player.compile_loops.cache_clear()
    bots = [SearchBot(LEDUC, 0, Budget(nodes=50)) for _ in range(2)]
    reports = []
    for bot in bots:
        bot.step(leduc_state(0, 3))
        reports.append(bot.report)
    assert reports[0].compiling > reports[1].compiling
    late = dataclasses.replace(reports[0], compiling=12.0)
    assert "12.0 s to compile" in str(late)


def test_after_a_timeout_the_tree_grows_no_more():
    calls = []

    def late_once(positions):
        calls.append(len(positions))
        if len(calls) == 5:
            raise TimeoutError
        return np.zeros(len(positions))

    search = search_from_start(search_game(LEDUC, late_once), OBSCURO)
    search.run(Budget(nodes=200))
    assert len(calls) == 5
    assert search.effort.iterations > 10


def test_values_beyond_the_largest_payoff_are_cut():
    game = search_game(LEDUC, lambda positions: np.linspace(-3.0, 3.0, len(positions)))
    values = CheckedEvaluator(game).values(np.empty(5, dtype=object))
    np.testing.assert_array_equal(values, [-1.0, -1.0, 0.0, 1.0, 1.0])
