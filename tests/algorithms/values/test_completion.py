"""Exploitability of trunks by safe completion."""

import numpy as np
import pytest

from klss_spiel.algorithms.values.completion import (
    complete,
    game_value,
    safe_completion,
    trunk_exploitabilities,
    trunk_exploitability,
)
from klss_spiel.algorithms.values.optimal import optimal_values
from klss_spiel.algorithms.values.ranges import ranges
from klss_spiel.best_response import nash_conv
from klss_spiel.linear_program import action_bounds, equilibrium, solve
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.algorithms.values.games import border_of

NAMES = ["kuhn", "leduc", "kriegspiel", "dark_2"]


@pytest.mark.parametrize("name", NAMES)
def test_completion_is_the_best_strategy_with_this_trunk(name):
    """Its exploitability in the whole game is what the measure says; an equilibrium's is 0."""
    border = border_of(name)
    policy = BehaviorPolicy.random(border.tree, np.random.default_rng(3))
    trunk = border.trunk_of(policy)
    measured = trunk_exploitability(border, trunk)
    assert nash_conv(complete(border, trunk)) == pytest.approx(measured, abs=1e-9)
    assert 0.0 < measured <= nash_conv(policy)
    assert sum(trunk_exploitabilities(border, trunk)) == pytest.approx(measured, abs=1e-8)
    form = sequence_form_from_tree(border.tree)
    optimal = BehaviorPolicy(border.tree, equilibrium(form).behaviors)
    assert trunk_exploitability(border, border.trunk_of(optimal)) == pytest.approx(0.0, abs=1e-9)
    assert game_value(border.tree) == pytest.approx(solve(form).value, abs=1e-9)


def test_completion_is_the_program_of_the_whole_game_with_the_trunk_fixed():
    border = border_of("leduc")
    policy = BehaviorPolicy.random(border.tree, np.random.default_rng(4))
    form = sequence_form_from_tree(border.tree)
    for p in (0, 1):
        fixed = np.zeros(form.treeplexes[p].num_sequences)
        sequences = border.trunk_part.sequences[p][1:]
        fixed[sequences] = policy.probabilities[p][sequences]
        expected = solve(form, p, lower_bounds=fixed).value
        found = safe_completion(border, p, border.trunk_of(policy)[p]).guarantee
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", ["leduc", "dark_2"])
def test_completion_by_cfr_bounds_the_exact_one(name):
    border = border_of(name)
    trunk = border.trunk_of(BehaviorPolicy.random(border.tree, np.random.default_rng(3)))
    exact = trunk_exploitability(border, trunk)
    bound = trunk_exploitability(border, trunk, iterations=300)
    assert exact - 1e-9 <= bound <= exact + 0.02
    completed = safe_completion(border, 0, trunk[0], iterations=300)
    strategy = border.join(
        trunk, (completed.behavior, safe_completion(border, 1, trunk[1]).behavior)
    )
    assert nash_conv(strategy) == pytest.approx(
        -completed.guarantee - safe_completion(border, 1, trunk[1]).guarantee, abs=1e-9
    )


def test_solving_bottoms_for_both_ranges_is_no_measure():
    """The trunk of an equilibrium, continued optimally for its ranges, can be exploited."""
    border = border_of("leduc")
    form = sequence_form_from_tree(border.tree)
    optimal = BehaviorPolicy(border.tree, equilibrium(form).behaviors)
    trunk = border.trunk_of(optimal)
    unsafe = optimal_values(border, ranges(border, optimal)).behaviors
    assert nash_conv(border.join(trunk, unsafe)) > 0.01
    assert trunk_exploitability(border, trunk) < 1e-9


def test_a_trunk_that_gives_something_away_is_found():
    border = border_of("kuhn")
    form = sequence_form_from_tree(border.tree)
    # Betting with a jack always is a mistake that no continuation mends.
    bets = action_bounds(border.tree, 0, 1, 1.0, opening=True)
    restricted = solve(form, 0, lower_bounds=bets)
    loss = solve(form, 0).value - restricted.value
    trunk = border.trunk_of(BehaviorPolicy.uniform(border.tree).replace(0, restricted.behavior))
    assert loss > 0.1
    assert trunk_exploitabilities(border, trunk)[0] == pytest.approx(loss, abs=1e-9)


def test_a_trunk_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="in the trunk"):
        trunk_exploitability(border_of("kuhn"), (np.ones(3), np.ones(3)))
