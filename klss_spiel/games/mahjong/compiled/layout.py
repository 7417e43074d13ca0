"""How a game lies in a row of numbers, and options in another."""

from __future__ import annotations

from typing import Final

from klss_spiel.games.mahjong import tiles

_K: Final = tiles.NUM_KINDS

# Single numbers; see `rules.Position` for what they mean.
PHASE: Final = 0
PLAYER: Final = 1
TILE: Final = 2
DRAWN: Final = 3
AFTER_KONG: Final = 4
MAY_WIN: Final = 5
MAY_KONG: Final = 6
DECLARING: Final = 7
POINTS: Final = 8
NEXT: Final = 9  # place in the deck of the next tile
END: Final = 10  # place in the deck behind the last tile that can be drawn
RIVER_SIZE: Final = 11

# Two of each, player 0's first.
NUM_MELDS: Final = 12
FLOWERS: Final = 14
READY: Final = 16
HEAVENLY: Final = 18
ACTED: Final = 20
WAITS: Final = 22  # mask of kinds
SUIT_CODE: Final = 24
HONOUR_CODE: Final = 26
HAND: Final = 28  # 2 * 16 counts
RIVER: Final = HAND + 2 * _K  # 2 * 16 counts
MELD_KIND: Final = RIVER + 2 * _K  # 2 * 4
MELD_TILE: Final = MELD_KIND + 8  # 2 * 4
ROW: Final = MELD_TILE + 8

# Options of a variant.
SETS: Final = 0
COPIES: Final = 1
FORCED_HU: Final = 2
TING: Final = 3
KONGS: Final = 4
SEPARATE_PASS_HU: Final = 5
HAND_SIZE: Final = 6
WALL_SIZE: Final = 7
NUM_OPTIONS: Final = 8
