"""What a search sees of Mahjong, and players made of it."""

import dataclasses

import jax
import numpy as np
import pyspiel
import pytest

from klss_spiel import veiled_state
from klss_spiel.algorithms.blueprints import network
from klss_spiel.algorithms.blueprints.blueprint import NetworkBlueprint
from klss_spiel.algorithms.olss_search.enumeration import exact_values
from klss_spiel.algorithms.olss_search.model_game import LearnedModel, RandomModel
from klss_spiel.algorithms.olss_search.search import Settings, search
from klss_spiel.games.mahjong import actions, rules, tiles
from klss_spiel.games.mahjong.compiled import layout
from klss_spiel.games.mahjong.compiled.environment import NUM_FEATURES, MahjongBatch, random_decks
from klss_spiel.games.mahjong.compiled.memo_kernels import new_memo
from klss_spiel.games.mahjong.compiled.model_game import (
    MahjongModelGame,
    can_search,
    row_of_information_state,
)
from klss_spiel.games.mahjong.compiled.trainable import (
    MahjongTraining,
    duplicate_match,
    greedy_player,
    random_player,
)
from klss_spiel.games.mahjong.compiled.watching import opponent_discards
from klss_spiel.games.mahjong.variant import Variant
from tests.games.mahjong.test_compiled import _swap_hidden
from tests.games.mahjong.test_game import _random_state

_FULL = Variant()
_SMALL = Variant(3, 1, 3, 1, 0, 4, ting=False, kongs=False)


class Heuristic:
    """Prefers discards by number, values the hand's thermometers: no training needed."""

    def evaluate(self, features, legal):
        weights = legal * np.arange(1, legal.shape[1] + 1)
        probabilities = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
        return probabilities, features[:, :64] @ np.linspace(-1, 1, 64).astype(np.float32)


def _rows_to_discard(variant, number, seed=0, steps=9):
    games = MahjongBatch(variant, number, seed)
    games.play_randomly(steps)
    legal = games.legal()
    which = [i for i in range(number) if can_search(games.rows[i], legal[i])]
    return games, which


def test_a_state_and_its_information_state_give_the_same_search():
    searched = 0
    for seed in range(12):
        state = _random_state("python_two_player_mahjong", seed, moves=2 * seed)
        if state.is_terminal() or state.position.phase != rules.Phase.DISCARD:
            continue
        veiled = veiled_state.veil(state, state.current_player())
        row = row_of_information_state(_FULL, veiled.information_state_string())
        legal = np.zeros(105, np.bool_)
        legal[veiled.legal_actions()] = True
        if not can_search(row, legal):
            continue
        # The true position, with everything in it.
        full = np.array(row)
        opponent = state.position.sides[1 - state.current_player()]
        first = layout.HAND + 16 * (1 - state.current_player())
        full[first : first + 16] = opponent.hand
        settings = Settings(simulations=50, batch=25)
        reports = [
            search(
                MahjongModelGame(_FULL, one),
                Heuristic(),
                [RandomModel()],
                settings,
                np.random.default_rng(0),
            )
            for one in (row, full)
        ]
        np.testing.assert_array_equal(reports[0].values, reports[1].values)
        searched += 1
    assert searched >= 4


def test_a_search_does_not_change_with_what_is_hidden():
    games, which = _rows_to_discard(_FULL, 16, seed=2)
    assert len(which) >= 3
    rng = np.random.default_rng(0)
    for i in which[:3]:
        found = []
        for _ in range(2):
            game = MahjongModelGame(_FULL, games.rows[i])
            settings = Settings(simulations=60, batch=30)
            report = search(game, Heuristic(), [RandomModel()], settings, np.random.default_rng(1))
            found.append(report)
            _swap_hidden(games.rows[i], games.decks[i], rng)
        np.testing.assert_array_equal(found[0].values, found[1].values)


def test_rounds_of_the_model_game_keep_count_of_tiles():
    games, which = _rows_to_discard(_FULL, 16, seed=5)
    game = MahjongModelGame(_FULL, games.rows[which[0]])
    rows = game.start(np.zeros(4, np.int64))
    hidden = game.unseen(rows).sum(axis=1)
    wall = rows[:, layout.END].copy()
    game.own_move(rows, np.repeat(game.root_actions(0)[:1], 4))
    np.testing.assert_array_equal(game.unseen(rows).sum(axis=1), hidden)
    kinds = game.unseen(rows).argmax(axis=1)
    game.opponent_move(rows, kinds)
    game.draw(rows, game.unseen(rows).argmax(axis=1))
    np.testing.assert_array_equal(game.unseen(rows).sum(axis=1), hidden - 2)
    np.testing.assert_array_equal(rows[:, layout.END], wall - 2)
    first = layout.HAND + 16 * int(rows[0, layout.PLAYER])
    hand = rows[0, first : first + 16]
    np.testing.assert_array_equal(game.views(rows)[1][0, actions.DISCARD : actions.PONG], hand > 0)


def test_an_own_win_is_worth_its_points():
    # 123 456 789 EwEwEw Gd and nothing discarded yet: Gd completes it.
    view = rules.first_position(_FULL)
    ready = [1] * 9 + [1, 0, 0, 3, 0, 0, 0, 0]
    other = [3, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    view = rules.deal_hand(rules.deal_hand(view, ready), other)
    state = rules.draw(view, tiles.NAMES.index("Nw"))
    from klss_spiel.games.mahjong.compiled.model_game import row_of_view

    game = MahjongModelGame(_FULL, row_of_view(state, 0))
    rows = game.start(np.zeros(2, np.int64))
    north, green = tiles.NAMES.index("Nw"), tiles.NAMES.index("Gd")
    game.own_move(rows, np.array([actions.DISCARD + north] * 2))
    game.opponent_move(rows, np.array([14, 14]))
    game.draw(rows, np.array([green, north]))
    points = game.wins(rows)
    # Pure straight 16, half flush 6, fully concealed 4, single wait 1.
    assert points[0] == 27
    assert np.isnan(points[1])


def _learned_model():
    """A network that has learned nothing and prefers low tiles: any will do."""
    parameters = network.init_parameters(jax.random.key(0), NUM_FEATURES, tiles.NUM_KINDS, 8, 1)
    parameters["policy"]["bias"] = np.linspace(15, -15, tiles.NUM_KINDS, dtype=np.float32)
    return LearnedModel(NetworkBlueprint("model", parameters, 1.0))


# One round, then values of the blueprint; two rounds, after which the wall is empty.
@pytest.mark.parametrize("steps", [2, 4])
def test_sampled_values_approach_those_of_the_listed_model_game(steps):
    games, which = _rows_to_discard(_SMALL, 32, seed=1, steps=0)
    models, memo = [RandomModel(), _learned_model()], new_memo()
    roots = [MahjongModelGame(_SMALL, games.rows[i], memo) for i in which[:3]]
    settings = Settings(steps=steps, batch=100, exploration=200.0)
    exact = [exact_values(root, Heuristic(), models, settings) for root in roots]
    # The models are two: what moves are worth depends on which is played against.
    assert max(np.abs(values[0] - values[1]).max() for values in exact) > 0.1
    errors = []
    for simulations in (400, 6400):
        more = dataclasses.replace(settings, simulations=simulations)
        squares = []
        for seed, (root, values) in enumerate(zip(roots, exact, strict=True)):
            rng = np.random.default_rng(seed)
            report = search(root, Heuristic(), models, more, rng)
            difference = np.abs(report.values - values)
            # Wins of a hundred points happen rarely: deviations of returns are up to 30.
            assert (difference * np.sqrt(report.visits)).max() < 4 * 30
            squares.append(difference.ravel() ** 2)
        errors.append(np.sqrt(np.concatenate(squares).mean()))
    # Of 16 times as many simulations one expects a quarter of the error.
    assert 0 < errors[1] < 0.5 * errors[0]


def test_who_need_not_discard_cannot_be_searched():
    games = MahjongBatch(_FULL, 200, seed=3)
    games.play_randomly(5)
    claims = np.flatnonzero(games.rows[:, layout.PHASE] == rules.Phase.CLAIM)
    with pytest.raises(ValueError, match="expected a player who has to discard, got CLAIM"):
        MahjongModelGame(_FULL, games.rows[claims[0]])


def test_greedy_beats_random_and_equal_players_cancel_in_pairs():
    decks = random_decks(_FULL, 60, np.random.default_rng(0))
    assert duplicate_match(_FULL, decks, greedy_player, random_player).mean() > 10
    np.testing.assert_array_equal(duplicate_match(_FULL, decks, greedy_player, greedy_player), 0)


def test_strength_refuses_unknown_opponents():
    with pytest.raises(
        ValueError, match="expected an opponent among greedy, prospector, random, got 'nobody'"
    ):
        MahjongTraining("x", _FULL).strength(lambda f, legal: legal.argmax(1), "nobody", 2, 0)


def test_watched_discards_were_possible():
    def first_legal(features, legal):
        return legal.argmax(axis=1)

    batch = next(opponent_discards(_FULL, first_legal, 16, 200, seed=0))
    assert len(batch.move) == 200
    assert batch.possible[np.arange(200), batch.move].all()


def test_the_game_offers_its_environment():
    game = pyspiel.load_game("python_two_player_mahjong(wall_limit=20)")
    training = game.trainable_game()
    assert training.name == str(game)
    assert training.environment(4, 0).observe().features.shape == (4, training.num_features)
