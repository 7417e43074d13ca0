"""What a player knows of the own hand: how near it is and what it is worth, by the memo."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.compiled.layout import (
    HONOUR_CODE,
    PHASE,
    PLAYER,
    READY,
    SUIT_CODE,
    TILE,
)
from klss_spiel.games.mahjong.compiled.memo_kernels import (
    WORTH,
    as_it_is,
    completable_by,
    lacking_of,
    nearer_of,
    with_draws,
    write_own,
)
from klss_spiel.games.mahjong.compiled.prospect_kernels import LOOK, LOSS
from klss_spiel.games.mahjong.compiled.rules_kernels import _POWER, change, points_of_win
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_NO_TILE: Final = tiles.NO_TILE
_CLAIM_PHASE: Final = int(Phase.CLAIM)


@kernel
def _score_wins(
    tables: Any,
    options: Any,
    weights: Any,
    memo: Any,
    slot: int,
    row: Any,
    discarded: int,
    unseen: Any,
    worth: Any,
) -> None:
    """Writes what draws are worth ([16]) that complete a hand which lacks one tile."""
    player = row[PLAYER]
    phase, tile, ready = row[PHASE], row[TILE], row[READY + player]
    wins = nearer_of(memo.draws, slot)
    values = memo.draws.values[slot, WORTH:]
    row[PHASE] = _CLAIM_PHASE
    row[READY + player] = 1
    if discarded >= 0:
        change(row, player, discarded, -1)
    for kind in range(_K):
        # A kind that is not gone is never the last tile, so that points do not depend on the
        # rivers; but a tile that is taken from there is still counted there.
        if wins & (1 << kind) and unseen[kind] > 0 and (values[kind] == 0.0 or kind == tile):
            row[TILE] = kind
            worth[kind] = weights[LOSS] + points_of_win(tables, options, row)
            if kind != tile:
                values[kind] = worth[kind]
    if discarded >= 0:
        change(row, player, discarded, 1)
    row[PHASE] = phase
    row[TILE] = tile
    row[READY + player] = ready


@kernel
def _mean_over_draws(
    tables: Any,
    options: Any,
    weights: Any,
    memo: Any,
    slot: int,
    row: Any,
    discarded: int,
    unseen: Any,
) -> Any:
    """What the hand of a slot is worth: that in the row after a discard, or NO_TILE for none.

    Changes the row for a while.
    """
    worth = memo.worth
    for kind in range(_K):
        worth[kind] = memo.draws.values[slot, WORTH + kind]
    if lacking_of(memo.draws, slot) == 1:
        _score_wins(tables, options, weights, memo, slot, row, discarded, unseen, worth)
    total, value = 0, 0.0
    for kind in range(_K):
        number = max(unseen[kind], 0)
        total += number
        value += number * worth[kind]
    return value / max(total, 1)


@kernel
def know_waiting(tables: Any, options: Any, weights: Any, memo: Any, row: Any, unseen: Any) -> Any:
    """Tiles that a hand lacks which will draw, and what it is worth.

    The latter is that of `prospect_kernels.worth_of_waiting`.
    """
    code = write_own(options, row, memo)
    player = row[PLAYER]
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    mask = completable_by(memo.own, unseen)
    slot = as_it_is(tables, weights, memo, code, suit, honours, mask, _NO_TILE)
    lacking, now = lacking_of(memo.hands, slot), memo.hands.values[slot, WORTH]
    slot = with_draws(tables, weights, memo, code, suit, honours, mask, _NO_TILE, now, lacking)
    worth = _mean_over_draws(tables, options, weights, memo, slot, row, _NO_TILE, unseen)
    return lacking, worth


@kernel
def know_discards(
    tables: Any,
    options: Any,
    weights: Any,
    memo: Any,
    row: Any,
    unseen: Any,
    lacking: Any,
    accepted: Any,
    at_once: Any,
    judged: Any,
) -> Any:
    """Judges every discard of a hand with a tile too many.

    Args:
        tables: see `rules_kernels`.
        options: see `rules_kernels`.
        weights: see `prospect_kernels.weights_of`.
        memo: see `HandMemo`.
        row: the game; changed for a while.
        unseen: [16] see `analysis_kernels.unseen_by`.
        lacking: [16] gets what `analysis_kernels.discard_quality` writes,
        accepted: [16] and this as well;
        at_once: [16] gets what `prospect_kernels.worth_of_discards` writes;
        judged: [16] gets what `prospect_kernels.judge_discards` writes.

    Returns:
        The fewest lacking, the most worth at once, and the most judged.
    """
    player = row[PLAYER]
    hand = memo.own[1]
    code = write_own(options, row, memo)
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    mask = completable_by(memo.own, unseen)
    fewest, most_at_once, most = 20, 0.0, 0.0
    for kind in range(_K):
        lacking[kind], accepted[kind], at_once[kind], judged[kind] = 20, 0, 0.0, 0.0
        if hand[kind]:
            less_suit, less_honours, left = _without(memo, suit, honours, mask, unseen, kind)
            slot = as_it_is(tables, weights, memo, code, less_suit, less_honours, left, kind)
            lacking[kind] = lacking_of(memo.hands, slot)
            at_once[kind] = memo.hands.values[slot, WORTH]
            fewest = min(fewest, lacking[kind])
            most_at_once = max(most_at_once, at_once[kind])
    for kind in range(_K):
        promising = at_once[kind] > 0.0 and at_once[kind] >= weights[LOOK] * most_at_once
        if not promising and lacking[kind] != fewest:
            continue
        less_suit, less_honours, left = _without(memo, suit, honours, mask, unseen, kind)
        slot = with_draws(
            tables,
            weights,
            memo,
            code,
            less_suit,
            less_honours,
            left,
            kind,
            at_once[kind],
            lacking[kind],
        )
        if lacking[kind] == fewest:
            nearer, number = nearer_of(memo.draws, slot), 0
            for extra in range(_K):
                number += max(unseen[extra], 0) * ((nearer >> extra) & 1)
            accepted[kind] = number
        if promising:
            judged[kind] = _mean_over_draws(tables, options, weights, memo, slot, row, kind, unseen)
            most = max(most, judged[kind])
    return fewest, most_at_once, most


@kernel
def _without(memo: Any, suit: Any, honours: Any, mask: int, unseen: Any, kind: int) -> Any:
    """Codes of ranks and honours, and patterns that can be completed, after a discard."""
    _, hand, enough = memo.own
    if kind < _RANKS:
        return suit - _POWER[kind], honours, mask & enough[kind, hand[kind] - 1 + unseen[kind]]
    return suit, honours - _POWER[kind], mask
