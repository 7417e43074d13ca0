"""The 105 actions, by number.

0         pass: claim nothing; one's own draw follows (after an added kong, the
opponent's)
1         Hu: win
2         pass the win and look at the other options (only with `separate_pass_hu`)
3         Ting: declare a ready hand; a discard follows
4-19      discard a kind
20-35     pong a kind
36-51     kong a kind that was discarded
52-67     concealed kong of a kind
68-83     add the fourth tile of a kind to one's pong
84-104    chow: 3 * lowest tile + which of its three tiles was discarded
"""

from __future__ import annotations

from typing import Final

from klss_spiel.games.mahjong import tiles

PASS: Final = 0
HU: Final = 1
PASS_HU: Final = 2
TING: Final = 3
DISCARD: Final = 4
PONG: Final = DISCARD + tiles.NUM_KINDS
KONG: Final = PONG + tiles.NUM_KINDS
CONCEALED_KONG: Final = KONG + tiles.NUM_KINDS
ADD_KONG: Final = CONCEALED_KONG + tiles.NUM_KINDS
CHOW: Final = ADD_KONG + tiles.NUM_KINDS
NUM_CHOW_HEADS: Final = tiles.NUM_RANKS - 2
NUM_ACTIONS: Final = CHOW + 3 * NUM_CHOW_HEADS

_WITHOUT_TILE: Final = ("pass", "hu", "pass hu", "ting")
_WITH_KIND: Final = ("discard", "pong", "kong", "concealed kong", "add kong")


def is_discard(action: int) -> bool:
    """Whether an action discards a tile."""
    return DISCARD <= action < PONG


def kind_of(action: int) -> int:
    """The kind that a discard, a pong or a kong is about."""
    return (action - DISCARD) % tiles.NUM_KINDS


def chow_action(head: int, tile: int) -> int:
    """The action that completes the chow from `head` with the discarded `tile`."""
    return CHOW + 3 * head + tile - head


def chow_head(action: int) -> int:
    """The lowest tile of a chow."""
    return (action - CHOW) // 3


def _name(action: int) -> str:
    if action < DISCARD:
        return _WITHOUT_TILE[action]
    if action < CHOW:
        verb = _WITH_KIND[(action - DISCARD) // tiles.NUM_KINDS]
        return f"{verb} {tiles.NAMES[kind_of(action)]}"
    head, taken = divmod(action - CHOW, 3)
    # The claimed tile is marked: the same chow can be completed by any of its tiles.
    marks = [f"<{head + i + 1}m>" if i == taken else f"{head + i + 1}m" for i in range(3)]
    return f"chow {' '.join(marks)}"


NAMES: Final = tuple(_name(action) for action in range(NUM_ACTIONS))
