"""Tests of the bot, of the player behind it, and of what they do when things go wrong."""

import dataclasses
import json

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots
from open_spiel.python.bots import uniform_random

from klss_spiel.algorithms.regret import DISCOUNTED_RM
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.carry_over import own_nodes
from klss_spiel.algorithms.search.expansion import ITERATIVE_DEEPENING
from klss_spiel.algorithms.search.openspiel_game import (
    OpenSpielSearchGame,
    rollout_evaluator,
    search_game,
)
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.policy import search_policy
from klss_spiel.algorithms.search.root import RootGadget
from klss_spiel.algorithms.search.settings import (
    FROZEN_REGION,
    NO_REGION,
    OBSCURO,
    ZS21,
    AlternateValue,
    EquilibriumMethod,
    Iterate,
    parse_settings,
)
from klss_spiel.budget import Budget
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.search_game import SearchGame
from klss_spiel.sequence_form import sequence_form_from_tree

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
DARK_HEX = "dark_hex(num_rows=3,num_cols=3)"
SMALL = Budget(nodes=150)
MIXING = dataclasses.replace(OBSCURO, purification=False)


def kuhn_state(*actions):
    state = pyspiel.load_game(KUHN).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def leduc_state(*actions):
    state = pyspiel.load_game(LEDUC).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize("settings", [OBSCURO, ZS21], ids=["obscuro", "zs21"])
@pytest.mark.parametrize("name", [KUHN, LEDUC, DARK_HEX])
@pytest.mark.parametrize("player", [0, 1])
def test_the_bot_plays_whole_games_in_evaluate_bots(name, player, settings):
    game = pyspiel.load_game(name)
    rng = np.random.RandomState(3)
    bots = [uniform_random.UniformRandomBot(p, rng) for p in (0, 1)]
    bots[player] = SearchBot(game, player, SMALL, settings)
    for _ in range(2):
        returns = evaluate_bots.evaluate_bots(game.new_initial_state(), bots, rng)
        assert sum(returns) == pytest.approx(0.0)
    assert bots[player].report.nodes > 0


@pytest.mark.parametrize(
    ("name", "nodes", "seeds"),
    [
        ("liars_dice(dice_sides=3)", 60, range(3)),
        pytest.param(LEDUC, 60, range(4), marks=pytest.mark.slow),
    ],
)
def test_the_bot_beats_a_random_player_from_either_side(name, nodes, seeds):
    """By the exact value of what it plays, in which there is no luck."""
    tree = tree_from_game(name)
    form = sequence_form_from_tree(tree)
    random = BehaviorPolicy.uniform(tree).realization_plans
    even = form.expected_value(random)
    for seed in seeds:
        played = search_policy(name, OBSCURO, Budget(nodes=nodes), seed, tree=tree)
        first, second = played.realization_plans
        assert form.expected_value((first, random[1])) > even + 0.2
        assert form.expected_value((random[0], second)) < even - 0.2


def test_other_settings_play_too():
    for change in (
        {"carry_over": NO_REGION},
        {"carry_over": FROZEN_REGION},
        {"play": Iterate.AVERAGE},
        {"purification": False},
        {"opening_search": False},
    ):
        bot = SearchBot(KUHN, 1, SMALL, dataclasses.replace(OBSCURO, **change))
        policy, action = bot.step_with_policy(kuhn_state(0, 1, 1))
        assert action in (0, 1)
        assert sum(q for _, q in policy) == pytest.approx(1.0)


def test_the_same_seed_plays_the_same_and_policies_are_distributions():
    trees = []
    for seed in (1, 2):
        actions = []
        for _ in range(2):
            bot = SearchBot(LEDUC, 0, SMALL, seed=seed)
            state = leduc_state(0, 3)
            policy, action = bot.step_with_policy(state)
            assert [a for a, _ in policy] == state.legal_actions()
            actions.append((policy, action))
        assert actions[0] == actions[1]
        trees.append(bot.search_player.search.tree)
    # Another seed looks at other things.
    count = min(tree.num_nodes for tree in trees)
    assert not np.array_equal(*(tree.nodes.action[:count] for tree in trees))


def test_games_that_look_the_same_to_the_bot_are_played_the_same():
    """Leak test: all histories that agree in the bot's observations, move by move."""
    game = pyspiel.load_game(LEDUC)
    rng = np.random.default_rng(5)
    played = {}
    compared = 0
    for _ in range(25):
        state = game.new_initial_state()
        bot = SearchBot(game, 0, Budget(nodes=80), seed=9)
        while not state.is_terminal():
            if state.current_player() == 0:
                policy, action = bot.step_with_policy(state)
                key = state.information_state_string(0)
                compared += key in played and played[key][0] != state.history()
                _, *before = played.setdefault(key, (state.history(), policy, action))
                assert before == [policy, action]
            else:
                legal = state.legal_actions()
                action = int(legal[rng.integers(len(legal))])
                bot.inform_action(state, state.current_player(), action)
            state.apply_action(action)
    assert compared > 5


class Veil:
    """A state that shows only what a bot may look at."""

    ALLOWED = ("is_terminal", "current_player")

    def __init__(self, state, player):
        self._state, self._player = state, player

    def __getattr__(self, name):
        if name in self.ALLOWED:
            return getattr(self._state, name)
        raise AssertionError(f"the bot looked at state.{name}")

    def information_state_string(self, player):
        assert player == self._player
        return self._state.information_state_string(player)

    def legal_actions(self, player):
        assert player == self._player
        return self._state.legal_actions(player)

    def __str__(self):
        raise AssertionError("the bot printed the state")


def test_what_is_played_over_many_games_is_the_mixed_strategy():
    bot = SearchBot(KUHN, 1, Budget(nodes=60), MIXING, seed=2)
    games = 200
    mixed = 0
    for actions in ((1, 0, 0), (0, 1, 1)):  # the jack after a pass, the queen after a bet
        state = kuhn_state(*actions)
        bets, probability = 0, None
        for _ in range(games):
            bot.restart()
            policy, action = bot.step_with_policy(state)
            assert probability in (None, dict(policy)[1])
            probability = dict(policy)[1]
            bets += action
        spread = np.sqrt(probability * (1.0 - probability) / games)
        assert abs(bets / games - probability) <= 4.0 * spread
        mixed += 0.05 < probability < 0.95
    assert mixed


def test_a_game_of_a_match_can_be_repeated_by_its_number():
    first, second = (SearchBot(KUHN, 1, Budget(nodes=60), MIXING, seed=2) for _ in range(2))
    state = kuhn_state(0, 1, 1)
    actions = []
    for _ in range(20):
        first.restart()
        actions.append(first.step(state))
    assert len(set(actions)) == 2
    again = []
    for number in reversed(range(1, 21)):
        second.restart()
        second.game_number = number
        again.append(second.step(state))
    assert again[::-1] == actions


def test_the_bot_looks_only_at_its_own_information():
    bot = SearchBot(LEDUC, 1, SMALL)
    state = pyspiel.load_game(LEDUC).new_initial_state()
    rng = np.random.default_rng(0)
    steps = 0
    while not state.is_terminal():
        if state.current_player() == 1:
            action = bot.step(Veil(state, 1))
            steps += 1
        else:
            action = int(rng.choice(state.legal_actions()))
        state.apply_action(action)
    assert steps


def test_asking_for_the_policy_first_changes_nothing():
    state = kuhn_state(0, 1)
    asked, silent = SearchBot(KUHN, 0, SMALL), SearchBot(KUHN, 0, SMALL)
    policy = asked.get_policy(state)
    assert asked.step_with_policy(state) == silent.step_with_policy(state)
    later = kuhn_state(0, 1, 0, 1)
    assert asked.step_with_policy(later) == silent.step_with_policy(later)
    assert [a for a, _ in policy] == [0, 1]


def test_a_new_game_does_not_remember_the_last_one():
    fresh = SearchBot(KUHN, 0, SMALL)
    used = SearchBot(KUHN, 0, SMALL)
    state = kuhn_state(0, 1)
    used.step(state)
    used.step(kuhn_state(0, 1, 0, 1))
    used.restart()
    assert used.report is None
    assert used.game_number == 1
    used.game_number = 0
    assert used.step_with_policy(state) == fresh.step_with_policy(state)


def test_a_game_can_be_taken_up_in_its_middle():
    bot = SearchBot(LEDUC, 1, SMALL)
    state = pyspiel.load_game(LEDUC).new_initial_state()
    # Cards, two calls, the public card, a raise: the bot's second decision.
    for action in (0, 3, 1, 1, 2, 2):
        state.apply_action(action)
    bot.restart_at(state)
    policy, _ = bot.step_with_policy(state)
    assert [a for a, _ in policy] == state.legal_actions()


def test_reports_say_what_was_done_in_words_and_json():
    bot = SearchBot(LEDUC, 0, Budget(nodes=500))
    state = leduc_state(0, 3)
    bot.step(state)
    report = json.loads(bot.report.to_json())
    assert report["belief_size"] == 5
    assert report["belief_complete"]
    assert report["roots"] == 5
    assert report["nodes"] >= report["new_nodes"] > 0
    assert report["gadget"] in ("maxmargin", "resolve")
    assert report["degraded"] == []
    assert report["nash_gap"] >= 0.0
    assert "nodes" in str(bot.report)


# Faults.


def test_a_single_legal_action_needs_no_search():
    player = SearchPlayer(search_game(KUHN), 0, OBSCURO, Budget(seconds=60.0))
    decision = player.decide("0", [1])
    assert decision.probabilities.tolist() == [1.0]
    assert decision.report.forced
    assert str(decision.report) == "one legal action"


@pytest.mark.parametrize("budget", [Budget(nodes=0), Budget(seconds=0.0), Budget(iterations=0)])
def test_a_zero_budget_plays_something_and_says_so(budget):
    bot = SearchBot(KUHN, 0, budget)
    policy, action = bot.step_with_policy(kuhn_state(0, 1))
    assert action in (0, 1)
    assert policy == [(0, 0.5), (1, 0.5)]
    assert any("never expanded" in text for text in bot.report.degraded)


@pytest.mark.parametrize("worker", [False, True])
def test_an_interrupted_search_can_be_repeated(worker):
    calls = 0
    settings = dataclasses.replace(OBSCURO, worker=worker)

    def interrupted(positions):
        nonlocal calls
        calls += 1
        if calls == 20:
            raise KeyboardInterrupt
        return np.zeros(len(positions))

    state = leduc_state(0, 3)
    bot = SearchBot(LEDUC, 0, Budget(nodes=300), settings, evaluator=interrupted)
    with pytest.raises(KeyboardInterrupt):
        bot.step(state)
    calm = SearchBot(LEDUC, 0, Budget(nodes=300), settings)
    assert bot.step_with_policy(state) == calm.step_with_policy(state)


def test_a_game_that_ends_below_the_search_is_searched_to_its_end():
    """After a bet in Kuhn poker every action ends the game."""
    bot = SearchBot(KUHN, 1, Budget(nodes=2000))
    # Player 1 holds the king and is to answer a bet; calling is better by 3.
    policy, action = bot.step_with_policy(kuhn_state(0, 2, 1))
    assert action == 1
    assert dict(policy)[1] == pytest.approx(1.0)
    assert bot.report.nash_gap < 1e-2


def test_the_next_decision_continues_from_the_last_search():
    player = SearchPlayer(search_game(LEDUC), 0, OBSCURO, SMALL)
    state = leduc_state(0, 3)
    told = state.information_state_string(0)
    player.decide(told, state.legal_actions())
    last = player.search
    player.record_action(told, 2)
    assert player.search is last
    for action in (2, 2):
        state.apply_action(action)
    decision = player.decide(state.information_state_string(0), state.legal_actions())
    later = player.search
    assert later is not last
    # Most of its roots come out of the last tree; a search from nowhere has 5, all alone.
    assert np.any(later.tree.families.num_children[1 : 1 + later.tree.num_roots] > 1)
    assert decision.report.nodes > decision.report.new_nodes + 1 + 2 * decision.report.roots


def test_forced_moves_keep_the_tree_fresh():
    """Without the tree of the forced decision its action would be unknown to the next."""
    game = search_game(LEDUC)
    player = SearchPlayer(game, 0, OBSCURO, SMALL)
    state = leduc_state(0, 3)
    player.decide(state.information_state_string(0), state.legal_actions())
    player.record_action(state.information_state_string(0), 2)
    for action in (2, 2):
        state.apply_action(action)
    told = state.information_state_string(0)
    # As if there were nothing to choose.
    decision = player.decide(told, [1])
    assert decision.report.forced
    assert decision.report.nodes > 0
    assert decision.report.belief_size == 5
    assert player.search.effort.iterations == 0
    player.record_action(told, 1)
    carried = player.search.tree
    assert np.any(own_nodes(carried, game.infosets(0, told)))


def test_states_without_a_move_of_the_bot_are_refused():
    bot = SearchBot(KUHN, 0, SMALL)
    with pytest.raises(ValueError, match="end of a game"):
        bot.step(kuhn_state(0, 1, 0, 0))
    with pytest.raises(ValueError, match="player 0 moves"):
        bot.step(kuhn_state(0, 1, 0))


def test_what_cannot_be_played_is_refused_at_construction():
    with pytest.raises(ValueError, match="convert_to_turn_based"):
        SearchBot("goofspiel(num_cards=3)", 0, SMALL)
    with pytest.raises(ValueError, match="player 0 or 1"):
        SearchBot(KUHN, 2, SMALL)
    with pytest.raises(TypeError, match="SearchSettings"):
        SearchBot(KUHN, 0, SMALL, "obscuro")
    with pytest.raises(TypeError, match="Budget"):
        SearchBot(KUHN, 0, 100)
    with pytest.raises(TypeError, match="evaluator"):
        SearchBot(KUHN, 0, SMALL, evaluator=3)
    with pytest.raises(ValueError, match="belief_limit"):
        SearchBot(search_game(KUHN), 0, SMALL, belief_limit=10)
    with pytest.raises(ValueError, match="belief_limit of 1 or more"):
        SearchBot("python_dark_chess(board=minimal4x3)", 0, SMALL, belief_limit=0)


def test_beliefs_past_their_limit_are_refused_or_sampled_as_the_error_says():
    state = leduc_state(0, 3)
    with pytest.raises(ValueError, match="belief_limit or allow sample_belief"):
        SearchBot(LEDUC, 0, SMALL, belief_limit=3, sample_belief=False).step(state)
    bot = SearchBot(LEDUC, 0, SMALL, belief_limit=3)
    assert bot.step(state) in state.legal_actions()
    assert not bot.report.belief_complete
    assert any("incomplete" in text for text in bot.report.degraded)


def test_games_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="two-player"):
        search_game("kuhn_poker(players=3)")
    with pytest.raises(ValueError, match="zero-sum"):
        search_game("bargaining")


# The generic game.


def test_any_game_is_a_search_game_and_a_game_may_bring_its_own():
    generic = search_game(KUHN)
    assert isinstance(generic, SearchGame)
    assert isinstance(generic, OpenSpielSearchGame)

    class Special:
        def search_game(self, evaluator):
            return generic

    assert search_game(Special()) is generic

    class Wrong:
        def search_game(self, evaluator):
            return 7

    with pytest.raises(ValueError, match="SearchGame"):
        search_game(Wrong())


def test_rollouts_depend_on_the_position_and_the_seed_alone():
    state = kuhn_state(0, 1)
    positions = np.empty(2, dtype=object)
    positions[:] = [state, state]
    values = rollout_evaluator(50, seed=3)(positions)
    assert values[0] == values[1]
    # Player 0 holds the jack against the queen: never ahead at a showdown.
    assert -1.0 <= values[0] < 0.0


def test_every_setting_that_is_not_a_number_has_names():
    named = parse_settings(
        "obscuro",
        equilibrium="lp",
        minimizer="dcfr",
        expansion="iterative_deepening",
        carry_over="fresh",
        gadget="resolve",
        alternate="best_response",
        play="average",
    )
    assert named == dataclasses.replace(
        OBSCURO,
        equilibrium=EquilibriumMethod.LINEAR_PROGRAM,
        minimizer=DISCOUNTED_RM,
        expansion=ITERATIVE_DEEPENING,
        carry_over=NO_REGION,
        gadget=RootGadget.RESOLVE,
        alternate=AlternateValue.BEST_RESPONSE,
        play=Iterate.AVERAGE,
    )


def test_settings_by_name():
    settings = parse_settings("obscuro", expansion="two_sided", carry_over="klss", max_support=2)
    assert (settings.expansion.name, settings.carry_over, settings.max_support) == (
        "two_sided",
        FROZEN_REGION,
        2,
    )
    for wrong in ({"preset": "x"}, {"expansion": "x"}, {"nothing": 1}, {"growth": 0.0}):
        with pytest.raises(ValueError, match="expected"):
            parse_settings(wrong.pop("preset", "obscuro"), **wrong)
