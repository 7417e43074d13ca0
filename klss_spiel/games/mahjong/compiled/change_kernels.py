"""What hands are worth after each draw and after each discard, for all kinds at once.

A tile takes at most one off what a prospect (see `worth_kernels`) lacks, or adds one to it:
for each prospect there are two numbers and a mask of the kinds with the better one. So no
neighbour of a hand is looked up.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.mahjong import tiles
from klss_spiel.games.mahjong.compiled.distance_kernels import (
    distance,
    flush_distance,
    nearer_by,
    nearer_flush_by,
    spared_by,
    spared_by_flush,
)
from klss_spiel.games.mahjong.compiled.worth_kernels import (
    BASE,
    CONCEALED,
    FLOWERS_OUT,
    FLUSH,
    HALF,
    HONOUR_MELDS_OUT,
    LOSS,
    MELDS_OUT,
    OPEN_MELDS_OUT,
    PAIRS,
    PATTERN_POINTS,
    PATTERNS,
    POWERS,
    SETS_WANTED,
    points_of_patterns,
    write_lacks,
)
from klss_spiel.kernels import inlined_kernel, kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_ALL_RANKS: Final = (1 << _RANKS) - 1
_ALL: Final = (1 << _K) - 1


@inlined_kernel
def _raise(values: Any, kinds: int, inside: float, outside: float) -> None:
    """Raises [16] values of kinds in a mask to at least a number, the others to another."""
    for kind in range(_K):
        least = inside if (kinds >> kind) & 1 else outside
        values[kind] = max(values[kind], least)


@kernel
def _with_odd_count(hand: Any) -> int:
    """Mask of kinds of which one more makes a pair, and one less breaks none."""
    mask = 0
    for kind in range(_K):
        mask |= (hand[kind] & 1) << kind
    return mask


@inlined_kernel
def write_draws(
    tables: Any,
    weights: Any,
    suit: Any,
    honours: Any,
    hand: Any,
    completable: int,
    standing: Any,
    patterns: Any,
    now: float,
    values: Any,
) -> Any:
    """Writes what a hand is worth after each draw.

    Args:
        tables: see `distance_kernels`.
        weights: see `weights_of`.
        suit: code of its ranks.
        honours: code of its honours.
        hand: [16] counts, for the same tiles.
        completable: see `worth_kernels.worth_by_patterns`.
        standing: see `worth_kernels.write_standing`.
        patterns: what `worth_kernels.write_needs` wrote; gets what the hand has of them.
        now: what the hand is worth; no less after any draw.
        values: [16] gets what it is worth by kind.

    Returns:
        The mask of kinds that leave fewer tiles lacking to win.
    """
    values[:] = now
    wanted = standing[SETS_WANTED] - standing[MELDS_OUT]
    any_hand = weights[LOSS] + weights[BASE] + standing[FLOWERS_OUT]
    base = any_hand + (weights[CONCEALED] if standing[OPEN_MELDS_OUT] == 0 else 0.0)
    lacking = distance(tables, suit, honours, wanted, False)
    nearer = nearer_by(tables, suit, honours, wanted, lacking)
    _raise(values, nearer, (base + weights[HALF]) * weights[POWERS + lacking - 1], now)
    if standing[HONOUR_MELDS_OUT] == 0:
        pure = flush_distance(tables, suit, wanted)
        then = (base + weights[FLUSH]) * weights[POWERS + pure - 1]
        if then > now:
            _raise(values, nearer_flush_by(tables, suit, wanted), then, now)
    if standing[SETS_WANTED] == 4 and standing[MELDS_OUT] == 0:
        single = _with_odd_count(hand)
        pure = np.int64(7 - tables.suit_pairs[suit])
        mixed = pure - tables.honour_pairs[honours]
        pairs = any_hand + weights[PAIRS]
        then = (pairs + weights[HALF]) * weights[POWERS + mixed - 1]
        if then > now:
            _raise(values, single, then, now)
        then = (pairs + weights[FLUSH]) * weights[POWERS + pure - 1]
        if then > now:
            _raise(values, single & _ALL_RANKS, then, now)
        if mixed <= lacking:
            nearer = single | (nearer if mixed == lacking else 0)
    if standing[SETS_WANTED] == 4 and completable != 0:
        need, missing, rest, _ = patterns
        write_lacks(hand, suit, need, missing, rest)
        _raise_draws(tables, weights, honours, hand, completable, standing, patterns, now, values)
    return nearer


@inlined_kernel
def _raise_draws(
    tables: Any,
    weights: Any,
    honours: Any,
    hand: Any,
    completable: int,
    standing: Any,
    patterns: Any,
    now: float,
    values: Any,
) -> None:
    """Raises values of draws by prospects of three chows; see `write_draws`."""
    need, missing_all, rest, free = patterns
    base = points_of_patterns(weights, standing)
    for pattern in range(PATTERNS.shape[0]):
        if free[pattern] < 0 or not completable & (1 << pattern):
            continue
        points, missing = base + PATTERN_POINTS[pattern], missing_all[pattern]
        if (points + weights[FLUSH]) * weights[POWERS + max(missing - 1, 0)] <= now:
            continue
        taken = 0  # ranks that the pattern lacks
        for kind in range(_RANKS):
            taken |= (need[kind, pattern] > hand[kind]) << kind
        code, sets = rest[pattern], free[pattern]
        lacking = distance(tables, code, honours, sets, False)
        then = (points + weights[HALF]) * weights[POWERS + missing + lacking - 1]
        if then > now:
            _raise(values, taken | nearer_by(tables, code, honours, sets, lacking), then, now)
        if standing[HONOUR_MELDS_OUT] == 0:
            pure = missing + flush_distance(tables, code, sets)
            then = (points + weights[FLUSH]) * weights[POWERS + pure - 1]
            if then > now:
                _raise(values, taken | nearer_flush_by(tables, code, sets), then, now)


@inlined_kernel
def write_discards(
    tables: Any,
    weights: Any,
    suit: Any,
    honours: Any,
    hand: Any,
    completable: int,
    completable_after: Any,
    standing: Any,
    patterns: Any,
    lacking: Any,
    values: Any,
) -> None:
    """Writes what a hand with a tile too many lacks and is worth after each discard.

    Args:
        tables: see `distance_kernels`.
        weights: see `weights_of`.
        suit: code of its ranks.
        honours: code of its honours.
        hand: [16] counts, for the same tiles.
        completable: see `worth_kernels.worth_by_patterns`; before the discard,
        completable_after: [9] and after that of each rank.
        standing: see `worth_kernels.write_standing`.
        patterns: what `worth_kernels.write_needs` wrote; gets what the hand has of them.
        lacking: [16] gets tiles lacking by kind; 20 for kinds not in the hand.
        values: [16] gets what the hand is worth; 0 for kinds not in the hand.
    """
    wanted = standing[SETS_WANTED] - standing[MELDS_OUT]
    any_hand = weights[LOSS] + weights[BASE] + standing[FLOWERS_OUT]
    base = any_hand + (weights[CONCEALED] if standing[OPEN_MELDS_OUT] == 0 else 0.0)
    now = distance(tables, suit, honours, wanted, False)
    spared = spared_by(tables, suit, honours, wanted, now)
    for kind in range(_K):
        lacking[kind] = now + 1 - ((spared >> kind) & 1)
    values[:] = 0.0
    _raise_both(weights, values, spared, base + weights[HALF], now)
    if standing[HONOUR_MELDS_OUT] == 0:
        pure = flush_distance(tables, suit, wanted)
        kinds = spared_by_flush(tables, suit, wanted)
        _raise_both(weights, values, kinds, base + weights[FLUSH], pure)
    if standing[SETS_WANTED] == 4 and standing[MELDS_OUT] == 0:
        single = _with_odd_count(hand)
        pure = np.int64(7 - tables.suit_pairs[suit])
        mixed = pure - tables.honour_pairs[honours]
        for kind in range(_K):
            lacking[kind] = min(lacking[kind], mixed + 1 - ((single >> kind) & 1))
        pairs = any_hand + weights[PAIRS]
        _raise_both(weights, values, single, pairs + weights[HALF], mixed)
        _raise_both(weights, values, single | ~_ALL_RANKS, pairs + weights[FLUSH], pure)
    if standing[SETS_WANTED] == 4 and completable != 0:
        need, missing, rest, _ = patterns
        write_lacks(hand, suit, need, missing, rest)
        _raise_discards(
            tables,
            weights,
            honours,
            hand,
            completable,
            completable_after,
            standing,
            patterns,
            values,
        )
    for kind in range(_K):
        if hand[kind] == 0:
            lacking[kind] = 20
            values[kind] = 0.0


@inlined_kernel
def _raise_both(weights: Any, values: Any, spared: int, points: float, lacking: Any) -> None:
    """Raises values of discards to what a prospect is worth that all but spared kinds hurt."""
    first, second = weights[POWERS + lacking], weights[POWERS + lacking + 1]
    _raise(values, spared, points * first, points * second)


@inlined_kernel
def _raise_discards(
    tables: Any,
    weights: Any,
    honours: Any,
    hand: Any,
    completable: int,
    completable_after: Any,
    standing: Any,
    patterns: Any,
    values: Any,
) -> None:
    """Raises values of discards by prospects of three chows; see `write_discards`."""
    need, missing_all, rest, free = patterns
    base = points_of_patterns(weights, standing)
    least = np.inf
    for kind in range(_K):
        if hand[kind]:
            least = min(least, values[kind])
    for pattern in range(PATTERNS.shape[0]):
        if free[pattern] < 0 or not completable & (1 << pattern):
            continue
        points, missing = base + PATTERN_POINTS[pattern], missing_all[pattern]
        # Nothing farther than this can be better.
        if (points + weights[FLUSH]) * weights[POWERS + missing] <= least:
            continue
        # Kinds that the pattern can spare, and those without which it can be completed.
        unused, possible = _ALL & ~_ALL_RANKS, _ALL & ~_ALL_RANKS
        for kind in range(_RANKS):
            unused |= (need[kind, pattern] < hand[kind]) << kind
            possible |= ((completable_after[kind] >> pattern) & 1) << kind
        code, sets = rest[pattern], free[pattern]
        lacking = distance(tables, code, honours, sets, False)
        if (points + weights[HALF]) * weights[POWERS + missing + lacking] > least:
            spared = unused & spared_by(tables, code, honours, sets, lacking)
            far = missing + lacking
            _raise_some(weights, values, possible, spared, points + weights[HALF], far)
        if standing[HONOUR_MELDS_OUT] == 0:
            pure = missing + flush_distance(tables, code, sets)
            if (points + weights[FLUSH]) * weights[POWERS + pure] > least:
                spared = unused & spared_by_flush(tables, code, sets)
                _raise_some(weights, values, possible, spared, points + weights[FLUSH], pure)


@inlined_kernel
def _raise_some(
    weights: Any, values: Any, kinds: int, spared: int, points: float, lacking: Any
) -> None:
    """As `_raise_both`, for kinds in a mask only."""
    _raise(values, kinds & spared, points * weights[POWERS + lacking], 0.0)
    _raise(values, kinds & ~spared, points * weights[POWERS + lacking + 1], 0.0)
