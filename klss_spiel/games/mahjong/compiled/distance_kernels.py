"""How many tiles a hand lacks, by table.

A hand is two numbers in base 5: the counts of the nine ranks and of the seven honours, the
lowest kind in the lowest digit. For each number a table says how many tiles it lacks for m
sets, with and without a pair; a whole hand lacks the least sum over ways to share sets and
pair between suit and honours. (One less is what players call shanten.)
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import tiles
from klss_spiel.kernels import kernel

BASE: Final = tiles.MAX_COPIES + 1
MAX_SETS: Final = 4
_FAR: Final = 99
SUIT_CODES: Final = BASE**tiles.NUM_RANKS
HONOUR_CODES: Final = BASE**tiles.NUM_HONOURS


class DistanceTables(NamedTuple):
    """Tables by code. Letters: c codes.

    Attributes:
        suit: [c, 5, 2] tiles lacking for m sets, without and with a pair.
        honours: [c, 5, 2] the same.
        suit_pairs: [c] pairs, four equal tiles counting as two.
        honour_pairs: [c] the same.
    """

    suit: npt.NDArray[np.int8]
    honours: npt.NDArray[np.int8]
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
def _count_pairs(pairs: Any, kinds: int) -> None:
    for code in range(pairs.shape[0]):
        rest, number = code, 0
        for _ in range(kinds):
            number += (rest % 5) // 2
            rest //= 5
        pairs[code] = number


@functools.cache
def distance_tables() -> DistanceTables:
    """The tables (20 MB), built once per process in about a second."""
    tables = []
    pairs = []
    for codes, kinds, with_chows in (
        (SUIT_CODES, tiles.NUM_RANKS, True),
        (HONOUR_CODES, tiles.NUM_HONOURS, False),
    ):
        table = np.full((codes, MAX_SETS + 1, 2), _FAR, np.int8)
        _mark_targets(table, kinds, with_chows)
        _spread(table, kinds)
        numbers = np.zeros(codes, np.int8)
        _count_pairs(numbers, kinds)
        for array in (table, numbers):
            array.setflags(write=False)
        tables.append(table)
        pairs.append(numbers)
    return DistanceTables(tables[0], tables[1], pairs[0], pairs[1])


@kernel
def distance(tables: Any, suit: int, honours: int, sets: int, seven_pairs: bool) -> int:
    """Tiles that a hand lacks to win.

    Args:
        tables: `DistanceTables`.
        suit: code of its ranks.
        honours: code of its honours.
        sets: sets wanted in the hand, melds not counted.
        seven_pairs: whether seven pairs win, for a hand without melds.
    """
    best = 99
    for own in range(sets + 1):
        first = tables.suit[suit, own, 1] + tables.honours[honours, sets - own, 0]
        if first < best:
            best = first
        second = tables.suit[suit, own, 0] + tables.honours[honours, sets - own, 1]
        if second < best:
            best = second
    if seven_pairs:
        pairs = 7 - tables.suit_pairs[suit] - tables.honour_pairs[honours]
        if pairs < best:
            best = pairs
    return best
