"""What a player knows of the own hand: how near it is and what it is worth, by the memo."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.compiled.change_kernels import write_discards
from klss_spiel.games.mahjong.compiled.layout import (
    HONOUR_CODE,
    PHASE,
    PLAYER,
    READY,
    SUIT_CODE,
    TILE,
)
from klss_spiel.games.mahjong.compiled.memo_kernels import (
    FACTS,
    WORTH,
    completable_by,
    find,
    key_of,
    lacking_of,
    learn_draws,
    nearer_of,
    worth_waiting,
    write_own,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import POWER, change, points_of_win
from klss_spiel.games.mahjong.compiled.worth_kernels import LOOK, LOSS
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import inlined_kernel, kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_NO_TILE: Final = tiles.NO_TILE
_CLAIM_PHASE: Final = int(Phase.CLAIM)


@kernel
def _mean_with_wins(
    tables: Any,
    options: Any,
    weights: Any,
    memo: Any,
    slot: int,
    row: Any,
    discarded: int,
    unseen: Any,
) -> Any:
    """What the hand of a slot is worth that lacks one tile, with wins scored.

    It is that in the row after a discard, or NO_TILE for none.
    """
    player = row[PLAYER]
    phase, tile, ready = row[PHASE], row[TILE], row[READY + player]
    wins = nearer_of(memo.draws.words[slot, FACTS])
    values = memo.draws.values[slot, WORTH:]
    row[PHASE] = _CLAIM_PHASE
    row[READY + player] = 1
    if discarded >= 0:
        change(row, player, discarded, -1)
    total, value = 0, 0.0
    for kind in range(_K):
        number = unseen[kind]
        if number <= 0:
            continue
        total += number
        worth = values[kind]
        # A kind that is not gone is never the last tile, so that points do not depend on the
        # rivers; but a tile that is taken from there is still counted there.
        if wins & (1 << kind) and (worth == 0.0 or kind == tile):
            row[TILE] = kind
            worth = weights[LOSS] + points_of_win(tables, options, row)
            if kind != tile:
                values[kind] = worth
        value += number * worth
    if discarded >= 0:
        change(row, player, discarded, 1)
    row[PHASE] = phase
    row[TILE] = tile
    row[READY + player] = ready
    return value / max(total, 1)


@inlined_kernel
def _mean(values: Any, slot: int, unseen: Any) -> Any:
    """What the hand of a slot is worth, whose wins have their score."""
    total, value = 0, 0.0
    for kind in range(_K):
        number = max(unseen[kind], 0)
        total += number
        value += number * values[slot, WORTH + kind]
    return value / max(total, 1)


@kernel
def know_waiting(tables: Any, options: Any, weights: Any, memo: Any, row: Any, unseen: Any) -> Any:
    """Tiles that a hand lacks which will draw, and what it is worth.

    The latter is that of `prospect_kernels.worth_of_waiting`. Changes the row for a while.
    """
    code = write_own(options, row, memo)
    player = row[PLAYER]
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    _, hand, enough = memo.own
    mask = completable_by(hand, enough, unseen)
    key = key_of(suit, honours, mask)
    draws = memo.draws.words
    slot, known = find(draws, key, code)
    if not known:
        lacking, now = worth_waiting(tables, weights, memo, suit, honours, mask)
        learn_draws(tables, weights, memo, slot, suit, honours, mask, _NO_TILE, now, lacking)
    lacking = lacking_of(draws[slot, FACTS])
    if lacking == 1:
        return lacking, _mean_with_wins(tables, options, weights, memo, slot, row, _NO_TILE, unseen)
    return lacking, _mean(memo.draws.values, slot, unseen)


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
        weights: see `worth_kernels.weights_of`.
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
    standing, hand, enough = memo.own
    code = write_own(options, row, memo)
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    mask = completable_by(hand, enough, unseen)
    after = memo.after
    for kind in range(_RANKS):
        after[kind] = mask
        if hand[kind]:
            after[kind] &= enough[kind, hand[kind] - 1 + unseen[kind]]
    write_discards(
        tables,
        weights,
        suit,
        honours,
        hand,
        mask,
        after,
        standing,
        memo.patterns,
        lacking,
        at_once,
    )
    draws, after_draws = memo.draws.words, memo.draws.values
    fewest, most_at_once, most = 20, 0.0, 0.0
    for kind in range(_K):
        accepted[kind], judged[kind] = 0, 0.0
        fewest = min(fewest, lacking[kind])
        most_at_once = max(most_at_once, at_once[kind])
    for kind in range(_K):
        now = at_once[kind]
        promising = now > 0.0 and now >= weights[LOOK] * most_at_once
        if not promising and lacking[kind] != fewest:
            continue
        fewer, others, left = suit, honours, mask
        if kind < _RANKS:
            fewer, left = suit - POWER[kind], after[kind]
        else:
            others = honours - POWER[kind]
        slot, known = find(draws, key_of(fewer, others, left), code)
        if not known:
            learn_draws(tables, weights, memo, slot, fewer, others, left, kind, now, lacking[kind])
        if lacking[kind] == fewest:
            nearer, number = nearer_of(draws[slot, FACTS]), 0
            for extra in range(_K):
                number += max(unseen[extra], 0) * ((nearer >> extra) & 1)
            accepted[kind] = number
        if promising:
            if lacking[kind] == 1:
                judged[kind] = _mean_with_wins(
                    tables, options, weights, memo, slot, row, kind, unseen
                )
            else:
                judged[kind] = _mean(after_draws, slot, unseen)
            most = max(most, judged[kind])
    return fewest, most_at_once, most
