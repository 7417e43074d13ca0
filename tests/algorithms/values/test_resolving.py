"""Continual re-solving: its inequalities, and the bot that plays so."""

import functools

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.values.bot import ResolvingBot
from klss_spiel.algorithms.values.bottoms import Bottoms, LinearValues
from klss_spiel.algorithms.values.completion import game_value, safe_completion
from klss_spiel.algorithms.values.cuts import make_border
from klss_spiel.algorithms.values.networks import load_network
from klss_spiel.algorithms.values.optimal import optimal_values
from klss_spiel.algorithms.values.ranges import trunk_ranges
from klss_spiel.algorithms.values.resolving import (
    Gadget,
    continual_resolving,
    exploitability_bound,
    opponent_values,
    solve_first,
    solve_next,
)
from klss_spiel.best_response import best_response_to
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run.value_domains import cut_domain
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.algorithms.values.games import border_of, tree_of


def _exploitability(tree, player, behavior):
    form = sequence_form_from_tree(tree)
    value = game_value(tree) * (1 if player == 0 else -1)
    plan = form.treeplexes[player].realization_plan(behavior)
    return value + best_response_to(form, 1 - player, plan).value


@functools.cache
def _first(name, player):
    """A trunk with values of counterfactual best responses, as exact as they come."""
    border = border_of(name)
    values = LinearValues(border) if name == "kuhn" else Bottoms(border, 50)
    return solve_first(border, player, values, {"kuhn": 50, "leduc": 60}.get(name, 20))


@pytest.mark.parametrize("gadget", list(Gadget))
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", ["kuhn", "leduc", "dark_2", "kriegspiel"])
def test_resolving_loses_no_more_than_the_averaged_values_allow(name, player, gadget):
    border = border_of(name)
    first = _first(name, player)
    carried = first.carried
    second = solve_next(carried, gadget)
    assert not np.any(first.decided & second.decided)
    assert np.all((first.decided | second.decided)[1:])
    behavior = np.where(first.decided, first.behavior, second.behavior)
    margins = carried.alternate - opponent_values(carried, behavior)
    assert margins.min() > -1e-9
    trunk = first.behavior[border.trunk_part.sequences[player]]
    value = game_value(border.tree) * (1 if player == 0 else -1)
    safe = value - safe_completion(border, player, trunk).guarantee
    bound = exploitability_bound(carried, first.behavior, value)
    full = _exploitability(border.tree, player, behavior)
    assert safe - 1e-9 <= full <= bound + 1e-9
    if gadget is Gadget.MAXMARGIN:
        resolved = solve_next(carried, Gadget.RESOLVE)
        other = np.where(first.decided, first.behavior, resolved.behavior)
        least = (carried.alternate - opponent_values(carried, other)).min()
        assert margins.min() >= least - 1e-9


def test_unsafe_solving_is_worse():
    """Bottoms solved for both ranges alone lose more than the bound of re-solving."""
    border = border_of("kuhn")
    first = _first("kuhn", 1)
    bound = exploitability_bound(first.carried, first.behavior, -game_value(border.tree))
    other = _first("kuhn", 0)
    trunk = tuple(
        solved.behavior[border.trunk_part.sequences[p]] for p, solved in enumerate((other, first))
    )
    unsafe = optimal_values(border, trunk_ranges(border, trunk)).behaviors
    policy = border.join(trunk, unsafe)
    assert _exploitability(border.tree, 1, policy.probabilities[1]) > 2 * bound


def test_two_borders_are_resolved_in_turn():
    borders = [border_of("dark_2"), border_of("dark_4")]
    tree = borders[0].tree
    behavior = continual_resolving(borders, 0, lambda b: Bottoms(b, 5, warm=True), 60)
    assert _exploitability(tree, 0, behavior) < 0.005
    with pytest.raises(ValueError, match="at least one border"):
        continual_resolving([], 0, LinearValues, 1)


def test_a_bot_solves_what_it_meets_and_is_as_good_as_the_bound():
    border = border_of("kuhn")
    bot = ResolvingBot(
        border.tree, [border], 1, LinearValues, 50, np.random.default_rng(0), Gadget.MAXMARGIN
    )
    first = _first("kuhn", 1)
    bound = exploitability_bound(first.carried, first.behavior, -game_value(border.tree))
    assert _exploitability(border.tree, 1, bot.tabulate()) <= bound + 1e-9


def test_a_bot_resolves_with_learned_values():
    """The shipped network in the place of exact values, each player in turn."""
    border = cut_domain("leduc").border
    network = load_network("values_leduc", border)
    for player in (0, 1):
        bot = ResolvingBot(
            *(border.tree, [border], player, lambda b: network, 500, np.random.default_rng(0)),
            Gadget.MAXMARGIN,
        )
        assert _exploitability(border.tree, player, bot.tabulate()) < 0.05


def test_a_bot_whose_trunk_is_the_game_plays_cfr():
    tree = tree_of("kuhn_poker")
    bot = ResolvingBot(tree, [], 0, LinearValues, 100, np.random.default_rng(0))
    expected = cfr.solve(sequence_form_from_tree(tree), 100).average_behavior[0]
    np.testing.assert_allclose(bot.tabulate(), expected)


def test_a_border_below_all_decisions_changes_nothing():
    """With exact values CFR-D's trunk is all the bot plays if nothing is left to decide."""
    tree = tree_of("kuhn_poker")
    uniform = BehaviorPolicy.uniform(tree)
    # Below depth 4 only player 0 decides, after check and bet.
    border = make_border(tree, 4)
    bot = ResolvingBot(tree, [border], 1, LinearValues, 30, np.random.default_rng(0))
    first = solve_first(border, 1, LinearValues(border), 30)
    assert np.all(first.decided[1:])
    np.testing.assert_allclose(bot.tabulate()[1:], first.behavior[1:])
    assert _exploitability(tree, 1, bot.tabulate()) < _exploitability(
        tree, 1, uniform.probabilities[1]
    )


def test_a_bot_plays_whole_games_from_its_information_states_alone():
    border = border_of("leduc")
    game = pyspiel.load_game("leduc_poker")
    rng = np.random.default_rng(1)
    bot = ResolvingBot(
        border.tree, [border], 0, lambda b: Bottoms(b, 2, warm=True), 20, np.random.default_rng(2)
    )

    class OwnView:
        """A state that tells nothing but player 0's information state."""

        def __init__(self, state):
            self._state = state

        def information_state_string(self, player):
            assert player == 0
            return self._state.information_state_string(player)

    for _ in range(10):
        state = game.new_initial_state()
        bot.restart()
        while not state.is_terminal():
            if state.is_chance_node():
                action = state.chance_outcomes()[rng.integers(len(state.chance_outcomes()))][0]
            elif state.current_player() == bot.player_id():
                policy, action = bot.step_with_policy(OwnView(state))
                assert [a for a, _ in policy] == state.legal_actions()
                assert sum(q for _, q in policy) == pytest.approx(1.0)
            else:
                action = rng.choice(state.legal_actions())
            state.apply_action(action)
    with pytest.raises(ValueError, match="made for another game"):
        bot.get_policy(pyspiel.load_game("kuhn_poker").new_initial_state().child(0).child(1))
    with pytest.raises(ValueError, match="another tree"):
        ResolvingBot(tree_of("kuhn_poker"), [border], 0, LinearValues, 1, rng)
