"""The setting by which likely positions of a belief become roots before others."""

import types

import numpy as np
import pytest

from klss_spiel.algorithms.search.carry_over import _sample
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.settings import OBSCURO, STRONG, ZS21, parse_settings
from klss_spiel.budget import Budget

GAME = types.SimpleNamespace(keys=lambda positions: positions.tolist())


def drawn(weights, size, seed):
    belief = types.SimpleNamespace(positions=np.arange(len(weights)), weights=weights)
    return _sample(GAME, belief, np.arange(0), size, np.random.default_rng(seed)).tolist()


def test_roots_are_drawn_by_weight_without_doubles():
    weights = np.array([8.0] * 5 + [1.0] * 40)
    counts = np.zeros(45)
    for seed in range(300):
        chosen = drawn(weights, 5, seed)
        assert len(set(chosen)) == 5
        counts[chosen] += 1
    # Half the weight is on the first five: the first draw takes one of them every other time.
    assert counts[:5].mean() > 5 * counts[5:].mean()


def test_positions_whose_weight_is_lost_in_rounding_are_left_out():
    weights = np.array([1.0, 1e-320, 0.0, 0.0, 1.0])
    assert set(drawn(weights / weights.sum(), 4, 0)) >= {0, 4}
    assert 2 not in drawn(weights, 4, 0)


def counted_beliefs(settings):
    game = search_game("python_dark_chess", lambda positions: np.zeros(len(positions)))
    asked = []
    plain, weighted = game.belief, game.weighted_belief
    game.belief = lambda player: asked.append("plain") or plain(player)
    game.weighted_belief = lambda player: asked.append("weighted") or weighted(player)
    player = SearchPlayer(game, 0, settings, Budget(nodes=10))
    start = game.initial()
    told = "White"
    assert len(start.position) == 1
    belief = player.advance_belief(told)
    return asked, belief


@pytest.mark.parametrize("settings", [OBSCURO, ZS21, parse_settings("obscuro", growth=0.01)])
def test_beliefs_are_flat_unless_asked_for(settings):
    asked, belief = counted_beliefs(settings)
    assert asked == ["plain"]
    assert belief.weights is None


def test_the_setting_asks_for_weights():
    asked, belief = counted_beliefs(parse_settings("strong", belief_weights=True))
    assert asked == ["weighted"]
    assert belief.weights.tolist() == [1.0]


def test_games_without_a_prior_are_played_as_without_the_setting():
    decisions = []
    for on in (False, True):
        settings = parse_settings("obscuro", belief_weights=on)
        player = SearchPlayer(search_game("kuhn_poker"), 0, settings, Budget(nodes=40), seed=1)
        decisions.append(player.decide("1", (0, 1)).probabilities)
    np.testing.assert_array_equal(*decisions)


def test_strong_is_what_the_matches_decided():
    assert not STRONG.belief_weights
