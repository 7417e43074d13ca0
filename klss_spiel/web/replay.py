"""Finished games, step by step: the truth between both players' views.

Only for games that are over, and for games in which no human plays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from klss_spiel.openspiel import load_game, turn_based
from klss_spiel.tree import CHANCE
from klss_spiel.web import catalogue
from klss_spiel.web.text_views import text_view
from klss_spiel.web.told import board_of, told_to

_FAMILIES = {"python_dark_chess": catalogue.DARK, "python_kriegspiel": catalogue.KRIEGSPIEL}


def family_of(game: Any) -> str:
    """How a `pyspiel.Game` is shown."""
    return _FAMILIES.get(game.get_type().short_name, catalogue.TEXT)


def true_board(state: Any) -> str:
    """The true board of a chess state, from the last rank down, as views write it."""
    placement = str(state).split()[0]
    return "".join("." * int(mark) if mark.isdigit() else mark for mark in placement)


def snapshot(state: Any, family: str) -> dict[str, Any]:
    """The truth and both views."""
    if family in catalogue.CHESS:
        views: list[Any] = [board_of(state.observation_string(player)) for player in (0, 1)]
        return {"truth": true_board(state), "views": views}
    short_name = state.get_game().get_type().short_name
    views = [text_view(short_name, told_to(state, player))["lines"] for player in (0, 1)]
    if short_name == "dark_hex":
        views = [state.observation_string(player).splitlines() for player in (0, 1)]
    return {"truth": str(state).splitlines(), "views": views}


def first_step(state: Any, family: str) -> dict[str, Any]:
    """The start of a game."""
    return {"player": None, "move": None, "illegal": False, **snapshot(state, family)}


def apply_step(state: Any, action: int, family: str, report: Any = None) -> dict[str, Any]:
    """Applies an action to a state and says what has become of it."""
    mover = int(state.current_player())
    name = state.action_to_string(mover, action)
    board = str(state)
    state.apply_action(action)
    step: dict[str, Any] = {
        "player": None if mover == CHANCE else mover,
        "move": name,
        # A try that the umpire of Kriegspiel refuses leaves everything as it was.
        "illegal": family == catalogue.KRIEGSPIEL and str(state) == board,
        **snapshot(state, family),
    }
    if report is not None:
        step["report"] = report
    return step


def replay_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A record as the page shows it.

    Args:
      row: of the match runner or of this server.

    Raises:
      ValueError: the record's actions are not those of its game.
    """
    game = turn_based(load_game(row["game"]))
    family = family_of(game)
    state = game.new_initial_state()
    steps = [first_step(state, family)]
    reports = list(row.get("reports") or ())
    decided = 0
    for action in row["actions"]:
        if state.is_terminal() or action not in state.legal_actions():
            raise ValueError(f"expected a legal action after {len(steps) - 1}, got {action!r}")
        report = None
        if state.current_player() != CHANCE:
            report = reports[decided] if decided < len(reports) else None
            decided += 1
        steps.append(apply_step(state, int(action), family, report))
    size = steps[0]["truth"].split("/") if family in catalogue.CHESS else None
    return {
        "game": row["game"],
        "family": family,
        "width": None if size is None else len(size[0]),
        "height": None if size is None else len(size),
        "players": [str(row.get("player_0", "?")), str(row.get("player_1", "?"))],
        "returns": [row.get("return_0"), row.get("return_1")],
        "termination": row.get("termination"),
        "loser": row.get("loser"),
        "clock": row.get("clock"),
        "seed": row.get("seed"),
        "steps": steps,
    }
