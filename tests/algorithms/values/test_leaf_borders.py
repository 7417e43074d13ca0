"""Value functions of a border, networks among them, at the leaves of the growing-tree search."""

import dataclasses

import numpy as np
import pytest

from klss_spiel.algorithms.search.policy import policy_of_search, search_policy
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, Iterate
from klss_spiel.algorithms.values.bottoms import Bottoms, LinearValues
from klss_spiel.algorithms.values.completion import trunk_exploitability
from klss_spiel.algorithms.values.cuts import make_border
from klss_spiel.algorithms.values.depth_limited import RecordedValues, solve_trunk
from klss_spiel.algorithms.values.leaf_borders import HistoryValues
from klss_spiel.algorithms.values.leaf_games import rest_of_game
from klss_spiel.algorithms.values.leaf_values import LeafValuedGame, ValuedBorder
from klss_spiel.algorithms.values.networks import load_network
from klss_spiel.algorithms.values.optimal import optimal_values
from klss_spiel.algorithms.values.ranges import Ranges, ranges
from klss_spiel.best_response import nash_conv
from klss_spiel.budget import Budget
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run.value_domains import cut_domain
from klss_spiel.tree import PLAYERS, TERMINAL
from tests.algorithms.values.games import border_of
from tests.helpers.games import tree_of

AVERAGE = dataclasses.replace(OBSCURO, purification=False, play=Iterate.AVERAGE)


def _down_to(game, border, depth=99):
    """A search from the start whose tree is the trunk of a border, or its first plies."""
    search = search_from_start(game, AVERAGE)
    for _ in range(depth):
        tree = search.tree
        nodes = tree.nodes
        leaves = np.flatnonzero(_is_leaf(search)).astype(np.int32)
        leaves = leaves[border.trunk[game.nodes_of(tree.positions[leaves])]]
        if len(leaves):
            children, values = search.children_of(
                tree.positions[leaves], nodes.infoset_ids[leaves].T
            )
            tree.expand(leaves, children, values, best_child=False)
    return search


def _is_leaf(search):
    nodes, count = search.tree.nodes, search.tree.num_nodes
    return (nodes.first_child[:count] < 0) & (nodes.player[:count] != TERMINAL)


def _sums(border, nodes, reach, pays):
    """For each player, what payoffs of border nodes add up to at the border infosets."""
    sums = []
    for p in PLAYERS:
        weight = border.chance_reach[nodes] * reach[1 - p][border.node_infoset[1 - p, nodes]]
        own = pays if p == 0 else -pays
        sums.append(np.bincount(border.node_infoset[p, nodes], weight * own, border.sizes[p]))
    return sums


@pytest.mark.parametrize("name", ["kuhn", "leduc", "dark_2", "kriegspiel"])
def test_payoffs_of_histories_add_up_to_optimal_values(name):
    border = border_of(name)
    rng = np.random.default_rng(3)
    reach = ranges(border, BehaviorPolicy.random(border.tree, rng)).reach
    values = optimal_values(border, Ranges.of(border, reach)).counterfactual
    nodes = np.arange(len(border.nodes))
    pays = HistoryValues(border, nodes)(reach, values)
    for p, sums in enumerate(_sums(border, nodes, reach, pays)):
        np.testing.assert_allclose(sums, values[p], atol=1e-9)


def test_payoffs_of_histories_add_up_where_ranges_are_zero():
    """An infoset that its owner does not play to has a value all the same."""
    border = border_of("kuhn")
    reach = np.array([1.0, 0.0, 0.4, 0.6, 0.0, 1.0]), np.full(6, 0.5)
    values = optimal_values(border, Ranges.of(border, reach)).counterfactual
    nodes = np.arange(len(border.nodes))
    pays = HistoryValues(border, nodes)(reach, values)
    sums = _sums(border, nodes, reach, pays)
    np.testing.assert_allclose(sums[0], values[0], atol=1e-9)
    assert values[0][1] != 0.0


@pytest.mark.parametrize(("name", "error"), [("leduc", 1e-6), ("dark_2", 0.02)])
def test_a_tree_that_is_the_trunk_asks_and_gets_what_the_network_says(name, error):
    """To the bit where all of a public state is connected, which the boards' are not."""
    border = cut_domain(name).border
    network = RecordedValues(load_network(f"values_{name}", border))
    game = LeafValuedGame(border.tree.name, ValuedBorder(border, network), tree=border.tree)
    search = _down_to(game, border)
    search.iterate(3)
    assert len(network.questions) == 3  # nothing is left to choose between leaves and border
    search = _down_to(game, border)
    search.iterate()
    asked, answer = network.questions[-1], network.answers[-1]
    tree = search.tree
    leaves = np.flatnonzero(_is_leaf(search))
    of_border = np.full(border.tree.num_nodes, -1)
    of_border[border.nodes] = np.arange(len(border.nodes))
    nodes = of_border[game.nodes_of(tree.positions[leaves])]
    assert sorted(nodes) == list(range(len(border.nodes)))
    pays = game.utility_scale * tree.nodes.value[leaves]
    for p, sums in enumerate(_sums(border, nodes, asked, pays)):
        np.testing.assert_allclose(sums, answer[p], atol=error)


@pytest.mark.parametrize(("name", "good"), [("leduc", 0.03), ("dark_2", 1e-4)])
def test_a_search_with_a_network_makes_trunks_as_cfr_d_does_with_it(name, good):
    border = cut_domain(name).border
    network = load_network(f"values_{name}", border)
    game = LeafValuedGame(border.tree.name, ValuedBorder(border, network), tree=border.tree)
    search = _down_to(game, border)
    search.iterate(500)
    policy = policy_of_search(search, border.tree, Iterate.AVERAGE)
    found = trunk_exploitability(border, border.trunk_of(policy))
    by_cfr_d = solve_trunk(border, network, 500).average_behavior
    assert found < 3.0 * trunk_exploitability(border, by_cfr_d) < good


def test_leaves_above_the_border_get_there_by_strategies_of_their_own():
    """Kuhn poker: the deal is the tree, the value function is a decision below."""
    border = border_of("kuhn")
    game = LeafValuedGame(
        "kuhn_poker", ValuedBorder(border, Bottoms(border, 5, warm=True)), tree=border.tree
    )
    search = _down_to(game, border, depth=2)
    assert np.all(
        border.trunk[game.nodes_of(search.tree.positions[np.flatnonzero(_is_leaf(search))])]
    )
    search.iterate(300)
    tree = search.tree
    leaves = np.flatnonzero(tree.nodes.first_child[: tree.num_nodes] < 0)
    pays = tree.nodes.weight[leaves] * tree.nodes.value[leaves]
    for p in PLAYERS:
        pays = pays * tree.sequences[p].plan[tree.nodes.sequence[leaves, p]]
    assert game.utility_scale * pays.sum() == pytest.approx(-1 / 18, abs=0.02)


def _forest(border, nodes, weight=None):
    tree = border.tree
    roots = tuple(np.unique(tree.infoset[p, nodes], return_inverse=True)[1] for p in PLAYERS)
    values = ValuedBorder(border, LinearValues(border))
    weight = tree.chance_reach[nodes] if weight is None else weight
    return values.forest(tree, 0, nodes, roots, weight), rest_of_game(tree, nodes, roots)


def test_what_the_border_does_not_know_is_played_out():
    border = border_of("kuhn")
    tree = border.tree
    known, rest = _forest(border, border.nodes)
    assert len(known.asked.nodes) == len(border.nodes) and len(known.payoff) == 0 < len(rest.payoff)
    # One public state of two has been left behind.
    below = border.public_state == 1
    children = np.flatnonzero(np.isin(tree.parent, border.nodes[~below]))
    children = children[(children > 0) & (tree.player[children] != TERMINAL)]
    half, _ = _forest(border, np.concatenate([border.nodes[below], children]))
    assert sorted(half.asked.nodes) == list(np.flatnonzero(below))
    # Positions that were sampled, one by one or with other probabilities.
    for nodes, weight in (
        (border.nodes[::5], None),
        (border.nodes, 2.0 * border.chance_reach),
    ):
        forest, rest = _forest(border, nodes, weight)
        assert forest.asked is None
        np.testing.assert_array_equal(forest.payoff, rest.payoff)


def test_a_player_searches_anew_at_decisions_above_and_below_the_border():
    border = border_of("kuhn")
    game = LeafValuedGame("kuhn_poker", ValuedBorder(border, Bottoms(border, 20)), tree=border.tree)
    policy = search_policy("kuhn_poker", AVERAGE, Budget(nodes=40), 0, game, border.tree)
    assert nash_conv(policy) / 2.0 < 0.2


def test_bad_value_functions_are_refused():
    border = border_of("kuhn")
    other = make_border(tree_of("leduc_poker"), 3)
    for valued, message in (
        (ValuedBorder(other, LinearValues(other)), "border of the tree of kuhn_poker"),
        (ValuedBorder(border, lambda r: (r[0] * np.nan, r[1])), "expected finite values"),
        (ValuedBorder(border, lambda r: (r[0][:2], r[1])), r"expected values of shape \(6,\)"),
    ):
        game = LeafValuedGame("kuhn_poker", valued, tree=border.tree)
        with pytest.raises(ValueError, match=message):
            _down_to(game, border).iterate()
