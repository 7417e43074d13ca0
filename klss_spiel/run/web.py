"""Serve a page on this machine: play, watch and look back at games in a browser.

    python -m klss_spiel.run.web --open
    python -m klss_spiel.run.web --port=8000 --bot="fast=search(nodes=2000)" --bot=random

Opponents are those named here (--bot, once each; a good list by default) and nothing
that a browser says can add to them. Finished games are appended to --records. Only this
machine can reach the page unless --host says otherwise.
"""

from __future__ import annotations

import contextlib
import importlib
import pathlib
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.run import output
from klss_spiel.web.security import LOOPBACK, is_loopback

if TYPE_CHECKING:
    from klss_spiel.web.catalogue import BotOffer


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_integer("port", 8000, "Port to listen on; 0 for any free one.", 0, 65535)
    flags.DEFINE_string(
        "host",
        "127.0.0.1",
        "Interface to listen on. Others than this machine's "
        "own can be reached by everybody in the network.",
    )
    flags.DEFINE_multi_string(
        "bot", [], "An opponent: a player's specification, or name=specification."
    )
    flags.DEFINE_multi_string("game", [], "String of a further two-player game.")
    flags.DEFINE_string("records", "results/web_games.jsonl", "File that gets finished games.")
    flags.DEFINE_integer("searches", 2, "Bots that think at the same time.", lower_bound=1)
    flags.DEFINE_bool("open", False, "Open the page in a browser.")


def make_server() -> tuple[Any, socket.socket]:
    """The uvicorn server that the flags ask for, and the socket it is to listen on."""
    try:
        import uvicorn

        from klss_spiel.web.catalogue import DEFAULT_BOTS, Catalogue, bot_from_flag
        from klss_spiel.web.record_store import RecordStore
        from klss_spiel.web.server import make_app
        from klss_spiel.web.sessions import Limits
    except ImportError as error:
        raise ValueError(f"{error}; the page needs `pip install klss_spiel[web]`") from error
    values = flags.FLAGS
    bots = tuple(bot_from_flag(text) for text in values.bot) or DEFAULT_BOTS
    _import_all(bots)
    catalogue = Catalogue(bots, tuple(values.game))
    store = RecordStore(pathlib.Path(values.records))
    everywhere = not is_loopback(values.host)
    limits = Limits(searches=values.searches)
    app = make_app(
        catalogue, store, limits, (*LOOPBACK, values.host, socket.gethostname()), everywhere
    )
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=2 * limits.message,
        timeout_graceful_shutdown=2,
    )
    family = socket.AF_INET6 if ":" in values.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((values.host, values.port))
        listening.listen()  # who comes before the server has started waits
    except OSError as error:
        raise ValueError(f"cannot listen on {values.host}:{values.port}: {error}") from error
    return uvicorn.Server(config), listening


def _import_all(bots: Sequence[BotOffer]) -> None:
    """Imports what games and searches import when they begin, while there is one thread.

    Of two threads that import modules of one package one may meet a module half done.

    Args:
      bots: who is offered; what only others need is not loaded.
    """
    names = [
        "klss_spiel.games.chess.packed.kriegspiel_moments",
        "klss_spiel.games.chess.packed.kriegspiel_search_game",
        "klss_spiel.games.chess.packed.recorded_moment",
        "klss_spiel.games.chess.packed.search_game",
        "klss_spiel.matches.chess_engines",
        "klss_spiel.matches.beliefs",
    ]
    if any("mahjong" in text for bot in bots for text in bot.specifications):
        names.append("klss_spiel.matches.mahjong_players")
    for name in names:
        importlib.import_module(name)


def _warm_up() -> None:
    """Loads what the first move of a game would otherwise wait for."""
    from klss_spiel.matches.beliefs import beliefs_of
    from klss_spiel.matches.players import Seat, make_player
    from klss_spiel.openspiel import load_game
    from klss_spiel.veiled_state import veil

    game = load_game("python_dark_chess(board=microchess)")
    for specification in ("search(iterations=2)", "pimc(worlds=2,depth=2)"):
        bot = make_player(specification, Seat(game, 0))
        action = bot.step(veil(game.new_initial_state(), 0))
    for _ in beliefs_of({"game": str(game), "actions": [action]}, 1):
        pass


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags and serves until it is stopped."""
    output.use_double_precision()
    server, listening = make_server()
    values = flags.FLAGS
    port = listening.getsockname()[1]
    shown = f"[{values.host}]" if ":" in values.host else values.host
    address = f"http://{shown}:{port}/"
    if not is_loopback(values.host):
        print(
            f"warning: everybody who can reach {values.host} can play here and see finished "
            "games; there are no passwords and no encryption",
            file=sys.stderr,
        )
    print(f"Play at {address} (Ctrl-C stops)", flush=True)
    threading.Thread(target=_warm_up, daemon=True).start()
    if values.open:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    print(f"Stopped. Finished games are in {values.records}", flush=True)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
