"""Starting positions for matches of chess games.

An opening is a FEN, or the first moves in UCI from the game's own start. Either becomes the
starting position of the game itself, so that it is common knowledge: both players know it,
also what they could not have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from klss_spiel.games.chess import boards
from klss_spiel.openspiel import load_game


def games_of_openings(game: str, openings: Sequence[str]) -> tuple[str, ...]:
    """Game strings that start from openings.

    Args:
      game: string of a chess game.
      openings: FENs or first moves; empty texts are left out.

    Raises:
      ValueError: the game is not one of chess, or an opening is not a FEN or legal moves.
    """
    wanted = [text.strip() for text in openings if text.strip()]
    if not wanted:
        return ()
    loaded = load_game(game)
    parameters = dict(loaded.get_parameters())
    if "fen" not in loaded.get_type().parameter_specification:
        raise ValueError(f"expected a chess game for openings, got {game}")
    return tuple(_with_fen(loaded, parameters, _fen(loaded, text)) for text in wanted)


def _fen(game: Any, text: str) -> str:
    if "/" in text:
        return boards.fen_of(boards.position_from_fen(text))
    state = game.new_initial_state()
    for move in text.split():
        names = {state.action_to_string(a): a for a in state.legal_actions()}
        if state.is_terminal() or move not in names:
            raise ValueError(f"expected legal moves such as e2e4 e7e5, got {move!r} in {text!r}")
        state.apply_action(names[move])
    return boards.fen_of(state.moment.position)


def _with_fen(game: Any, parameters: dict[str, Any], fen: str) -> str:
    defaults = game.get_type().parameter_specification
    kept = {k: v for k, v in parameters.items() if k not in ("board", "fen") and v != defaults[k]}
    inside = ",".join(f"{key}={value}" for key, value in {**kept, "fen": fen}.items())
    return f"{game.get_type().short_name}({inside})"
