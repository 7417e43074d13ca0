"""CFR-D and depth-limited solving through the one CFR loop."""

import numpy as np
import pytest

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.regret import DISCOUNTED_RM, PRM_PLUS, RM, RM_PLUS
from klss_spiel.algorithms.values.bottoms import Bottoms, LinearValues
from klss_spiel.algorithms.values.completion import trunk_exploitability
from klss_spiel.algorithms.values.cuts import make_border
from klss_spiel.algorithms.values.depth_limited import RecordedValues, solve_trunk
from klss_spiel.algorithms.values.networks import (
    FNN,
    NetworkValues,
    Recipe,
    initial_parameters,
    make_slots,
    one_hot_features,
)
from klss_spiel.algorithms.values.optimal import optimal_values, root_regret, values_against
from klss_spiel.algorithms.values.ranges import Ranges, ranges
from klss_spiel.algorithms.values.reduction import reduce_form
from klss_spiel.algorithms.values.training import random_ranges
from klss_spiel.best_response import nash_conv
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import PLAYERS
from tests.algorithms.values.games import border_of


@pytest.mark.parametrize("minimizer", [RM, RM_PLUS, PRM_PLUS, DISCOUNTED_RM])
@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_one_warm_update_of_the_bottoms_per_iteration_is_cfr_on_the_whole_game(name, minimizer):
    """Split at the border or not, simultaneous CFR plays the same."""
    border = border_of(name)
    whole = cfr.solve(
        sequence_form_from_tree(border.tree), 20, minimizer=minimizer, alternating=False
    )
    bottoms = Bottoms(border, 1, warm=True, minimizer=minimizer, alternating=False, reduced=False)
    split = solve_trunk(border, bottoms, 20, minimizer=minimizer, alternating=False)
    for p in (0, 1):
        np.testing.assert_allclose(
            split.average[p], whole.average[p][border.trunk_part.sequences[p]], atol=1e-9
        )
        np.testing.assert_allclose(
            split.last[p], whole.last[p][border.trunk_part.sequences[p]], atol=1e-9
        )


@pytest.mark.parametrize(("name", "worst"), [("kuhn", 4e-3), ("leduc", 2e-3), ("kriegspiel", 1e-5)])
def test_warm_bottoms_converge(name, worst):
    border = border_of(name)
    bottoms = Bottoms(border, 5, warm=True)
    early = solve_trunk(border, bottoms, 20)
    late = solve_trunk(border, bottoms, 480, start=early)
    assert late.iterations == 500
    measured = trunk_exploitability(border, late.average_behavior)
    assert measured < min(worst, trunk_exploitability(border, early.average_behavior))
    # The bottoms' own averages continue the trunk to a good strategy of the whole game.
    assert nash_conv(border.join(late.average_behavior, bottoms.behaviors())) < 0.2


def test_exact_values_solve_kuhn():
    border = border_of("kuhn")
    solution = solve_trunk(border, LinearValues(border), 100)
    assert trunk_exploitability(border, solution.average_behavior) == pytest.approx(0.006, abs=2e-3)
    cold = solve_trunk(border, Bottoms(border, 100), 100)
    assert trunk_exploitability(border, cold.average_behavior) == pytest.approx(0.0059, abs=5e-4)


@pytest.mark.parametrize("minimizer", [RM_PLUS, PRM_PLUS, DISCOUNTED_RM])
@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_bottoms_by_cfr_have_optimal_values(name, minimizer):
    """Compared by range times value in each public state: single values are not unique."""
    border = border_of(name)
    at_border = ranges(border, BehaviorPolicy.random(border.tree, np.random.default_rng(1)))
    exact = optimal_values(border, at_border)
    for warm in (False, True):
        bottoms = Bottoms(border, 2000, warm=warm, minimizer=minimizer)
        found = bottoms(at_border.reach)
        for p in (0, 1):
            sums, expected = (
                np.bincount(border.infoset_public_state[p], at_border.reach[p] * values[p])
                for values in (found, exact.counterfactual)
            )
            np.testing.assert_allclose(sums, expected, atol=2e-3)


def test_leaving_out_what_never_pays_changes_no_values():
    border = border_of("dark_2")
    at_border = ranges(border, BehaviorPolicy.random(border.tree, np.random.default_rng(1)))
    whole, smaller = (Bottoms(border, 300, reduced=reduced) for reduced in (False, True))
    sizes = [
        sum(t.num_sequences for t in form.treeplexes)
        for form in (border.bottom_part.form, reduce_form(border.bottom_part.form).form)
    ]
    assert sizes[1] < 0.5 * sizes[0]
    values = optimal_values(border, at_border)
    for bottoms in (whole, smaller):
        behaviors = bottoms.solve(at_border.reach)
        found = values_against(border, at_border, behaviors)
        assert found.imbalance().max() < 2e-3
        assert found.value == pytest.approx(values.value, abs=2e-3)
        border.join(border.trunk_of(BehaviorPolicy.uniform(border.tree)), behaviors)


def test_bottoms_play_well_also_where_the_own_range_is_zero():
    border = border_of("kuhn")
    reach = (np.array([0.0, 1, 1, 0, 1, 0]), np.ones(6))
    behaviors = Bottoms(border, 2000).solve(reach)
    # Player 0 answers player 1 at all infosets, also at those of own range zero.
    assert root_regret(border, Ranges.of(border, reach), behaviors)[0].max() < 5e-3
    uniform = border.bottoms_of(BehaviorPolicy.uniform(border.tree))
    assert root_regret(border, Ranges.of(border, reach), uniform)[0][0] > 0.1
    nobody = Bottoms(border, 5)((np.zeros(6), np.zeros(6)))
    assert np.all(nobody[0] == 0) and np.all(nobody[1] == 0)


def _random_network(border, recipe=None):
    slots, features = make_slots(border), one_hot_features(border)
    parameters = initial_parameters(FNN, features, slots, seed=3)
    return NetworkValues(border, parameters, recipe or Recipe(), features, slots)


def test_both_engines_run_the_same_trunk():
    border = border_of("leduc")
    network = _random_network(border)
    arguments = dict(border=border.trunk_sequence)
    compiled = cfr.solve(border.trunk_part.form, 10, values=network, **arguments)
    jitted = cfr.solve(border.trunk_part.form, 10, values=network.jitted, engine="jax", **arguments)
    for p in (0, 1):
        np.testing.assert_allclose(compiled.average[p], jitted.average[p], atol=1e-4)


def test_recorded_values_remember_the_questions_asked():
    border = border_of("kuhn")
    asked = RecordedValues(Bottoms(border, 2), keep=lambda number: number % 2 == 0)
    solution = solve_trunk(border, asked, 3)
    assert len(asked.questions) == len(asked.answers) == 3  # two in each iteration, half kept
    uniform = ranges(border, BehaviorPolicy.uniform(border.tree)).reach
    np.testing.assert_allclose(asked.questions[0][0], uniform[0])
    assert solution.iterations == 3


def test_bad_value_functions_are_refused():
    border = border_of("kuhn")
    form, sequences = border.trunk_part.form, border.trunk_sequence
    for values, message in (
        (lambda ranges: (np.full(6, np.nan), np.zeros(6)), "finite values.*nan for player 0"),
        (lambda ranges: (np.zeros(6), np.zeros(5)), "6 border infosets of player 1"),
    ):
        with pytest.raises(ValueError, match=message):
            cfr.solve(form, 2, border=sequences, values=values)
    with pytest.raises(ValueError, match="one without the other"):
        cfr.solve(form, 2, border=sequences)
    with pytest.raises(ValueError, match="inside jit"):
        cfr.solve(form, 2, border=sequences, values=Bottoms(border, 1), engine="jax")
    with pytest.raises(ValueError, match="at least 1"):
        Bottoms(border, 0)
    with pytest.raises(ValueError, match="shape"):
        Bottoms(border, 1)((np.ones(5), np.ones(6)))


def test_value_functions_of_another_border_are_refused():
    border, other = border_of("kuhn"), border_of("leduc")
    deeper = make_border(border.tree, 4)
    for values in (Bottoms(other, 1), RecordedValues(_random_network(deeper))):
        with pytest.raises(ValueError, match=r"value function of <Border of kuhn.*, got one of"):
            solve_trunk(border, values, 1)
    again = make_border(border.tree, 3)  # the same border made twice
    assert solve_trunk(border, Bottoms(again, 1), 1).iterations == 1


@pytest.mark.parametrize("alternating", [True, False])
def test_bottoms_in_lanes_answer_as_one_by_one_to_the_last_bit(alternating):
    border = border_of("leduc")
    # More questions than lanes, and a range of zeros among them.
    questions = random_ranges(border, 10, np.random.default_rng(0))
    questions[3][0][:4] = 0.0
    bottoms = Bottoms(border, 30, alternating=alternating)
    for alone, together in zip(
        [bottoms(question) for question in questions], bottoms.many(questions), strict=True
    ):
        for p in PLAYERS:
            np.testing.assert_array_equal(alone[p], together[p])


def test_many_questions_to_warm_bottoms_go_one_by_one():
    border = border_of("kuhn")
    questions = random_ranges(border, 3, np.random.default_rng(0))
    first, second = (Bottoms(border, 2, warm=True) for _ in range(2))
    for alone, together in zip(
        [first(question) for question in questions], second.many(questions), strict=True
    ):
        np.testing.assert_array_equal(alone[0], together[0])


def test_many_questions_are_checked():
    border = border_of("kuhn")
    with pytest.raises(ValueError, match="finite ranges"):
        bad = np.full(border.sizes[0], np.nan)
        Bottoms(border, 2).many([(bad, np.ones(border.sizes[1]))])
