"""The 64 fans: what each is worth and which others it includes.

Points and exclusions are those of a public environment of the game (yata0/Mahjong, MIT
licence), on which earlier work on two-player Mahjong was measured. `scoring` says when a
hand has a fan.
"""

from __future__ import annotations

import enum
from typing import Final


class Fan(enum.IntEnum):
    """Fans by number; they are looked at from the last to the first."""

    PURE_DOUBLE_CHOW = 0
    SHORT_STRAIGHT = 1
    TWO_TERMINAL_CHOWS = 2
    MELDED_KONG = 3
    EDGE_WAIT = 4
    CLOSED_WAIT = 5
    SINGLE_WAIT = 6
    SELF_DRAW = 7
    FLOWER_TILES = 8
    READY_HAND = 9
    DRAGON_PUNG = 10
    CONCEALED_HAND = 11
    ALL_CHOWS = 12
    TILE_HOG = 13
    TWO_CONCEALED_PUNGS = 14
    CONCEALED_KONG = 15
    ALL_SIMPLES = 16
    OUTSIDE_HAND = 17
    FULLY_CONCEALED_HAND = 18
    TWO_MELDED_KONGS = 19
    LAST_TILE = 20
    LITTLE_THREE_WINDS = 21
    ALL_PUNGS = 22
    HALF_FLUSH = 23
    TWO_DRAGON_PUNGS = 24
    TWO_CONCEALED_KONGS = 25
    MELDED_HAND = 26
    OUT_WITH_REPLACEMENT_TILE = 27
    ROB_KONG = 28
    LAST_TILE_CLAIM = 29
    PURE_STRAIGHT = 30
    PURE_SHIFTED_CHOWS = 31
    ALL_FLOWERS = 32
    THREE_CONCEALED_PUNGS = 33
    FOUR_HONOUR_PUNGS = 34
    BIG_THREE_WINDS = 35
    SEVEN_PAIRS = 36
    PURE_TRIPLE_CHOW = 37
    PURE_SHIFTED_PUNGS = 38
    FOUR_PURE_SHIFTED_CHOWS = 39
    THREE_KONGS = 40
    ALL_TERMINALS_AND_HONOURS = 41
    HEAVENLY_READY_HAND = 42
    QUADRUPLE_CHOW = 43
    FOUR_PURE_SHIFTED_PUNGS = 44
    FOUR_WINDS_SEVEN_PAIRS = 45
    THREE_DRAGONS_SEVEN_PAIRS = 46
    LITTLE_FOUR_WINDS = 47
    LITTLE_THREE_DRAGONS = 48
    ALL_HONOURS = 49
    FOUR_CONCEALED_PUNGS = 50
    PURE_TERMINAL_CHOWS = 51
    BIG_FOUR_WINDS = 52
    BIG_THREE_DRAGONS = 53
    NINE_GATES = 54
    FOUR_KONGS = 55
    SEVEN_SHIFTED_PAIRS = 56
    UPPER_FOUR = 57
    LOWER_FOUR = 58
    BIG_SEVEN_HONOURS = 59
    HEAVENLY_HAND = 60
    EARTHLY_HAND = 61
    HUMANLY_HAND = 62
    FULL_FLUSH = 63


NUM_FANS: Final = len(Fan)

# Runs of fans of equal worth, by number of the first; a flower tile counts once per tile.
_POINTS_FROM: Final = {0: 1, 9: 2, 17: 4, 21: 6, 27: 8, 30: 16, 34: 24, 39: 32, 43: 48}
_POINTS_FROM_LARGE: Final = {47: 64, 52: 88, 63: 16}


def _points() -> tuple[int, ...]:
    points, worth = [], 0
    for number in range(NUM_FANS):
        worth = {**_POINTS_FROM, **_POINTS_FROM_LARGE}.get(number, worth)
        points.append(worth)
    return tuple(points)


POINTS: Final = _points()

_HIDDEN: Final = (Fan.CONCEALED_HAND, Fan.FULLY_CONCEALED_HAND)
_PAIRS: Final = (Fan.SEVEN_PAIRS, Fan.SINGLE_WAIT, *_HIDDEN)
EXCLUDES: Final[dict[Fan, tuple[Fan, ...]]] = {
    Fan.FULLY_CONCEALED_HAND: (Fan.SELF_DRAW, Fan.CONCEALED_HAND),
    Fan.TWO_MELDED_KONGS: (Fan.MELDED_KONG,),
    Fan.TWO_DRAGON_PUNGS: (Fan.DRAGON_PUNG,),
    Fan.TWO_CONCEALED_KONGS: (Fan.TWO_CONCEALED_PUNGS, Fan.CONCEALED_KONG),
    Fan.MELDED_HAND: (Fan.SINGLE_WAIT,),
    Fan.OUT_WITH_REPLACEMENT_TILE: (Fan.SELF_DRAW,),
    Fan.ROB_KONG: (Fan.LAST_TILE,),
    Fan.PURE_STRAIGHT: (Fan.SHORT_STRAIGHT, Fan.TWO_TERMINAL_CHOWS),
    Fan.ALL_FLOWERS: (Fan.FLOWER_TILES,),
    Fan.THREE_CONCEALED_PUNGS: (Fan.TWO_CONCEALED_PUNGS,),
    Fan.FOUR_HONOUR_PUNGS: (Fan.ALL_PUNGS,),
    Fan.BIG_THREE_WINDS: (Fan.LITTLE_THREE_WINDS,),
    Fan.SEVEN_PAIRS: (Fan.SINGLE_WAIT, *_HIDDEN),
    Fan.PURE_TRIPLE_CHOW: (Fan.PURE_DOUBLE_CHOW,),
    Fan.PURE_SHIFTED_PUNGS: (Fan.PURE_TRIPLE_CHOW,),
    Fan.FOUR_PURE_SHIFTED_CHOWS: (
        Fan.PURE_SHIFTED_CHOWS,
        Fan.SHORT_STRAIGHT,
        Fan.TWO_TERMINAL_CHOWS,
        Fan.PURE_DOUBLE_CHOW,
    ),
    Fan.THREE_KONGS: (
        Fan.TWO_MELDED_KONGS,
        Fan.MELDED_KONG,
        Fan.TWO_CONCEALED_KONGS,
        Fan.CONCEALED_KONG,
    ),
    Fan.ALL_TERMINALS_AND_HONOURS: (Fan.ALL_PUNGS, Fan.OUTSIDE_HAND),
    Fan.HEAVENLY_READY_HAND: (Fan.READY_HAND,),
    Fan.QUADRUPLE_CHOW: (
        Fan.PURE_TRIPLE_CHOW,
        Fan.TILE_HOG,
        Fan.PURE_DOUBLE_CHOW,
        Fan.TWO_TERMINAL_CHOWS,
        Fan.PURE_SHIFTED_PUNGS,
    ),
    Fan.FOUR_PURE_SHIFTED_PUNGS: (Fan.PURE_SHIFTED_PUNGS, Fan.PURE_TRIPLE_CHOW, Fan.ALL_PUNGS),
    Fan.FOUR_WINDS_SEVEN_PAIRS: _PAIRS,
    Fan.THREE_DRAGONS_SEVEN_PAIRS: _PAIRS,
    Fan.LITTLE_FOUR_WINDS: (Fan.BIG_THREE_WINDS, Fan.LITTLE_THREE_WINDS),
    Fan.LITTLE_THREE_DRAGONS: (Fan.TWO_DRAGON_PUNGS, Fan.DRAGON_PUNG),
    Fan.ALL_HONOURS: (
        Fan.ALL_TERMINALS_AND_HONOURS,
        Fan.ALL_PUNGS,
        Fan.FOUR_HONOUR_PUNGS,
        Fan.OUTSIDE_HAND,
    ),
    Fan.FOUR_CONCEALED_PUNGS: (
        *_HIDDEN,
        Fan.ALL_PUNGS,
        Fan.THREE_CONCEALED_PUNGS,
        Fan.TWO_CONCEALED_PUNGS,
    ),
    Fan.PURE_TERMINAL_CHOWS: (
        Fan.ALL_CHOWS,
        Fan.SEVEN_PAIRS,
        Fan.FULL_FLUSH,
        Fan.PURE_DOUBLE_CHOW,
        Fan.TWO_TERMINAL_CHOWS,
    ),
    Fan.BIG_FOUR_WINDS: (
        Fan.ALL_PUNGS,
        Fan.LITTLE_THREE_WINDS,
        Fan.BIG_THREE_WINDS,
        Fan.FOUR_HONOUR_PUNGS,
    ),
    Fan.BIG_THREE_DRAGONS: (Fan.DRAGON_PUNG, Fan.TWO_DRAGON_PUNGS),
    Fan.NINE_GATES: (Fan.FULL_FLUSH, *_HIDDEN),
    Fan.FOUR_KONGS: (
        Fan.THREE_KONGS,
        Fan.TWO_MELDED_KONGS,
        Fan.MELDED_KONG,
        Fan.SINGLE_WAIT,
        Fan.CONCEALED_KONG,
        Fan.TWO_CONCEALED_KONGS,
        Fan.ALL_PUNGS,
    ),
    Fan.SEVEN_SHIFTED_PAIRS: (*_PAIRS, Fan.FULL_FLUSH),
    Fan.BIG_SEVEN_HONOURS: (
        *_PAIRS,
        Fan.FOUR_WINDS_SEVEN_PAIRS,
        Fan.THREE_DRAGONS_SEVEN_PAIRS,
        Fan.OUTSIDE_HAND,
        Fan.ALL_HONOURS,
    ),
    Fan.HEAVENLY_HAND: (Fan.SELF_DRAW, Fan.CONCEALED_HAND),
    Fan.EARTHLY_HAND: (Fan.SELF_DRAW, Fan.CONCEALED_HAND),
}


def counted(present: set[Fan]) -> tuple[Fan, ...]:
    """Those of a hand's fans that count, ascending.

    From the last to the first: a fan that is excluded by one already counted neither
    counts nor excludes others. Fans counted before one that excludes them fall away.
    """
    excluded: set[Fan] = set()
    kept = []
    for fan in sorted(present, reverse=True):
        if fan not in excluded:
            kept.append(fan)
            excluded.update(EXCLUDES.get(fan, ()))
    return tuple(sorted(fan for fan in kept if fan not in excluded))


def value_of(fan: Fan, flowers: int) -> int:
    """Points of a counted fan."""
    return flowers if fan == Fan.FLOWER_TILES else POINTS[fan]
