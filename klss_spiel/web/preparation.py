"""What is imported, compiled or loaded before the first player comes.

Compiling takes half a minute or more on a machine where nothing has been compiled yet, and
loading what was compiled takes a second. The server needs a little of it to step through
games (`play_first_moves`, before it listens); searches need most, which a worker compiles
while the page is there already (`Rehearsal`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Final

from klss_spiel.algorithms.search.compilation import CompilationTimer
from klss_spiel.openspiel import load_game
from klss_spiel.veiled_state import veil
from klss_spiel.web import catalogue, replay, told

_SMALL_BOARD: Final = "microchess"
_CHESS_GAMES: Final = {
    catalogue.DARK: f"python_dark_chess(board={_SMALL_BOARD})",
    catalogue.KRIEGSPIEL: f"python_kriegspiel(board={_SMALL_BOARD})",
}
_REHEARSED: Final = ("search(seconds=0.01)", "pimc(worlds=2,depth=2)")


# What games and searches import when they begin; none of it imports jax, which does not
# survive a fork.
FORKABLE_MODULES: Final = (
    "klss_spiel.web.preparation",
    "klss_spiel.web.thinking",
    "klss_spiel.web.explorer",
    "klss_spiel.games.chess.packed.kriegspiel_moments",
    "klss_spiel.games.chess.packed.kriegspiel_search_game",
    "klss_spiel.games.chess.packed.recorded_moment",
    "klss_spiel.games.chess.packed.search_game",
    "klss_spiel.matches.chess_engines",
    "klss_spiel.matches.chess_players",
    "klss_spiel.matches.mahjong_seats",
    "klss_spiel.matches.process_player",
    "klss_spiel.matches.sampling_players",
    "klss_spiel.matches.search_players",
    "klss_spiel.matches.beliefs",
)
_MAHJONG: Final = "klss_spiel.matches.mahjong_players"


def import_all(specifications: Iterable[str]) -> None:
    """Imports what bots would import in threads, while there is one thread.

    Of two threads that import modules of one package one may meet a module half done.

    Args:
      specifications: of the bots that are offered; what only others need is not loaded.
    """
    for name in FORKABLE_MODULES:
        importlib.import_module(name)
    if any("mahjong" in text for text in specifications):
        importlib.import_module(_MAHJONG)


def play_first_moves() -> None:
    """Compiles or loads what the server itself needs, so that no request waits for it."""
    with CompilationTimer():  # which says that it compiles, if it does
        for family, name in _CHESS_GAMES.items():
            game = load_game(name)
            state = game.new_initial_state()
            start = told.start_of(game, family)
            for _ in range(2):
                replay.apply_step(state, state.legal_actions()[0], family)
                for player in (0, 1):
                    told.view_of(start, told.told_to(state, player))
                veil(state, state.current_player())


class Rehearsal:
    """Once it is made, what bots need for their first moves has been compiled and kept."""

    def __init__(self) -> None:
        from klss_spiel.matches.beliefs import beliefs_of
        from klss_spiel.matches.players import Seat, make_player

        game = load_game(_CHESS_GAMES[catalogue.DARK])
        for specification in _REHEARSED:
            bot = make_player(specification, Seat(game, 0))
            action = bot.step(veil(game.new_initial_state(), 0))
        for _ in beliefs_of({"game": str(game), "actions": [action]}, 1):
            pass

    def close(self) -> None:
        """Nothing has been started."""
