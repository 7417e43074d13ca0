"""How many tiles a hand lacks, by table.

A hand is two numbers in base 5: the counts of the nine ranks and of the seven honours, the
lowest kind in the lowest digit. For each number a table says how many tiles it lacks for m
sets, with and without a pair; a whole hand lacks the least sum over ways to share sets and
pair between suit and honours. (One less is what players call shanten.) Beside that number the
tables have the kinds that bring it down or up: one place of a table, which is seldom in a
processor's cache, tells what every draw and every discard changes.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import tiles
from klss_spiel.kernels import borrowed, inlined_kernel, kernel

BASE: Final = tiles.MAX_COPIES + 1
MAX_SETS: Final = 4
_FAR: Final = 99
# An entry of a table has tiles lacking (at most 14) in its lowest bits; above them masks of
# the kinds one more of which leaves one less lacking, and one less of which one more.
_LACKING: Final = 15
_NEARER_SHIFT: Final = 4
_FARTHER_SHIFT: Final = _NEARER_SHIFT + tiles.NUM_RANKS
_ALL_RANKS: Final = (1 << tiles.NUM_RANKS) - 1
_ALL_HONOURS: Final = (1 << tiles.NUM_HONOURS) - 1
SUIT_CODES: Final = BASE**tiles.NUM_RANKS
HONOUR_CODES: Final = BASE**tiles.NUM_HONOURS


class DistanceTables(NamedTuple):
    """Tables by code. Letters: c codes.

    Attributes:
        suit: [c, 5, 2] entries (see above) for m sets, without and with a pair.
        honours: [c, 5, 2] the same.
        suit_pairs: [c] pairs, four equal tiles counting as two.
        honour_pairs: [c] the same.
    """

    suit: npt.NDArray[np.uint32]
    honours: npt.NDArray[np.uint32]
    suit_pairs: npt.NDArray[np.int8]
    honour_pairs: npt.NDArray[np.int8]


@kernel
def _mark_targets(table: Any, kinds: int, with_chows: bool) -> None:
    """Marks the codes that are exactly m sets, and a pair or not, with 0."""
    power = np.empty(kinds + 1, np.int64)
    power[0] = 1
    for kind in range(kinds):
        power[kind + 1] = power[kind] * 5
    table[0, 0, 0] = 0
    # Sets are added in every order; a code reached twice is just marked twice.
    for sets in range(5):
        for code in range(table.shape[0]):
            if table[code, sets, 0] != 0:
                continue
            for kind in range(kinds):
                count = (code // power[kind]) % 5
                if count <= 2:
                    table[code + 2 * power[kind], sets, 1] = 0
                if sets == 4:
                    continue
                if count <= 1:
                    table[code + 3 * power[kind], sets + 1, 0] = 0
                if with_chows and kind <= kinds - 3:
                    second = (code // power[kind + 1]) % 5
                    third = (code // power[kind + 2]) % 5
                    if count <= 3 and second <= 3 and third <= 3:
                        added = power[kind] + power[kind + 1] + power[kind + 2]
                        table[code + added, sets + 1, 0] = 0


@kernel
def _spread(table: Any, kinds: int) -> None:
    """Distances from marked targets: tiles too many cost nothing, tiles lacking one each."""
    power = np.empty(kinds + 1, np.int64)
    power[0] = 1
    for kind in range(kinds):
        power[kind + 1] = power[kind] * 5
    for code in range(table.shape[0]):
        for kind in range(kinds):
            if (code // power[kind]) % 5 > 0:
                for sets in range(5):
                    for pair in range(2):
                        fewer = table[code - power[kind], sets, pair]
                        if fewer < table[code, sets, pair]:
                            table[code, sets, pair] = fewer
    for code in range(table.shape[0] - 1, -1, -1):
        for kind in range(kinds):
            if (code // power[kind]) % 5 < 4:
                for sets in range(5):
                    for pair in range(2):
                        more = table[code + power[kind], sets, pair] + 1
                        if more < table[code, sets, pair]:
                            table[code, sets, pair] = more


@kernel
def _write_entries(table: Any, kinds: int, entries: Any) -> None:
    """Writes [c, 5, 2] tiles lacking with the kinds that bring them down or up."""
    entries[:] = table
    power = 1
    for kind in range(kinds):
        for code in range(table.shape[0] - power):
            if (code // power) % 5 == 4:
                continue
            for sets in range(5):
                for pair in range(2):
                    if table[code + power, sets, pair] < table[code, sets, pair]:
                        entries[code, sets, pair] |= 1 << (_NEARER_SHIFT + kind)
                        entries[code + power, sets, pair] |= 1 << (_FARTHER_SHIFT + kind)
        power *= 5


@kernel
def _count_pairs(pairs: Any, kinds: int) -> None:
    for code in range(pairs.shape[0]):
        rest, number = code, 0
        for _ in range(kinds):
            number += (rest % 5) // 2
            rest //= 5
        pairs[code] = number


@functools.cache
def distance_tables() -> DistanceTables:
    """The tables (83 MB), built once per process in about a second."""
    tables = []
    pairs = []
    for codes, kinds, with_chows in (
        (SUIT_CODES, tiles.NUM_RANKS, True),
        (HONOUR_CODES, tiles.NUM_HONOURS, False),
    ):
        table = np.full((codes, MAX_SETS + 1, 2), _FAR, np.int8)
        _mark_targets(table, kinds, with_chows)
        _spread(table, kinds)
        entries = np.empty(table.shape, np.uint32)
        _write_entries(table, kinds, entries)
        numbers = np.zeros(codes, np.int8)
        _count_pairs(numbers, kinds)
        for array in (entries, numbers):
            array.setflags(write=False)
        tables.append(entries)
        pairs.append(numbers)
    return DistanceTables(tables[0], tables[1], pairs[0], pairs[1])


@kernel
def borrowed_tables(tables: Any) -> Any:
    """The tables for use in a kernel; see `borrowed`."""
    return DistanceTables(
        borrowed(tables.suit),
        borrowed(tables.honours),
        borrowed(tables.suit_pairs),
        borrowed(tables.honour_pairs),
    )


@inlined_kernel
def distance(tables: Any, suit: int, honours: int, sets: int, seven_pairs: bool) -> int:
    """Tiles that a hand lacks to win.

    Args:
        tables: `DistanceTables`.
        suit: code of its ranks.
        honours: code of its honours.
        sets: sets wanted in the hand, melds not counted.
        seven_pairs: whether seven pairs win, for a hand without melds.
    """
    best = _FAR
    for own in range(sets + 1):
        for pair in range(2):
            ranks = tables.suit[suit, own, pair] & _LACKING
            best = min(best, ranks + (tables.honours[honours, sets - own, 1 - pair] & _LACKING))
    if seven_pairs:
        pairs = 7 - tables.suit_pairs[suit] - tables.honour_pairs[honours]
        if pairs < best:
            best = pairs
    return best


@inlined_kernel
def flush_distance(tables: Any, suit: int, sets: int) -> Any:
    """Tiles that a hand lacks to win with ranks only."""
    return tables.suit[suit, sets, 1] & _LACKING


@inlined_kernel
def nearer_by(tables: Any, suit: int, honours: int, sets: int, lacking: int) -> Any:
    """Mask of the kinds one more of which leaves a hand less than its `distance`.

    A tile takes at most one off each sum of suit and honours, so that only the least matter.
    """
    mask = np.int64(0)
    for own in range(sets + 1):
        for pair in range(2):
            ranks = np.int64(tables.suit[suit, own, pair])
            others = np.int64(tables.honours[honours, sets - own, 1 - pair])
            if (ranks & _LACKING) + (others & _LACKING) == lacking:
                mask |= (ranks >> _NEARER_SHIFT) & _ALL_RANKS
                mask |= ((others >> _NEARER_SHIFT) & _ALL_HONOURS) << tiles.NUM_RANKS
    return mask


@inlined_kernel
def spared_by(tables: Any, suit: int, honours: int, sets: int, lacking: int) -> Any:
    """Mask of the kinds one less of which leaves a hand at its `distance`."""
    mask = np.int64(0)
    for own in range(sets + 1):
        for pair in range(2):
            ranks = np.int64(tables.suit[suit, own, pair])
            others = np.int64(tables.honours[honours, sets - own, 1 - pair])
            if (ranks & _LACKING) + (others & _LACKING) == lacking:
                mask |= ~(ranks >> _FARTHER_SHIFT) & _ALL_RANKS
                mask |= (~(others >> _FARTHER_SHIFT) & _ALL_HONOURS) << tiles.NUM_RANKS
    return mask


@inlined_kernel
def nearer_flush_by(tables: Any, suit: int, sets: int) -> Any:
    """Mask of the kinds one more of which brings `flush_distance` down."""
    return (np.int64(tables.suit[suit, sets, 1]) >> _NEARER_SHIFT) & _ALL_RANKS


@inlined_kernel
def spared_by_flush(tables: Any, suit: int, sets: int) -> Any:
    """Mask of the kinds one less of which leaves `flush_distance` as it is."""
    return ~(np.int64(tables.suit[suit, sets, 1]) >> _FARTHER_SHIFT)
