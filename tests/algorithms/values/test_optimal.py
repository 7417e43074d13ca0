"""Optimal values by linear programming, and the paper's figures, examples and theorems."""

import dataclasses

import numpy as np
import pytest

from klss_spiel.algorithms.values.cuts import make_border
from klss_spiel.algorithms.values.optimal import (
    history_interval,
    history_values,
    infoset_interval,
    optimal_values,
    root_regret,
    values_against,
)
from klss_spiel.algorithms.values.policy_values import PolicyValues
from klss_spiel.algorithms.values.ranges import Ranges, ranges
from klss_spiel.policy import BehaviorPolicy
from tests.algorithms.values import paper_games
from tests.algorithms.values.games import border_of, tree_of

# Sum of range times player 0's value at the border, both players uniform in the trunk.
GOLDENS = {
    "kuhn": -0.194444444,
    "leduc": -0.040429078,
    "dark_2": 0.768518519,
    "kriegspiel": 0.625,
}


@pytest.mark.parametrize("name", GOLDENS)
def test_values_under_a_uniform_trunk(name):
    border = border_of(name)
    values = optimal_values(border, ranges(border, BehaviorPolicy.uniform(border.tree)))
    assert values.value == pytest.approx(GOLDENS[name], abs=1e-9)
    assert np.abs(values.imbalance()).max() < 1e-10
    if name == "kuhn":
        expected = [-1 / 3, -2 / 3, -1 / 9, -1 / 6, 7 / 18, 1 / 2]
        np.testing.assert_allclose(values.counterfactual[0], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "dark_4", "kriegspiel"])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_continuations_are_optimal_at_every_border_infoset(name, share):
    """Definition 6 itself, checked with values of the whole policy; zero ranges included."""
    border = border_of(name)
    rng = np.random.default_rng(7)
    policy = paper_games.sparse_policy(border.tree, rng, share)
    at_border = ranges(border, policy)
    assert at_border.fully_mixed == (share == 0.0)
    values = optimal_values(border, at_border)
    for p in (0, 1):
        assert np.abs(root_regret(border, at_border, values.behaviors)[p]).max() < 1e-9
    # Proposition 9: what both can get sums to zero in every public state.
    assert np.abs(values.imbalance()).max() < 1e-10
    joined = border.join(border.trunk_of(policy), values.behaviors)
    of_policy = PolicyValues(joined)
    for p in (0, 1):
        own = of_policy.history(p)[border.nodes]
        expected = np.bincount(border.node_infoset[p], at_border.conditional(p) * own)
        np.testing.assert_allclose(values.expected[p], expected, atol=1e-9)


def test_worse_continuations_have_an_imbalance():
    border = border_of("leduc")
    policy = BehaviorPolicy.uniform(border.tree)
    at_border = ranges(border, policy)
    uniform = values_against(border, at_border, border.bottoms_of(policy))
    assert uniform.imbalance().min() > 0.01


def test_counting_every_zero_as_one_tremble_is_wrong_in_leduc():
    """Two own decisions in the trunk: histories need up to two trembles of a player."""
    border = border_of("leduc")
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(4):
        exact = ranges(border, paper_games.sparse_policy(border.tree, rng))
        assert max(exact.order[0].max(), exact.order[1].max()) == 2
        clipped = tuple(np.minimum(order, 1) for order in exact.order)
        lumped = optimal_values(border, dataclasses.replace(exact, order=clipped))
        errors.append(max(g.max() for g in root_regret(border, exact, lumped.behaviors)))
    assert max(errors) > 0.04


def test_example_13_history_values_are_ambiguous_infoset_values_are_not():
    border = make_border(paper_games.example_13(), 1)
    at_border = ranges(border, BehaviorPolicy.uniform(border.tree))
    assert infoset_interval(border, at_border, 0, 0) == pytest.approx((0.5, 0.5))
    for node in (0, 1):
        interval = history_interval(border, at_border, node, np.random.default_rng(0))
        assert interval == pytest.approx((0.0, 1.0), abs=1e-9)


def test_figure_1_both_players_trade_histories_off():
    border = make_border(paper_games.figure_1(), 1)
    at_border = ranges(border, BehaviorPolicy.uniform(border.tree))
    for p in (0, 1):
        assert infoset_interval(border, at_border, p, 0) == pytest.approx((0.0, 0.0))
    for node in (0, 1):
        interval = history_interval(border, at_border, node, np.random.default_rng(0))
        assert interval == pytest.approx((-1.0, 1.0), abs=1e-9)
    # P(x) = .2 for player 0 and .7 for player 1: v(g1) = p - q = -v(g2).
    behaviors = border.bottoms_of(
        BehaviorPolicy(border.tree, (np.array([1, 0.2, 0.8]), np.array([1, 0.7, 0.3])))
    )
    np.testing.assert_allclose(history_values(border, behaviors), [-0.5, 0.5])
    for p in (0, 1):
        assert np.abs(root_regret(border, at_border, behaviors)[p]).max() < 1e-12


def test_example_14_infoset_values_are_ambiguous_too():
    border = make_border(paper_games.figure_2a(), 1)
    at_border = ranges(border, BehaviorPolicy.uniform(border.tree))
    for infoset in (0, 1):
        # Expected values fill [0, 1], counterfactual ones (times chance's half) [0, .5].
        assert infoset_interval(border, at_border, 0, infoset) == pytest.approx((0.0, 1.0))
    values = optimal_values(border, at_border)
    assert values.counterfactual[0].sum() == pytest.approx(0.5)


def test_example_15_an_optimal_value_function_of_one_trunk_is_not_one_of_another():
    tree = paper_games.figure_2b()
    border = make_border(tree, 2)
    found = {}
    for prepared in (0.0, 0.25, 1.0):
        policy = BehaviorPolicy.uniform(tree).replace(1, np.array([1, prepared, 1 - prepared]))
        values = optimal_values(border, ranges(border, policy))
        found[prepared] = values.counterfactual[0]
        np.testing.assert_allclose(
            found[prepared], [0.5 * (1 - prepared), 0.5 * prepared], atol=1e-12
        )
        # Every trunk here extends to an equilibrium: the game is worth .5 whatever is prepared.
        assert values.value == pytest.approx(0.5)
    assert not np.allclose(found[0.0], found[1.0])


def test_figure_2c_plain_equilibria_leave_unreached_values_open():
    tree = paper_games.figure_2c()
    border = make_border(tree, 1, np.zeros(tree.num_nodes, dtype=int))
    left = BehaviorPolicy.uniform(tree).replace(0, np.array([1.0, 1, 0]))
    at_border = ranges(border, left)
    values = optimal_values(border, at_border)
    np.testing.assert_allclose(values.counterfactual[0], [1.0, 0.0], atol=1e-12)
    assert infoset_interval(border, at_border, 0, 1) == pytest.approx((0.0, 0.0))
    # Under the range (1, 0) each P(G) in [0, 1] is an equilibrium of the bottom, but ...
    for good in (0.0, 0.5, 1.0):
        behaviors = border.bottoms_of(left.replace(1, np.array([1, 1, good, 1 - good])))
        assert values_against(border, at_border, behaviors).imbalance() == pytest.approx(0.0)
        # ... only P(G) = 1 is optimal at the root.
        assert root_regret(border, at_border, behaviors)[1].max() == pytest.approx(1 - good)


def test_proposition_10_holds_for_fully_mixed_ranges():
    """Convex combinations of optimal values are optimal: the LP face they span is convex."""
    border = make_border(paper_games.figure_2a(), 1)
    at_border = ranges(border, BehaviorPolicy.uniform(border.tree))
    first, second = np.array([0.5, 0.0]), np.array([0.0, 0.5])
    for weight in (0.0, 0.3, 1.0):
        wanted = weight * first + (1 - weight) * second
        # Player 1 plays L (0 in A, 1 in B) with the probability of the second.
        behaviors = border.bottoms_of(
            BehaviorPolicy.uniform(border.tree).replace(1, np.array([1, 1 - weight, weight]))
        )
        values = values_against(border, at_border, behaviors)
        np.testing.assert_allclose(values.counterfactual[0], wanted, atol=1e-12)
        assert values.imbalance() == pytest.approx(0.0)


def test_proposition_10_is_false_at_zero_ranges():
    tree = paper_games.nonconvex_at_zero_ranges()
    border = make_border(tree, 1)
    plays_a = BehaviorPolicy.uniform(tree).replace(0, np.array([1, 1, 0, 0, 0.5, 0.5]))
    at_border = ranges(border, plays_a)
    found = []
    for left in (0.0, 0.5, 1.0):
        behaviors = border.bottoms_of(plays_a.replace(1, np.array([1, left, 1 - left])))
        # Player 1 is indifferent: only history a counts, and it pays nothing. So his
        # behaviour is optimal, together with player 0's best guess.
        guess = behaviors[0].copy()
        guess[-2:] = [left >= 0.5, left < 0.5]
        best = values_against(border, at_border, (guess, behaviors[1]))
        found.append(best.counterfactual[0])
        np.testing.assert_allclose(found[-1], [0.0, max(left, 1 - left), left], atol=1e-12)
        assert best.imbalance() == pytest.approx(0.0)
        assert root_regret(border, at_border, (guess, behaviors[1]))[1].max() < 1e-12
    # The mean of the values at both ends would give b the value 1, but no y with y = .5 does.
    assert not np.allclose((found[0] + found[2]) / 2, found[1])
    with pytest.raises(ValueError, match="need not form an interval"):
        infoset_interval(border, at_border, 0, 1)


def test_proposition_11_infoset_values_depend_on_the_opponent_alone():
    tree = paper_games.figure_1()
    border = make_border(tree, 1)
    at_border = ranges(border, BehaviorPolicy.uniform(tree))
    found = []
    for own in (0.1, 0.5, 0.9):
        policy = BehaviorPolicy(tree, (np.array([1, own, 1 - own]), np.array([1, 0.3, 0.7])))
        behaviors = border.bottoms_of(policy)
        assert root_regret(border, at_border, behaviors)[0].max() < 1e-12  # all are in CROS
        values = PolicyValues(policy)
        found.append(values.infoset(0)[border.infosets[0]])
        np.testing.assert_allclose(
            found[-1], values_against(border, at_border, behaviors).expected[0], atol=1e-12
        )
        # Those of histories do depend on player 0.
        assert values.history(0)[border.nodes[0]] == pytest.approx(own - 0.3)
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    np.testing.assert_allclose(found[0], found[2], atol=1e-12)


def _values_of_first_history(reach, repaired):
    """Intervals of v(h_0), in payoffs divided as built, with and without the last history."""
    tree = paper_games.theorem_12(reach, repaired)
    border = make_border(tree, 1)
    intervals = []
    for last in (1.0, 0.0):
        of_one = np.ones(border.sizes[1])
        of_one[-1] = last
        at_border = Ranges.of(border, (np.ones(border.sizes[0]), of_one))
        interval = history_interval(border, at_border, 0, np.random.default_rng(0), starts=6)
        intervals.append(np.array(interval) * (reach[0] if repaired else 1.0))
    return intervals


def test_theorem_12_fails_as_literally_proved():
    with_last, without = _values_of_first_history((0.71, 0.42), repaired=False)
    np.testing.assert_allclose(without, [0.5, 0.5], atol=1e-8)
    np.testing.assert_allclose(with_last, without, atol=1e-8)


@pytest.mark.parametrize("last", [1, 3, 5])
def test_theorem_12_holds_once_payoffs_are_divided_by_the_range(last):
    reach = np.random.default_rng(last).uniform(0.1, 1.0, last + 1)
    with_last, without = _values_of_first_history(tuple(reach), repaired=True)
    np.testing.assert_allclose(without, [0.5, 0.5], atol=1e-8)
    np.testing.assert_allclose(with_last, [0.0, 0.5], atol=1e-8)


def test_tiny_ranges_are_no_different():
    border = border_of("kuhn")
    at_border = ranges(border, BehaviorPolicy.random(border.tree, np.random.default_rng(1)))
    tiny = Ranges.of(border, (1e-14 * at_border.reach[0], 1e-9 * at_border.reach[1]))
    expected = optimal_values(border, at_border).expected
    for p in (0, 1):
        np.testing.assert_allclose(optimal_values(border, tiny).expected[p], expected[p], atol=1e-9)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "kriegspiel"])
@pytest.mark.parametrize("played", [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_borders_that_nobody_plays_to_have_values(name, played):
    """Counterfactual values need only the opponent; expected ones are limits."""
    border = border_of(name)
    at_border = Ranges.of(border, tuple(np.full(border.sizes[p], played[p]) for p in (0, 1)))
    values = optimal_values(border, at_border)
    assert values.value == 0.0 and np.abs(values.imbalance()).max() < 1e-12
    assert max(regret.max() for regret in root_regret(border, at_border, values.behaviors)) < 1e-9
    for p in (0, 1):
        assert np.any(values.counterfactual[p] != 0.0) == (played[1 - p] > 0.0)
        assert np.all(np.isfinite(values.expected[p])) and np.abs(values.expected[p]).max() > 0.9


def test_ranges_of_another_border_are_refused():
    border = border_of("kuhn")
    other = make_border(border.tree, 3)
    with pytest.raises(ValueError, match="expected ranges at this border"):
        optimal_values(other, ranges(border, BehaviorPolicy.uniform(border.tree)))


def test_a_history_that_nobody_plays_to_has_no_interval():
    tree = paper_games.figure_2c()
    border = make_border(tree, 1)
    left = BehaviorPolicy.uniform(tree).replace(0, np.array([1.0, 1, 0]))
    with pytest.raises(ValueError, match="both players play to"):
        history_interval(border, ranges(border, left), 1, np.random.default_rng(0))


@pytest.mark.parametrize("depth", [1, 2])
def test_borders_of_chance_and_of_players_who_noticed_nothing(depth):
    """Right after the first deal player 1 is in the infoset of the root, which is thick."""
    border = make_border(tree_of("kuhn_poker"), depth)
    assert border.num_public_states == 1
    if depth == 1:
        assert border.infosets[1].tolist() == [0]
    values = optimal_values(border, ranges(border, BehaviorPolicy.uniform(border.tree)))
    assert values.value == pytest.approx(-1 / 18)
    assert values.imbalance() == pytest.approx(0.0)
