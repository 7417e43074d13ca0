"""The bot plays what `refine` computes."""

import copy
import pickle

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots

from klss_spiel.algorithms.subgame.bot import SubgameBot
from klss_spiel.algorithms.subgame.recipes import KLSS, MAXMARGIN, SAFE_1_KLSS
from klss_spiel.algorithms.subgame.refine import Schedule, refine
from klss_spiel.openspiel import infoset_states, tree_from_game
from klss_spiel.policy import BehaviorPolicy
from tests.helpers.games import random_policy

DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"


@pytest.mark.parametrize("game_name", ["kuhn_poker", DARK_HEX])
@pytest.mark.parametrize("recipe", [KLSS(1), MAXMARGIN, SAFE_1_KLSS()])
@pytest.mark.parametrize("player", [0, 1])
def test_the_bot_plays_the_refined_strategy_at_every_infoset(game_name, recipe, player):
    game = pyspiel.load_game(game_name)
    tree = tree_from_game(game)
    blueprint = random_policy(tree, 0)
    refined = refine(blueprint, recipe, player=player).policy.probabilities[player]
    infosets = tree.infosets[player]
    states = [(i, s) for p, i, s in infoset_states(tree, game) if p == player]
    # In an order in which later infosets come before earlier ones.
    rng = np.random.default_rng(1)
    bot = SubgameBot(blueprint, recipe, player, rng)
    for number in rng.permutation(len(states)):
        infoset, state = states[number]
        policy = bot.get_policy(state)
        assert [a for a, _ in policy] == infosets.actions(infoset).tolist()
        np.testing.assert_allclose(
            [q for _, q in policy], refined[infosets.sequences(infoset)], atol=1e-12
        )
        assert bot.step(state) in state.legal_actions()


def test_the_bot_can_be_limited_to_an_independent_set():
    game = pyspiel.load_game(DARK_HEX)
    tree = tree_from_game(game)
    blueprint = random_policy(tree, 0)
    refined = refine(blueprint, KLSS(1), schedule=Schedule.INDEPENDENT_SET, seed=3)
    where = [*refined.solved, *refined.skipped]
    bot = SubgameBot(blueprint, KLSS(1), 0, np.random.default_rng(0), where=where)
    infosets = tree.infosets[0]
    for player, infoset, state in infoset_states(tree, game):
        if player == 0:
            np.testing.assert_allclose(
                [q for _, q in bot.get_policy(state)],
                refined.policy.probabilities[0][infosets.sequences(infoset)],
                atol=1e-12,
            )


def test_the_bot_plays_whole_games_and_ignores_hidden_moves():
    game = pyspiel.load_game("kuhn_poker")
    tree = tree_from_game(game)
    blueprint = BehaviorPolicy.uniform(tree)
    bots = [
        SubgameBot(blueprint, KLSS(1), player, np.random.default_rng(player)) for player in (0, 1)
    ]
    rng = np.random.RandomState(0)
    total = np.zeros(2)
    for _ in range(20):
        total += evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
    assert total.sum() == 0.0
    assert bots[1].player_id() == 1


def test_a_bot_refuses_another_game():
    tree = tree_from_game("kuhn_poker")
    bot = SubgameBot(BehaviorPolicy.uniform(tree), KLSS(1), 0, np.random.default_rng(0))
    state = pyspiel.load_game("leduc_poker").new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(ValueError, match="no information state"):
        bot.step(state)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda bot: pickle.loads(pickle.dumps(bot))])
def test_copies_of_a_bot_play_like_it(copied):
    tree = tree_from_game("kuhn_poker")
    bot = SubgameBot(random_policy(tree, 0), KLSS(1), 0, np.random.default_rng(0))
    states = [
        state
        for player, _, state in infoset_states(tree, pyspiel.load_game("kuhn_poker"))
        if player == 0
    ]
    bot.step(states[0])
    other = copied(bot)
    assert [other.step_with_policy(s) for s in states] == [bot.step_with_policy(s) for s in states]
    assert other.player_id() == 0


def test_a_bot_refuses_what_is_no_blueprint():
    tree = tree_from_game("kuhn_poker")
    with pytest.raises(ValueError, match="BehaviorPolicy as the blueprint, got GameTree"):
        SubgameBot(tree, KLSS(1), 0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="expected player 0 or 1, got 2"):
        SubgameBot(random_policy(tree, 0), KLSS(1), 2, np.random.default_rng(0))
