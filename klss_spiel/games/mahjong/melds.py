"""Sets laid open (or, for a concealed kong, laid face down) beside a hand."""

from __future__ import annotations

import enum
from typing import NamedTuple

from klss_spiel.games.mahjong import tiles


class MeldKind(enum.IntEnum):
    """How a meld came about; the numbers are those of records of wins."""

    CHOW = 1
    PONG = 2
    KONG = 3
    CONCEALED_KONG = 4


KONGS = (MeldKind.KONG, MeldKind.CONCEALED_KONG)


class Meld(NamedTuple):
    """A meld; the tile of a chow is its lowest."""

    kind: MeldKind
    tile: int

    @property
    def tiles(self) -> tuple[int, ...]:
        """Its three or four tiles."""
        if self.kind == MeldKind.CHOW:
            return (self.tile, self.tile + 1, self.tile + 2)
        return (self.tile,) * (4 if self.kind in KONGS else 3)

    def text(self, hidden: bool = False, symbols: bool = False) -> str:
        """What is seen of it; `hidden` for the opponent of who owns it."""
        if hidden and self.kind == MeldKind.CONCEALED_KONG:
            return "[concealed kong]"
        names = tiles.SYMBOLS if symbols else tiles.NAMES
        shown = " ".join(names[tile] for tile in self.tiles)
        return f"({shown})" if self.kind == MeldKind.CONCEALED_KONG else f"[{shown}]"
