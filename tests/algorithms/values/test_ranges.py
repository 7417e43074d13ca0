"""Ranges in all forms of proposition 4, and values of policies (section 3)."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score

from klss_spiel.algorithms.values.cuts import make_border
from klss_spiel.algorithms.values.policy_values import PolicyValues, edge_probabilities
from klss_spiel.algorithms.values.ranges import (
    Ranges,
    ranges,
    reach_from_histories,
    trunk_ranges,
)
from klss_spiel.best_response import policy_values
from klss_spiel.openspiel import policy_to_pyspiel
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.algorithms.values import paper_games
from tests.algorithms.values.games import border_of, tree_of


def _random(name, seed=0):
    border = border_of(name)
    policy = BehaviorPolicy.random(border.tree, np.random.default_rng(seed))
    return border, policy, ranges(border, policy)


def _noisy(policy, noise):
    """The paper's noisy version of a policy (appendix A.1)."""
    uniform = BehaviorPolicy.uniform(policy.tree)
    mixed = [
        (1 - noise) * policy.probabilities[p] + noise * uniform.probabilities[p] for p in (0, 1)
    ]
    return BehaviorPolicy(policy.tree, tuple(mixed))


@pytest.mark.parametrize("name", ["kuhn", "leduc", "kriegspiel"])
def test_proposition_4_forms_agree(name):
    border, policy, at_border = _random(name)
    for p in (0, 1):
        own = policy.reach(p)[border.nodes]  # walks the tree, not the trunk
        np.testing.assert_allclose(at_border.history_reach(p), own)
        np.testing.assert_allclose(
            reach_from_histories(border, p, at_border.history_reach(p)), at_border.reach[p]
        )
        np.testing.assert_array_equal(at_border.separated(p)[1], border.chance_reach)
        other = policy.reach(1 - p)[border.nodes] * border.tree.chance_reach[border.nodes]
        for j in range(border.sizes[p]):
            inside = border.node_infoset[p] == j
            assert at_border.counterfactual_reach(p)[j] == pytest.approx(other[inside].sum())
            np.testing.assert_allclose(
                at_border.conditional(p)[inside], other[inside] / other[inside].sum()
            )
    joint = at_border.joint
    assert joint.sum() <= 1 + 1e-12
    np.testing.assert_allclose(
        joint, border.chance_reach * at_border.history_reach(0) * at_border.history_reach(1)
    )


def test_line_5_does_not_determine_line_1():
    border, _, at_border = _random("kuhn")
    half = Ranges.of(border, (at_border.reach[0] / 2, at_border.reach[1]))
    np.testing.assert_allclose(half.conditional(1), at_border.conditional(1))
    assert not np.allclose(half.reach[0], at_border.reach[0])


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_conditional_probabilities_are_limits_of_noise(name):
    border = border_of(name)
    policy = paper_games.sparse_policy(border.tree, np.random.default_rng(5))
    exact = ranges(border, policy)
    assert not exact.fully_mixed
    near = ranges(border, _noisy(policy, 1e-7))
    assert near.fully_mixed
    for p in (0, 1):
        np.testing.assert_allclose(exact.conditional(p), near.conditional(p), atol=1e-4)
        leading = exact.weight[p] * 1e-7 ** exact.order[p]
        np.testing.assert_allclose(leading / near.reach[p], 1.0, atol=1e-3)


def test_remark_16_is_false_when_histories_need_different_numbers_of_trembles():
    tree = paper_games.different_trembles()
    uniform = BehaviorPolicy.uniform(tree)
    ends = uniform.replace(1, np.array([1.0, 1, 0, 0, 1, 0]))
    mask = np.isin(np.arange(tree.num_nodes), [0, int(np.flatnonzero(tree.player == 1)[1])])
    border = make_border(tree, mask)
    assert len(border.nodes) == 2 and border.sizes[0] == 1
    # Player 1 plays to neither history. Uniform play would come to the far one in a third
    # of the cases (1/3 against 1/6), but it needs two trembles and the near one only one.
    np.testing.assert_allclose(ranges(border, uniform).conditional(0), [2 / 3, 1 / 3])
    np.testing.assert_allclose(ranges(border, ends).conditional(0), [1.0, 0.0])
    infoset = border.infosets[0][0]
    assert PolicyValues(ends).infoset(0)[infoset] == 1.0  # not 1 * 2/3 + 3 * 1/3


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_values_of_actions_are_those_of_the_sequence_form(game):
    tree = tree_of(game)
    policy = BehaviorPolicy.random(tree, np.random.default_rng(2))
    form = sequence_form_from_tree(tree)
    of_policy = PolicyValues(policy)
    for p in (0, 1):
        gradient = form.gradient(p, policy.realization_plans[1 - p])
        expected = policy_values(form.treeplexes[p], gradient, policy.probabilities[p])
        np.testing.assert_allclose(of_policy.counterfactual_action(p), expected, atol=1e-12)


def test_value_of_the_root_is_openspiels():
    tree = tree_of("kuhn_poker")
    policy = BehaviorPolicy.random(tree, np.random.default_rng(3))
    game = pyspiel.load_game("kuhn_poker")
    returns = expected_game_score.policy_value(
        game.new_initial_state(), [policy_to_pyspiel(policy)] * 2
    )
    of_policy = PolicyValues(policy)
    for p in (0, 1):
        assert of_policy.history(p)[0] == pytest.approx(returns[p])
        assert of_policy.counterfactual_infoset(p)[0] == pytest.approx(returns[p])
        assert of_policy.infoset(p)[0] == pytest.approx(returns[p])


@pytest.mark.parametrize("sparse", [False, True])
def test_infoset_values_average_histories_and_actions(sparse):
    """V(I) = sum of sigma(a) Q(I, a), V_c = reach * V, and v(h) from its children."""
    tree = tree_of("leduc_poker")
    rng = np.random.default_rng(4)
    policy = paper_games.sparse_policy(tree, rng) if sparse else BehaviorPolicy.random(tree, rng)
    of_policy = PolicyValues(policy)
    edge = edge_probabilities(tree, policy)
    for p in (0, 1):
        decisions = tree.infosets[p].decisions
        form = sequence_form_from_tree(tree).treeplexes[p]
        for infoset, action in (
            (of_policy.infoset(p), of_policy.action(p)),
            (of_policy.counterfactual_infoset(p), of_policy.counterfactual_action(p)),
        ):
            averaged = form.infoset_sums(policy.probabilities[p] * action)
            np.testing.assert_allclose(infoset[decisions], averaged, atol=1e-12)
        values = of_policy.history(p)
        inner = np.flatnonzero(tree.num_children)[:50]
        for node in inner:
            children = slice(
                tree.first_child[node], tree.first_child[node] + tree.num_children[node]
            )
            assert values[node] == pytest.approx(edge[children] @ values[children])
        low, high = values[tree.terminals].min(), values[tree.terminals].max()
        assert np.all(
            (of_policy.infoset(p) >= low - 1e-12) & (of_policy.infoset(p) <= high + 1e-12)
        )


def test_wrong_ranges_are_refused():
    border = border_of("kuhn")
    good = np.ones(6)
    for bad, message in (
        (np.ones(5), "shape"),
        (np.full(6, np.nan), "finite"),
        (-good, "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            Ranges.of(border, (good, bad))
    with pytest.raises(ValueError, match="two players"):
        Ranges.of(border, (good,))
    with pytest.raises(ValueError, match="in the trunk"):
        trunk_ranges(border, (good, good))
    with pytest.raises(ValueError, match="trembles exactly where"):
        Ranges(border, (0 * good, good), (0 * good, 0 * good), (good, good))
    with pytest.raises(ValueError, match="12 border nodes"):
        reach_from_histories(border, 0, good)
    with pytest.raises(ValueError, match="different own reach"):
        reach_from_histories(border, 0, np.arange(12.0))
