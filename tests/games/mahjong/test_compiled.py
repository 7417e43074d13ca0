"""The compiled environment agrees move by move with the rules."""

import random

import numpy as np
import pytest

from klss_spiel.games.mahjong import actions, rules, shapes, tiles
from klss_spiel.games.mahjong.compiled import layout
from klss_spiel.games.mahjong.compiled.distance_kernels import BASE, distance, distance_tables
from klss_spiel.games.mahjong.compiled.environment import MahjongBatch, random_decks
from klss_spiel.games.mahjong.melds import MeldKind
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.games.mahjong.variant import Variant

_SMALL = Variant(3, 1, 3, 1, 0, ting=False, kongs=False)
_VARIANTS = {
    "full": Variant(),
    "separate_pass_hu": Variant(separate_pass_hu=True),
    "forced_hu": Variant(forced_hu=True),
    "short_wall": Variant(wall_limit=12, ting=False),
    "two_sets": Variant(ranks=5, honours=2, sets=2, flowers=3),
    "small": _SMALL,
}


def _from_deck(position: rules.Position, deck: np.ndarray, at: int) -> tuple[rules.Position, int]:
    """Plays chance by a deck until somebody decides or the game is over."""
    while position.phase in rules.CHANCE_PHASES:
        kind = int(deck[at])
        at += 1
        if position.phase == Phase.DEAL:
            counts = [0] * 17
            counts[kind] = 1
            position = rules.deal_hand(position, counts)
        else:
            position = rules.draw(position, kind)
    return position, at


def _assert_same(position: rules.Position, row: np.ndarray) -> None:
    assert row[layout.PHASE] == position.phase
    for player, side in enumerate(position.sides):
        hand = row[layout.HAND + 16 * player :][:16]
        assert tuple(hand) == side.hand
        assert row[layout.FLOWERS + player] == side.flowers
        assert row[layout.READY + player] == side.ready
        river = row[layout.RIVER + 16 * player :][:16]
        assert list(river) == [side.river.count(kind) for kind in range(16)]
        melds = [
            (row[layout.MELD_KIND + 4 * player + i], row[layout.MELD_TILE + 4 * player + i])
            for i in range(row[layout.NUM_MELDS + player])
        ]
        if position.phase != Phase.OVER:
            assert melds == [(m.kind, m.tile) for m in side.melds]
            mask = sum(1 << kind for kind in side.waits)
            assert row[layout.WAITS + player] == mask
    if position.phase == Phase.OVER:
        assert row[layout.POINTS] == position.points
    else:
        assert row[layout.PLAYER] == position.player
        assert row[layout.END] - row[layout.NEXT] == position.wall_left


def _choose(legal: list[int], greedy: int, rng: random.Random) -> int:
    """Mostly what the greedy player does, so that hands get ready; kongs when possible."""
    kongs = [a for a in legal if actions.KONG <= a < actions.CHOW]
    if kongs and rng.random() < 0.8:
        return rng.choice(kongs)
    if greedy == actions.HU and rng.random() < 0.6:  # passed wins lead to rare positions
        return rng.choice(legal)
    return greedy if rng.random() < 0.85 else rng.choice(legal)


@pytest.mark.parametrize("name", _VARIANTS)
def test_random_games_are_the_same_move_by_move(name):
    variant = _VARIANTS[name]
    number = 150 if name == "full" else 60
    decks = random_decks(variant, number, np.random.default_rng(7))
    games = MahjongBatch(variant, 0, decks=decks)
    rng = random.Random(1)
    played = [_from_deck(rules.first_position(variant), deck, 0) for deck in decks]
    seen: set[int] = set()
    for _ in range(variant.max_game_length):
        legal = games.legal()
        greedy = games.greedy_actions(legal)
        chosen = np.zeros(number, np.int64)
        for game, (position, at) in enumerate(played):
            _assert_same(position, games.rows[game])
            options = rules.legal_actions(position)
            assert list(np.flatnonzero(legal[game])) == options
            if not options:
                continue
            chosen[game] = _choose(options, int(greedy[game]), rng)
            seen.add(int(chosen[game]))
            played[game] = _from_deck(rules.after(position, int(chosen[game])), decks[game], at)
        if games.over.all():
            break
        games.step(chosen)
    assert games.over.all()
    assert any(position.points > 0 for position, _ in played)
    assert any(position.points < 0 for position, _ in played)
    if name == "full":  # every type of action has been played
        firsts = (actions.DISCARD, actions.PONG, actions.KONG, actions.CONCEALED_KONG)
        firsts += (actions.ADD_KONG, actions.CHOW)
        assert {actions.PASS, actions.HU, actions.TING} <= seen
        for first in firsts:
            assert any(first <= action < first + 16 for action in seen)


def _lacking(hand: tiles.Counts, sets: int, seven_pairs: bool, most: int) -> int:
    """Tiles lacking, by trying: add tiles until some part of the hand is complete."""

    def complete(counts: tiles.Counts) -> bool:
        total = sum(counts)
        wanted = 3 * sets + 2
        if seven_pairs and sum(count // 2 for count in counts) >= 7:
            return True
        if total == wanted:
            return shapes.wins(counts, sets, False)
        return any(
            complete(tiles.with_change(counts, [(kind, -1)])) for kind in range(16) if counts[kind]
        )

    frontier = {hand}
    for lacking in range(most + 1):
        if any(complete(counts) for counts in frontier):
            return lacking
        frontier = {
            tiles.with_change(counts, [(kind, 1)])
            for counts in frontier
            for kind in range(16)
            if counts[kind] < 4
        }
    return most + 1


def test_distances_are_those_of_brute_force():
    rng = np.random.default_rng(3)
    deck = np.repeat(np.arange(16), 4)
    tables = distance_tables()
    checked = set()
    for _ in range(60):
        kinds = deck if rng.random() < 0.3 else deck[np.isin(deck, rng.choice(16, 4, False))]
        hand = tuple(np.bincount(rng.choice(kinds, 5, replace=False), minlength=16).tolist())
        suit = sum(count * BASE**i for i, count in enumerate(hand[:9]))
        honours = sum(count * BASE**i for i, count in enumerate(hand[9:]))
        found = distance(tables, suit, honours, 1, False)
        assert found == _lacking(hand, 1, False, 2)
        checked.add(found)
    assert {0, 1, 2} <= checked | {2}


def test_steps_are_the_same_for_the_same_seed_and_differ_for_another():
    batches = [MahjongBatch(Variant(), 8, seed) for seed in (5, 5, 6)]
    for batch in batches:
        batch.play_randomly(30)
    assert np.array_equal(batches[0].rows, batches[1].rows)
    assert not np.array_equal(batches[0].rows, batches[2].rows)


def test_features_do_not_change_with_what_the_player_cannot_see():
    variant = Variant()
    games = MahjongBatch(variant, 64, seed=4)
    games.play_randomly(21)
    before = games.observe()
    rng = np.random.default_rng(0)
    for row, deck in zip(games.rows, games.decks, strict=True):
        _swap_hidden(row, deck, rng)
    after = games.observe()
    assert np.array_equal(before.features, after.features)


def _swap_hidden(row: np.ndarray, deck: np.ndarray, rng: np.random.Generator) -> None:
    """Exchanges the opponent's hand, concealed kongs and waits, and the wall, at random."""
    opponent = 1 - row[layout.PLAYER]
    start = layout.HAND + 16 * opponent
    hand = np.repeat(np.arange(16), row[start : start + 16])
    wall = deck[row[layout.NEXT] :].copy()
    ranks = np.concatenate([hand, wall[wall < tiles.FLOWER]])
    for i in range(row[layout.NUM_MELDS + opponent]):
        if row[layout.MELD_KIND + 4 * opponent + i] == MeldKind.CONCEALED_KONG:
            tile = layout.MELD_TILE + 4 * opponent + i
            ranks = np.concatenate([ranks, np.repeat(row[tile], 4)])
            row[tile] = rng.choice(np.flatnonzero(np.bincount(ranks, minlength=16) == 4))
            ranks = ranks[ranks != row[tile]]
    row[layout.WAITS + opponent] = rng.integers(1 << 16)
    rng.shuffle(ranks)
    row[start : start + 16] = np.bincount(ranks[: len(hand)], minlength=16)
    left = wall.copy()
    left[wall < tiles.FLOWER] = ranks[len(hand) :]
    deck[row[layout.NEXT] :] = left
    powers = [BASE**i for i in range(9)]
    row[layout.SUIT_CODE + opponent] = np.dot(row[start : start + 9], powers)
    row[layout.HONOUR_CODE + opponent] = np.dot(row[start + 9 : start + 16], powers[:7])
