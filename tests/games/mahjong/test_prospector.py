"""A simple player who looks at points, and what it thinks hands are worth."""

import numpy as np
import pytest

from klss_spiel.games.mahjong.compiled import layout, worth_kernels
from klss_spiel.games.mahjong.compiled.analysis_kernels import unseen_by
from klss_spiel.games.mahjong.compiled.distance_kernels import BASE, distance_tables
from klss_spiel.games.mahjong.compiled.environment import MahjongBatch, options_of, random_decks
from klss_spiel.games.mahjong.compiled.prospect_kernels import worth_of_discards
from klss_spiel.games.mahjong.compiled.trainable import (
    duplicate_match,
    greedy_player,
    prospector,
)
from klss_spiel.games.mahjong.compiled.worth_kernels import WEIGHTS, worth
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.games.mahjong.variant import Variant
from tests.games.mahjong.test_compiled import _swap_hidden

_FULL = Variant()


def _worth(hand, unseen=(4,) * 16, melds=0):
    standing = np.zeros(worth_kernels.NUM_STANDING, np.int64)
    row = np.zeros(layout.ROW, np.int32)
    row[layout.NUM_MELDS] = melds
    worth_kernels.write_standing(options_of(_FULL), row, 0, standing)
    hand = np.array(hand)
    suit = sum(count * BASE**i for i, count in enumerate(hand[:9]))
    honours = sum(count * BASE**i for i, count in enumerate(hand[9:]))
    unseen = np.array(unseen)
    return worth(distance_tables(), WEIGHTS, suit, honours, hand, unseen, standing)


def test_a_straight_that_lacks_one_tile_is_worth_its_points():
    # 123 456 789, three easts, a green dragon: 21 to lose, 4, concealed 3, straight 16, half 6.
    hand = [1] * 9 + [1, 0, 0, 3, 0, 0, 0]
    assert _worth(hand) == pytest.approx((21 + 4 + 3 + 16 + 6) * 0.35)


def test_a_straight_whose_tile_is_gone_is_none():
    hand = [1] * 8 + [0] + [2, 0, 0, 3, 0, 0, 0]
    gone = [4] * 8 + [0] + [4] * 7
    assert _worth(hand) == pytest.approx((21 + 4 + 3 + 16 + 6) * 0.35)
    assert _worth(hand, gone) == pytest.approx((21 + 4 + 3 + 6) * 0.35)


def test_six_pairs_and_a_flush():
    assert _worth([2, 2, 0, 0, 2, 0, 0, 2, 0, 2, 2, 1, 0, 0, 0, 0]) == pytest.approx(
        (21 + 4 + 18 + 6) * 0.35
    )
    # Pairs of ranks only.
    assert _worth([2, 2, 0, 2, 2, 0, 2, 2, 1] + [0] * 7) == pytest.approx((21 + 4 + 18 + 16) * 0.35)


def test_discards_are_worth_what_is_left():
    games = MahjongBatch(_FULL, 24, seed=4)
    for _ in range(8):
        games.step(games.greedy_actions(games.legal()))
    options, tables = options_of(_FULL), distance_tables()
    standing = np.zeros(worth_kernels.NUM_STANDING, np.int64)
    compared = 0
    for row in games.rows:
        if row[layout.PHASE] != Phase.DISCARD:
            continue
        player = int(row[layout.PLAYER])
        unseen, found = np.zeros(16, np.int64), np.zeros(16)
        unseen_by(options, row, player, unseen)
        best = worth_of_discards(tables, options, WEIGHTS, row, unseen, found)
        assert best == found.max()
        worth_kernels.write_standing(options, row, player, standing)
        hand = row[layout.HAND + 16 * player : layout.HAND + 16 * (player + 1)].astype(np.int64)
        for kind in np.flatnonzero(hand):
            left = hand.copy()
            left[kind] -= 1
            suit = sum(count * BASE**i for i, count in enumerate(left[:9]))
            honours = sum(count * BASE**i for i, count in enumerate(left[9:]))
            expected = worth(tables, WEIGHTS, suit, honours, left, unseen, standing)
            assert found[kind] == pytest.approx(expected)
            compared += 1
    assert compared > 50


def test_it_does_not_look_at_what_is_hidden():
    games = MahjongBatch(_FULL, 32, seed=6)
    games.play_randomly(7)
    before = games.prospector_actions(games.legal())
    rng = np.random.default_rng(0)
    for row, deck in zip(games.rows, games.decks, strict=True):
        _swap_hidden(row, deck, rng)
    np.testing.assert_array_equal(games.prospector_actions(games.legal()), before)
    assert len(set(before)) > 5


def test_it_beats_the_greedy_player():
    decks = random_decks(_FULL, 600, np.random.default_rng(5))
    points = duplicate_match(_FULL, decks, prospector, greedy_player)
    # +1.2 +- .4 in 8,000 games on other decks.
    assert points.mean() > 0
