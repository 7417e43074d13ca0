"""What a hand may become, how far that is, and what it pays.

A prospect is a kind of winning hand: any, seven pairs, or three chows that pay together (a
straight, shifted or equal chows), each with honours or without (a full flush). Nearly every
game ends with somebody's win, so that winning p points instead of losing the usual l is
worth p + l: a prospect that lacks d tiles counts (p + l) q^d, and a hand counts its best
prospect.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.compiled.distance_kernels import distance, flush_distance
from klss_spiel.games.mahjong.compiled.layout import (
    FLOWERS,
    MELD_KIND,
    MELD_TILE,
    NUM_MELDS,
    SETS,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import POWER
from klss_spiel.kernels import inlined_kernel, kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_NO_TILE: Final = tiles.NO_TILE


def _chow_patterns() -> list[tuple[tuple[int, int, int], float]]:
    """Heads of three chows, and what they pay together."""
    found = [((0, 3, 6), 16.0)]
    found += [((head, head + 1, head + 2), 16.0) for head in range(5)]
    found += [((head, head + 2, head + 4), 16.0) for head in range(3)]
    found += [((head, head, head), 24.0) for head in range(7)]
    return found


PATTERNS: Final = np.array([heads for heads, _ in _chow_patterns()], np.int64)
PATTERN_POINTS: Final = np.array([points for _, points in _chow_patterns()])

# Slots of weights.
STEP: Final = 0  # q, what a lacking tile leaves of a prospect
LOSS: Final = 1  # l, points that the opponent would win
BASE: Final = 2  # points of any hand
CONCEALED: Final = 3  # points of a hand without open melds
HALF: Final = 4  # points of a hand with honours
FLUSH: Final = 5  # points of a hand without
PAIRS: Final = 6  # points of seven pairs
CLAIM: Final = 7  # by how much a claim must raise what the hand is worth
LOOK: Final = 8  # discards are looked at again from this share of the best on
POWERS: Final = 9  # of q, from 0 on
_NUM_POWERS: Final = 32
NUM_WEIGHTS: Final = POWERS + _NUM_POWERS


@kernel
def _power(step: float, lacking: int) -> Any:
    """Rounded as compiled code does, on which trained networks rely."""
    return step**lacking


def weights_of(
    step: float = 0.35,
    loss: float = 21.0,
    base: float = 4.0,
    concealed: float = 3.0,
    half: float = 6.0,
    flush: float = 16.0,
    pairs: float = 18.0,
    claim: float = 1.3,
    look: float = 0.7,
) -> npt.NDArray[np.float64]:
    """[NUM_WEIGHTS] by name; the defaults were chosen by matches against the greedy player."""
    named = [step, loss, base, concealed, half, flush, pairs, claim, look]
    weights = np.array([*named, *(_power(step, lacking) for lacking in range(_NUM_POWERS))])
    # As a constant in kernels is: what takes weights is compiled once for both.
    weights.setflags(write=False)
    return weights


WEIGHTS: Final = weights_of()

# Slots of what is known of the melds, behind [9] chows by head.
MELDS_OUT: Final = 9
HONOUR_MELDS_OUT: Final = 10
OPEN_MELDS_OUT: Final = 11
FLOWERS_OUT: Final = 12
SETS_WANTED: Final = 13
NUM_STANDING: Final = 14


@kernel
def write_standing(options: Any, row: Any, player: int, standing: Any) -> None:
    """Writes [NUM_STANDING] what a player has laid out."""
    standing[:] = 0
    standing[MELDS_OUT] = row[NUM_MELDS + player]
    standing[FLOWERS_OUT] = row[FLOWERS + player]
    standing[SETS_WANTED] = options[SETS]
    for i in range(row[NUM_MELDS + player]):
        kind, tile = row[MELD_KIND + 4 * player + i], row[MELD_TILE + 4 * player + i]
        if kind == 1:
            standing[tile] += 1
        elif tile >= _RANKS:
            standing[HONOUR_MELDS_OUT] += 1
        if kind != 4:
            standing[OPEN_MELDS_OUT] += 1


@kernel
def write_needs(standing: Any, need: Any, free: Any) -> None:
    """Writes for each pattern of three chows what melds leave of it.

    Letters: p patterns.

    Args:
        standing: see `write_standing`.
        need: [9, p] gets tiles that its chows need of the hand.
        free: [p] gets sets wanted of the rest; below 0 where melds rule the pattern out.
    """
    need[:] = 0
    for pattern in range(PATTERNS.shape[0]):
        melded = 0
        for i in range(3):
            head = PATTERNS[pattern, i]
            times = 1
            for j in range(i):
                if PATTERNS[pattern, j] == head:
                    times += 1
            if standing[head] >= times:
                melded += 1
            else:
                for j in range(3):
                    need[head + j, pattern] += 1
        # Three sets are the pattern's: one is left for other melds.
        free[pattern] = 1 - (standing[MELDS_OUT] - melded)


@inlined_kernel
def write_lacks(hand: Any, suit: Any, need: Any, missing: Any, rest: Any) -> None:
    """Writes for each pattern of three chows what a hand has of it.

    Letters: p patterns, the last axis, so that the compiler takes many of them at a time.

    Args:
        hand: [16] counts.
        suit: code of its ranks.
        need: [9, p] see `write_needs`.
        missing: [p] gets how many needed tiles the hand lacks.
        rest: [p] gets the code of ranks that are left.
    """
    for pattern in range(PATTERNS.shape[0]):
        lacking, code = 0, suit
        for kind in range(_RANKS):
            wanted = need[kind, pattern]
            held = min(wanted, hand[kind])
            code -= held * POWER[kind]
            lacking += wanted - held
        missing[pattern] = lacking
        rest[pattern] = code


@kernel
def worth_by_patterns(
    tables: Any,
    weights: Any,
    honours: Any,
    hand: Any,
    completable: int,
    standing: Any,
    patterns: Any,
    changed: int,
    amount: int,
    best: float,
) -> Any:
    """The best of `best` and prospects of three chows.

    `hand` and `patterns` are those before a tile of kind `changed` is drawn (amount 1) or
    discarded (-1); 0 for no change. `completable` is the mask of patterns whose tiles the hand
    has or may still draw after a discard; a draw does not change it.
    """
    need, missing_all, rest_all, free = patterns
    base = points_of_patterns(weights, standing)
    for pattern in range(PATTERNS.shape[0]):
        if free[pattern] < 0 or not completable & (1 << pattern):
            continue
        missing, rest = missing_all[pattern], rest_all[pattern]
        if amount != 0 and changed < _RANKS:
            if need[changed, pattern] >= hand[changed] + max(amount, 0):
                missing -= amount
            else:
                rest += amount * POWER[changed]
        points = base + PATTERN_POINTS[pattern]
        # Nothing farther than this can be better.
        if (points + weights[FLUSH]) * weights[POWERS + missing] <= best:
            continue
        lacking = missing + distance(tables, rest, honours, free[pattern], False)
        best = max(best, (points + weights[HALF]) * weights[POWERS + lacking])
        if standing[HONOUR_MELDS_OUT] == 0:
            pure = missing + flush_distance(tables, rest, free[pattern])
            best = max(best, (points + weights[FLUSH]) * weights[POWERS + pure])
    return best


@kernel
def points_of_patterns(weights: Any, standing: Any) -> Any:
    """What hands with patterns count, without the points of the pattern."""
    base = weights[LOSS] + weights[BASE] + standing[FLOWERS_OUT]
    return base + (weights[CONCEALED] if standing[OPEN_MELDS_OUT] == 0 else 0.0)


@kernel
def completable_patterns(need: Any, hand: Any, unseen: Any, discarded: int) -> int:
    """Mask of patterns that do not lack more tiles than are unseen; see `write_lacks`."""
    mask = 0
    for pattern in range(PATTERNS.shape[0]):
        possible = True
        for kind in range(_RANKS):
            held = hand[kind] - (1 if kind == discarded else 0)
            if need[kind, pattern] - held > unseen[kind]:
                possible = False
        if possible:
            mask |= 1 << pattern
    return mask


@kernel
def worth_without_patterns(
    tables: Any, weights: Any, suit: Any, honours: Any, standing: Any
) -> Any:
    """Tiles lacking to win, and the best of any hand, a flush, and seven pairs."""
    wanted = standing[SETS_WANTED] - standing[MELDS_OUT]
    any_hand = weights[LOSS] + weights[BASE] + standing[FLOWERS_OUT]
    base = any_hand + (weights[CONCEALED] if standing[OPEN_MELDS_OUT] == 0 else 0.0)
    lacking = distance(tables, suit, honours, wanted, False)
    best = (base + weights[HALF]) * weights[POWERS + lacking]
    if standing[HONOUR_MELDS_OUT] == 0:
        pure = flush_distance(tables, suit, wanted)
        best = max(best, (base + weights[FLUSH]) * weights[POWERS + pure])
    if standing[SETS_WANTED] == 4 and standing[MELDS_OUT] == 0:
        pure = np.int64(7 - tables.suit_pairs[suit])
        mixed = pure - tables.honour_pairs[honours]
        lacking = min(lacking, mixed)
        pairs = any_hand + weights[PAIRS]
        best = max(best, (pairs + weights[HALF]) * weights[POWERS + mixed])
        best = max(best, (pairs + weights[FLUSH]) * weights[POWERS + pure])
    return lacking, best


@kernel
def new_patterns() -> Any:
    """What `write_needs` and `write_lacks` fill."""
    number = PATTERNS.shape[0]
    return (
        np.zeros((_RANKS, number), np.int64),
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
    )


@kernel
def worth(
    tables: Any, weights: Any, suit: Any, honours: Any, hand: Any, unseen: Any, standing: Any
) -> Any:
    """What a hand is worth; one with a tile too many counts as the best it can be.

    Args:
        tables: see `distance_kernels`.
        weights: see `weights_of`.
        suit: code of its ranks.
        honours: code of its honours.
        hand: [16] counts, for the same tiles.
        unseen: [16] tiles the player does not see.
        standing: see `write_standing`.
    """
    _, best = worth_without_patterns(tables, weights, suit, honours, standing)
    if standing[SETS_WANTED] < 4:
        return best
    patterns = new_patterns()
    need, missing, rest, free = patterns
    write_needs(standing, need, free)
    write_lacks(hand, suit, need, missing, rest)
    completable = completable_patterns(need, hand, unseen, _NO_TILE)
    return worth_by_patterns(
        tables, weights, honours, hand, completable, standing, patterns, 0, 0, best
    )
