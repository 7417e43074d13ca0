"""Players that sample worlds: likely ones count more."""

import types

import numpy as np
import pytest

from klss_spiel.matches.sampling_players import (
    Believer,
    VotingPlayer,
    sample_worlds,
)

WEIGHTS = np.array([6.0, 1.0, 1.0])


class _Belief:
    """Three worlds, the first of which is likelier than both others."""

    complete = False
    positions = np.arange(3)
    weights = WEIGHTS

    def advance(self, action, information_state):
        pass


def _scores(worlds, player, told, legal):
    """The first world is for action 0, all others are for action 1."""
    return np.array([[1.0, 0.0] if world == 0 else [0.0, 1.0] for world in worlds])


def _action(weights, worlds, votes, seed=0):
    belief = _Belief()
    belief.weights = weights
    game = types.SimpleNamespace(belief=lambda player: belief)
    seat = types.SimpleNamespace(player=0, seed=seed)
    player = VotingPlayer(seat, game, _scores, worlds, votes)
    state = types.SimpleNamespace(
        legal_actions=lambda: [7, 8], information_state_string=lambda: "told"
    )
    return player.step(state)


@pytest.mark.parametrize("votes", [True, False])
def test_likely_worlds_outvote_many_unlikely_ones(votes):
    assert _action(WEIGHTS, 64, votes) == 7
    assert _action(None, 64, votes) == 8


@pytest.mark.parametrize("votes", [True, False])
def test_drawn_worlds_count_as_often_as_they_were_drawn(votes):
    """Two draws of three: action 0 needs both or, by lot, one; (3/4)^2 + 3/16 = 3/4."""
    actions = [_action(WEIGHTS, 2, votes, seed) for seed in range(400)]
    assert np.mean(np.array(actions) == 7) == pytest.approx(0.75, abs=0.07)


def test_samples_are_unbiased_and_without_doubles():
    rng = np.random.default_rng(1)
    positions, weights = np.arange(50), np.arange(1.0, 51.0)
    mass = np.zeros(50)
    for _ in range(2_000):
        worlds, counts = sample_worlds(positions, 20, rng, weights)
        assert len(set(worlds.tolist())) == len(worlds) <= 20
        assert counts.mean() == pytest.approx(1.0)
        mass[worlds] += counts / counts.sum()
    np.testing.assert_allclose(mass / mass.sum(), weights / weights.sum(), atol=0.004)


def test_without_weights_all_count_alike():
    rng = np.random.default_rng(2)
    for count, found in ((3, 3), (10, 10), (20, 10)):
        worlds, counts = sample_worlds(np.arange(10), count, rng)
        assert worlds.tolist() == sorted(set(worlds.tolist()))
        assert counts.tolist() == [1.0] * found
    worlds, counts = sample_worlds(np.empty(0), 5, rng, np.empty(0))
    assert not len(worlds) and not len(counts)


def test_a_belief_that_contradicts_what_is_told_is_an_error_even_if_it_is_a_sample():
    class Wrong(_Belief):
        def advance(self, action, information_state):
            raise ValueError("no position fits")

    believer = Believer(types.SimpleNamespace(belief=lambda player: Wrong()), 0)
    with pytest.raises(ValueError, match="no position fits"):
        believer.see("told")
