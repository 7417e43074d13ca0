"""Winning shapes: sets and a pair, or seven pairs, and what a hand waits for."""

from __future__ import annotations

import functools
import itertools
from typing import Final, NamedTuple

from klss_spiel.games.mahjong import tiles

NUM_PAIRS: Final = 7
# Seven pairs are a shape of the full game only: their fans are defined for 14 tiles.
SETS_WITH_SEVEN_PAIRS: Final = 4


class Shape(NamedTuple):
    """One way to read the concealed part of a winning hand.

    Attributes:
        chows: lowest tiles of its chows, ascending.
        triplets: kinds of its triplets, ascending.
        pairs: one kind, or the seven of seven pairs (a kind twice for four equal tiles).
    """

    chows: tuple[int, ...]
    triplets: tuple[int, ...]
    pairs: tuple[int, ...]

    @property
    def is_seven_pairs(self) -> bool:
        """Whether this is the shape without sets."""
        return len(self.pairs) == NUM_PAIRS


@functools.lru_cache(maxsize=1 << 18)
def shapes(hand: tiles.Counts, sets: int, seven_pairs: bool) -> tuple[Shape, ...]:
    """All readings of a hand as `sets` sets and a pair, seven pairs first.

    With the pair and the triplets chosen, the rest has at most one reading as chows: its
    lowest tile must begin one.

    Args:
        hand: [16] counts.
        sets: sets wanted in the hand, those laid open not counted.
        seven_pairs: whether seven pairs win.
    """
    found = []
    if seven_pairs and sum(hand) == 2 * NUM_PAIRS and all(count % 2 == 0 for count in hand):
        pairs = tuple(kind for kind, count in enumerate(hand) for _ in range(count // 2))
        found.append(Shape((), (), pairs))
    if sum(hand) != 3 * sets + 2:
        return tuple(found)
    for pair in reversed(range(tiles.NUM_KINDS)):
        if hand[pair] < 2:
            continue
        rest = tiles.with_change(hand, [(pair, -2)])
        possible = [kind for kind, count in enumerate(rest) if count >= 3]
        for size in range(len(possible) + 1):
            for triplets in itertools.combinations(possible, size):
                chows = _chows(tiles.with_change(rest, [(kind, -3) for kind in triplets]))
                if chows is not None:
                    found.append(Shape(chows, triplets, (pair,)))
    return tuple(found)


def _chows(counts: tiles.Counts) -> tuple[int, ...] | None:
    """The only way to split counts into chows, or None."""
    left = list(counts)
    chows: list[int] = []
    for kind in range(tiles.NUM_KINDS):
        number = left[kind]
        if number == 0:
            continue
        if kind > tiles.NUM_RANKS - 3 or left[kind + 1] < number or left[kind + 2] < number:
            return None
        left[kind + 1] -= number
        left[kind + 2] -= number
        chows += [kind] * number
    return tuple(chows)


def wins(hand: tiles.Counts, sets: int, seven_pairs: bool) -> bool:
    """Whether a hand is `sets` sets and a pair, or seven pairs."""
    return bool(shapes(hand, sets, seven_pairs))


@functools.lru_cache(maxsize=1 << 17)
def waits(hand: tiles.Counts, sets: int, seven_pairs: bool) -> frozenset[int]:
    """Kinds that complete a hand which lacks one tile, whether or not any is left to draw.

    A kind of which the hand itself has all four tiles is not waited for.
    """
    return frozenset(
        kind
        for kind in range(tiles.NUM_KINDS)
        if hand[kind] < tiles.MAX_COPIES
        and wins(tiles.with_change(hand, [(kind, 1)]), sets, seven_pairs)
    )
