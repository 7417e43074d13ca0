"""What a hand may become, how far that is, and what it pays.

A prospect is a kind of winning hand: any, seven pairs, or three chows that pay together (a
straight, shifted or equal chows), each with honours or without (a full flush). Nearly every
game ends with somebody's win, so that winning p points instead of losing the usual l is
worth p + l: a prospect that lacks d tiles counts (p + l) q^d, and a hand counts its best
prospect. A discard counts the mean over draws in proportion to unseen tiles, where a hand
that is complete counts its score. Nothing here reads the opponent's hand or the wall.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import actions, tiles
from klss_spiel.games.mahjong.compiled.distance_kernels import distance
from klss_spiel.games.mahjong.compiled.layout import (
    FLOWERS,
    HAND,
    HONOUR_CODE,
    MELD_KIND,
    MELD_TILE,
    NUM_MELDS,
    PHASE,
    PLAYER,
    READY,
    SETS,
    SUIT_CODE,
    TILE,
)
from klss_spiel.games.mahjong.compiled.rules_kernels import (
    _POWER,
    change,
    distance_with,
    points_of_win,
)
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.kernels import kernel

_K: Final = tiles.NUM_KINDS
_RANKS: Final = tiles.NUM_RANKS
_CHOW: Final = actions.CHOW
_NO_TILE: Final = tiles.NO_TILE
_CLAIM_PHASE: Final = int(Phase.CLAIM)


def _chow_patterns() -> list[tuple[tuple[int, int, int], float]]:
    """Heads of three chows, and what they pay together."""
    found = [((0, 3, 6), 16.0)]
    found += [((head, head + 1, head + 2), 16.0) for head in range(5)]
    found += [((head, head + 2, head + 4), 16.0) for head in range(3)]
    found += [((head, head, head), 24.0) for head in range(7)]
    return found


_PATTERNS: Final = np.array([heads for heads, _ in _chow_patterns()], np.int64)
_PATTERN_POINTS: Final = np.array([points for _, points in _chow_patterns()])

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
    return np.array([*named, *(_power(step, lacking) for lacking in range(_NUM_POWERS))])


WEIGHTS: Final = weights_of()

# Slots of what is known of the melds, behind [9] chows by head.
_NUM_MELDS: Final = 9
_HONOUR_MELDS: Final = 10
_OPEN_MELDS: Final = 11
_FLOWERS: Final = 12
_SETS: Final = 13
NUM_STANDING: Final = 14


@kernel
def write_standing(options: Any, row: Any, player: int, standing: Any) -> None:
    """Writes [NUM_STANDING] what a player has laid out."""
    standing[:] = 0
    standing[_NUM_MELDS] = row[NUM_MELDS + player]
    standing[_FLOWERS] = row[FLOWERS + player]
    standing[_SETS] = options[SETS]
    for i in range(row[NUM_MELDS + player]):
        kind, tile = row[MELD_KIND + 4 * player + i], row[MELD_TILE + 4 * player + i]
        if kind == 1:
            standing[tile] += 1
        elif tile >= _RANKS:
            standing[_HONOUR_MELDS] += 1
        if kind != 4:
            standing[_OPEN_MELDS] += 1


@kernel
def _write_needs(standing: Any, need: Any, free: Any) -> None:
    """Writes for each pattern of three chows what melds leave of it.

    Letters: p patterns.

    Args:
        standing: see `write_standing`.
        need: [9, p] gets tiles that its chows need of the hand.
        free: [p] gets sets wanted of the rest; below 0 where melds rule the pattern out.
    """
    need[:] = 0
    for pattern in range(_PATTERNS.shape[0]):
        melded = 0
        for i in range(3):
            head = _PATTERNS[pattern, i]
            times = 1
            for j in range(i):
                if _PATTERNS[pattern, j] == head:
                    times += 1
            if standing[head] >= times:
                melded += 1
            else:
                for j in range(3):
                    need[head + j, pattern] += 1
        # Three sets are the pattern's: one is left for other melds.
        free[pattern] = 1 - (standing[_NUM_MELDS] - melded)


@kernel
def _write_lacks(hand: Any, suit: Any, need: Any, missing: Any, rest: Any) -> None:
    """Writes for each pattern of three chows what a hand has of it.

    Letters: p patterns, the last axis, so that the compiler takes many of them at a time.

    Args:
        hand: [16] counts.
        suit: code of its ranks.
        need: [9, p] see `_write_needs`.
        missing: [p] gets how many needed tiles the hand lacks.
        rest: [p] gets the code of ranks that are left.
    """
    missing[:] = 0
    rest[:] = suit
    for kind in range(_RANKS):
        count, power = hand[kind], _POWER[kind]
        for pattern in range(_PATTERNS.shape[0]):
            held = min(need[kind, pattern], count)
            rest[pattern] -= held * power
            missing[pattern] += need[kind, pattern] - held


@kernel
def _worth_by_patterns(
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
    need, missing_all, rest_all, free, ceiling = patterns
    base = _points_of_patterns(weights, standing)
    for pattern in range(_PATTERNS.shape[0]):
        if free[pattern] < 0 or not completable & (1 << pattern) or ceiling[pattern] <= best:
            continue
        missing, rest = missing_all[pattern], rest_all[pattern]
        if amount != 0 and changed < _RANKS:
            if need[changed, pattern] >= hand[changed] + max(amount, 0):
                missing -= amount
            else:
                rest += amount * _POWER[changed]
        points = base + _PATTERN_POINTS[pattern]
        # Nothing farther than this can be better.
        if (points + weights[FLUSH]) * weights[POWERS + missing] <= best:
            continue
        lacking = missing + distance(tables, rest, honours, free[pattern], False)
        best = max(best, (points + weights[HALF]) * weights[POWERS + lacking])
        if standing[_HONOUR_MELDS] == 0:
            pure = missing + np.int64(tables.suit[rest, free[pattern], 1])
            best = max(best, (points + weights[FLUSH]) * weights[POWERS + pure])
    return best


@kernel
def _points_of_patterns(weights: Any, standing: Any) -> Any:
    """What hands with patterns count, without the points of the pattern."""
    base = weights[LOSS] + weights[BASE] + standing[_FLOWERS]
    return base + (weights[CONCEALED] if standing[_OPEN_MELDS] == 0 else 0.0)


@kernel
def write_ceilings(
    tables: Any,
    weights: Any,
    honours: Any,
    completable: int,
    standing: Any,
    patterns: Any,
    now: float,
) -> int:
    """Writes [p] more than which no pattern can be worth after one more tile.

    Returns the mask of patterns that may then be worth more than the hand is now.

    Args:
        tables: see `distance_kernels`.
        weights: see `weights_of`.
        honours: code of the hand's honours.
        completable: see `_worth_by_patterns`.
        standing: see `write_standing`.
        patterns: of the hand, see `_write_lacks`.
        now: what the hand is worth without the tile; no less with it.
    """
    _, missing, rest, free, ceiling = patterns
    base = _points_of_patterns(weights, standing)
    hopeful = 0
    for pattern in range(_PATTERNS.shape[0]):
        ceiling[pattern] = 0.0
        if free[pattern] < 0 or not completable & (1 << pattern):
            continue
        points = base + _PATTERN_POINTS[pattern]
        if (points + weights[FLUSH]) * weights[POWERS + max(missing[pattern] - 1, 0)] <= now:
            continue
        code, sets = rest[pattern], free[pattern]
        lacking = missing[pattern] + distance(tables, code, honours, sets, False)
        best = (points + weights[HALF]) * weights[POWERS + max(lacking - 1, 0)]
        if standing[_HONOUR_MELDS] == 0:
            pure = missing[pattern] + np.int64(tables.suit[code, sets, 1])
            best = max(best, (points + weights[FLUSH]) * weights[POWERS + max(pure - 1, 0)])
        ceiling[pattern] = best
        if best > now:
            hopeful |= 1 << pattern
    return hopeful


@kernel
def _completable(need: Any, hand: Any, unseen: Any, discarded: int) -> int:
    """Mask of patterns that do not lack more tiles than are unseen; see `_write_lacks`."""
    mask = 0
    for pattern in range(_PATTERNS.shape[0]):
        possible = True
        for kind in range(_RANKS):
            held = hand[kind] - (1 if kind == discarded else 0)
            if need[kind, pattern] - held > unseen[kind]:
                possible = False
        if possible:
            mask |= 1 << pattern
    return mask


@kernel
def _worth_without_patterns(
    tables: Any, weights: Any, suit: Any, honours: Any, standing: Any
) -> Any:
    """Tiles lacking to win, and the best of any hand, a flush, and seven pairs."""
    wanted = standing[_SETS] - standing[_NUM_MELDS]
    any_hand = weights[LOSS] + weights[BASE] + standing[_FLOWERS]
    base = any_hand + (weights[CONCEALED] if standing[_OPEN_MELDS] == 0 else 0.0)
    lacking = distance(tables, suit, honours, wanted, False)
    best = (base + weights[HALF]) * weights[POWERS + lacking]
    if standing[_HONOUR_MELDS] == 0:
        pure = np.int64(tables.suit[suit, wanted, 1])
        best = max(best, (base + weights[FLUSH]) * weights[POWERS + pure])
    if standing[_SETS] == 4 and standing[_NUM_MELDS] == 0:
        pure = np.int64(7 - tables.suit_pairs[suit])
        mixed = pure - tables.honour_pairs[honours]
        lacking = min(lacking, mixed)
        pairs = any_hand + weights[PAIRS]
        best = max(best, (pairs + weights[HALF]) * weights[POWERS + mixed])
        best = max(best, (pairs + weights[FLUSH]) * weights[POWERS + pure])
    return lacking, best


@kernel
def _new_patterns() -> Any:
    """What `_write_needs`, `_write_lacks` and `write_ceilings` fill."""
    number = _PATTERNS.shape[0]
    return (
        np.zeros((_RANKS, number), np.int64),
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        np.full(number, np.inf),
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
    _, best = _worth_without_patterns(tables, weights, suit, honours, standing)
    if standing[_SETS] < 4:
        return best
    patterns = _new_patterns()
    need, missing, rest, free, _ = patterns
    _write_needs(standing, need, free)
    _write_lacks(hand, suit, need, missing, rest)
    completable = _completable(need, hand, unseen, _NO_TILE)
    return _worth_by_patterns(
        tables, weights, honours, hand, completable, standing, patterns, 0, 0, best
    )


@kernel
def _own_hand(options: Any, row: Any) -> Any:
    """What the player to move holds: standing, counts, codes of suit and honours, patterns."""
    player = row[PLAYER]
    standing = np.zeros(NUM_STANDING, np.int64)
    write_standing(options, row, player, standing)
    hand = row[HAND + _K * player : HAND + _K * player + _K].astype(np.int64)
    suit, honours = np.int64(row[SUIT_CODE + player]), np.int64(row[HONOUR_CODE + player])
    patterns = _new_patterns()
    need, missing, rest, free, _ = patterns
    _write_needs(standing, need, free)
    _write_lacks(hand, suit, need, missing, rest)
    return standing, hand, suit, honours, patterns


@kernel
def worth_of_discards(
    tables: Any, options: Any, weights: Any, row: Any, unseen: Any, found: Any
) -> Any:
    """Writes [16] what the hand is worth after each discard (0 if there is none); the best."""
    standing, hand, suit, honours, patterns = _own_hand(options, row)
    most = 0.0
    for kind in range(_K):
        found[kind] = 0.0
        if hand[kind]:
            less_suit = suit - (_POWER[kind] if kind < _RANKS else 0)
            less_honours = honours - (_POWER[kind] if kind >= _RANKS else 0)
            _, best = _worth_without_patterns(tables, weights, less_suit, less_honours, standing)
            if standing[_SETS] == 4:
                mask = _completable(patterns[0], hand, unseen, kind)
                best = _worth_by_patterns(
                    tables, weights, less_honours, hand, mask, standing, patterns, kind, -1, best
                )
            found[kind] = best
            most = max(most, best)
    return most


@kernel
def worth_of_waiting(tables: Any, options: Any, weights: Any, row: Any, unseen: Any) -> Any:
    """What a hand that will draw is worth, a mean over draws. Changes the row for a while."""
    player = row[PLAYER]
    standing, hand, suit, honours, patterns = _own_hand(options, row)
    phase, tile, ready = row[PHASE], row[TILE], row[READY + player]
    row[PHASE] = _CLAIM_PHASE
    row[READY + player] = 1
    total, value = 0, 0.0
    mask = _completable(patterns[0], hand, unseen, _NO_TILE)
    for kind in range(_K):
        number = unseen[kind]
        if number <= 0:
            continue
        total += number
        if hand[kind] >= 4:
            continue
        if distance_with(tables, options, row, player, kind, 1, _NO_TILE, 0) == 0:
            row[TILE] = kind
            value += number * (weights[LOSS] + points_of_win(tables, options, row))
            continue
        more_suit = suit + (_POWER[kind] if kind < _RANKS else 0)
        more_honours = honours + (_POWER[kind] if kind >= _RANKS else 0)
        _, best = _worth_without_patterns(tables, weights, more_suit, more_honours, standing)
        if standing[_SETS] == 4:
            best = _worth_by_patterns(
                tables, weights, more_honours, hand, mask, standing, patterns, kind, 1, best
            )
        value += number * best
    row[PHASE] = phase
    row[TILE] = tile
    row[READY + player] = ready
    return value / max(total, 1)


@kernel
def judge_discards(
    tables: Any, options: Any, weights: Any, row: Any, legal: Any, unseen: Any, found: Any
) -> Any:
    """Writes [16] what discards are worth; 0 for those not looked at; the best.

    Args:
        tables: see `rules_kernels`.
        options: see `rules_kernels`.
        weights: see `prospect_kernels.weights_of`.
        row: the game; changed for a while.
        legal: [16] kinds that may be discarded.
        unseen: [16] see `analysis_kernels.unseen_by`.
        found: [16] gets what each is worth.
    """
    player = row[PLAYER]
    worth_of_discards(tables, options, weights, row, unseen, found)
    best = 0.0
    for kind in range(_K):
        if not legal[kind]:
            found[kind] = 0.0
        best = max(best, found[kind])
    most = 0.0
    for kind in range(_K):
        if found[kind] < weights[LOOK] * best or found[kind] == 0.0:
            found[kind] = 0.0
            continue
        change(row, player, kind, -1)
        found[kind] = worth_of_waiting(tables, options, weights, row, unseen)
        change(row, player, kind, 1)
        most = max(most, found[kind])
    return most


@kernel
def write_claimed(row: Any, action: int, after: Any) -> None:
    """Writes the row of a player who takes a discard for a chow or pong and has to discard."""
    player, tile = row[PLAYER], row[TILE]
    after[:] = row
    slot = 4 * player + row[NUM_MELDS + player]
    after[NUM_MELDS + player] += 1
    if action >= _CHOW:
        head = (action - _CHOW) // 3
        after[MELD_KIND + slot] = 1
        after[MELD_TILE + slot] = head
        for i in range(3):
            kind = head + i
            if kind != tile:
                after[HAND + _K * player + kind] -= 1
                after[SUIT_CODE + player] -= _POWER[kind]
    else:
        after[MELD_KIND + slot] = 2
        after[MELD_TILE + slot] = tile
        after[HAND + _K * player + tile] -= 2
        if tile < _RANKS:
            after[SUIT_CODE + player] -= 2 * _POWER[tile]
        else:
            after[HONOUR_CODE + player] -= 2 * _POWER[tile]
