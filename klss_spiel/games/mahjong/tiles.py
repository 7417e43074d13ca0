"""Kinds of tiles, by number.

    0-8    characters 1 to 9: the only suit, the only kinds that form chows
    9-11   dragons: green, red, white
    12-15  winds: east, west, north, south
    16     flowers: laid aside when drawn, never in a hand

A hand is a tuple of 16 counts. Smaller variants leave kinds out; numbers stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

NUM_RANKS: Final = 9
NUM_DRAGONS: Final = 3
NUM_HONOURS: Final = 7
NUM_KINDS: Final = NUM_RANKS + NUM_HONOURS
FLOWER: Final = NUM_KINDS
MAX_COPIES: Final = 4

DRAGONS: Final = range(9, 12)
WINDS: Final = range(12, 16)
TERMINALS: Final = (0, NUM_RANKS - 1)
NO_TILE: Final = -1

# A short name of its own for every kind: a person types these.
NAMES: Final = (
    *(f"{rank}m" for rank in range(1, NUM_RANKS + 1)),
    *("Gd", "Rd", "Wd"),
    *("Ew", "Ww", "Nw", "Sw"),
    "Fl",
)
SYMBOLS: Final = (
    *(chr(0x1F007 + rank) for rank in range(NUM_RANKS)),
    *("\U0001f005", "\U0001f004", "\U0001f006"),
    *("\U0001f000", "\U0001f002", "\U0001f003", "\U0001f001"),
    "\U0001f022",
)

Counts = tuple[int, ...]


def is_suited(kind: int) -> bool:
    """Whether the kind can be part of a chow."""
    return kind < NUM_RANKS


def is_terminal(kind: int) -> bool:
    """Whether the kind is the lowest or the highest of the suit."""
    return kind in TERMINALS


def is_honour(kind: int) -> bool:
    """Whether the kind is a dragon or a wind."""
    return NUM_RANKS <= kind < NUM_KINDS


def expanded(counts: Sequence[int]) -> list[int]:
    """The kinds of a hand, one entry per tile, ascending."""
    return [kind for kind, count in enumerate(counts) for _ in range(count)]


def text_of(counts: Sequence[int], symbols: bool = False) -> str:
    """A hand a person can read: "1m 1m 5m Ew", or with Unicode's tiles."""
    names = SYMBOLS if symbols else NAMES
    return " ".join(names[kind] for kind in expanded(counts))


def with_change(counts: Counts, changes: Sequence[tuple[int, int]]) -> Counts:
    """Counts with amounts added to some kinds."""
    changed = list(counts)
    for kind, amount in changes:
        changed[kind] += amount
    return tuple(changed)
