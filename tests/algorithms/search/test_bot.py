"""Tests of the bot, of the player behind it, and of what they do when things go wrong."""

import dataclasses
import json

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots
from open_spiel.python.bots import uniform_random

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.openspiel_game import (
    OpenSpielSearchGame,
    rollout_evaluator,
    search_game,
)
from klss_spiel.algorithms.search.player import SearchPlayer, play_probabilities
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import (
    FROZEN_REGION,
    NO_REGION,
    OBSCURO,
    ZS21,
    Iterate,
    parse_settings,
)
from klss_spiel.budget import Budget
from klss_spiel.search_game import EvaluatorError, SearchGame

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
DARK_HEX = "dark_hex(num_rows=3,num_cols=3)"
SMALL = Budget(nodes=150)


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


def test_the_bot_beats_a_random_player():
    game = pyspiel.load_game(LEDUC)
    rng = np.random.RandomState(0)
    bot = SearchBot(game, 0, Budget(nodes=300))
    other = uniform_random.UniformRandomBot(1, rng)
    returns = [
        evaluate_bots.evaluate_bots(game.new_initial_state(), [bot, other], rng)[0]
        for _ in range(30)
    ]
    # Uniform against uniform is worth 0; the standard deviation of a game is about 4.
    assert np.mean(returns) > 0.5


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
    for seed in (1, 2):
        actions = []
        for _ in range(2):
            bot = SearchBot(LEDUC, 0, SMALL, seed=seed)
            state = leduc_state(0, 3)
            policy, action = bot.step_with_policy(state)
            assert [a for a, _ in policy] == state.legal_actions()
            actions.append((policy, action))
        assert actions[0] == actions[1]


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


def failing(positions):
    raise EvaluatorError("engine gone")


def late(positions):
    raise TimeoutError


@pytest.mark.parametrize(
    ("evaluator", "words"), [(failing, "failed: engine gone"), (late, "timed out")]
)
@pytest.mark.parametrize("worker", [False, True])
def test_an_evaluator_without_an_answer_is_survived_and_reported(evaluator, words, worker):
    settings = dataclasses.replace(OBSCURO, worker=worker)
    bot = SearchBot(LEDUC, 0, Budget(nodes=300), settings, evaluator=evaluator)
    state = leduc_state(0, 3)
    policy, action = bot.step_with_policy(state)
    assert action in state.legal_actions()
    assert sum(q for _, q in policy) == pytest.approx(1.0)
    assert any(words in text for text in bot.report.degraded)


def mistyped(positions):
    return positions.no_such_attribute


def undefined(positions):
    return np.full(len(positions), np.nan)


def misshapen(positions):
    return np.zeros(len(positions) + 1)


@pytest.mark.parametrize(
    ("evaluator", "error", "words"),
    [
        (mistyped, AttributeError, "no_such_attribute"),
        (undefined, ValueError, "expected numbers"),
        (misshapen, ValueError, "got shape"),
    ],
)
@pytest.mark.parametrize("worker", [False, True])
def test_an_error_in_an_evaluators_code_is_raised(evaluator, error, words, worker):
    settings = dataclasses.replace(OBSCURO, worker=worker)
    bot = SearchBot(LEDUC, 0, Budget(nodes=300), settings, evaluator=evaluator)
    with pytest.raises(error, match=words):
        bot.step(leduc_state(0, 3))


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


def test_states_without_a_move_of_the_bot_are_refused():
    bot = SearchBot(KUHN, 0, SMALL)
    with pytest.raises(ValueError, match="end of a game"):
        bot.step(kuhn_state(0, 1, 0, 0))
    with pytest.raises(ValueError, match="player 0 moves"):
        bot.step(kuhn_state(0, 1, 0))


def test_games_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="two-player"):
        search_game("kuhn_poker(players=3)")
    with pytest.raises(ValueError, match="zero-sum"):
        search_game("bargaining")


# Purification.


def purified(last, absent, enter, settings=OBSCURO):
    """Probabilities played at an infoset with given last iterate and absences."""
    search = search_from_start(search_game("liars_dice"), settings)
    search.run(Budget(nodes=60))
    tree = search.tree
    sizes = tree.infosets[0].num_actions[: tree.num_infosets[0]]
    infoset = int(np.argmax(sizes))
    first = int(tree.infosets[0].first_sequence[infoset])
    own = slice(first, first + int(sizes[infoset]))
    tree.sequences[0].strategy[own] = 0.0
    tree.sequences[0].strategy[first : first + len(last)] = last
    tree.sequences[0].last_absent[own] = 0
    tree.sequences[0].last_absent[first : first + len(absent)] = absent
    search.halfway = 10
    tree.num_roots = 2  # as if there were something to choose at the root
    search.root.enter[0] = enter
    return play_probabilities(search, infoset)[: len(last)]


def test_purification_keeps_the_stable_and_likeliest_three():
    last = [0.1, 0.3, 0.05, 0.35, 0.2]
    stable = [0, 0, 0, 0, 0]
    np.testing.assert_allclose(purified(last, stable, 0.0), [0, 0.3, 0, 0.5, 0.2])
    # The second action has been absent after half of the budget was spent.
    np.testing.assert_allclose(purified(last, [0, 11, 0, 0, 0], 0.0), [0.1, 0, 0, 0.7, 0.2])
    # The likeliest action may always be played.
    np.testing.assert_allclose(purified(last, [0, 0, 0, 50, 0], 0.0), [0, 0.3, 0, 0.5, 0.2])


def test_purification_is_complete_while_resolve_is_in_use():
    last = [0.1, 0.3, 0.05, 0.35, 0.2]
    np.testing.assert_allclose(purified(last, [0] * 5, 0.1), [0, 0, 0, 1, 0])
    off = dataclasses.replace(OBSCURO, purification=False)
    np.testing.assert_allclose(purified(last, [0] * 5, 0.1, off), last)


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
