"""A state as one player sees it, for notebooks and terminals.

`render(state, player)` shows no more than the player may know: a board with its fog for
the chess games, the information state for any other game.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pyspiel

from klss_spiel.games.chess import render as chess_render
from klss_spiel.games.chess.adapter import ChessState


@dataclasses.dataclass(frozen=True)
class Picture:
    """Something to look at: prints as text, shows as SVG in a notebook where there is one.

    Attributes:
      text: the picture in letters.
      svg: an SVG document, or None.
    """

    text: str
    svg: str | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str | None:
        return self.svg


def render(state: Any, player: int | None = None) -> Picture:
    """A state as a player sees it.

    Args:
      state: a state of any OpenSpiel game.
      player: whose view; None for everything, hidden things included.
    """
    if not isinstance(state, pyspiel.State):
        raise ValueError(f"expected a state of a game, got {type(state).__name__}")
    count = state.num_players()
    if player is not None and player not in range(count):
        raise ValueError(f"expected a player from 0 to {count - 1} or None, got {player!r}")
    if isinstance(state, ChessState):
        return Picture(chess_render.text(state, player), chess_render.svg(state, player))
    if player is None:
        return Picture(str(state))
    game_type = state.get_game().get_type()
    if game_type.provides_information_state_string:
        return Picture(state.information_state_string(player))
    if game_type.provides_observation_string:
        return Picture(state.observation_string(player))
    raise ValueError(f"{state.get_game()} does not say what a player sees")
