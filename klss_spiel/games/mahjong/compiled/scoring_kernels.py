"""Points of a win, compiled: what `scoring.score` says, without names.

Fans are bits of a word. A reading of the hand is a few counts and masks of kinds; the
conditions are those of `scoring`, where they can be read.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.fans import EXCLUDES, NUM_FANS, POINTS, Fan
from klss_spiel.kernels import kernel


def _exclusion_masks() -> npt.NDArray[np.uint64]:
    masks = np.zeros(NUM_FANS, np.uint64)
    for fan, others in EXCLUDES.items():
        masks[fan] = sum(1 << other for other in others)
    return masks


_EXCLUSIONS: Final = _exclusion_masks()
_POINTS: Final = np.array(POINTS, np.int64)
_ONE: Final = np.uint64(1)
_FLOWER_TILES: Final = int(Fan.FLOWER_TILES)

_SUITED: Final = (1 << tiles.NUM_RANKS) - 1
_DRAGONS: Final = sum(1 << kind for kind in tiles.DRAGONS)
_WINDS: Final = sum(1 << kind for kind in tiles.WINDS)
_HONOURS: Final = _DRAGONS | _WINDS
_OUTSIDE: Final = _HONOURS | sum(1 << kind for kind in tiles.TERMINALS)
_UPPER: Final = 0b111100000
_LOWER: Final = 0b000001111

# Slots of the description of a win.
WINNER: Final = 0
WIN_TILE: Final = 1
SELF_DRAWN: Final = 2
ROBBED: Final = 3
WALL_LEFT: Final = 4
FLOWERS: Final = 5
READY: Final = 6
HEAVENLY_READY: Final = 7
AFTER_KONG: Final = 8
RIVER_SIZE: Final = 9
VISIBLE: Final = 10  # tiles equal to the winning one in rivers and open melds
ANY_OPEN_MELD: Final = 11  # of either player
SETS: Final = 12
NUM_FACTS: Final = 13


@kernel
def _bits(mask: int) -> int:
    number = 0
    while mask:
        mask &= mask - 1
        number += 1
    return number


@kernel
def _has_run(mask: int, length: int, step: int) -> bool:
    found = mask
    for i in range(1, length):
        found &= mask >> (i * step)
    return found != 0


@kernel
def _points_of_mask(present: Any, flowers: int) -> int:
    """Points of the fans that count; see `fans.counted`."""
    excluded = np.uint64(0)
    kept = np.uint64(0)
    for i in range(64):
        fan = 63 - i
        bit = _ONE << np.uint64(fan)
        if present & bit and not excluded & bit:
            kept |= bit
            excluded |= _EXCLUSIONS[fan]
    kept &= ~excluded
    points = 0
    for fan in range(64):
        if kept & (_ONE << np.uint64(fan)):
            points += flowers if fan == _FLOWER_TILES else _POINTS[fan]
    return points


@kernel
def _reading_points(
    facts: Any,
    hand: Any,
    meld_kind: Any,
    meld_tile: Any,
    num_melds: int,
    hand_chows: Any,
    hand_triplets: Any,
    pair_mask: Any,
    seven: Any,
) -> int:
    """Points of one reading.

    Args:
        facts: [NUM_FACTS] description of the win.
        hand: [16] counts with the winning tile.
        meld_kind: [4] kinds of the winner's melds.
        meld_tile: [4] their tiles.
        num_melds: how many there are.
        hand_chows: [9] concealed chows by lowest tile.
        hand_triplets: mask of concealed triplets.
        pair_mask: mask of the pair, or of the kinds of seven pairs.
        seven: whether the reading is seven pairs.
    """
    chow_count = np.zeros(9, np.int64)
    num_chows = 0
    heads = 0  # all chows
    hand_heads = 0
    for head in range(7):
        chow_count[head] = hand_chows[head]
        if hand_chows[head]:
            hand_heads |= 1 << head
    pungs = hand_triplets
    kong_mask = 0
    kongs, concealed_kongs, open_melds = 0, 0, 0
    loose = hand.copy()  # tiles outside kongs
    for i in range(num_melds):
        kind, tile = meld_kind[i], meld_tile[i]
        if kind != 4:
            open_melds += 1
        if kind == 1:
            chow_count[tile] += 1
            for j in range(3):
                loose[tile + j] += 1
        elif kind == 2:
            pungs |= 1 << tile
            loose[tile] += 3
        else:
            kong_mask |= 1 << tile
            if kind == 3:
                kongs += 1
            else:
                concealed_kongs += 1
    kinds = pair_mask | pungs | kong_mask
    most_chows = 0
    for head in range(7):
        if chow_count[head]:
            heads |= 1 << head
            kinds |= 7 << head
            num_chows += chow_count[head]
            most_chows = max(most_chows, chow_count[head])
    triplets = pungs | kong_mask
    num_triplets = _bits(triplets)
    tile = facts[WIN_TILE]
    self_drawn = facts[SELF_DRAWN] != 0
    tile_bit = 1 << tile
    suited = tile < 9
    concealed = _bits(hand_triplets) + concealed_kongs
    if not self_drawn and hand_triplets & tile_bit:
        concealed -= 1
    dragon_pungs = _bits(triplets & _DRAGONS)
    wind_pungs = _bits(triplets & _WINDS)
    whole = num_melds == 0
    heavenly = facts[WINNER] == 0 and facts[RIVER_SIZE] == 0 and whole and self_drawn
    second = facts[WINNER] == 1 and whole and facts[ANY_OPEN_MELD] == 0
    outside = (heads & ~0b1000001) == 0 and ((triplets | pair_mask) & ~_OUTSIDE) == 0

    has = np.zeros(64, np.bool_)
    has[0] = most_chows >= 2
    has[1] = _has_run(heads, 2, 3)
    has[2] = (heads & 0b1000001) == 0b1000001
    has[3] = kongs > 0
    if tile == 2:
        has[4] = (hand_heads & 0b111) == 0b001
    elif tile == 6:
        has[4] = (hand_heads & 0b1110000) == 0b1000000
    if suited and 1 <= tile <= 7:
        at = 1 << (tile - 1)
        other = tile_bit | ((1 << (tile - 2)) if tile >= 2 else 0)
        has[5] = (hand_heads & at) != 0 and (hand_heads & other) == 0
    if not seven and pair_mask & tile_bit and not heavenly:
        in_sets = hand_triplets & tile_bit
        beside = 0
        if suited:
            for offset in range(3):
                if tile >= offset and hand_heads & (1 << (tile - offset)):
                    in_sets = 1
            if hand_heads & (1 << (tile + 1)):
                beside = 1
            if tile >= 3 and hand_heads & (1 << (tile - 3)):
                beside = 1
        has[6] = in_sets == 0 and beside == 0
    has[7] = self_drawn
    has[8] = facts[FLOWERS] > 0
    has[9] = facts[READY] != 0
    has[10] = dragon_pungs > 0
    has[11] = open_melds == 0 and not self_drawn
    has[12] = num_chows == 4 and (pair_mask & _SUITED) != 0
    for kind in range(16):
        if loose[kind] == 4:
            has[13] = True
    has[14] = concealed >= 2
    has[15] = concealed_kongs > 0
    has[16] = (kinds & _OUTSIDE) == 0
    has[17] = outside
    has[18] = open_melds == 0 and self_drawn
    has[19] = kongs == 2
    has[20] = facts[VISIBLE] == 3
    has[21] = wind_pungs >= 2 and (pair_mask & _WINDS) != 0
    has[22] = num_triplets >= 4
    has[23] = (kinds & _SUITED) != 0 and (kinds & _HONOURS) != 0
    has[24] = dragon_pungs >= 2
    has[25] = concealed_kongs == 2
    has[26] = open_melds == 4 and not self_drawn
    has[27] = facts[AFTER_KONG] != 0
    has[28] = facts[ROBBED] != 0
    has[29] = facts[WALL_LEFT] == 0
    has[30] = _has_run(heads, 3, 3)
    has[31] = _has_run(heads, 3, 1) or _has_run(heads, 3, 2)
    has[32] = facts[FLOWERS] == 8
    has[33] = concealed >= 3
    has[34] = _bits(triplets & _HONOURS) == 4
    has[35] = wind_pungs >= 3
    has[36] = seven
    has[37] = most_chows >= 3
    has[38] = _has_run(pungs & _SUITED, 3, 1)
    has[39] = _has_run(heads, 4, 1) or _has_run(heads, 4, 2)
    has[40] = kongs + concealed_kongs >= 3
    has[41] = num_triplets >= 4 and outside
    has[42] = facts[HEAVENLY_READY] != 0
    has[43] = most_chows == 4
    has[44] = _has_run(pungs & _SUITED, 4, 1)
    has[45] = seven and (pair_mask & _WINDS) == _WINDS
    has[46] = seven and (pair_mask & _DRAGONS) == _DRAGONS
    has[47] = not seven and wind_pungs >= 3 and (pair_mask & _WINDS) != 0
    has[48] = not seven and dragon_pungs >= 2 and (pair_mask & _DRAGONS) != 0
    has[49] = not seven and (kinds & ~_HONOURS) == 0
    has[50] = concealed == 4
    has[51] = chow_count[0] == 2 and chow_count[6] == 2 and pair_mask == 1 << 4
    has[52] = wind_pungs == 4
    has[53] = dragon_pungs == 3
    gates = (kinds & ~_SUITED) == 0 and whole and facts[SETS] == 4
    for kind in range(9):
        before = hand[kind] - (1 if kind == tile else 0)
        if before != (3 if kind == 0 or kind == 8 else 1):
            gates = False
    has[54] = gates
    has[55] = kongs + concealed_kongs == 4
    lowest = pair_mask & -pair_mask
    shifted = (pair_mask & ~_SUITED) == 0 and pair_mask == lowest * 127
    has[56] = seven and shifted
    has[57] = (kinds & ~_UPPER) == 0
    has[58] = (kinds & ~_LOWER) == 0
    has[59] = seven and pair_mask == _HONOURS
    has[60] = heavenly
    has[61] = second and self_drawn and facts[RIVER_SIZE] == 1
    has[62] = second and not self_drawn and facts[RIVER_SIZE] == 0
    has[63] = (kinds & ~_SUITED) == 0
    present = np.uint64(0)
    for fan in range(64):
        if has[fan]:
            present |= _ONE << np.uint64(fan)
    return _points_of_mask(present, facts[FLOWERS])


@kernel
def win_points(facts: Any, hand: Any, meld_kind: Any, meld_tile: Any, num_melds: Any) -> int:
    """Points of a win in its best reading, or -1 if the hand has not won.

    Args:
        facts: [NUM_FACTS] description of the win.
        hand: [16] concealed tiles, the winning one among them.
        meld_kind: [4] kinds of the winner's melds.
        meld_tile: [4] their tiles.
        num_melds: how many there are.
    """
    best = -1
    # Typed, because readings would be compiled anew for literals.
    seven, plain = np.bool_(1), np.bool_(0)
    chows = np.zeros(9, np.int64)
    sets = facts[SETS] - num_melds
    total, odd = 0, 0
    for kind in range(16):
        total += hand[kind]
        odd += hand[kind] % 2
    if facts[SETS] == 4 and total == 14 and odd == 0:
        pairs = np.int64(0)
        for kind in range(16):
            if hand[kind]:
                pairs |= 1 << kind
        points = _reading_points(
            facts, hand, meld_kind, meld_tile, num_melds, chows, np.int64(0), pairs, seven
        )
        best = max(best, points)
    if total != 3 * sets + 2:
        return best
    left = np.empty(16, np.int64)
    for pair in range(16):
        if hand[pair] < 2:
            continue
        here, possible = np.int64(1 << pair), np.int64(0)
        for kind in range(16):
            count = hand[kind] - (2 if kind == pair else 0)
            if count >= 3:
                possible |= 1 << kind
        # Every subset of the kinds that may be triplets.
        triplets = possible
        while True:
            for kind in range(16):
                left[kind] = hand[kind]
                if kind == pair:
                    left[kind] -= 2
                if triplets & (1 << kind):
                    left[kind] -= 3
            chows[:] = 0
            good = True
            for kind in range(16):
                number = left[kind]
                if number == 0:
                    continue
                if kind > 6 or left[kind + 1] < number or left[kind + 2] < number:
                    good = False
                    break
                left[kind + 1] -= number
                left[kind + 2] -= number
                chows[kind] = number
            if good:
                points = _reading_points(
                    facts, hand, meld_kind, meld_tile, num_melds, chows, triplets, here, plain
                )
                best = max(best, points)
            if triplets == 0:
                break
            triplets = (triplets - 1) & possible
    return best
