"""What one player is told, as the page shows it.

`Told` holds all that may leave the server while a game runs: the player's information
state, observation and own legal actions, nothing else of the state. Views are functions
of it and of what both players know before the game starts, so they cannot say more.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from klss_spiel.games.chess import boards, rules
from klss_spiel.web import catalogue
from klss_spiel.web.dark_chess_journal import dark_chess_journal
from klss_spiel.web.journal import Journal
from klss_spiel.web.kriegspiel_journal import kriegspiel_journal
from klss_spiel.web.text_views import text_view


@dataclasses.dataclass(frozen=True)
class Told:
    """What a player may know of a state.

    Attributes:
      player: who.
      information_state: everything told so far.
      observation: what the player sees now; None if the game does not say.
      to_move: whether it is the player's turn.
      over: whether the game is over.
      actions: names of the own legal actions; none unless it is the player's turn.
    """

    player: int
    information_state: str
    observation: str | None
    to_move: bool
    over: bool
    actions: tuple[str, ...]


def told_to(state: Any, player: int) -> Told:
    """What a player may know of a `pyspiel.State`."""
    to_move = state.current_player() == player
    observes = state.get_game().get_type().provides_observation_string
    return Told(
        player,
        state.information_state_string(player),
        state.observation_string(player) if observes else None,
        to_move,
        bool(state.is_terminal()),
        tuple(state.action_to_string(player, a) for a in state.legal_actions(player))
        if to_move
        else (),
    )


@dataclasses.dataclass(frozen=True)
class Start:
    """What both players know before the first move.

    Attributes:
      family: of the game.
      short_name: OpenSpiel's name of it.
      position: where chess starts; None in other games.
      views: [player] the first observation of chess.
    """

    family: str
    short_name: str
    position: rules.Position | None = None
    views: tuple[str, str] = ("", "")


def start_of(game: Any, family: str) -> Start:
    """What both players of a `pyspiel.Game` know before it starts."""
    short_name = game.get_type().short_name
    if family == catalogue.TEXT:
        return Start(family, short_name)
    state = game.new_initial_state()
    views = (board_of(state.observation_string(0)), board_of(state.observation_string(1)))
    return Start(family, short_name, boards.position_from_fen(str(state)), views)


def board_of(observation: str) -> str:
    """The board in an observation of chess, from the last rank down."""
    return observation.split()[1]


def view_of(start: Start, told: Told) -> dict[str, Any]:
    """What the page shows a player."""
    view: dict[str, Any] = {
        "family": start.family,
        "you": told.player,
        "your_turn": told.to_move,
        "over": told.over,
        "moves": list(told.actions),
    }
    if start.position is None:
        return {**view, **text_view(start.short_name, told)}
    journal = _journal(start, told)
    assert told.observation is not None
    return {
        **view,
        "width": start.position.width,
        "height": start.position.height,
        "board": board_of(told.observation),
        "journal": [dataclasses.asdict(entry) for entry in journal.entries],
        "taken": list(journal.taken),
        "lost": list(journal.lost),
        "first": start.position.side,
    }


def own_actions(start: Start, told: Told) -> int | None:
    """How many own actions a chess player's information state holds; None elsewhere."""
    if start.position is None:
        return None
    return sum(entry.by == "you" for entry in _journal(start, told).entries)


def _journal(start: Start, told: Told) -> Journal:
    assert start.position is not None
    words = told.information_state.split()[1:]
    if start.family == catalogue.DARK:
        return dark_chess_journal(start.position, start.views[told.player], told.player, words)
    return kriegspiel_journal(start.position, told.player, words)
