"""Cuts: what lies at the border, and which cuts are refused."""

import numpy as np
import pytest

from klss_spiel.algorithms.knowledge import infoset_hypergraph
from klss_spiel.algorithms.values.cuts import (
    cut_after_rounds,
    cut_after_turns,
    cut_at_depth,
    make_border,
)
from klss_spiel.best_response import nash_conv
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import CHANCE, TERMINAL
from tests.algorithms.values import paper_games
from tests.algorithms.values.games import KRIEGSPIEL, border_of, tree_of


@pytest.mark.parametrize(
    ("name", "nodes", "infosets", "states"),
    [
        ("kuhn", 12, (6, 6), 2),
        ("leduc", 150, (30, 30), 5),
        ("dark_2", 26, (25, 18), 17),
        ("dark_4", 1011, (804, 679), 554),
        ("kriegspiel", 12, (7, 6), 3),
    ],
)
def test_sizes_of_borders(name, nodes, infosets, states):
    border = border_of(name)
    assert (len(border.nodes), border.sizes, border.num_public_states) == (nodes, infosets, states)


def test_border_nodes_are_the_first_nonterminals_below_the_trunk():
    border = border_of("dark_2")
    tree = border.tree
    expected = [
        node
        for node in range(tree.level_start[2], tree.level_start[3])
        if tree.player[node] != TERMINAL
    ]
    assert border.nodes.tolist() == expected
    for node in (border.nodes[0], border.nodes[-1], tree.num_nodes - 1):
        above = node
        while border.root[node] >= 0 and above not in border.nodes:
            above = tree.parent[above]
        assert border.root[node] < 0 or border.nodes[border.root[node]] == above


@pytest.mark.parametrize("name", ["kuhn", "leduc", "kriegspiel"])
def test_trunk_and_bottoms_add_up_to_the_game(name):
    border = border_of(name)
    policy = BehaviorPolicy.random(border.tree, np.random.default_rng(1))
    trunk, bottoms = border.trunk_of(policy), border.bottoms_of(policy)
    joined = border.join(trunk, bottoms)
    for p in (0, 1):
        np.testing.assert_array_equal(joined.probabilities[p], policy.probabilities[p])
    trunk_plans = [border.trunk_part.form.treeplexes[p].realization_plan(trunk[p]) for p in (0, 1)]
    reach = [trunk_plans[p][border.trunk_sequence[p]] for p in (0, 1)]
    bottom_plans = [border.root_plan(p, bottoms[p], reach[p]) for p in (0, 1)]
    value = border.trunk_part.form.expected_value(tuple(trunk_plans))
    value += border.bottom_part.form.expected_value(tuple(bottom_plans))
    whole = sequence_form_from_tree(border.tree).expected_value(policy.realization_plans)
    assert value == pytest.approx(whole, abs=1e-12)
    assert nash_conv(joined) > 0


def test_public_states_are_common_knowledge_or_coarser():
    border = border_of("dark_2")
    mask = np.zeros(border.tree.num_nodes, dtype=bool)
    mask[border.nodes] = True
    component = infoset_hypergraph(border.tree, nodes=mask).component
    np.testing.assert_array_equal(border.public_state, component[border.nodes])
    coarse = make_border(border.tree, 2, np.zeros(border.tree.num_nodes, dtype=int))
    assert coarse.num_public_states == 1
    with pytest.raises(ValueError, match="tells more than player 0 knows"):
        make_border(border.tree, 2, np.arange(border.tree.num_nodes))
    with pytest.raises(ValueError, match="public label for each of"):
        make_border(border.tree, 2, np.zeros(3, dtype=int))


def test_rounds_end_where_chance_deals():
    border = border_of("leduc")
    assert np.all(border.tree.player[border.nodes] == CHANCE)
    with pytest.raises(ValueError, match="at most 1 rounds"):
        cut_after_rounds(border.tree, 2)
    with pytest.raises(ValueError, match="at least 1"):
        cut_after_rounds(border.tree, 0)


def test_turns_are_plies_in_kriegspiel():
    tree = tree_of(KRIEGSPIEL)
    border = border_of("kriegspiel")
    # White has tried illegal moves before some of the border nodes.
    depth = np.searchsorted(tree.level_start, border.nodes, side="right") - 1
    assert depth.min() == 2 and depth.max() > 2
    assert np.all(tree.player[border.nodes] == 0)
    with pytest.raises(ValueError, match="follows two border infosets"):
        make_border(tree, 2)
    with pytest.raises(ValueError, match="splits a decision of player 1"):
        make_border(tree, 4)
    with pytest.raises(ValueError, match="at least 1"):
        cut_after_turns(tree, 0)
    with pytest.raises(ValueError, match="turns to cut"):
        cut_after_turns(tree, 7)


def test_cuts_that_are_none_are_refused():
    tree = tree_of("kuhn_poker")
    for depth in (0, 6):
        with pytest.raises(ValueError, match="depth from 1 to 5"):
            make_border(tree, depth)
    mask = cut_at_depth(tree, 3)
    with pytest.raises(ValueError, match="contains the root"):
        make_border(tree, np.zeros_like(mask))
    with pytest.raises(ValueError, match="boolean mask of shape"):
        make_border(tree, mask[:-1])
    with pytest.raises(ValueError, match="boolean mask"):
        make_border(tree, mask.astype(int))
    holed = mask.copy()
    holed[1] = False
    with pytest.raises(ValueError, match="parents of its nodes"):
        make_border(tree, holed)
    with pytest.raises(ValueError, match="no border"):
        make_border(tree, np.ones_like(mask))
    split = mask.copy()
    split[tree.level_start[2]] = False
    with pytest.raises(ValueError, match="splits a decision of player 0"):
        make_border(tree, split)


def test_another_games_policy_is_refused():
    border = make_border(paper_games.figure_2c(), 1)
    with pytest.raises(ValueError, match="another tree"):
        border.trunk_of(BehaviorPolicy.uniform(paper_games.figure_2c()))
