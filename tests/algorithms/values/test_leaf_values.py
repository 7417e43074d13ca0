"""Value functions and continuation strategies at the leaves of the growing-tree search."""

import dataclasses

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame
from klss_spiel.algorithms.search.policy import policy_of_search, search_policy
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, ZS21, Iterate
from klss_spiel.algorithms.values.completion import decided_exploitability, trunk_exploitability
from klss_spiel.algorithms.values.continuations import pure_continuations
from klss_spiel.algorithms.values.cuts import make_border
from klss_spiel.algorithms.values.leaf_games import rest_of_game
from klss_spiel.algorithms.values.leaf_values import (
    Continuations,
    ForestValues,
    LeafValuedGame,
    continuations_from,
    search_exploitability,
)
from klss_spiel.algorithms.values.policy_values import PolicyValues
from klss_spiel.best_response import nash_conv
from klss_spiel.budget import Budget
from klss_spiel.evaluators import exact_evaluator
from klss_spiel.linear_program import equilibrium
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.search_game import Leaves
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import PLAYERS, TERMINAL
from tests.algorithms.values.games import DARK_CHESS, border_of
from tests.helpers.games import tree_of

AVERAGE = dataclasses.replace(OBSCURO, purification=False, play=Iterate.AVERAGE)


def _to_depth(game, depth, player=0, settings=AVERAGE):
    """A search from the start whose tree has all nodes down to a depth."""
    search = search_from_start(game, settings, player)
    for _ in range(depth):
        tree = search.tree
        count = tree.num_nodes
        leaf = (tree.nodes.first_child[:count] < 0) & (tree.nodes.player[:count] != TERMINAL)
        leaves = np.flatnonzero(leaf).astype(np.int32)
        children, values = search.children_of(
            tree.positions[leaves], tree.nodes.infoset_ids[leaves].T
        )
        tree.expand(leaves, children, values, best_child=False)
    return search


def _trunk_exploitability(search, tree, depth):
    border = make_border(tree, depth)
    policy = policy_of_search(search, tree, Iterate.AVERAGE)
    return trunk_exploitability(border, border.trunk_of(policy))


def _equilibrium(tree):
    return BehaviorPolicy(tree, equilibrium(sequence_form_from_tree(tree)).behaviors)


@pytest.mark.parametrize(
    ("name", "depth", "plain", "early", "late"),
    [("kuhn_poker", 3, 0.1, 0.02, 1e-4), ("leduc_poker", 4, 0.03, 0.2, 0.01)],
)
def test_values_given_ranges_solve_the_trunk_where_fixed_values_do_not(
    name, depth, plain, early, late
):
    tree = tree_of(name)
    game = pyspiel.load_game(name)
    for evaluated in (
        OpenSpielSearchGame(game),
        OpenSpielSearchGame(game, exact_evaluator(game)),
    ):
        search = _to_depth(evaluated, depth)
        search.iterate(100)
        assert _trunk_exploitability(search, tree, depth) > plain
    search = _to_depth(LeafValuedGame(game, tree=tree), depth)
    search.iterate(10)
    first = _trunk_exploitability(search, tree, depth)
    search.iterate(90)
    last = _trunk_exploitability(search, tree, depth)
    assert last < late < first < early


@pytest.mark.parametrize(("name", "golden"), [("kuhn", -7 / 36), ("leduc", -0.040429078)])
def test_the_rest_of_the_game_below_a_border_has_the_goldens_values(name, golden):
    """Where leaves are a border, the forest is its bottoms: unique values of a uniform trunk."""
    border = border_of(name)
    tree = border.tree
    forest = rest_of_game(tree, border.nodes, (border.node_infoset[0], border.node_infoset[1]))
    for p in PLAYERS:
        bottoms = border.bottom_part.form.treeplexes[p]
        assert forest.treeplexes[p].num_sequences == bottoms.num_sequences
        known = forest.origin[p][1 + border.sizes[p] :]
        np.testing.assert_array_equal(known, border.bottom_part.sequences[p][-len(known) :])
    game = LeafValuedGame(tree.name, tree=tree, first_updates=2000)
    values = ForestValues(game, 0)
    positions = np.empty(len(border.nodes), dtype=object)
    for i, node in enumerate(border.nodes):
        positions[i] = _State(tree, int(node))
    values.start(Leaves(positions, border.node_infoset.astype(np.uint64), border.chance_reach))
    reach = np.stack([border.uniform_reach[p][border.node_infoset[p]] for p in PLAYERS])
    found = game.utility_scale * values.values(reach)
    total = float((border.chance_reach * reach.prod(axis=0)) @ found)
    assert total == pytest.approx(golden, abs=2e-3)


@dataclasses.dataclass
class _State:
    """All that is asked of a state here: how play came to a node."""

    tree: object
    node: int

    def history(self):
        actions = []
        node = self.node
        while node:
            actions.append(int(self.tree.action[node]))
            node = int(self.tree.parent[node])
        return actions[::-1]


def test_one_continuation_is_the_evaluator_of_its_payoffs():
    """K = 1 leaves nothing to choose: both play on by the blueprint."""
    tree = tree_of("leduc_poker")
    policy = BehaviorPolicy.uniform(tree)
    pays = PolicyValues(policy).history(0)
    plain = LeafValuedGame("leduc_poker", tree=tree)
    scale = plain.utility_scale

    def evaluate(positions):
        return pays[plain.nodes_of(positions)] / scale

    strategies = tuple((policy.probabilities[p],) for p in PLAYERS)
    single = LeafValuedGame(
        "leduc_poker", Continuations(policy, strategies), evaluator=evaluate, tree=tree
    )
    searches = [
        _to_depth(game, 5) for game in (single, OpenSpielSearchGame("leduc_poker", evaluate))
    ]
    for search in searches:
        search.iterate(5)
    for p in PLAYERS:
        np.testing.assert_allclose(searches[0].behavior(p), searches[1].behavior(p), atol=1e-9)


@pytest.mark.parametrize(("kind", "value"), [("equilibrium", -1 / 18), ("uniform", -2 / 9)])
def test_all_pure_continuations_leave_what_the_own_blueprint_is_worth(kind, value):
    """The goldens of multi-valued states, found by the search."""
    border = border_of("kuhn")
    tree = border.tree
    blueprint = _equilibrium(tree) if kind == "equilibrium" else BehaviorPolicy.uniform(tree)
    trunk, bottoms = border.trunk_of(blueprint), border.bottoms_of(blueprint)
    every = tuple(
        border.join(trunk, (bottoms[0], continuation)).probabilities[1]
        for continuation in pure_continuations(border, 0)
    )
    chosen = Continuations(blueprint, ((blueprint.probabilities[0],), every))
    game = LeafValuedGame("kuhn_poker", chosen, tree=tree)
    search = _to_depth(game, 3)
    sums = 0.0
    for number in range(400):
        search.iterate()
        if number >= 200:
            sums += search.game.utility_scale * _value_of_current(search)
    assert sums / 200 == pytest.approx(value, abs=0.01)


def _value_of_current(search):
    """Player 0's payoff under the current strategies and leaf values."""
    tree = search.tree
    count = tree.num_nodes
    leaves = np.flatnonzero(tree.nodes.first_child[:count] < 0)
    pays = tree.nodes.weight[leaves] * tree.nodes.value[leaves]
    for p in PLAYERS:
        pays = pays * tree.sequences[p].plan[tree.nodes.sequence[leaves, p]]
    return float(pays.sum())


def test_trees_with_leaf_values_grow_by_whole_public_states():
    game = LeafValuedGame("leduc_poker", tree=tree_of("leduc_poker"))
    search = search_from_start(game, OBSCURO)
    search.run(Budget(nodes=300))
    nodes, count = search.tree.nodes, search.tree.num_nodes
    roots = 1 + search.tree.num_roots
    for p in PLAYERS:
        ids = nodes.infoset_ids[roots:count, p]
        unfinished = nodes.player[roots:count] != TERMINAL
        expanded = nodes.first_child[roots:count] >= 0
        assert not np.intersect1d(ids[unfinished & expanded], ids[unfinished & ~expanded]).size
    assert search.tree.num_leaves == int(
        np.sum((nodes.first_child[:count] < 0) & (nodes.player[:count] != TERMINAL))
    )


@pytest.mark.parametrize("forests", ["rest", "continuations"])
def test_a_search_with_leaf_values_decides_well_within_a_small_tree(forests):
    border = border_of("leduc")
    tree = border.tree
    chosen = continuations_from(border, _equilibrium(tree), 4) if forests != "rest" else None
    found = {}
    for name, game in (
        ("plain", OpenSpielSearchGame("leduc_poker")),
        ("valued", LeafValuedGame("leduc_poker", chosen, tree=tree)),
    ):
        search = search_from_start(game, OBSCURO)
        search.run(Budget(nodes=250))
        search.iterate(60)
        found[name] = search_exploitability(search, tree)
    assert found["valued"] < 0.02 < 0.1 < found["plain"]


def test_a_player_with_leaf_values_is_less_exploitable_than_with_the_plain_evaluator():
    """Searched at every decision of Kuhn poker; three seeds, few nodes."""
    tree = tree_of("kuhn_poker")
    games = OpenSpielSearchGame("kuhn_poker"), LeafValuedGame("kuhn_poker", tree=tree)

    def exploitability(game, nodes):
        policies = [
            search_policy("kuhn_poker", AVERAGE, Budget(nodes=nodes), seed, game, tree)
            for seed in range(3)
        ]
        return np.mean([nash_conv(policy) / 2.0 for policy in policies])

    few, more = exploitability(games[1], 30), exploitability(games[1], 100)
    assert more < few < 0.7 * exploitability(games[0], 30)


@pytest.mark.parametrize(("settings", "rounds"), [(OBSCURO, 4), (ZS21, 3)])
def test_values_are_asked_for_before_every_iteration_and_every_exact_equilibrium(settings, rounds):
    asked, told = [], []

    class Counting(OpenSpielSearchGame):
        def leaf_values(self, player):
            return _Answers(lambda reach: asked.append(reach) or np.zeros(reach.shape[1]), told)

    search_from_start(Counting("leduc_poker"), settings).run(Budget(iterations=rounds))
    assert len(asked) == rounds
    # The tree grows between them.
    sizes = [len(leaves.position) for leaves in told]
    assert sizes == [reach.shape[1] for reach in asked] == sorted(set(sizes))


@pytest.mark.slow
def test_dark_chess_has_leaf_values():
    tree = tree_of(DARK_CHESS)
    search = _to_depth(LeafValuedGame(DARK_CHESS, tree=tree), 2)
    search.iterate(30)
    assert _trunk_exploitability(search, tree, 2) < 0.01


def test_games_without_known_public_states_are_refused():
    with pytest.raises(ValueError, match=r"whose public states are known; .*cannot be enumerated"):
        LeafValuedGame("leduc_poker", max_nodes=100)
    with pytest.raises(ValueError, match=r"expected the tree of leduc_poker.*got that of kuhn"):
        LeafValuedGame("leduc_poker", tree=tree_of("kuhn_poker"))
    with pytest.raises(ValueError, match="at least 1 update"):
        LeafValuedGame("kuhn_poker", updates=0)


def test_bad_continuations_are_refused():
    tree = tree_of("kuhn_poker")
    policy = BehaviorPolicy.uniform(tree)
    with pytest.raises(ValueError, match="at least one continuation of player 1"):
        Continuations(policy, ((policy.probabilities[0],), ()))
    other = BehaviorPolicy.uniform(tree_of("leduc_poker"))
    strategies = tuple((other.probabilities[p],) for p in PLAYERS)
    search = _to_depth(LeafValuedGame("kuhn_poker", Continuations(other, strategies)), 1)
    with pytest.raises(ValueError, match="blueprint on the tree of kuhn_poker"):
        search.iterate()


def test_nested_leaves_are_refused():
    with pytest.raises(ValueError, match="none lies below another"):
        rest_of_game(tree_of("kuhn_poker"), np.array([0, 1]), (np.zeros(2, int), np.zeros(2, int)))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda reach: np.full(reach.shape[1], np.nan), "expected numbers as leaf values"),
        (lambda reach: np.zeros(reach.shape[1] + 1), "expected values of 1 leaves"),
    ],
)
def test_bad_leaf_values_are_refused(answer, message):
    class Bad(OpenSpielSearchGame):
        def leaf_values(self, player):
            return _Answers(answer)

    with pytest.raises(ValueError, match=message):
        search_from_start(Bad("kuhn_poker"), OBSCURO).iterate()


class _Answers:
    def __init__(self, answer, told=None):
        self.values = answer
        self._told = [] if told is None else told

    def start(self, leaves):
        self._told.append(leaves)


def test_values_need_leaves():
    with pytest.raises(ValueError, match="before their ranges"):
        LeafValuedGame("kuhn_poker").leaf_values(0).values(np.ones((2, 1)))


def test_decided_exploitability_is_that_of_the_policy_once_all_is_decided():
    tree = tree_of("kuhn_poker")
    policy = BehaviorPolicy.uniform(tree)
    total = 0.0
    for p in PLAYERS:
        everything = np.ones(tree.infosets[p].num_sequences, dtype=bool)
        nothing = np.zeros_like(everything)
        assert decided_exploitability(policy, p, nothing) == pytest.approx(0.0, abs=1e-9)
        total += decided_exploitability(policy, p, everything)
    assert total == pytest.approx(nash_conv(policy), abs=1e-9)
    with pytest.raises(ValueError, match="which are decided"):
        decided_exploitability(policy, 0, np.ones(2, dtype=bool))
