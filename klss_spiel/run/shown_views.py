"""What a human in a terminal is shown of a game: the own view, news, and the end.

Everything shown while the game runs is made of `klss_spiel.web.told.Told`: the player's
information state, observation and own actions.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from klss_spiel.games.rendering import render
from klss_spiel.web import catalogue
from klss_spiel.web.journal import OPPONENT, UNKNOWN_MOVE, YOU
from klss_spiel.web.replay import family_of
from klss_spiel.web.told import Start, start_of, told_to, view_of

_PIECES: Final = {
    "p": "pawn",
    "n": "knight",
    "b": "bishop",
    "r": "rook",
    "q": "queen",
    "k": "king",
}


@dataclasses.dataclass(frozen=True)
class Viewer:
    """Shows one player's side of games.

    Attributes:
      start: what both players know before the first move.
      player: who looks.
    """

    start: Start
    player: int

    @classmethod
    def of(cls, game: Any, player: int) -> Viewer:
        """A viewer for one player of a `pyspiel.Game`."""
        return cls(start_of(game, family_of(game)), player)

    @property
    def is_chess(self) -> bool:
        """Whether there is a board."""
        return self.start.family != catalogue.TEXT

    def lines(self, state: Any, seen: int = 0) -> list[str]:
        """What the player is shown now.

        Args:
          state: the game.
          seen: how many entries of the journal have been shown before.
        """
        view = view_of(self.start, told_to(state, self.player))
        if not self.is_chess:
            return [*view["lines"], *(row for row in view.get("hex", ()))]
        news = [line for entry in view["journal"][seen:] for line in _news(entry)]
        return [*news, str(render(state, self.player)), *self._captured(view)]

    def entries(self, state: Any) -> int:
        """How many entries the journal has."""
        if not self.is_chess:
            return 0
        return len(view_of(self.start, told_to(state, self.player))["journal"])

    def _captured(self, view: dict[str, Any]) -> list[str]:
        parts = []
        if view["taken"]:
            parts.append(f"you have captured {_listed(view['taken'])}")
        if view["lost"]:
            parts.append(f"you have lost {_listed(view['lost'])}")
        return ["; ".join(parts).capitalize() + "."] if parts else []


def revealed(game: Any, state: Any, player: int) -> list[str]:
    """What was hidden from a player, for the end of a game."""
    other = Viewer.of(game, 1 - player)
    if other.is_chess:
        return ["The true board:", str(render(state))]
    return [f"What player {1 - player} was told:", *other.lines(state)]


def _name(mark: str) -> str:
    return _PIECES.get(mark.lower(), mark)


def _listed(marks: list[str]) -> str:
    return ", ".join(_name(mark) for mark in marks)


def _news(entry: dict[str, Any]) -> list[str]:
    """An entry of a journal as sentences."""
    said = [f"The umpire says: {', '.join(entry['said'])}."] if entry["said"] else []
    if entry["by"] == YOU:
        if entry["illegal"]:
            return [f"{entry['move']} is illegal; try another."]
        if entry["takes"]:
            at = f" on {entry['at']}" if entry["at"] else ""
            return [f"You captured a {_name(entry['takes'])}{at}.", *said]
        return said
    assert entry["by"] == OPPONENT
    news = []
    if entry["move"] == UNKNOWN_MOVE:
        if not said and not entry["takes"]:
            news.append("Your opponent moved unseen.")
    else:
        news.append(f"Your opponent moved {entry['move']}.")
    if entry["takes"]:
        news.append(f"Your {_name(entry['takes'])} on {entry['at']} was captured.")
    return [*news, *said]
