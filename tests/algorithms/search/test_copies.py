"""Tests that equal things are equal: copies of bots and settings, repeated observations."""

import copy
import dataclasses
import pickle

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.algorithms.regret import DISCOUNTED_RM, MINIMIZERS, discounted_rm
from klss_spiel.algorithms.search import cfr_reference
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.settings import OBSCURO, PRESETS, parse_settings
from klss_spiel.budget import Budget

LEDUC = "leduc_poker"
GAMES = [
    "kuhn_poker",
    LEDUC,
    "liars_dice(dice_sides=3)",
    "dark_hex(num_rows=2,num_cols=2)",
    "python_kriegspiel(board=minimal4x3,horizon=4)",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True))",
]


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_settings_and_minimisers_are_equal_after_copying(copied):
    for preset in PRESETS.values():
        assert copied(preset) == preset
    for minimizer in MINIMIZERS.values():
        assert copied(minimizer) == minimizer
        assert hash(copied(minimizer)) == hash(minimizer)
    assert discounted_rm() == DISCOUNTED_RM != discounted_rm(alpha=2.0)
    regret, instant, iteration = jnp.array([1.0, -2.0]), jnp.array([0.5, 0.5]), jnp.array(3)
    np.testing.assert_array_equal(
        copied(DISCOUNTED_RM).accumulate(regret, instant, iteration),
        DISCOUNTED_RM.accumulate(regret, instant, iteration),
    )


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_copied_settings_search_compiled_too(copied, monkeypatch):
    def never(*arguments):
        raise AssertionError("a search with PRM+ took the readable way")

    monkeypatch.setattr(cfr_reference, "iterate", never)
    SearchBot("kuhn_poker", 0, Budget(nodes=30), copied(OBSCURO)).get_policy(kuhn_state(0, 1))


def kuhn_state(*actions):
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
@pytest.mark.parametrize("name", GAMES)
def test_a_copied_bot_goes_on_as_the_original_would(name, copied):
    """Copies are made before the first game, in its middle, and after it."""
    game = pyspiel.load_game(name)
    settings = dataclasses.replace(OBSCURO, purification=False)
    bot = SearchBot(game, 0, Budget(nodes=60), settings, seed=3, evaluator="rollout(1,seed=4)")
    copies = [copied(bot)]
    rng = np.random.default_rng(1)
    state = game.new_initial_state()
    moves = 0
    while not state.is_terminal() and moves < 3:
        if state.current_player() == 0:
            answers = [one.step_with_policy(state) for one in (bot, *copies)]
            assert all(answer == answers[0] for answer in answers)
            action = answers[0][1]
            copies.append(copied(bot))
            moves += 1
        else:
            action = int(rng.choice(state.legal_actions()))
        state.apply_action(action)
    assert moves
    assert all(one.report.nodes == bot.report.nodes for one in copies)


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
@pytest.mark.parametrize("game", ["python_dark_chess", "python_kriegspiel"])
@pytest.mark.parametrize(
    "evaluator", [None, "handmade", "simple", "resolver(handmade)", "alphabeta(depth=1)"]
)
def test_bots_of_chess_are_copied_with_every_evaluator(game, evaluator, copied):
    name = f"{game}(board=minimal4x3)"
    bot = SearchBot(name, 0, Budget(nodes=40), evaluator=evaluator)
    state = pyspiel.load_game(name).new_initial_state()
    assert copied(bot).step_with_policy(state) == bot.step_with_policy(state)
    assert copied(bot).step_with_policy(state) == bot.step_with_policy(state)


def decisions(player, game, choices):
    """What a player answers along a game in which hypothesis chooses every action."""
    player.restart()
    state = game.new_initial_state()
    answers = []
    while not state.is_terminal():
        legal = state.legal_actions()
        action = legal[next(choices, 0) % len(legal)]
        if state.current_player() == player.player:
            told = state.information_state_string(player.player)
            answers.append((told, player.decide(told, legal).probabilities.tolist()))
            player.record_action(told, action)
        state.apply_action(action)
    return answers


@pytest.mark.parametrize("preset", ["obscuro", "zs21"])
@settings(max_examples=12)
@given(
    name=st.sampled_from(GAMES),
    player=st.integers(0, 1),
    earlier=st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=3),
    choices=st.lists(st.integers(0, 30), max_size=10),
)
def test_same_observations_same_probabilities(preset, name, player, earlier, choices):
    """Whatever was played before, and off the own strategy too."""
    game = pyspiel.load_game(name)
    chosen = parse_settings(preset)
    used, fresh = (
        SearchPlayer(OpenSpielSearchGame(game), player, chosen, Budget(nodes=40)) for _ in range(2)
    )
    for actions in earlier:
        decisions(used, game, iter(actions))
    assert decisions(used, game, iter(choices)) == decisions(fresh, game, iter(choices))


def test_identifiers_do_not_depend_on_what_was_looked_at_before():
    first, second = (OpenSpielSearchGame(LEDUC) for _ in range(2))
    start = first.initial()
    dealt = first.expand(start.position, start.infoset_ids)
    second.infosets(0, "something else")
    other = second.initial()
    in_reverse = second.expand(other.position, other.infoset_ids)
    second.informed(0, int(in_reverse.infoset_ids[0, 0]), in_reverse.position[::-1])
    np.testing.assert_array_equal(dealt.infoset_ids, in_reverse.infoset_ids)
    assert len(np.unique(dealt.infoset_ids)) == 6 + 1  # player 1 knows nothing yet


def test_own_actions_are_remembered_where_the_game_does_not_repeat_them():
    class Silent:
        def information_state_string(self, player):
            return "nothing new"

    game = OpenSpielSearchGame(LEDUC)
    before = int(game.initial().infoset_ids[0, 0])
    after = [
        game._step(0, before, mover, action, 1, Silent()) for mover in (0, 1) for action in (0, 1)
    ]
    # Player 0's own actions tell more than the text does, the opponent's do not.
    assert after[0] != after[1]
    assert after[2] == after[3]
