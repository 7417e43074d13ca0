"""What hands are worth that wait for a tile, kept for when they are met again.

Features and searches meet the same hands over and over: most draws do not help and are
discarded at once. What is kept of a hand without a tile too many depends on nothing but the
hand, what its player has laid out, and which patterns of three chows can still be completed;
how many tiles of each kind are unseen weighs it afterwards. So whoever reads the memo finds
exactly what would be computed anew, whatever it has kept. A memo is for one variant.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.compiled.distance_kernels import distance
from klss_spiel.games.mahjong.compiled.layout import (
    END,
    FLOWERS,
    HAND,
    HEAVENLY,
    HONOUR_CODE,
    MELD_KIND,
    MELD_TILE,
    NEXT,
    NUM_MELDS,
    PHASE,
    PLAYER,
    READY,
    RIVER_SIZE,
    SUIT_CODE,
    TILE,
)
from klss_spiel.games.mahjong.compiled.prospect_kernels import (
    _NUM_MELDS,
    _PATTERNS,
    _SETS,
    LOOK,
    LOSS,
    NUM_STANDING,
    _new_patterns,
    _worth_by_patterns,
    _worth_without_patterns,
    _write_patterns,
    write_standing,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import _POWER, change, points_of_win
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_CLAIM_PHASE: Final = int(Phase.CLAIM)
_COUNTS: Final = tiles.MAX_COPIES + 1
_NUM_PATTERNS: Final = _PATTERNS.shape[0]

# Slots of facts.
_KNOWN: Final = 0  # 0 nothing, 1 the hand, 2 its draws as well
_LACKING: Final = 1
_NEARER: Final = 2  # mask of kinds that bring it nearer

# A code of ranks has 21 bits, one of honours 17, patterns 16.
_HONOUR_SHIFT: Final = np.uint64(21)
_PATTERN_SHIFT: Final = np.uint64(38)
_MIX_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_SECOND: Final = np.uint64(0xD6E8FEB86659FD93)
_HASH_SHIFT: Final = np.uint64(32)
_MELD_BITS: Final = np.uint64(7)
_FLAG_BITS: Final = np.uint64(5)
_FLOWER_BITS: Final = np.uint64(4)


class HandMemo(NamedTuple):
    """A table of hands, changed by whoever reads it. Letters: s slots, a power of two.

    Attributes:
        keys: [s, 2] which hand; 0 for none.
        facts: [s, 3] how much is known, tiles lacking, mask of kinds that bring it nearer.
        worth: [s, 17] after each draw (0 for a win that is not scored yet), and as it is.
    """

    keys: npt.NDArray[np.uint64]
    facts: npt.NDArray[np.int32]
    worth: npt.NDArray[np.float64]


def new_memo(bits: int = 15) -> HandMemo:
    """An empty memo of 2^bits hands (168 bytes each)."""
    size = 1 << bits
    return HandMemo(
        np.zeros((size, 2), np.uint64), np.zeros((size, 3), np.int32), np.zeros((size, _K + 1))
    )


@kernel
def _new_own() -> Any:
    """What `_write_own` fills: standing, counts, patterns by kind and number of tiles."""
    return (
        np.zeros(NUM_STANDING, np.int64),
        np.zeros(_K, np.int64),
        np.zeros((_RANKS, _COUNTS), np.int64),
    )


@kernel
def _write_own(options: Any, row: Any, own: Any) -> Any:
    """Writes what is common to the hands of a player, and returns its code.

    Args:
        options: see `rules_kernels`.
        row: the game; its player to move is looked at.
        own: gets standing, counts of the hand, and [9, 5] masks of the patterns for which so
            many tiles of a rank are enough.
    """
    standing, hand, enough = own
    player = row[PLAYER]
    write_standing(options, row, player, standing)
    for kind in range(_K):
        hand[kind] = row[HAND + _K * player + kind]
    for kind in range(_RANKS):
        for number in range(_COUNTS):
            enough[kind, number] = 0
    for pattern in range(_NUM_PATTERNS if standing[_SETS] == 4 else 0):
        bit = 1 << pattern
        melded = 0
        need = 0  # three bits for each rank
        for i in range(3):
            head = _PATTERNS[pattern, i]
            times = 1
            for j in range(i):
                if _PATTERNS[pattern, j] == head:
                    times += 1
            if standing[head] >= times:
                melded += 1
            else:
                need += 0b001001001 << (3 * head)
        if melded + 1 < standing[_NUM_MELDS]:
            continue  # other melds rule it out
        for kind in range(_RANKS):
            for number in range((need >> (3 * kind)) & 7, _COUNTS):
                enough[kind, number] |= bit
    return _code(row)


@kernel
def _code(row: Any) -> Any:
    """A number, never 0, of all but the hand on which what is kept depends.

    Beside melds and flowers that is what points of a win may depend on: who wins, a Ting
    at the start, whether the wall is empty and a discard the first one.
    """
    player = row[PLAYER]
    code = np.uint64(1)
    any_open = 0
    for owner in range(2):
        for i in range(row[NUM_MELDS + owner]):
            kind = row[MELD_KIND + 4 * owner + i]
            any_open |= kind != 4
            if owner == player:
                tile = row[MELD_TILE + 4 * owner + i]
                code = (code << _MELD_BITS) + np.uint64(16 * kind + tile)
    flags = (
        16 * player
        + 8 * (row[HEAVENLY + player] != 0)
        + 4 * any_open
        + 2 * (row[END] == row[NEXT])
        + (row[RIVER_SIZE] == 1)
    )
    code = (code << _FLAG_BITS) + np.uint64(flags)
    return (code << _FLOWER_BITS) + np.uint64(row[FLOWERS + player])


@kernel
def _find(memo: Any, first: Any, second: Any) -> int:
    """The slot of a hand, in which nothing is known if the hand is new."""
    keys = memo.keys
    mixed = (first ^ (second * _MIX_SECOND)) * _MIX_FIRST
    slot = np.int64((mixed >> _HASH_SHIFT) & np.uint64(keys.shape[0] - 1))
    other = slot ^ 1
    if keys[slot, 0] == first and keys[slot, 1] == second:
        return slot
    if keys[other, 0] == first and keys[other, 1] == second:
        return other
    if keys[slot, 1] != 0 and keys[other, 1] == 0:
        slot = other
    keys[slot, 0] = first
    keys[slot, 1] = second
    memo.facts[slot, _KNOWN] = 0
    return slot


@kernel
def _look_up(
    tables: Any,
    weights: Any,
    memo: Any,
    own: Any,
    code: Any,
    suit: Any,
    honours: Any,
    unseen: Any,
    with_draws: bool,
) -> int:
    """The slot of a hand (counts in `own`, codes of ranks and honours) after learning of it."""
    standing, hand, enough = own
    completable = (1 << _NUM_PATTERNS) - 1
    for kind in range(_RANKS):
        completable &= enough[kind, hand[kind] + unseen[kind]]
    first = np.uint64(suit) | (np.uint64(honours) << _HONOUR_SHIFT)
    slot = _find(memo, first | (np.uint64(completable) << _PATTERN_SHIFT), code)
    known = memo.facts[slot, _KNOWN]
    wanted = standing[_SETS] - standing[_NUM_MELDS]
    seven_pairs = standing[_SETS] == 4 and standing[_NUM_MELDS] == 0
    if known == 2 or (known == 1 and not with_draws):
        return slot
    patterns = _new_patterns()
    need, missing, rest, free = patterns
    if standing[_SETS] == 4:
        _write_patterns(hand, suit, standing, need, missing, rest, free)
    if known == 0:
        memo.facts[slot, _LACKING] = distance(tables, suit, honours, wanted, seven_pairs)
        best = _worth_without_patterns(tables, weights, suit, honours, standing)
        if standing[_SETS] == 4:
            best = _worth_by_patterns(
                tables, weights, honours, hand, completable, standing, patterns, 0, 0, best
            )
        memo.worth[slot, _K] = best
        memo.facts[slot, _KNOWN] = 1
    if not with_draws:
        return slot
    lacking, nearer = memo.facts[slot, _LACKING], 0
    for kind in range(_K):
        memo.worth[slot, kind] = 0.0
        if hand[kind] >= _COUNTS - 1:
            continue
        more_suit = suit + (_POWER[kind] if kind < _RANKS else 0)
        more_honours = honours + (_POWER[kind] if kind >= _RANKS else 0)
        left = distance(tables, more_suit, more_honours, wanted, seven_pairs)
        if left < lacking:
            nearer |= 1 << kind
        if left > 0:
            best = _worth_without_patterns(tables, weights, more_suit, more_honours, standing)
            if standing[_SETS] == 4:
                best = _worth_by_patterns(
                    tables, weights, more_honours, hand, completable, standing, patterns, kind, 1, best
                )
            memo.worth[slot, kind] = best
    memo.facts[slot, _NEARER] = nearer
    memo.facts[slot, _KNOWN] = 2
    return slot


@kernel
def _mean_over_draws(
    tables: Any, options: Any, weights: Any, memo: Any, slot: int, row: Any, unseen: Any
) -> Any:
    """What the hand of a slot, which is that in the row, is worth; changes the row for a while."""
    player = row[PLAYER]
    phase, tile, ready = row[PHASE], row[TILE], row[READY + player]
    row[PHASE] = _CLAIM_PHASE
    row[READY + player] = 1
    wins = memo.facts[slot, _NEARER] if memo.facts[slot, _LACKING] == 1 else 0
    total, value = 0, 0.0
    for kind in range(_K):
        number = unseen[kind]
        if number <= 0:
            continue
        total += number
        worth = memo.worth[slot, kind]
        # A kind that is not gone is never the last tile, so that points do not depend on the
        # rivers; but a tile that is taken from there is still counted there.
        if wins & (1 << kind) and (worth == 0.0 or kind == tile):
            row[TILE] = kind
            worth = weights[LOSS] + points_of_win(tables, options, row)
            if kind != tile:
                memo.worth[slot, kind] = worth
        value += number * worth
    row[PHASE] = phase
    row[TILE] = tile
    row[READY + player] = ready
    return value / max(total, 1)


@kernel
def know_waiting(
    tables: Any, options: Any, weights: Any, memo: Any, row: Any, unseen: Any
) -> Any:
    """Tiles that a hand lacks which will draw, and what it is worth.

    The latter is that of `prospect_kernels.worth_of_waiting`.
    """
    own = _new_own()
    code = _write_own(options, row, own)
    player = row[PLAYER]
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    slot = _look_up(tables, weights, memo, own, code, suit, honours, unseen, True)
    lacking = memo.facts[slot, _LACKING]
    return lacking, _mean_over_draws(tables, options, weights, memo, slot, row, unseen)


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
    own = _new_own()
    _, hand, _ = own
    code = _write_own(options, row, own)
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    fewest, most_at_once, most = 20, 0.0, 0.0
    for kind in range(_K):
        lacking[kind], accepted[kind], at_once[kind], judged[kind] = 20, 0, 0.0, 0.0
        if hand[kind]:
            less_suit = suit - (_POWER[kind] if kind < _RANKS else 0)
            less_honours = honours - (_POWER[kind] if kind >= _RANKS else 0)
            hand[kind] -= 1
            slot = _look_up(
                tables, weights, memo, own, code, less_suit, less_honours, unseen, False
            )
            hand[kind] += 1
            lacking[kind] = memo.facts[slot, _LACKING]
            at_once[kind] = memo.worth[slot, _K]
            fewest = min(fewest, lacking[kind])
            most_at_once = max(most_at_once, at_once[kind])
    for kind in range(_K):
        promising = at_once[kind] > 0.0 and at_once[kind] >= weights[LOOK] * most_at_once
        if not promising and lacking[kind] != fewest:
            continue
        less_suit = suit - (_POWER[kind] if kind < _RANKS else 0)
        less_honours = honours - (_POWER[kind] if kind >= _RANKS else 0)
        hand[kind] -= 1
        slot = _look_up(tables, weights, memo, own, code, less_suit, less_honours, unseen, True)
        hand[kind] += 1
        if lacking[kind] == fewest:
            for extra in range(_K):
                if memo.facts[slot, _NEARER] & (1 << extra) and unseen[extra] > 0:
                    accepted[kind] += unseen[extra]
        if promising:
            change(row, player, kind, -1)
            judged[kind] = _mean_over_draws(tables, options, weights, memo, slot, row, unseen)
            change(row, player, kind, 1)
            most = max(most, judged[kind])
    return fewest, most_at_once, most
