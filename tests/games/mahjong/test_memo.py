"""What is kept of hands is what would be computed anew."""

import numpy as np
import pytest

from klss_spiel.algorithms.olss_search.model_game import RandomModel
from klss_spiel.algorithms.olss_search.search import Settings, search
from klss_spiel.games.mahjong import actions
from klss_spiel.games.mahjong.compiled import layout, prospect_kernels
from klss_spiel.games.mahjong.compiled.analysis_kernels import discard_quality, unseen_by
from klss_spiel.games.mahjong.compiled.distance_kernels import distance_tables
from klss_spiel.games.mahjong.compiled.environment import MahjongBatch, options_of
from klss_spiel.games.mahjong.compiled.knowledge_kernels import know_discards, know_waiting
from klss_spiel.games.mahjong.compiled.memo_kernels import (
    FACTS,
    _set_facts,
    clear,
    find,
    lacking_of,
    new_memo,
)
from klss_spiel.games.mahjong.compiled.model_game import MahjongModelGame, can_search
from klss_spiel.games.mahjong.compiled.rules_kernels import change, distance_with
from klss_spiel.games.mahjong.compiled.worth_kernels import WEIGHTS
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.games.mahjong.variant import Variant
from tests.games.mahjong.test_model_game import Heuristic

_FULL = Variant()
_ONE_SET = Variant(3, 1, 3, 1, 0, 4, ting=False, kongs=False)


def _positions(variant, games, steps):
    """Rows of games between greedy players, some of whom have melds or are ready."""
    batch = MahjongBatch(variant, games, seed=3)
    for _ in range(steps):
        yield from batch.rows.copy()
        batch.step(batch.greedy_actions(batch.legal()))


def _judged_anew(tables, options, row, unseen):
    """Lacking, accepted, worth at once, judged; and the best of each."""
    player = int(row[layout.PLAYER])
    lacking, accepted = np.zeros(16, np.int64), np.zeros(16, np.int64)
    fewest = discard_quality(tables, options, row, player, unseen, lacking, accepted)
    at_once, judged = np.zeros(16), np.zeros(16)
    most_at_once = prospect_kernels.worth_of_discards(
        tables, options, WEIGHTS, row, unseen, at_once
    )
    may = row[layout.HAND + 16 * player : layout.HAND + 16 * (player + 1)] > 0
    most = prospect_kernels.judge_discards(
        tables, options, WEIGHTS, row.copy(), may, unseen, judged
    )
    return (lacking, accepted, at_once, judged), (fewest, most_at_once, most)


# Two slots: nearly every hand is forgotten before it comes again.
@pytest.mark.parametrize("bits", [1, 12])
@pytest.mark.parametrize("variant", [_FULL, _ONE_SET], ids=["full", "one set"])
def test_what_is_kept_equals_what_is_computed_anew(variant, bits):
    tables, options, memo = distance_tables(), options_of(variant), new_memo(bits)
    discards, melds, ready = 0, 0, 0
    for row in _positions(variant, games=24, steps=24):
        if row[layout.PHASE] != Phase.DISCARD:
            continue
        player = int(row[layout.PLAYER])
        unseen = np.zeros(16, np.int64)
        unseen_by(options, row, player, unseen)
        expected, best = _judged_anew(tables, options, row, unseen)
        found = (np.zeros(16, np.int64), np.zeros(16, np.int64), np.zeros(16), np.zeros(16))
        seen = row.copy()
        assert know_discards(tables, options, WEIGHTS, memo, seen, unseen, *found) == best
        np.testing.assert_array_equal(seen, row)
        for ours, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, other)
        discards += 1
        melds += int(row[layout.NUM_MELDS + player] > 0)
        # The hand after a discard waits.
        kind = int(expected[3].argmax())
        change(seen, player, kind, -1)
        lacking, worth = know_waiting(tables, options, WEIGHTS, memo, seen, unseen)
        assert lacking == distance_with(tables, options, seen, player, -1, 0, -1, 0)
        assert worth == prospect_kernels.worth_of_waiting(tables, options, WEIGHTS, seen, unseen)
        ready += int(lacking == 1)
    assert discards > 50
    assert ready > 10
    assert melds > 10


def test_features_do_not_depend_on_what_was_kept():
    fresh, used = MahjongBatch(_FULL, 16, seed=8), MahjongBatch(_FULL, 16, seed=8)
    claims = 0
    for _ in range(40):
        seen = used.observe()
        clear(fresh._memo)
        np.testing.assert_array_equal(fresh.observe().features, seen.features)
        claims += int((used.rows[:, layout.PHASE] == Phase.CLAIM).sum())
        for games in (fresh, used):
            games.step(games.greedy_actions(seen.legal))
    assert claims > 20


def test_a_search_does_not_depend_on_what_was_kept():
    games = MahjongBatch(_FULL, 16, seed=2)
    games.play_randomly(9)
    legal = games.legal()
    which = [i for i in range(16) if can_search(games.rows[i], legal[i])][:3]
    memo, settings = new_memo(10), Settings(simulations=60, batch=30)
    assert len(which) == 3
    for i in which:
        reports = [
            search(
                MahjongModelGame(_FULL, games.rows[i], kept),
                Heuristic(),
                [RandomModel()],
                settings,
                np.random.default_rng(1),
            )
            for kept in (None, memo, memo)
        ]
        np.testing.assert_array_equal(reports[0].values, reports[1].values)
        np.testing.assert_array_equal(reports[0].values, reports[2].values)
        assert reports[0].actions[0] >= actions.DISCARD


def test_a_new_hand_takes_the_place_of_the_older_of_two():
    table = new_memo(1).draws
    code = np.uint64(1)
    for key in (5, 6, 7):  # two slots
        slot, known = find(table.words, np.uint64(key), code)
        assert not known
        _set_facts(table, slot, key, 0)
    slot, known = find(table.words, np.uint64(6), code)
    assert known
    assert lacking_of(table.words[slot, FACTS]) == 6
    assert not find(table.words, np.uint64(5), code)[1]
