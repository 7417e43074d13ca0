import dataclasses
import itertools

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_spiel.python.algorithms import best_response as openspiel_best_response

from klss_spiel import linear_program
from klss_spiel.best_response import (
    best_response_to,
    best_response_values,
    exploitability,
    loss_of_player,
    nash_conv,
    policy_values,
)
from klss_spiel.openspiel import policy_to_openspiel, policy_to_pyspiel, tree_from_game
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.helpers.games import form_of, game_of, random_policy, tree_of

SMALL = [
    "kuhn_poker",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3,imp_info=True,points_order=random)",
    "goofspiel(num_cards=4,imp_info=True,points_order=ascending,returns_type=win_loss)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "dark_hex(num_rows=2,num_cols=2)",
    "python_n_matching_pennies(n=10)",
]
LARGE = [
    "leduc_poker",
    "liars_dice(dice_sides=5)",
    "goofspiel(num_cards=4,imp_info=True,points_order=random,returns_type=win_loss)",
]

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", SMALL)
@given(seed=seeds)
@settings(max_examples=10)
def test_nash_conv_and_exploitability_are_openspiels(name, seed):
    policy = random_policy(name, seed)
    tabular = policy_to_pyspiel(policy)
    expected = pyspiel.nash_conv(game_of(name), tabular)
    assert expected > 1e-3  # a random policy is far from an equilibrium
    assert nash_conv(policy) == pytest.approx(expected, abs=1e-9)
    assert nash_conv(policy, form_of(name)) == nash_conv(policy)
    expected = pyspiel.exploitability(game_of(name), tabular)
    assert exploitability(policy, form_of(name)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", LARGE)
@given(seed=seeds)
@settings(max_examples=2)
def test_nash_conv_of_larger_games_is_openspiels(name, seed):
    policy = random_policy(name, seed)
    expected = pyspiel.nash_conv(game_of(name), policy_to_pyspiel(policy))
    assert nash_conv(policy, form_of(name)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", SMALL)
@given(seed=seeds)
@settings(max_examples=10)
def test_best_response_is_a_strategy_that_attains_its_value(name, seed):
    form = form_of(name)
    policy = random_policy(name, seed)
    values = best_response_values(form, policy.realization_plans)
    for player in (0, 1):
        response = best_response_to(form, player, policy.realization_plans[1 - player])
        assert response.value == pytest.approx(values[player], abs=1e-12)
        assert set(response.behavior.tolist()) <= {0.0, 1.0}
        replaced = policy.replace(player, response.behavior)  # sums to one
        sign = 1.0 if player == 0 else -1.0
        attained = sign * form.expected_value(replaced.realization_plans)
        assert attained == pytest.approx(response.value, abs=1e-12)


def walk(state, policies, player, chance_and_opponent=1.0, own=()):
    """Yields (reach of chance and opponent, own (infoset, action) pairs, own payoff)."""
    if state.is_terminal():
        yield chance_and_opponent, own, state.returns()[player]
        return
    if state.is_chance_node():
        moves = state.chance_outcomes()
    elif state.current_player() == player:
        infoset = state.information_state_string()
        for action in state.legal_actions():
            after = (*own, (infoset, action))
            yield from walk(state.child(action), policies, player, chance_and_opponent, after)
        return
    else:
        moves = policies.action_probabilities(state).items()
    for action, q in moves:
        yield from walk(state.child(action), policies, player, chance_and_opponent * q, own)


@pytest.mark.parametrize("player", [0, 1])
@given(seed=seeds)
@settings(max_examples=5)
def test_counterfactual_values_are_those_of_the_best_of_all_pure_strategies(player, seed):
    # Kuhn poker: 6 infosets of 2 actions, 64 pure strategies of each player. The value of
    # an infoset's action is the best, over pure strategies of what comes later, of the
    # payoffs weighted with the reach of chance and opponent.
    name = "kuhn_poker"
    tree, form = tree_of(name), form_of(name)
    policy = random_policy(name, seed)
    paths = list(walk(game_of(name).new_initial_state(), policy_to_pyspiel(policy), player=player))
    infosets = tree.infosets[player]
    labels = [infosets.labels[i] for i in infosets.decisions]
    best = {}
    for choice in itertools.product((0, 1), repeat=len(labels)):
        strategy = dict(zip(labels, choice, strict=True))
        values = {}
        for reach, own, payoff in paths:
            # Reached if the strategy plays all own moves that come after the pair.
            for i, pair in enumerate(own):
                if all(strategy[infoset] == action for infoset, action in own[i + 1 :]):
                    values[pair] = values.get(pair, 0.0) + reach * payoff
        for pair, value in values.items():
            best[pair] = max(best.get(pair, -np.inf), value)
    response = best_response_to(form, player, policy.realization_plans[1 - player])
    for i, infoset in enumerate(infosets.decisions):
        label = infosets.labels[infoset]
        sequences = infosets.sequences(infoset)
        expected = [best[label, int(action)] for action in infosets.actions(infoset)]
        np.testing.assert_allclose(response.sequence_values[sequences], expected, atol=1e-12)
        assert response.infoset_values[i] == pytest.approx(max(expected), abs=1e-12)
        # Ties go to the first action, so the argmax is the action played.
        played = response.behavior[sequences]
        assert played.tolist().index(1.0) == int(np.argmax(response.sequence_values[sequences]))


@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice(dice_sides=2)"])
@pytest.mark.parametrize("player", [0, 1])
@given(seed=seeds)
@settings(max_examples=5)
def test_policy_values_are_sums_over_histories(name, player, seed):
    tree, form = tree_of(name), form_of(name)
    policy = random_policy(name, seed)
    infosets = tree.infosets[player]
    expected = np.zeros(infosets.num_sequences)
    state = game_of(name).new_initial_state()
    for reach, own, payoff in walk(state, policy_to_pyspiel(policy), player=player):
        sequences = [0]
        for label, action in own:
            infoset = infosets.index_of_label[label]
            index = infosets.actions(infoset).tolist().index(action)
            sequences.append(int(infosets.first_sequence[infoset]) + index)
        for i, sequence in enumerate(sequences):
            later = np.prod(policy.probabilities[player][sequences[i + 1 :]])
            expected[sequence] += reach * later * payoff
    gradient = form.gradient(player, policy.realization_plans[1 - player])
    values = policy_values(form.treeplexes[player], gradient, policy.probabilities[player])
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_best_response_leaves_its_arguments_alone():
    form = form_of("kuhn_poker")
    policy = random_policy("kuhn_poker", 0)
    before = [plan.copy() for plan in policy.realization_plans]
    first = best_response_values(form, policy.realization_plans)
    for player in (0, 1):
        gradient = form.gradient(player, policy.realization_plans[1 - player])
        copy = gradient.copy()
        policy_values(form.treeplexes[player], gradient, policy.probabilities[player])
        np.testing.assert_array_equal(gradient, copy)
        np.testing.assert_array_equal(policy.realization_plans[player], before[player])
    assert best_response_values(form, policy.realization_plans) == first


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_losses_of_both_players_sum_to_nash_conv(name):
    form, policy = form_of(name), random_policy(name, 3)
    value = linear_program.solve(form).value
    losses = [loss_of_player(policy, player, value, form) for player in (0, 1)]
    assert min(losses) > 0.1
    assert sum(losses) == pytest.approx(nash_conv(policy, form), abs=1e-9)
    # OpenSpiel's best responses against each player alone.
    responses = [
        openspiel_best_response.BestResponsePolicy(
            game_of(name), 1 - player, policy_to_openspiel(policy, name)
        ).value(game_of(name).new_initial_state())
        for player in (0, 1)
    ]
    assert losses[0] == pytest.approx(value + responses[0], abs=1e-9)
    assert losses[1] == pytest.approx(-value + responses[1], abs=1e-9)
    with pytest.raises(ValueError, match="expected player 0 or 1, got 2"):
        loss_of_player(policy, 2, value)


def test_an_equilibrium_loses_nothing():
    solution = linear_program.solve(form_of("kuhn_poker"))
    for player in (0, 1):
        loss = loss_of_player(solution.policy, player, solution.value)
        assert loss == pytest.approx(0.0, abs=1e-9)


def test_the_form_must_be_of_the_policys_game():
    policy = random_policy("kuhn_poker", 0)
    rebuilt = sequence_form_from_tree(tree_from_game("kuhn_poker"))
    assert exploitability(policy, rebuilt) == exploitability(policy)
    for measure in (exploitability, nash_conv):
        with pytest.raises(ValueError, match=r"another game: expected the game kuhn_poker.*leduc"):
            measure(policy, form_of("leduc_poker"))
        with pytest.raises(ValueError, match="one of no whole game"):
            measure(policy, dataclasses.replace(rebuilt, tree=None))
        with pytest.raises(ValueError, match="expected a SequenceForm or None, got GameTree"):
            measure(policy, policy.tree)
        with pytest.raises(ValueError, match="expected a BehaviorPolicy, got tuple"):
            measure(policy.realization_plans)


def test_plans_may_be_lists_and_must_fit():
    form, policy = form_of("kuhn_poker"), random_policy("kuhn_poker", 0)
    plans = policy.realization_plans
    lists = tuple(plan.tolist() for plan in plans)
    assert best_response_to(form, 0, lists[1]).value == best_response_to(form, 0, plans[1]).value
    assert best_response_values(form, lists) == best_response_values(form, plans)
    assert form.expected_value(lists) == form.expected_value(plans)
    with pytest.raises(ValueError, match=r"expected opponent_plan of shape \(13,\), got \(5,\)"):
        best_response_to(form, 0, plans[1][:5])
