"""A chess game as one player can write it down: own moves, and what was seen of others."""

from __future__ import annotations

import dataclasses
from typing import Final

YOU: Final = "you"
OPPONENT: Final = "opponent"
UNKNOWN_MOVE: Final = "?"
RESULTS: Final = ("1-0", "0-1", "1/2")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line.

    Attributes:
      by: YOU or OPPONENT.
      move: in UCI; of the opponent's as much as was seen, "?" for squares that were not.
      takes: what the move captured, as a letter or "pawn" or "piece"; "" for nothing.
      at: the square where that stood; "" if nothing was captured or it is not known.
      illegal: an own try that the umpire refused.
      said: what the umpire said after it, in words.
    """

    by: str
    move: str
    takes: str = ""
    at: str = ""
    illegal: bool = False
    said: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Journal:
    """The lines so far.

    Attributes:
      entries: in order.
      taken: what the player has captured.
      lost: the player's own pieces that were captured.
    """

    entries: tuple[Entry, ...]

    @property
    def taken(self) -> tuple[str, ...]:
        """What the player has captured."""
        return tuple(entry.takes for entry in self.entries if entry.by == YOU and entry.takes)

    @property
    def lost(self) -> tuple[str, ...]:
        """The player's own pieces that were captured."""
        return tuple(entry.takes for entry in self.entries if entry.by == OPPONENT and entry.takes)
