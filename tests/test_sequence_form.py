import gc
import weakref

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_spiel.python.algorithms import expected_game_score

from klss_spiel.openspiel import policy_to_pyspiel, tree_from_game, turn_based
from klss_spiel.sequence_form import (
    Treeplex,
    make_sequence_form,
    sequence_form_from_tree,
    treeplex_from_tree,
)
from klss_spiel.tree import CHANCE, NO_ACTION, NO_PARENT, TERMINAL
from klss_spiel.tree_builder import TreeBuilder
from tests.helpers.games import form_of, random_policy, tree_of

DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=random)"
GAMES = ["kuhn_poker", "liars_dice(dice_sides=3)", GOOFSPIEL, DARK_HEX, "python_n_matching_pennies"]

seeds = st.integers(0, 2**32 - 1)


def openspiel_score(name, policy):
    state = turn_based(pyspiel.load_game(name)).new_initial_state()
    tabular = policy_to_pyspiel(policy)
    return expected_game_score.policy_value(state, [tabular, tabular])[0]


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
@settings(max_examples=5)
def test_expected_value_is_openspiels_expected_game_score(name, seed):
    policy = random_policy(name, seed)
    value = form_of(name).expected_value(policy.realization_plans)
    assert value == pytest.approx(openspiel_score(name, policy), abs=1e-12)


def test_expected_value_of_leduc_is_openspiels():
    policy = random_policy("leduc_poker", 3)
    value = form_of("leduc_poker").expected_value(policy.realization_plans)
    assert value == pytest.approx(openspiel_score("leduc_poker", policy), abs=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_payoff_entries_are_distinct_and_sorted(name):
    form, tree = form_of(name), tree_of(name)
    place = form.row.astype(np.int64) * form.treeplexes[1].num_sequences + form.column
    assert np.all(np.diff(place) > 0)
    assert np.all(form.value != 0.0)
    assert form.num_entries <= len(tree.terminals)


def test_terminals_with_equal_sequences_share_an_entry():
    # Chance tosses a coin that nobody sees, player 0 says left or right.
    builder = TreeBuilder("unseen coin")
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("", ""))
    payoffs = ((4.0, 1.0), (8.0, -1.0))
    for outcome, chance in ((0, 0.25), (1, 0.75)):
        node = builder.add_node(root, outcome, 0, ("", ""), (0, 1), chance=chance)
        for action in (0, 1):
            utility = payoffs[outcome][action]
            builder.add_node(node, action, TERMINAL, (str(action), ""), utility=utility)
    form = sequence_form_from_tree(builder.build())
    assert form.row.tolist() == [1, 2]
    assert form.column.tolist() == [0, 0]
    # 0.25 * 4 + 0.75 * 8 and 0.25 * 1 - 0.75 * 1
    assert form.value.tolist() == [7.0, -0.5]


@given(seed=seeds)
def test_make_sequence_form_sums_equal_places_like_a_dense_matrix(seed):
    rng = np.random.default_rng(seed)
    treeplexes = form_of("kuhn_poker").treeplexes
    shape = (treeplexes[0].num_sequences, treeplexes[1].num_sequences)
    count = int(rng.integers(0, 400))
    row, column = (rng.integers(0, size, count).astype(np.int32) for size in shape)
    value = rng.standard_normal(count)
    dense = np.zeros(shape)
    np.add.at(dense, (row, column), value)
    form = make_sequence_form(treeplexes, row, column, value)
    assert form.num_entries == np.count_nonzero(dense)
    plans = (rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
    np.testing.assert_allclose(form.gradient(0, plans[1]), dense @ plans[1], atol=1e-12)
    np.testing.assert_allclose(form.gradient(1, plans[0]), -dense.T @ plans[0], atol=1e-12)
    assert form.expected_value(plans) == pytest.approx(plans[0] @ dense @ plans[1], abs=1e-10)


def test_payoffs_that_cancel_leave_no_entry():
    treeplexes = form_of("kuhn_poker").treeplexes
    row = np.array([3, 3, 1], dtype=np.int32)
    column = np.array([2, 2, 1], dtype=np.int32)
    form = make_sequence_form(treeplexes, row, column, np.array([1.5, -1.5, 2.0]))
    np.testing.assert_array_equal(form.row, [1])
    np.testing.assert_array_equal(form.value, [2.0])


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
def test_behavior_is_the_inverse_of_realization_plan(name, seed):
    policy = random_policy(name, seed)
    for player in (0, 1):
        treeplex = form_of(name).treeplexes[player]
        behavior = policy.probabilities[player]
        plan = treeplex.realization_plan(behavior)
        np.testing.assert_allclose(treeplex.behavior(plan), behavior, atol=1e-12)
        np.testing.assert_allclose(treeplex.realization_plan(treeplex.behavior(plan)), plan)


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
def test_realization_plans_satisfy_the_flow_equations(name, seed):
    policy = random_policy(name, seed)
    for player in (0, 1):
        treeplex = form_of(name).treeplexes[player]
        plan = policy.realization_plans[player]
        assert plan[0] == 1.0
        for i in range(treeplex.num_infosets):
            first, count = treeplex.first_sequence[i], treeplex.num_actions[i]
            own = plan[first : first + count].sum()
            assert own == pytest.approx(plan[treeplex.parent_sequence[i]], abs=1e-12)


def test_behavior_at_unreached_infosets_is_uniform_or_the_fallback():
    treeplex = form_of("liars_dice(dice_sides=3)").treeplexes[0]
    rng = np.random.default_rng(0)
    # A pure strategy: the first action of each infoset.
    behavior = np.zeros(treeplex.num_sequences)
    behavior[0] = 1.0
    behavior[treeplex.first_sequence] = 1.0
    plan = treeplex.realization_plan(behavior)
    reached = plan[treeplex.parent_sequence] > 0.0
    assert 0 < np.count_nonzero(reached) < treeplex.num_infosets
    of_sequence = np.concatenate([[True], reached[treeplex.sequence_infoset[1:]]])
    fallback = rng.random(treeplex.num_sequences)
    for given_fallback, expected in ((None, treeplex.uniform()), (fallback, fallback)):
        found = treeplex.behavior(plan, given_fallback)
        np.testing.assert_array_equal(found[of_sequence], behavior[of_sequence])
        np.testing.assert_array_equal(found[~of_sequence], expected[~of_sequence])


@pytest.mark.parametrize("name", GAMES)
def test_levels_hold_every_infoset_once_after_its_parents(name):
    for treeplex in form_of(name).treeplexes:
        infosets = np.concatenate([level.infosets for level in treeplex.levels])
        np.testing.assert_array_equal(np.sort(infosets), np.arange(treeplex.num_infosets))
        known = {0}
        for level in treeplex.levels:
            assert set(level.parents.tolist()) <= known
            ends = np.append(level.starts[1:], len(level.sequences))
            for i, infoset in enumerate(level.infosets):
                own = level.sequences[level.starts[i] : ends[i]]
                first = treeplex.first_sequence[infoset]
                assert own.tolist() == list(range(first, first + treeplex.num_actions[infoset]))
                assert set(level.owner[level.starts[i] : ends[i]].tolist()) == {i}
            known |= set(level.sequences.tolist())
        assert known == set(range(treeplex.num_sequences))


def test_infoset_level_counts_own_earlier_decisions():
    # A chain of three decisions, and one beside it.
    treeplex = Treeplex(
        parent_sequence=np.array([0, 2, 0, 4], dtype=np.int32),
        first_sequence=np.array([1, 3, 5, 7], dtype=np.int32),
        num_actions=np.full(4, 2, dtype=np.int32),
        num_sequences=9,
    )
    assert treeplex.infoset_level.tolist() == [0, 1, 0, 2]
    assert treeplex.sequence_infoset.tolist() == [-1, 0, 0, 1, 1, 2, 2, 3, 3]
    per_sequence = np.arange(9.0)
    assert treeplex.infoset_sums(per_sequence).tolist() == [3.0, 7.0, 11.0, 15.0]


def test_uniform_is_one_over_the_number_of_actions():
    treeplex = treeplex_from_tree(tree_of(DARK_HEX), 0)
    uniform = treeplex.uniform()
    assert uniform[0] == 1.0
    np.testing.assert_allclose(treeplex.infoset_sums(uniform), 1.0)
    for i in range(treeplex.num_infosets):
        first, count = treeplex.first_sequence[i], treeplex.num_actions[i]
        assert set(uniform[first : first + count].tolist()) == {1.0 / count}


def test_treeplexes_of_a_tree_are_kept_as_long_as_the_tree():
    tree = tree_from_game("kuhn_poker")
    assert treeplex_from_tree(tree, 0) is treeplex_from_tree(tree, 0)
    assert treeplex_from_tree(tree, 0) is not treeplex_from_tree(tree_of("kuhn_poker"), 0)
    treeplex = weakref.ref(treeplex_from_tree(tree, 0))
    del tree
    gc.collect()
    assert treeplex() is None
