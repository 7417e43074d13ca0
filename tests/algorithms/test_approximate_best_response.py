"""Responses found by search, against exact best responses where trees are small."""

import dataclasses
import functools

import numpy as np
import pytest

import klss_spiel as ks
from klss_spiel.algorithms import approximate_best_response as module
from klss_spiel.algorithms.approximate_best_response import (
    FollowingBot,
    ResponseSettings,
    approximate_best_response,
    estimate_mean,
    evaluate_response,
    exploitability_bound,
)
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.searched_policy import SearchedPolicy
from klss_spiel.matches.players import PolicyPlayer
from klss_spiel.openspiel import policy_table
from klss_spiel.veiled_state import HiddenInformationError

MINIMAL = "python_dark_chess(board=minimal4x3,horizon=4)"


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A small game with a strategy to respond to."""

    game: object
    policy: ks.BehaviorPolicy

    @functools.cached_property
    def table(self):
        return policy_table(self.policy)

    @functools.cached_property
    def form(self):
        return ks.sequence_form_from_tree(self.policy.tree)

    def agent(self, seed):
        return PolicyPlayer(self.table, seed)

    def best(self, player):
        plan = self.policy.realization_plans[1 - player]
        return ks.best_response_to(self.form, player, plan).value

    def value(self, response):
        """Exact value of a response that is uniform where it knows nothing."""
        player, tree = response.player, self.policy.tree
        probabilities = ks.BehaviorPolicy.uniform(tree).probabilities[player].copy()
        infosets = tree.infosets[player]
        for told, action in response.actions.items():
            infoset = infosets.index_of_label[told]
            own = infosets.sequences(infoset)
            probabilities[own] = infosets.actions(infoset) == action
        both = self.policy.replace(player, probabilities)
        leaves = tree.terminals
        reach = tree.chance_reach[leaves] * both.reach(0)[leaves] * both.reach(1)[leaves]
        return float(np.sum(tree.utility[leaves] * reach)) * (1 if player == 0 else -1)


@functools.cache
def case(name, iterations=0):
    game = ks.load_game(name)
    tree = ks.tree_from_game(game)
    if iterations:
        policy = ks.cfr.solve(tree, iterations=iterations).policy
    else:
        policy = ks.BehaviorPolicy.uniform(tree)
    return Case(game, policy)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    ("name", "iterations", "simulations", "gap"),
    [
        ("kuhn_poker", 10, 3000, 0.02),
        pytest.param(MINIMAL, 0, 4000, 1e-9, marks=pytest.mark.slow),
        pytest.param("leduc_poker", 0, 40_000, 0.2, marks=pytest.mark.slow),
        pytest.param("leduc_poker", 20, 40_000, 0.2, marks=pytest.mark.slow),
    ],
)
def test_responses_approach_the_best_one_from_below(name, iterations, simulations, gap, player):
    small = case(name, iterations)
    best = small.best(player)
    values = []
    for count in (simulations // 50, simulations):
        settings = ResponseSettings(count)
        response = approximate_best_response(small.game, player, small.agent, settings)
        values.append(small.value(response))
    assert values[0] - 1e-9 <= values[1] <= best + 1e-9
    assert best - values[1] <= gap
    # Fresh games agree with the exact value of what was frozen.
    estimate = evaluate_response(small.game, response, small.agent, games=400)
    assert abs(estimate.mean - values[1]) <= 3.5 * estimate.standard_error + 1e-9
    assert estimate.sure_low < estimate.low <= estimate.mean <= estimate.high
    assert estimate.sure_low < best


def test_searches_are_deterministic_for_a_seed_and_games_are_fresh():
    small = case("kuhn_poker", 10)

    def respond(seed):
        settings = ResponseSettings(300)
        return approximate_best_response(small.game, 1, small.agent, settings, seed=seed)

    response = respond(0)
    assert response.actions == respond(0).actions
    estimates = [
        evaluate_response(small.game, response, small.agent, 50, seed=s) for s in (0, 0, 1)
    ]
    assert estimates[0] == estimates[1] != estimates[2]
    seen = []

    def watched(seed):
        seen.append(seed)
        return small.agent(seed)

    approximate_best_response(small.game, 1, watched, ResponseSettings(50))
    evaluate_response(small.game, response, watched, 50)
    assert len(seen) == 100
    assert not set(seen[:50]) & set(seen[50:])


def test_means_have_intervals_and_bounds_that_hold_for_equal_results():
    rng = np.random.default_rng(0)
    covered = sure = 0
    for _ in range(300):
        estimate = estimate_mean(rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.3, 0.5], size=100), 2.0)
        covered += estimate.low <= 0.3 <= estimate.high
        sure += estimate.sure_low <= 0.3
    assert 270 <= covered <= 296 and sure == 300
    equal = estimate_mean(np.ones(50), 2.0)
    assert equal.low == equal.high == 1.0
    # By hand: 7 * 2 * ln(2 / 0.05) / (3 * 49).
    assert equal.sure_low == pytest.approx(1.0 - 0.351322, abs=1e-5)
    first, second = estimate_mean([1.0, 0.0] * 50, 2.0), estimate_mean([0.0, -0.5] * 50, 2.0)
    both = exploitability_bound(first, second, utility_sum=0.1)
    assert both.mean == pytest.approx((0.5 - 0.25 - 0.1) / 2)
    assert both.standard_error == pytest.approx(
        0.5 * np.sqrt(first.standard_error**2 + second.standard_error**2)
    )
    assert both.sure_low == pytest.approx((first.sure_low + second.sure_low - 0.1) / 2)


def test_agents_see_only_their_own_side_and_must_play_by_the_rules():
    game = ks.load_game("kuhn_poker")

    class Peeking:
        def step(self, state):
            return state.history()[0]

    class Wrong:
        def step(self, state):
            return 7

    for bot, error in ((Peeking, HiddenInformationError), (Wrong, ValueError)):
        with pytest.raises(error, match=r"history|legal actions \[0, 1\].*got 7"):
            approximate_best_response(game, 0, lambda seed, bot=bot: bot(), ResponseSettings(5))


def test_the_search_ends_when_the_agent_has_cost_enough():
    small = case("kuhn_poker", 10)
    games = []

    def counted(seed):
        games.append(seed)
        return small.agent(seed)

    settings = ResponseSettings(100, max_agent_cost=30)
    response = approximate_best_response(
        small.game, 0, counted, settings, agent_cost=lambda: len(games)
    )
    assert response.simulations == len(games) == 30


def test_settings_are_checked():
    for wrong in ({"simulations": 0}, {"exploration": 0.0}, {"least_visits": -1.0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong)).split('_')[0].rstrip('s')}"):
            ResponseSettings(**wrong)
    game = ks.load_game("kuhn_poker")
    with pytest.raises(ValueError, match="player 0 or 1, got 2"):
        approximate_best_response(game, 2, lambda seed: None)


def search_player(name, player, nodes=60):
    return SearchPlayer(search_game(ks.load_game(name)), player, ks.OBSCURO, ks.Budget(nodes=nodes))


def test_searched_policies_are_what_the_search_agent_plays():
    # One kept search is the hard case: earlier ones must be repeated.
    game = ks.load_game("leduc_poker")
    policies = [
        SearchedPolicy(search_player("leduc_poker", p, 30), kept_searches=1) for p in (0, 1)
    ]
    rng = np.random.default_rng(0)
    decisions = 0
    for _ in range(8):
        state, games = game.new_initial_state(), [policy.game() for policy in policies]
        agents = [search_player("leduc_poker", p, 30) for p in (0, 1)]
        while not state.is_terminal():
            player, legal = state.current_player(), state.legal_actions()
            action = int(rng.choice(legal))
            if player >= 0:
                told = state.information_state_string(player)
                expected = agents[player].decide(told, legal).probabilities
                agents[player].record_action(told, action)
                assert np.array_equal(games[player].probabilities(state), expected)
                games[player].record(state, action)
                decisions += 1
            state.apply_action(action)
    assert decisions > 20
    assert all(policy.searches > 0 and policy.nodes > 0 for policy in policies)


def test_searched_policies_remember_and_refuse_clocks():
    policy = SearchedPolicy(search_player("kuhn_poker", 1))
    for seed in range(30):
        state = ks.load_game("kuhn_poker").new_initial_state()
        for action in (seed % 3, (seed + 1) % 3, 0):
            state.apply_action(action)
        FollowingBot(policy.game(), seed).step(state)
    assert policy.searches == 3
    timed = SearchPlayer(
        search_game(ks.load_game("kuhn_poker")), 0, ks.OBSCURO, ks.Budget(seconds=1.0)
    )
    with pytest.raises(ValueError, match="budget of nodes"):
        SearchedPolicy(timed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nodes", "simulations", "gap"),
    [("kuhn_poker", 60, 4000, 0.02), (MINIMAL, 30, 3000, 0.1)],
)
def test_bounds_on_the_search_agent_approach_its_exact_exploitability(
    name, nodes, simulations, gap
):
    game = ks.load_game(name)
    tree = ks.tree_from_game(game)
    policy = ks.search_policy(game, ks.OBSCURO, ks.Budget(nodes=nodes), tree=tree)
    exact = Case(game, policy)
    found = 0.0
    for player in (0, 1):
        searched = SearchedPolicy(search_player(name, 1 - player, nodes))
        response = approximate_best_response(
            game,
            player,
            lambda seed, searched=searched: FollowingBot(searched.game(), seed),
            ResponseSettings(simulations),
        )
        value = exact.value(response)
        assert value <= exact.best(player) + 1e-9
        found += 0.5 * value
    assert ks.exploitability(policy) - gap <= found <= ks.exploitability(policy) + 1e-9


def test_the_tree_values_an_infoset_by_its_most_tried_action():
    infoset = module._Infoset([3, 5], np.array([0.6, 0.4]))
    assert infoset.select(1.0) == 0  # proposed
    infoset.add(0, payoff=-1.0)
    assert infoset.select(1.0) == 1
    for _ in range(3):
        infoset.add(1, payoff=1.0)
    assert infoset.actions[infoset.best] == 5
    assert infoset.worth == 4.0  # four visits at 1, the loss by the other action left out
    above = module._Infoset([0, 1], np.array([0.5, 0.5]))
    above.add(0, worth_below=infoset.worth)
    assert above.worth == 4.0
