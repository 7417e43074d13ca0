"""The server: one page, a few JSON answers, and a socket for each game.

    GET  /                       the page and its files, read once at the start
    GET  /api/catalogue          what can be played; shapes of pieces; latest records
    POST /api/games              a new game -> its id
    GET  /api/records/<id>       a finished game, step by step
    GET  /api/records/<id>/beliefs?player=&step=   what a player could know
    POST /api/replays            a PGN or a record -> ids of its games
    WS   /api/games/<id>         views to the player; moves from the player

Errors are JSON objects with a name (`error`) and a sentence (`text`).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from klss_spiel.games.chess import render
from klss_spiel.web.catalogue import Catalogue, RefusedError
from klss_spiel.web.explorer import BeliefExplorer
from klss_spiel.web.loading import load_text
from klss_spiel.web.record_store import RecordStore
from klss_spiel.web.replay import replay_of
from klss_spiel.web.searches import Searches
from klss_spiel.web.security import LOOPBACK, HostGuard
from klss_spiel.web.session import Listener, Session
from klss_spiel.web.sessions import Limits, Sessions
from klss_spiel.web.workers import Workers

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_KINDS: Final = "PNBRQK"
_SECONDS_BETWEEN_SWEEPS: Final = 5.0
_UNKNOWN_SESSION: Final = 4404
_TOO_LARGE: Final = 1009


class Server:
    """Everything behind the page."""

    def __init__(
        self, catalogue: Catalogue, store: RecordStore, limits: Limits, workers: Workers
    ) -> None:
        self.catalogue = catalogue
        self.store = store
        self.limits = limits
        self.searches = Searches(limits.searches)
        self.sessions = Sessions(limits, self.searches, store, workers)
        self.explorer = BeliefExplorer(store, self.searches, workers)
        self._files = _static_files()

    def routes(self) -> list[Any]:
        """What can be asked for."""
        files = [Route(path, self._file) for path in self._files]
        return [
            *files,
            Route("/api/catalogue", self._catalogue),
            Route("/api/games", self._new_game, methods=["POST"]),
            Route("/api/records/{number:str}", self._record),
            Route("/api/records/{number:str}/beliefs", self._beliefs),
            Route("/api/replays", self._load, methods=["POST"]),
            WebSocketRoute("/api/games/{number:str}", self._socket),
        ]

    async def _file(self, request: Request) -> Response:
        # The route matched, so the path is one of the keys: no path names a file.
        body, kind = self._files[request.url.path]
        return Response(body, media_type=kind)

    async def _catalogue(self, request: Request) -> Response:
        shapes = {letter: render.piece_path(kind) for kind, letter in enumerate(_KINDS, start=1)}
        return JSONResponse(
            {**self.catalogue.as_json(), "shapes": shapes, "records": self.store.latest()}
        )

    async def _new_game(self, request: Request) -> Response:
        wanted = _json(await _body(request, self.limits.message))
        session = self.sessions.create(self.catalogue.choose(wanted))
        return JSONResponse({"session": session.id}, status_code=201)

    async def _record(self, request: Request) -> Response:
        row = self.store.get(request.path_params["number"])
        if row is None:
            raise RefusedError("unknown_record", "there is no such record here")
        found = await self.searches.run(lambda: replay_of(row))
        return JSONResponse({"id": row["id"], **found})

    async def _beliefs(self, request: Request) -> Response:
        player, step = (_number(request.query_params.get(name, "0")) for name in ("player", "step"))
        if player not in (0, 1):
            raise RefusedError("unknown_player", "expected player 0 or 1")
        found = self.explorer.answer(request.path_params["number"], player, step)
        if found is None:
            raise RefusedError("unknown_record", "there is no such record here")
        return JSONResponse(found)

    async def _load(self, request: Request) -> Response:
        body = await _body(request, self.limits.upload)
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            raise RefusedError("bad_text", "expected text in UTF-8") from None
        offered = {offer.game for offer in self.catalogue.games.values()}
        rows = await self.searches.run(lambda: load_text(text, offered))
        games = [
            {
                "id": self.store.add_loaded(row),
                "players": [row.get("player_0"), row.get("player_1")],
            }
            for row in rows
        ]
        return JSONResponse({"games": games}, status_code=201)

    async def _socket(self, socket: WebSocket) -> None:
        await socket.accept()
        try:
            session, listener = self.sessions.join(socket.path_params["number"])
        except RefusedError as refusal:
            await socket.send_json(_refusal(refusal))
            await socket.close(_UNKNOWN_SESSION)
            return
        connection = _Connection(socket, session, listener, self.limits)
        try:
            await connection.serve()
        finally:
            self.sessions.leave(session, listener)

    async def sweep(self) -> None:
        """Ends idle games for as long as the server runs."""
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_SWEEPS)
            self.sessions.sweep()


class _Connection:
    """One socket."""

    def __init__(
        self, socket: WebSocket, session: Session, listener: Listener, limits: Limits
    ) -> None:
        self._socket = socket
        self._session = session
        self._listener = listener
        self._limits = limits
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Talks until one side goes."""
        tasks = [asyncio.ensure_future(self._tell()), asyncio.ensure_future(self._listen())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell(self) -> None:
        while True:
            await self._listener.changed.wait()
            self._listener.changed.clear()
            for message in self._session.messages(self._listener):
                await self._send(message)

    async def _listen(self) -> None:
        allowance, last = self._limits.messages_per_second, time.monotonic()
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            now = time.monotonic()
            most = self._limits.messages_per_second
            allowance, last = min(most, allowance + (now - last) * most), now
            text = message.get("text")
            try:
                if text is None:
                    raise RefusedError("bad_message", "expected text")
                if len(text) > self._limits.message:
                    raise RefusedError("too_large", "expected a shorter message")
                if allowance < 1.0:
                    raise RefusedError("too_fast", "expected fewer messages")
                allowance -= 1.0
                if not self._listener.plays:
                    raise RefusedError("not_a_player", "spectators do not play")
                self._session.handle(_json(text.encode()))
            except RefusedError as refusal:
                await self._send(_refusal(refusal))
                if refusal.name == "too_large":
                    await self._socket.close(_TOO_LARGE)
                    return

    async def _send(self, message: dict[str, Any]) -> None:
        async with self._sending:
            await self._socket.send_json(message)


def make_app(
    catalogue: Catalogue,
    store: RecordStore,
    limits: Limits | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
    any_address: bool = False,
    workers: Workers | None = None,
) -> Any:
    """The ASGI application.

    Args:
      catalogue: what is offered.
      store: where games are kept.
      limits: what the server bears.
      hosts: names under which it may be called.
      any_address: whether it may be called by any numeric address, too.
      workers: where bots think; each game's in a process of its own by default.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # Made here, since queues and locks belong to the running loop.
        server = Server(catalogue, store, limits or Limits(), workers or Workers())
        app.router.routes.extend(server.routes())
        app.state.server = server
        sweeper = asyncio.ensure_future(server.sweep())
        try:
            yield
        finally:
            sweeper.cancel()
            await server.explorer.close()
            await server.sessions.close()

    app = Starlette(
        lifespan=lifespan,
        exception_handlers={
            RefusedError: _answer_refusal,
            404: _answer_unknown,
            Exception: _answer_failure,
        },
    )
    return HostGuard(app, hosts, any_address)


def _refusal(refusal: RefusedError) -> dict[str, Any]:
    return {"type": "error", "error": refusal.name, "text": refusal.text}


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    status = 404 if error.name == "unknown_record" else 413 if error.name == "too_large" else 400
    return JSONResponse(_refusal(error), status_code=status)


async def _answer_unknown(request: Request, error: Exception) -> Response:
    return JSONResponse(
        _refusal(RefusedError("unknown_path", "there is nothing here")), status_code=404
    )


async def _answer_failure(request: Request, error: Exception) -> Response:
    # What went wrong may name what a player must not know; `HostGuard` notes the rest.
    return JSONResponse(
        _refusal(RefusedError("server_error", "the server could not answer")), status_code=500
    )


async def _body(request: Request, limit: int) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind not in ("application/json", "text/plain"):
        raise RefusedError("bad_type", "expected application/json or text/plain")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise RefusedError("too_large", f"expected at most {limit} bytes")
        parts.append(part)
    return b"".join(parts)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError("bad_json", "expected JSON") from None


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise RefusedError("bad_number", "expected a number")
    return int(text)


def _static_files() -> dict[str, tuple[bytes, str]]:
    """The page's files by their path, with their types."""
    files = {}
    for entry in importlib.resources.files("klss_spiel.web").joinpath("static").iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in _TYPES:
            files[f"/static/{entry.name}"] = (entry.read_bytes(), _TYPES[suffix])
    files["/"] = files["/static/index.html"]
    return files
