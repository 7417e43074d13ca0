"""Multi-valued states on Kuhn and Leduc poker."""

import itertools

import numpy as np
import pytest

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.values.completion import game_value, safe_completion
from klss_spiel.algorithms.values.continuations import (
    biased,
    multi_valued_states,
    pure_continuations,
    self_generated,
    solve_depth_limited,
)
from klss_spiel.best_response import best_response_to
from klss_spiel.linear_program import equilibrium, solve
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.algorithms.values.games import border_of


def _blueprint(border, kind):
    form = sequence_form_from_tree(border.tree)
    if kind == "equilibrium":
        return BehaviorPolicy(border.tree, equilibrium(form).behaviors)
    if kind == "uniform":
        return BehaviorPolicy.uniform(border.tree)
    return BehaviorPolicy(border.tree, cfr.solve(form, 100).average_behavior)


def _exploitabilities(border, solution):
    """Of the trunk alone (safely completed) and of trunk and blueprint."""
    form = sequence_form_from_tree(border.tree)
    value = game_value(border.tree)
    plan = form.treeplexes[0].realization_plan(solution.strategy())
    return (
        value - safe_completion(border, 0, solution.trunk).guarantee,
        value + best_response_to(form, 1, plan).value,
    )


@pytest.mark.parametrize(
    ("kind", "all_pure", "one"), [("equilibrium", -1 / 18, -1 / 18), ("uniform", -2 / 9, 0.5)]
)
def test_all_pure_continuations_fix_the_own_bottom_only(kind, all_pure, one):
    border = border_of("kuhn")
    blueprint = _blueprint(border, kind)
    own, others = border.bottoms_of(blueprint)
    every = multi_valued_states(border, 0, own, pure_continuations(border, 0))
    assert solve_depth_limited(every).value == pytest.approx(all_pure, abs=1e-9)
    single = multi_valued_states(border, 0, own, [others])
    assert solve_depth_limited(single).value == pytest.approx(one, abs=1e-9)
    # The same by the program of the whole game with the own bottom fixed.
    form = sequence_form_from_tree(border.tree)
    fixed = np.zeros(form.treeplexes[0].num_sequences)
    below = border.bottom_part.sequences[0]
    fixed[below[below > 0]] = blueprint.probabilities[0][below[below > 0]]
    assert solve(form, 0, lower_bounds=fixed).value == pytest.approx(all_pure, abs=1e-9)


def test_more_continuations_never_raise_the_value():
    border = border_of("leduc")
    blueprint = _blueprint(border, "cfr")
    own = border.bottoms_of(blueprint)[0]
    continuations = self_generated(border, 0, blueprint, 4)
    values = [
        solve_depth_limited(multi_valued_states(border, 0, own, continuations[:count])).value
        for count in (1, 2, 3, 4)
    ]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(values))
    assert values[-1] < values[0] - 1e-3


@pytest.mark.parametrize(
    ("kind", "count", "of_trunk", "of_all"),
    [
        ("equilibrium", 1, 0.344, 0.735),
        ("equilibrium", 2, 0.0001, 0.001),
        ("equilibrium", 4, 0.0, 0.0),
        ("cfr", 1, 0.046, 0.097),
        ("cfr", 2, 0.040, 0.267),
        ("cfr", 4, 0.0023, 0.0173),
        ("cfr", 8, 0.0014, 0.0149),
    ],
)
def test_self_generated_continuations_in_leduc(kind, count, of_trunk, of_all):
    border = border_of("leduc")
    blueprint = _blueprint(border, kind)
    continuations = self_generated(border, 0, blueprint, count)
    assert len(continuations) == count
    states = multi_valued_states(border, 0, border.bottoms_of(blueprint)[0], continuations)
    found = _exploitabilities(border, solve_depth_limited(states))
    assert found == pytest.approx((of_trunk, of_all), abs=3e-3)


def test_biased_continuations_in_leduc():
    border = border_of("leduc")
    blueprint = _blueprint(border, "cfr")
    own = border.bottoms_of(blueprint)[0]
    continuations = biased(border, 0, blueprint, (0, 1, 2))
    found = {}
    for count in (1, 2, 4):
        states = multi_valued_states(border, 0, own, continuations[:count])
        found[count] = _exploitabilities(border, solve_depth_limited(states))
    assert found[1] == pytest.approx((0.046, 0.097), abs=3e-3)
    assert found[2] == pytest.approx((0.005, 0.046), abs=3e-3)
    assert found[4] == pytest.approx((0.002, 0.036), abs=3e-3)


def test_player_1_can_solve_too():
    border = border_of("kuhn")
    blueprint = _blueprint(border, "equilibrium")
    own = border.bottoms_of(blueprint)[1]
    states = multi_valued_states(border, 1, own, pure_continuations(border, 1))
    assert solve_depth_limited(states).value == pytest.approx(1 / 18, abs=1e-9)


def test_bad_continuations_are_refused():
    border = border_of("kuhn")
    blueprint = BehaviorPolicy.uniform(border.tree)
    own, others = border.bottoms_of(blueprint)
    with pytest.raises(ValueError, match="at least one continuation"):
        multi_valued_states(border, 0, own, [])
    with pytest.raises(ValueError, match="below the border"):
        multi_valued_states(border, 0, own, [others[:-1]])
    with pytest.raises(ValueError, match="at least 1"):
        self_generated(border, 0, blueprint, 0)
    with pytest.raises(ValueError, match="never legal"):
        biased(border, 0, blueprint, (17,))
    with pytest.raises(ValueError, match="at most 1 pure"):
        pure_continuations(border, 0, limit=1)
