"""What hands are worth that wait for a tile, kept for when they are met again.

Features and searches meet the same hands over and over: most draws do not help and are
discarded at once. What is kept of a hand without a tile too many depends on nothing but the
hand, what its player has laid out, and which patterns of three chows can still be completed;
how many tiles of each kind are unseen weighs it afterwards. So whoever reads the memo finds
exactly what would be computed anew, whatever it has kept. A memo is for one variant. See
`knowledge_kernels` for who reads it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.compiled.change_kernels import write_draws
from klss_spiel.games.mahjong.compiled.layout import (
    END,
    FLOWERS,
    HAND,
    HEAVENLY,
    MELD_KIND,
    MELD_TILE,
    NEXT,
    NUM_MELDS,
    PLAYER,
    RIVER_SIZE,
    ROW,
)
from klss_spiel.games.mahjong.compiled.worth_kernels import (
    MELDS_OUT,
    NUM_STANDING,
    PATTERNS,
    SETS_WANTED,
    new_patterns,
    worth_by_patterns,
    worth_without_patterns,
    write_lacks,
    write_needs,
    write_standing,
)
from klss_spiel.kernels import borrowed, inlined_kernel, kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_COUNTS: Final = tiles.MAX_COPIES + 1
_NUM_PATTERNS: Final = PATTERNS.shape[0]

# A hand in a table: its key, facts, and what it is worth after each draw.
_KEY: Final = 0
FACTS: Final = 2
WORTH: Final = 3

# Facts: tiles lacking, the mask of kinds that bring the hand nearer, when it was learned.
_LACKING_MASK: Final = np.uint64(63)
_NEARER_SHIFT: Final = np.uint64(6)
_NEARER_MASK: Final = np.uint64((1 << _K) - 1)
_AGE_SHIFT: Final = np.uint64(24)

# A code of ranks has 21 bits, one of honours 17, patterns 16.
_HONOUR_SHIFT: Final = np.uint64(21)
_PATTERN_SHIFT: Final = np.uint64(38)
_MIX_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_SECOND: Final = np.uint64(0xD6E8FEB86659FD93)
_HASH_SHIFT: Final = np.uint64(32)
_MELD_BITS: Final = np.uint64(7)
_FLAG_BITS: Final = np.uint64(5)
_FLOWER_BITS: Final = np.uint64(4)


class HandTable(NamedTuple):
    """Hands by key. Letters: s slots, a power of two.

    Attributes:
        words: [s, 3 + 16] key (two words, 0 for none), facts, and values.
        values: the same memory as float64.
        clock: [1] hands learned so far; tells which of two is older.
    """

    words: npt.NDArray[np.uint64]
    values: npt.NDArray[np.float64]
    clock: npt.NDArray[np.uint64]


class HandMemo(NamedTuple):
    """A table of hands, changed by whoever reads it, and arrays to work with.

    Attributes:
        draws: what hands are worth after each draw; a win that is not scored yet is worth 0.
        own: see `write_own`.
        patterns: see `worth_kernels`.
        after: [9] masks of patterns, see `knowledge_kernels.know_discards`.
        counts: [3, 16] numbers of tiles; for `analysis_kernels`, as what follows.
        worths: [2, 16] what hands are worth.
        row: [ROW] a game.
    """

    draws: HandTable
    own: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
    patterns: tuple[npt.NDArray[Any], ...]
    after: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    worths: npt.NDArray[np.float64]
    row: npt.NDArray[np.int32]


def new_memo(bits: int = 14) -> HandMemo:
    """An empty memo of 2^bits hands (152 bytes each)."""
    words = np.zeros((1 << bits, WORTH + _K), np.uint64)
    draws = HandTable(words, words.view(np.float64), np.zeros(1, np.uint64))
    own = (
        np.zeros(NUM_STANDING, np.int64),
        np.zeros(_K, np.int64),
        np.zeros((_RANKS, _COUNTS), np.int64),
    )
    counts, worths = np.zeros((3, _K), np.int64), np.zeros((2, _K))
    after, row = np.zeros(_RANKS, np.int64), np.zeros(ROW, np.int32)
    return HandMemo(draws, own, new_patterns(), after, counts, worths, row)


def clear(memo: HandMemo) -> None:
    """Forgets every hand."""
    memo.draws.words[:] = 0


@kernel
def borrowed_memo(memo: Any) -> Any:
    """The memo for use in a kernel; see `borrowed`."""
    words, values, clock = memo.draws
    standing, hand, enough = memo.own
    need, missing, rest, free = memo.patterns
    return HandMemo(
        HandTable(borrowed(words), borrowed(values), borrowed(clock)),
        (borrowed(standing), borrowed(hand), borrowed(enough)),
        (borrowed(need), borrowed(missing), borrowed(rest), borrowed(free)),
        borrowed(memo.after),
        borrowed(memo.counts),
        borrowed(memo.worths),
        borrowed(memo.row),
    )


@kernel
def lacking_of(facts: Any) -> Any:
    """Tiles that a hand lacks."""
    return np.int64(facts & _LACKING_MASK)


@kernel
def nearer_of(facts: Any) -> Any:
    """Mask of the kinds that bring a hand nearer."""
    return np.int64((facts >> _NEARER_SHIFT) & _NEARER_MASK)


@kernel
def _set_facts(table: Any, slot: int, lacking: int, nearer: int) -> None:
    table.clock[0] += np.uint64(1)
    facts = np.uint64(lacking) | (np.uint64(nearer) << _NEARER_SHIFT)
    table.words[slot, FACTS] = facts | (table.clock[0] << _AGE_SHIFT)


@kernel
def write_own(options: Any, row: Any, memo: Any) -> Any:
    """Writes what is common to the hands of a player, and returns its code.

    Args:
        options: see `rules_kernels`.
        row: the game; its player to move is looked at.
        memo: its `own` gets standing, counts of the hand, and [9, 5] masks of the patterns
            for which so many tiles of a rank are enough; its `patterns` what melds leave.
    """
    standing, hand, enough = memo.own
    need, _, _, free = memo.patterns
    player = row[PLAYER]
    write_standing(options, row, player, standing)
    for kind in range(_K):
        hand[kind] = row[HAND + _K * player + kind]
    num_chows = 0
    for head in range(_RANKS):
        num_chows += standing[head]
    if num_chows == 0:
        need[:] = _NEED
        free[:] = 1 - standing[MELDS_OUT]
    else:
        write_needs(standing, need, free)
    if standing[SETS_WANTED] == 4 and num_chows == 0 and standing[MELDS_OUT] <= 1:
        enough[:] = _ENOUGH
    else:
        enough[:] = 0
        if standing[SETS_WANTED] == 4 and standing[MELDS_OUT] <= num_chows + 1:
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
            head = PATTERNS[pattern, i]
            times = 1
            for j in range(i):
                if PATTERNS[pattern, j] == head:
                    times += 1
            if standing[head] >= times:
                melded += 1
            else:
                need += 0b001001001 << (3 * head)
        if melded + 1 < standing[MELDS_OUT]:
            continue  # other melds rule it out
        for kind in range(_RANKS):
            for number in range((need >> (3 * kind)) & 7, _COUNTS):
                enough[kind, number] |= bit


def _without_melds() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    standing = np.zeros(NUM_STANDING, np.int64)
    enough = np.zeros((_RANKS, _COUNTS), np.int64)
    _write_enough(standing, enough)
    need, _, _, free = new_patterns()
    write_needs(standing, need, free)
    return enough, need


_ENOUGH, _NEED = _without_melds()


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
def key_of(suit: Any, honours: Any, completable: int) -> Any:
    """A number of a hand and the patterns that it may complete."""
    hand = np.uint64(suit) | (np.uint64(honours) << _HONOUR_SHIFT)
    return hand | (np.uint64(completable) << _PATTERN_SHIFT)


@kernel
def find(words: Any, first: Any, second: Any) -> Any:
    """The slot of a hand in a table's words, and whether it is known.

    A new hand takes the older of two slots. Short and with few arguments, so that it is part
    of the loops that call it: passing a whole memo takes longer than looking up.
    """
    mixed = (first ^ (second * _MIX_SECOND)) * _MIX_FIRST
    slot = np.int64((mixed >> _HASH_SHIFT) & np.uint64(words.shape[0] - 1))
    if words[slot, _KEY] == first and words[slot, _KEY + 1] == second:
        return slot, True
    other = slot ^ 1
    if words[other, _KEY] == first and words[other, _KEY + 1] == second:
        return other, True
    if words[other, FACTS] >> _AGE_SHIFT < words[slot, FACTS] >> _AGE_SHIFT:
        slot = other
    words[slot, _KEY] = first
    words[slot, _KEY + 1] = second
    return slot, False


@kernel
def completable_by(hand: Any, enough: Any, unseen: Any) -> Any:
    """Mask of patterns whose tiles the hand has or may still draw."""
    mask = (1 << _NUM_PATTERNS) - 1
    for kind in range(_RANKS):
        mask &= enough[kind, hand[kind] + unseen[kind]]
    return mask


@kernel
def worth_waiting(
    tables: Any, weights: Any, memo: Any, suit: Any, honours: Any, completable: int
) -> Any:
    """Tiles lacking, and what the hand in the memo's `own` is worth as it is.

    Arguments are those of `learn_draws`.
    """
    standing, hand, _ = memo.own
    lacking, best = worth_without_patterns(tables, weights, suit, honours, standing)
    if standing[SETS_WANTED] == 4 and completable != 0:
        patterns = memo.patterns
        need, missing, rest, _ = patterns
        write_lacks(hand, suit, need, missing, rest)
        best = worth_by_patterns(
            tables, weights, honours, hand, completable, standing, patterns, 0, 0, best
        )
    return lacking, best


@inlined_kernel
def learn_draws(
    tables: Any,
    weights: Any,
    memo: Any,
    slot: int,
    suit: Any,
    honours: Any,
    completable: int,
    discarded: int,
    now: float,
    lacking: int,
) -> None:
    """Writes what a hand is worth after each draw.

    Args:
        tables: see `distance_kernels`.
        weights: see `worth_kernels.weights_of`.
        memo: its `own` has the hand's counts, still with a tile that is discarded.
        slot: of the hand in `memo.draws`.
        suit: code of its ranks.
        honours: code of its honours.
        completable: mask of patterns, see `completable_by`.
        discarded: kind of that tile, or NO_TILE.
        now: what the hand is worth as it is.
        lacking: tiles that it lacks.
    """
    standing, hand, _ = memo.own
    if discarded >= 0:
        hand[discarded] -= 1
    values = memo.draws.values[slot, WORTH:]
    nearer = write_draws(
        tables,
        weights,
        suit,
        honours,
        hand,
        completable,
        standing,
        memo.patterns,
        now,
        values,
    )
    for kind in range(_K):
        if hand[kind] >= _COUNTS - 1 or (lacking == 1 and nearer & (1 << kind)):
            values[kind] = 0.0
    _set_facts(memo.draws, slot, lacking, nearer)
    if discarded >= 0:
        hand[discarded] += 1
