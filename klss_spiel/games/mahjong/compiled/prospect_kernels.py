"""What hands are worth after discards and draws, computed anew from the row of a game.

Worth is that of `worth_kernels`. A discard counts the mean over draws in proportion to unseen
tiles, where a hand that is complete counts its score. `knowledge_kernels` finds the same numbers
by hands that it has seen before. Nothing here reads the opponent's hand or the wall.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.layout import (
    HAND,
    HONOUR_CODE,
    MELD_KIND,
    MELD_TILE,
    NUM_MELDS,
    PHASE,
    PLAYER,
    READY,
    SUIT_CODE,
    TILE,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import (
    POWER,
    change,
    distance_with,
    points_of_win,
)
from klss_spiel.games.mahjong.compiled.worth_kernels import (
    LOOK,
    LOSS,
    NUM_STANDING,
    SETS_WANTED,
    completable_patterns,
    new_patterns,
    worth_by_patterns,
    worth_without_patterns,
    write_lacks,
    write_needs,
    write_standing,
)
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_CHOW: Final = actions.CHOW
_NO_TILE: Final = tiles.NO_TILE
_CLAIM_PHASE: Final = int(Phase.CLAIM)


@kernel
def _own_hand(options: Any, row: Any) -> Any:
    """What the player to move holds: standing, counts, codes of suit and honours, patterns."""
    player = row[PLAYER]
    standing = np.zeros(NUM_STANDING, np.int64)
    write_standing(options, row, player, standing)
    hand = row[HAND + _K * player : HAND + _K * player + _K].astype(np.int64)
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    patterns = new_patterns()
    need, missing, rest, free = patterns
    write_needs(standing, need, free)
    write_lacks(hand, suit, need, missing, rest)
    return standing, hand, suit, honours, patterns


@kernel
def worth_of_discards(
    tables: Any, options: Any, weights: Any, row: Any, unseen: Any, found: Any
) -> Any:
    """Writes [16] what the hand is worth after each discard (0 if there is none); the best."""
    standing, hand, suit, honours, patterns = _own_hand(options, row)
    most = 0.0
    for kind in range(_K):
        found[kind] = 0.0
        if hand[kind]:
            less_suit = suit - (POWER[kind] if kind < _RANKS else 0)
            less_honours = honours - (POWER[kind] if kind >= _RANKS else 0)
            _, best = worth_without_patterns(tables, weights, less_suit, less_honours, standing)
            if standing[SETS_WANTED] == 4:
                mask = completable_patterns(patterns[0], hand, unseen, kind)
                best = worth_by_patterns(
                    tables, weights, less_honours, hand, mask, standing, patterns, kind, -1, best
                )
            found[kind] = best
            most = max(most, best)
    return most


@kernel
def worth_of_waiting(tables: Any, options: Any, weights: Any, row: Any, unseen: Any) -> Any:
    """What a hand that will draw is worth, a mean over draws. Changes the row for a while."""
    player = row[PLAYER]
    standing, hand, suit, honours, patterns = _own_hand(options, row)
    phase, tile, ready = row[PHASE], row[TILE], row[READY + player]
    row[PHASE] = _CLAIM_PHASE
    row[READY + player] = 1
    total, value = 0, 0.0
    mask = completable_patterns(patterns[0], hand, unseen, _NO_TILE)
    for kind in range(_K):
        number = unseen[kind]
        if number <= 0:
            continue
        total += number
        if hand[kind] >= 4:
            continue
        if distance_with(tables, options, row, player, kind, 1, _NO_TILE, 0) == 0:
            row[TILE] = kind
            value += number * (weights[LOSS] + points_of_win(tables, options, row))
            continue
        more_suit = suit + (POWER[kind] if kind < _RANKS else 0)
        more_honours = honours + (POWER[kind] if kind >= _RANKS else 0)
        _, best = worth_without_patterns(tables, weights, more_suit, more_honours, standing)
        if standing[SETS_WANTED] == 4:
            best = worth_by_patterns(
                tables, weights, more_honours, hand, mask, standing, patterns, kind, 1, best
            )
        value += number * best
    row[PHASE] = phase
    row[TILE] = tile
    row[READY + player] = ready
    return value / max(total, 1)


@kernel
def judge_discards(
    tables: Any, options: Any, weights: Any, row: Any, legal: Any, unseen: Any, found: Any
) -> Any:
    """Writes [16] what discards are worth; 0 for those not looked at; the best.

    Args:
        tables: see `rules_kernels`.
        options: see `rules_kernels`.
        weights: see `worth_kernels.weights_of`.
        row: the game; changed for a while.
        legal: [16] kinds that may be discarded.
        unseen: [16] see `analysis_kernels.unseen_by`.
        found: [16] gets what each is worth.
    """
    player = row[PLAYER]
    worth_of_discards(tables, options, weights, row, unseen, found)
    best = 0.0
    for kind in range(_K):
        if not legal[kind]:
            found[kind] = 0.0
        best = max(best, found[kind])
    most = 0.0
    for kind in range(_K):
        if found[kind] < weights[LOOK] * best or found[kind] == 0.0:
            found[kind] = 0.0
            continue
        change(row, player, kind, -1)
        found[kind] = worth_of_waiting(tables, options, weights, row, unseen)
        change(row, player, kind, 1)
        most = max(most, found[kind])
    return most


@kernel
def write_claimed(row: Any, action: int, after: Any) -> None:
    """Writes the row of a player who takes a discard for a chow or pong and has to discard."""
    player, tile = row[PLAYER], row[TILE]
    after[:] = row
    slot = 4 * player + row[NUM_MELDS + player]
    after[NUM_MELDS + player] += 1
    if action >= _CHOW:
        head = (action - _CHOW) // 3
        after[MELD_KIND + slot] = 1
        after[MELD_TILE + slot] = head
        for i in range(3):
            kind = head + i
            if kind != tile:
                after[HAND + _K * player + kind] -= 1
                after[SUIT_CODE + player] -= POWER[kind]
    else:
        after[MELD_KIND + slot] = 2
        after[MELD_TILE + slot] = tile
        after[HAND + _K * player + tile] -= 2
        if tile < _RANKS:
            after[SUIT_CODE + player] -= 2 * POWER[tile]
        else:
            after[HONOUR_CODE + player] -= 2 * POWER[tile]
