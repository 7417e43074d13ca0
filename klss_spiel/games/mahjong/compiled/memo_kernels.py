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
    write_ceilings,
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

# A hand in the memo: its key, facts, what it is worth as it is and after each draw.
_KEY: Final = 0
_FACTS: Final = 2
_AS_IT_IS: Final = 3
_AFTER: Final = 4
_WORDS: Final = _AFTER + _K

# How much is known of a hand.
_NOTHING: Final = 0
_NO_DRAWS: Final = 1
_ALL: Final = 2

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
        words: [s, 20] key (two words, 0 for none), facts (see `_facts`), and 17 values.
        values: the same memory as float64; a win that is not scored yet is worth 0.
        own: arrays to work with; see `_write_own`.
        patterns: arrays to work with; see `prospect_kernels`.
    """

    words: npt.NDArray[np.uint64]
    values: npt.NDArray[np.float64]
    own: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
    patterns: tuple[npt.NDArray[Any], ...]


def new_memo(bits: int = 15) -> HandMemo:
    """An empty memo of 2^bits hands (160 bytes each)."""
    words = np.zeros((1 << bits, _WORDS), np.uint64)
    own = (
        np.zeros(NUM_STANDING, np.int64),
        np.zeros(_K, np.int64),
        np.zeros((_RANKS, _COUNTS), np.int64),
    )
    return HandMemo(words, words.view(np.float64), own, _new_patterns())


@kernel
def _facts(known: int, lacking: int, nearer: int) -> Any:
    """How much is known, tiles lacking, and the mask of kinds that bring the hand nearer."""
    return np.uint64(known + 4 * lacking + 256 * nearer)


@kernel
def _known(memo: Any, slot: int) -> Any:
    return np.int64(memo.words[slot, _FACTS]) & 3


@kernel
def _lacking(memo: Any, slot: int) -> Any:
    return (np.int64(memo.words[slot, _FACTS]) >> 2) & 63


@kernel
def _nearer(memo: Any, slot: int) -> Any:
    return np.int64(memo.words[slot, _FACTS]) >> 8


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
    num_chows = 0
    for head in range(_RANKS):
        num_chows += standing[head]
    if standing[_SETS] == 4 and num_chows == 0 and standing[_NUM_MELDS] <= 1:
        enough[:] = _ENOUGH
    else:
        enough[:] = 0
        if standing[_SETS] == 4 and standing[_NUM_MELDS] <= num_chows + 1:
            _write_enough(standing, enough)
    return _code(row)


@kernel
def _write_enough(standing: Any, enough: Any) -> None:
    """Marks the patterns that melds do not rule out where their tiles are enough."""
    for pattern in range(_NUM_PATTERNS):
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


def _enough_without_melds() -> npt.NDArray[np.int64]:
    enough = np.zeros((_RANKS, _COUNTS), np.int64)
    _write_enough(np.zeros(NUM_STANDING, np.int64), enough)
    return enough


_ENOUGH: Final = _enough_without_melds()


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
def _find(memo: Any, first: Any, second: Any) -> Any:
    """The slot of a hand, in which nothing is known if the hand is new."""
    words = memo.words
    mixed = (first ^ (second * _MIX_SECOND)) * _MIX_FIRST
    slot = np.int64((mixed >> _HASH_SHIFT) & np.uint64(words.shape[0] - 1))
    other = slot ^ 1
    if words[slot, _KEY] == first and words[slot, _KEY + 1] == second:
        return slot
    if words[other, _KEY] == first and words[other, _KEY + 1] == second:
        return other
    if words[slot, _KEY + 1] != 0 and words[other, _KEY + 1] == 0:
        slot = other
    words[slot, _KEY] = first
    words[slot, _KEY + 1] = second
    words[slot, _FACTS] = 0
    return slot


@kernel
def _completable(own: Any, unseen: Any) -> Any:
    """Mask of patterns whose tiles the hand has or may still draw."""
    _, hand, enough = own
    mask = (1 << _NUM_PATTERNS) - 1
    for kind in range(_RANKS):
        mask &= enough[kind, hand[kind] + unseen[kind]]
    return mask


@kernel
def _look_up(
    tables: Any,
    weights: Any,
    memo: Any,
    code: Any,
    suit: Any,
    honours: Any,
    completable: int,
    with_draws: bool,
) -> Any:
    """The slot of a hand (counts in `memo.own`, codes of ranks and honours), now known."""
    first = np.uint64(suit) | (np.uint64(honours) << _HONOUR_SHIFT)
    slot = _find(memo, first | (np.uint64(completable) << _PATTERN_SHIFT), code)
    known = _known(memo, slot)
    if known == _NOTHING or (with_draws and known == _NO_DRAWS):
        _learn(tables, weights, memo, slot, suit, honours, completable, with_draws)
    return slot


@kernel
def _look_up_without(
    tables: Any,
    weights: Any,
    memo: Any,
    code: Any,
    suit: Any,
    honours: Any,
    completable: int,
    unseen: Any,
    kind: int,
    with_draws: bool,
) -> Any:
    """`_look_up` of a hand after a discard; arguments are those before it."""
    _, hand, enough = memo.own
    if kind < _RANKS:
        suit = suit - _POWER[kind]
        completable &= enough[kind, hand[kind] - 1 + unseen[kind]]
    else:
        honours = honours - _POWER[kind]
    hand[kind] -= 1
    slot = _look_up(tables, weights, memo, code, suit, honours, completable, with_draws)
    hand[kind] += 1
    return slot


@kernel
def _learn(
    tables: Any,
    weights: Any,
    memo: Any,
    slot: int,
    suit: Any,
    honours: Any,
    completable: int,
    with_draws: bool,
) -> None:
    """Writes what is not known of the hand of a slot."""
    standing, hand, _ = memo.own
    wanted = standing[_SETS] - standing[_NUM_MELDS]
    patterns = memo.patterns
    need, missing, rest, free, ceiling = patterns
    with_patterns = standing[_SETS] == 4 and completable != 0
    if with_patterns:
        _write_patterns(hand, suit, standing, need, missing, rest, free)
        ceiling[:] = np.inf
    if _known(memo, slot) == _NOTHING:
        lacking = distance(tables, suit, honours, wanted, _seven_pairs(standing))
        best = _worth_without_patterns(tables, weights, suit, honours, standing)
        if with_patterns:
            best = _worth_by_patterns(
                tables, weights, honours, hand, completable, standing, patterns, 0, 0, best
            )
        memo.values[slot, _AS_IT_IS] = best
        memo.words[slot, _FACTS] = _facts(_NO_DRAWS, lacking, 0)
    if not with_draws:
        return
    if with_patterns:
        now = memo.values[slot, _AS_IT_IS]
        write_ceilings(tables, weights, honours, completable, standing, patterns, now)
    lacking, nearer = _lacking(memo, slot), 0
    for kind in range(_K):
        memo.values[slot, _AFTER + kind] = 0.0
        if hand[kind] >= _COUNTS - 1:
            continue
        more_suit = suit + (_POWER[kind] if kind < _RANKS else 0)
        more_honours = honours + (_POWER[kind] if kind >= _RANKS else 0)
        left = distance(tables, more_suit, more_honours, wanted, _seven_pairs(standing))
        if left < lacking:
            nearer |= 1 << kind
        if left > 0:
            best = _worth_without_patterns(tables, weights, more_suit, more_honours, standing)
            if with_patterns:
                best = _worth_by_patterns(
                    tables,
                    weights,
                    more_honours,
                    hand,
                    completable,
                    standing,
                    patterns,
                    kind,
                    1,
                    best,
                )
            memo.values[slot, _AFTER + kind] = best
    memo.words[slot, _FACTS] = _facts(_ALL, lacking, nearer)


@kernel
def _seven_pairs(standing: Any) -> Any:
    return standing[_SETS] == 4 and standing[_NUM_MELDS] == 0


@kernel
def _mean_over_draws(
    tables: Any, options: Any, weights: Any, memo: Any, slot: int, row: Any, unseen: Any
) -> Any:
    """What the hand of a slot, which is that in the row, is worth; changes the row for a while."""
    player = row[PLAYER]
    phase, tile, ready = row[PHASE], row[TILE], row[READY + player]
    row[PHASE] = _CLAIM_PHASE
    row[READY + player] = 1
    wins = _nearer(memo, slot) if _lacking(memo, slot) == 1 else 0
    total, value = 0, 0.0
    for kind in range(_K):
        number = unseen[kind]
        if number <= 0:
            continue
        total += number
        worth = memo.values[slot, _AFTER + kind]
        # A kind that is not gone is never the last tile, so that points do not depend on the
        # rivers; but a tile that is taken from there is still counted there.
        if wins & (1 << kind) and (worth == 0.0 or kind == tile):
            row[TILE] = kind
            worth = weights[LOSS] + points_of_win(tables, options, row)
            if kind != tile:
                memo.values[slot, _AFTER + kind] = worth
        value += number * worth
    row[PHASE] = phase
    row[TILE] = tile
    row[READY + player] = ready
    return value / max(total, 1)


@kernel
def know_waiting(tables: Any, options: Any, weights: Any, memo: Any, row: Any, unseen: Any) -> Any:
    """Tiles that a hand lacks which will draw, and what it is worth.

    The latter is that of `prospect_kernels.worth_of_waiting`.
    """
    code = _write_own(options, row, memo.own)
    player = row[PLAYER]
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    mask = _completable(memo.own, unseen)
    slot = _look_up(tables, weights, memo, code, suit, honours, mask, True)
    return _lacking(memo, slot), _mean_over_draws(tables, options, weights, memo, slot, row, unseen)


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
    _, hand, _ = memo.own
    code = _write_own(options, row, memo.own)
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    mask = _completable(memo.own, unseen)
    fewest, most_at_once, most = 20, 0.0, 0.0
    for kind in range(_K):
        lacking[kind], accepted[kind], at_once[kind], judged[kind] = 20, 0, 0.0, 0.0
        if hand[kind]:
            slot = _look_up_without(
                tables, weights, memo, code, suit, honours, mask, unseen, kind, False
            )
            lacking[kind] = _lacking(memo, slot)
            at_once[kind] = memo.values[slot, _AS_IT_IS]
            fewest = min(fewest, lacking[kind])
            most_at_once = max(most_at_once, at_once[kind])
    for kind in range(_K):
        promising = at_once[kind] > 0.0 and at_once[kind] >= weights[LOOK] * most_at_once
        if not promising and lacking[kind] != fewest:
            continue
        slot = _look_up_without(
            tables, weights, memo, code, suit, honours, mask, unseen, kind, True
        )
        if lacking[kind] == fewest:
            for extra in range(_K):
                if _nearer(memo, slot) & (1 << extra) and unseen[extra] > 0:
                    accepted[kind] += unseen[extra]
        if promising:
            change(row, player, kind, -1)
            judged[kind] = _mean_over_draws(tables, options, weights, memo, slot, row, unseen)
            change(row, player, kind, 1)
            most = max(most, judged[kind])
    return fewest, most_at_once, most
