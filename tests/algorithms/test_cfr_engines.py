"""The two engines of CFR against each other and against a plain recursion."""

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.algorithms import cfr, regret
from klss_spiel.algorithms.cfr_compiled import CompiledForm
from klss_spiel.algorithms.cfr_jax import JaxForm
from klss_spiel.algorithms.subgame.recipes import KLSS, RESOLVE
from klss_spiel.algorithms.subgame.subgame import build_subgame
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import (
    Treeplex,
    join_forms,
    make_sequence_form,
    sequence_form_from_tree,
)
from tests.helpers.games import form_of
from tests.helpers.random_trees import random_tree

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=random,returns_type=win_loss)"
TOLERANCE = 1e-12


def _without_ties(form):
    """The same game with payoffs a little off, so that rounding never decides what is played."""
    noise = np.random.default_rng(0).uniform(0.99, 1.01, size=form.num_entries)
    return dataclasses.replace(form, value=form.value * noise)


def _assert_agree(ours, theirs):
    for mine, other in zip(ours.players, theirs.players, strict=True):
        np.testing.assert_allclose(mine.regret, other.regret, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(mine.last_behavior, other.last_behavior, rtol=0, atol=1e-9)
        np.testing.assert_allclose(mine.last, other.last, rtol=0, atol=1e-9)
        weight = max(1.0, float(other.average_sum[0]))
        np.testing.assert_allclose(
            mine.average_sum / weight, other.average_sum / weight, rtol=0, atol=TOLERANCE
        )


def _assert_engines_agree(form, steps, **arguments):
    """Both engines make each step from where jax stands."""
    jax_form, compiled_form = cfr.prepare(form, "jax"), cfr.prepare(form, "compiled")
    solution = None
    for step in steps:
        compiled = cfr.solve(compiled_form, step, start=solution, **arguments)
        by_jax = cfr.solve(jax_form, step, start=solution, **arguments)
        assert compiled.iterations == by_jax.iterations
        _assert_agree(compiled, by_jax)
        solution = by_jax


@pytest.mark.parametrize(
    ("name", "minimizer", "averaging"),
    [
        *(("kuhn_poker", key, cfr.QUADRATIC) for key in regret.MINIMIZERS),
        ("leduc_poker", "rm+", cfr.LINEAR),
        ("liars_dice(dice_sides=3)", "prm+reevaluated", cfr.QUADRATIC),
        (GOOFSPIEL, "rm", cfr.UNIFORM),
        (GOOFSPIEL, "dcfr", cfr.QUADRATIC),
    ],
)
def test_engines_agree(name, minimizer, averaging):
    minimizer = regret.MINIMIZERS[minimizer]
    _assert_engines_agree(
        _without_ties(form_of(name)), [1] * 12, minimizer=minimizer, averaging=averaging
    )


@pytest.mark.parametrize("minimizer", [regret.RM_PLUS, regret.REEVALUATED_PRM_PLUS])
def test_engines_agree_with_simultaneous_updates(minimizer):
    _assert_engines_agree(form_of("kuhn_poker"), [1] * 12, minimizer=minimizer, alternating=False)


def test_engines_agree_over_many_iterations_at_once():
    # No infoset of kuhn poker has regrets that are all 0 up to rounding.
    _assert_engines_agree(form_of("kuhn_poker"), [40, 60])


def test_engines_agree_on_payoffs_as_they_are_up_to_the_first_tie():
    _assert_engines_agree(form_of("leduc_poker"), [1] * 6)


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), timed=st.booleans())
def test_engines_agree_on_random_forms(seed, timed):
    # Side by side, because every shape of game costs jax seconds to compile.
    forms = [sequence_form_from_tree(random_tree(seed + i, timed, plies=4)) for i in range(6)]
    _assert_engines_agree(_without_ties(join_forms(forms)[0]), [1] * 8, minimizer=regret.PRM_PLUS)


@pytest.mark.parametrize("recipe", [RESOLVE, KLSS(1)], ids=["resolve", "1-klss maxmargin"])
def test_engines_agree_on_gadgets(recipe):
    tree = tree_from_game("leduc_poker")
    blueprint = BehaviorPolicy.random(tree, np.random.default_rng(1))
    infoset = int(tree.infosets[0].decisions[60])
    subgame = build_subgame(blueprint, infoset, recipe)
    _assert_engines_agree(_without_ties(subgame.form), [1] * 8)


def test_float32_engines_agree_to_single_precision():
    form = form_of("kuhn_poker")
    single, by_jax = (
        cfr.solve(form, 20, engine=engine, dtype=np.float32) for engine in ("compiled", "jax")
    )
    double = cfr.solve(form, 20, engine="compiled")
    for p in (0, 1):
        np.testing.assert_allclose(single.average[p], by_jax.average[p], atol=1e-4)
        np.testing.assert_allclose(single.average[p], double.average[p], atol=1e-4)
        assert not np.array_equal(single.average[p], double.average[p])


def test_a_start_is_left_as_it_was():
    form = cfr.prepare(form_of("kuhn_poker"), "compiled")
    start = cfr.solve(form, 5)
    before = [player.regret.copy() for player in start.players]
    once, twice = cfr.solve(form, 5, start=start), cfr.solve(form, 5, start=start)
    for p in (0, 1):
        np.testing.assert_array_equal(once.average[p], twice.average[p])
        np.testing.assert_array_equal(start.players[p].regret, before[p])
    fresh = cfr.Solution(start.iterations, state=start._state)
    np.testing.assert_array_equal(fresh.players[0].regret, before[0])


def test_forced_moves_are_played_and_never_regretted():
    tree = tree_from_game("liars_dice(dice_sides=3)")
    form = sequence_form_from_tree(tree)
    compiled = cfr.prepare(form, "compiled")
    solution = cfr.solve(compiled, 10)
    for p in (0, 1):
        treeplex = form.treeplexes[p]
        forced = treeplex.first_sequence[treeplex.num_actions == 1]
        before = treeplex.parent_sequence[treeplex.num_actions == 1]
        assert len(forced) > 0
        assert len(compiled.choices[p].sequence) == treeplex.num_sequences - len(forced)
        player = solution.players[p]
        assert np.all(player.last_behavior[forced] == 1.0) and np.all(player.regret[forced] == 0.0)
        np.testing.assert_array_equal(player.last[forced], player.last[before])
        np.testing.assert_array_equal(player.average_sum[forced], player.average_sum[before])


def _paper_pcfr_plus(form, iterations):
    """PCFR+ with recursions over one infoset at a time (Farina, Kroer and Sandholm 2021).

    Each iteration: strategies from predictions made bottom-up with the last payoffs,
    then payoffs against the opponent's newest plan are observed.
    """
    treeplexes = form.treeplexes
    z = [np.zeros(t.num_sequences) for t in treeplexes]
    strategies = [t.uniform() for t in treeplexes]
    for iteration in range(iterations):
        for p in (0, 1):
            treeplex = treeplexes[p]
            opponent_plan = treeplexes[1 - p].realization_plan(strategies[1 - p])
            payoff = form.gradient(p, opponent_plan)
            old, new = strategies[p], strategies[p].copy()

            def actions(i, treeplex=treeplex):
                return range(
                    treeplex.first_sequence[i],
                    treeplex.first_sequence[i] + treeplex.num_actions[i],
                )

            def value(s, strategy, treeplex=treeplex, payoff=payoff, actions=actions):
                below = np.flatnonzero(treeplex.parent_sequence == s)
                return payoff[s] + sum(
                    strategy[a] * value(a, strategy) for i in below for a in actions(i)
                )

            for i in reversed(range(treeplex.num_infosets)):
                observed = {a: value(a, old) for a in actions(i)}
                mean = sum(old[a] * observed[a] for a in actions(i))
                predicted = {a: value(a, new) for a in actions(i)}
                reference = sum(old[a] * predicted[a] for a in actions(i))
                theta = {}
                for a in actions(i):
                    z[p][a] = max(0.0, z[p][a] + observed[a] - mean)
                    theta[a] = max(0.0, z[p][a] + predicted[a] - reference)
                total = sum(theta.values())
                for a in actions(i):
                    new[a] = theta[a] / total if total > 0.0 else 1.0 / len(theta)
            strategies[p] = new
        del iteration
    return z, strategies


@pytest.mark.parametrize("engine", ["compiled", "jax"])
def test_pcfr_plus_is_that_of_its_paper(engine):
    form = form_of("kuhn_poker")
    for iterations in (1, 2, 7):
        z, strategies = _paper_pcfr_plus(form, iterations)
        solution = cfr.solve(form, iterations, regret.REEVALUATED_PRM_PLUS, engine=engine)
        for p in (0, 1):
            np.testing.assert_allclose(solution.players[p].regret, z[p], atol=TOLERANCE)
            np.testing.assert_allclose(solution.last_behavior[p], strategies[p], atol=1e-10)
    cheap = cfr.solve(form, 7, regret.PRM_PLUS, engine=engine)
    assert np.abs(cheap.last_behavior[0] - strategies[0]).max() > 1e-3


@pytest.mark.parametrize("minimizer", regret.MINIMIZERS.values(), ids=regret.MINIMIZERS)
def test_minimizers_are_values(minimizer):
    copy = pickle.loads(pickle.dumps(minimizer))
    assert copy == minimizer and hash(copy) == hash(minimizer)
    assert [other for other in regret.MINIMIZERS.values() if other == copy] == [minimizer]


def test_unknown_engines_and_odd_iterations_are_refused():
    form = form_of("kuhn_poker")
    with pytest.raises(ValueError, match=r"auto, compiled, jax, got 'cuda'"):
        cfr.solve(form, 1, engine="cuda")
    with pytest.raises(ValueError, match=r"whole number of iterations .* got 1000\.0"):
        cfr.solve(form, 1e3)
    with pytest.raises(ValueError, match="float32 or float64, got int64"):
        cfr.solve(form, 1, dtype=np.int64, engine="compiled")
    with pytest.raises(ValueError, match="another game's solution"):
        cfr.solve(form, 1, start=cfr.solve(form_of("leduc_poker"), 1))
    with pytest.raises(ValueError, match=r"expected a SequenceForm, .* got 17"):
        cfr.solve(17, 1)


def test_games_in_any_shape_are_solved():
    tree = tree_from_game("kuhn_poker")
    by_form = cfr.solve(sequence_form_from_tree(tree), 10)
    for game in (tree, "kuhn_poker"):
        np.testing.assert_array_equal(cfr.solve(game, 10).average[0], by_form.average[0])


def test_auto_takes_jax_only_for_long_runs_on_dense_games():
    rng = np.random.default_rng(0)
    sizes = (60, 70)
    treeplexes = tuple(
        Treeplex(np.zeros(1, np.int32), np.ones(1, np.int32), np.array([n], np.int32), n + 1)
        for n in sizes
    )
    row, column = (index.ravel() + 1 for index in np.indices(sizes))
    dense = make_sequence_form(treeplexes, row, column, rng.normal(size=row.size))
    sparse = form_of("leduc_poker")
    forever = 10**9
    assert isinstance(cfr.prepare(dense, iterations=1000), CompiledForm)
    assert isinstance(cfr.prepare(dense, iterations=forever), JaxForm)
    assert isinstance(cfr.prepare(dense, "compiled", iterations=forever), CompiledForm)
    assert isinstance(cfr.prepare(sparse, iterations=forever), CompiledForm)


def test_an_interrupt_ends_a_long_run():
    script = """
import _thread, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
from klss_spiel.algorithms import cfr
form = cfr.prepare(__import__("klss_spiel.openspiel").openspiel.sequence_form_of("leduc_poker"))
cfr.solve(form, 10)
threading.Timer(0.5, _thread.interrupt_main).start()
try:
    cfr.solve(form, 10**12)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "interrupted\n"
