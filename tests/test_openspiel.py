import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_spiel.python import policy as openspiel_policy

from klss_spiel.linear_program import solve
from klss_spiel.openspiel import (
    history_of,
    infoset_states,
    policy_from_openspiel,
    policy_table,
    policy_to_function,
    policy_to_openspiel,
    policy_to_pyspiel,
    tree_from_game,
    turn_based,
)
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import NO_ACTION, NO_PARENT, TERMINAL
from klss_spiel.tree_builder import TreeBuilder
from tests.helpers.games import game_of, random_policy, tree_of

GAMES = [
    "kuhn_poker",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "python_n_matching_pennies(n=5)",
]

seeds = st.integers(0, 2**32 - 1)


def assert_same(first, second):
    for player in (0, 1):
        np.testing.assert_array_equal(first.probabilities[player], second.probabilities[player])


ADAPTERS = {
    "python": lambda policy, name: policy_to_openspiel(policy, game_of(name)),
    "pyspiel": lambda policy, name: policy_to_pyspiel(policy),
    "function": lambda policy, name: policy_to_function(policy),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
@settings(max_examples=5)
def test_policies_survive_the_way_to_openspiel_and_back(name, adapter, seed):
    policy = random_policy(name, seed)
    theirs = ADAPTERS[adapter](policy, name)
    assert_same(policy_from_openspiel(tree_of(name), game_of(name), theirs), policy)


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
@settings(max_examples=5)
def test_openspiels_policies_survive_the_way_here_and_back(name, seed):
    game = turn_based(game_of(name))
    theirs = openspiel_policy.TabularPolicy(game)
    rng = np.random.default_rng(seed)
    array = rng.random(theirs.action_probability_array.shape) * theirs.legal_actions_mask
    theirs.action_probability_array[:] = array / array.sum(axis=1, keepdims=True)
    ours = policy_from_openspiel(tree_of(name), game_of(name), theirs)
    back = policy_to_openspiel(ours, game_of(name))
    assert back.state_lookup == theirs.state_lookup
    np.testing.assert_array_equal(back.action_probability_array, theirs.action_probability_array)


@pytest.mark.parametrize("name", GAMES)
def test_adapters_play_alike_in_every_state(name):
    policy = random_policy(name, 11)
    adapted = [adapt(policy, name) for adapt in ADAPTERS.values()]

    def walk(state):
        if state.is_terminal():
            return 0
        if state.is_chance_node():
            return sum(walk(state.child(action)) for action, _ in state.chance_outcomes())
        rows = [
            theirs(state) if callable(theirs) else theirs.action_probabilities(state)
            for theirs in adapted
        ]
        played = [{a: q for a, q in row.items() if q > 0.0} for row in rows]
        assert played[0] == played[1] == played[2]
        assert sorted(rows[2]) == state.legal_actions()
        return 1 + sum(walk(state.child(action)) for action in state.legal_actions())

    decisions = walk(turn_based(game_of(name)).new_initial_state())
    assert decisions == np.count_nonzero(tree_of(name).player >= 0)


def test_uniform_policies_of_openspiel_are_ours():
    for name in GAMES:
        uniform = BehaviorPolicy.uniform(tree_of(name))
        game = turn_based(game_of(name))
        for theirs in (pyspiel.UniformRandomPolicy(game), openspiel_policy.TabularPolicy(game)):
            assert_same(policy_from_openspiel(tree_of(name), name, theirs), uniform)


def test_a_callable_that_plays_an_illegal_action_is_refused():
    tree = tree_of("kuhn_poker")
    with pytest.raises(ValueError, match=r"plays \[7\] at .* legal actions are \[0, 1\]"):
        policy_from_openspiel(tree, "kuhn_poker", lambda state: {0: 0.5, 7: 0.5})
    # A zero for an illegal action is harmless, and an action left out is not played.
    policy = policy_from_openspiel(tree, "kuhn_poker", lambda state: {0: 1.0, 7: 0.0})
    assert set(policy.probabilities[0][1:].tolist()) == {0.0, 1.0}


def test_a_callable_whose_probabilities_do_not_sum_to_one_is_refused():
    with pytest.raises(ValueError, match=r"sum to 0\.5, expected 1"):
        policy_from_openspiel(tree_of("kuhn_poker"), "kuhn_poker", lambda state: {0: 0.5})


def test_what_is_not_a_policy_is_refused():
    with pytest.raises(ValueError, match=r"expected an OpenSpiel policy or a function.*got dict"):
        policy_from_openspiel(tree_of("kuhn_poker"), "kuhn_poker", {"0": 1.0})


def test_a_policy_of_another_game_is_refused():
    policy = random_policy("kuhn_poker", 0)
    with pytest.raises(ValueError, match="belongs to another game"):
        policy_to_openspiel(policy, "liars_dice(dice_sides=2)")
    play = policy_to_function(policy)
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(ValueError, match="player 0 has no information state"):
        play(state)


def test_strings_shared_by_both_players_are_refused():
    # Each player chooses once, and both are told nothing.
    builder = TreeBuilder("nameless")
    root = builder.add_node(NO_PARENT, NO_ACTION, 0, ("?", "?"), (0, 1))
    for first in (0, 1):
        node = builder.add_node(root, first, 1, (f"?{first}", "?"), (0, 1))
        for second in (0, 1):
            utility = float(first == second)
            builder.add_node(node, second, TERMINAL, (f"?{first}", f"?{second}"), utility=utility)
    policy = BehaviorPolicy.uniform(builder.build())
    with pytest.raises(ValueError, match="both players of nameless have an information state"):
        policy_table(policy)


@pytest.mark.parametrize("name", GAMES)
def test_infoset_states_are_in_their_infosets(name):
    tree = tree_of(name)
    seen = set()
    for player, infoset, state in infoset_states(tree, game_of(name)):
        assert state.current_player() == player
        assert state.information_state_string() == tree.infosets[player].labels[infoset]
        assert state.legal_actions() == tree.infosets[player].actions(infoset).tolist()
        seen.add((player, infoset))
    assert len(seen) == tree.num_decision_infosets


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
@settings(max_examples=5)
def test_histories_lead_to_their_nodes(name, seed):
    tree = tree_of(name)
    for node in np.random.default_rng(seed).integers(0, tree.num_nodes, 20):
        state = turn_based(game_of(name)).new_initial_state()
        probability = 1.0
        for action in history_of(tree, int(node)):
            if state.is_chance_node():
                probability *= dict(state.chance_outcomes())[action]
            state.apply_action(action)
        assert int(state.current_player()) == tree.player[node]
        assert probability == pytest.approx(tree.chance_reach[node], abs=1e-15)
        if state.is_terminal():
            assert state.returns()[0] == tree.utility[node]


def test_constant_sum_games_are_shifted_to_zero_sum():
    # Payoffs (3,1) (1,3) / (0,4) (2,2) sum to 4. Player 0 mixes (1/2, 1/2): 3/2 against
    # either column; the other mixes (1/4, 3/4): 3/2 for either row.
    game = pyspiel.create_matrix_game(
        "constant", "Constant", ["a", "b"], ["c", "d"], [[3, 1], [0, 2]], [[1, 3], [4, 2]]
    )
    tree = tree_from_game(game)
    assert tree.utility_offset == 2.0
    assert tree.utility[tree.terminals].tolist() == [1.0, -1.0, -2.0, 0.0]
    found = solve(sequence_form_from_tree(tree))
    assert found.value + tree.utility_offset == pytest.approx(1.5, abs=1e-12)
    np.testing.assert_allclose(found.plan, [1.0, 0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.opponent_plan, [1.0, 0.25, 0.75], atol=1e-12)
