"""Serve a page on this machine: play, watch and look back at games in a browser.

    python -m klss_spiel.run.web --open
    python -m klss_spiel.run.web --port=8000 --bot="fast=search(nodes=2000)" --bot=random

Opponents are those named here (--bot, once each; a good list by default) and nothing
that a browser says can add to them. Finished games are appended to --records. Only this
machine can reach the page unless --host says otherwise.
"""

from __future__ import annotations

import contextlib
import pathlib
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.run import output
from klss_spiel.web.security import LOOPBACK, is_loopback

if TYPE_CHECKING:
    from klss_spiel.web.workers import Workers

_PROCESSES: Final = "processes"
_THREADS: Final = "threads"


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
    flags.DEFINE_enum(
        "workers",
        _PROCESSES,
        [_PROCESSES, _THREADS],
        "Where bots think: in a process for each game, or in threads of this one, where a "
        "notebook's own bots can be reached but the page may falter.",
    )
    flags.DEFINE_bool("open", False, "Open the page in a browser.")


def make_server() -> tuple[Any, socket.socket, Workers]:
    """The uvicorn server that the flags ask for, the socket for it, and where bots think."""
    try:
        import uvicorn

        from klss_spiel.web.catalogue import DEFAULT_BOTS, Catalogue, bot_from_flag
        from klss_spiel.web.record_store import RecordStore
        from klss_spiel.web.server import make_app
        from klss_spiel.web.sessions import Limits
        from klss_spiel.web.workers import Workers
    except ImportError as error:
        raise ValueError(f"{error}; the page needs `pip install klss_spiel[web]`") from error
    values = flags.FLAGS
    bots = tuple(bot_from_flag(text) for text in values.bot) or DEFAULT_BOTS
    catalogue = Catalogue(bots, tuple(values.game))
    store = RecordStore(pathlib.Path(values.records))
    everywhere = not is_loopback(values.host)
    limits = Limits(searches=values.searches)
    workers = Workers(values.workers == _PROCESSES, output.set_up_worker)
    hosts = (*LOOPBACK, values.host, socket.gethostname())
    app = make_app(catalogue, store, limits, hosts, everywhere, workers)
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
        raise ValueError(
            f"cannot listen on {values.host}:{values.port}: {error}; --port=0 takes a free one"
        ) from error
    specifications = [text for bot in bots for text in bot.specifications]
    _prepare(workers, specifications, limits.searches)
    return uvicorn.Server(config), listening, workers


def _prepare(workers: Workers, specifications: Sequence[str], searches: int) -> None:
    """Imports and compiles what requests would wait for."""
    from klss_spiel.web.preparation import FORKABLE_MODULES, import_all, play_first_moves

    if workers.apart:
        workers.prepare(FORKABLE_MODULES, searches)
    else:
        import_all(specifications)
    play_first_moves()


def _rehearse(workers: Workers) -> None:
    from klss_spiel.web.preparation import Rehearsal

    with contextlib.suppress(RuntimeError, OSError, EOFError):  # the server stops meanwhile
        worker = workers.start(Rehearsal)
        try:
            worker.ready()
        finally:
            worker.close()


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags and serves until it is stopped."""
    output.use_double_precision()
    server, listening, workers = make_server()
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
    threading.Thread(target=_rehearse, args=[workers], daemon=True).start()
    if values.open:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    print(f"Stopped. Finished games are in {values.records}", flush=True)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
