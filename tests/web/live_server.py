"""A server in a thread of the tests, and clients that talk to it as a browser would."""

import contextlib
import http.client
import json
import pathlib
import socket
import threading
import time

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
uvicorn = pytest.importorskip("uvicorn", reason="needs the extra web")
pytest.importorskip("websockets", reason="needs the extra web")

from websockets.sync.client import connect  # noqa: E402

from klss_spiel.web.catalogue import DEFAULT_BOTS, Catalogue  # noqa: E402
from klss_spiel.web.preparation import FORKABLE_MODULES  # noqa: E402
from klss_spiel.web.record_store import RecordStore  # noqa: E402
from klss_spiel.web.server import make_app  # noqa: E402
from klss_spiel.web.sessions import Limits  # noqa: E402
from klss_spiel.web.workers import Workers  # noqa: E402
from tests.web import gated_players  # noqa: E402

# Long: the first search of a machine compiles.
_SECONDS = 240.0


class LiveServer:
    """Serves on a free port of this machine."""

    def __init__(self, bots=DEFAULT_BOTS, limits=None, records: pathlib.Path | None = None):
        self.store = RecordStore(records)
        workers = Workers(setup=gated_players.set_up)
        workers.prepare(FORKABLE_MODULES, 1)
        limits = limits or Limits(messages_per_second=1e6)
        app = make_app(Catalogue(bots), self.store, limits, workers=workers)
        config = uvicorn.Config(
            app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, daemon=True
        )

    def __enter__(self):
        self._thread.start()
        end = time.monotonic() + _SECONDS
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.01)
        assert self._server.started
        return self

    def __exit__(self, *error):
        self._server.should_exit = True
        self._thread.join(_SECONDS)
        assert not self._thread.is_alive()

    def ask(self, method, path, body=None, headers=()):
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        sent = dict(headers)
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        with contextlib.closing(connection):
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def get(self, path):
        status, _, body = self.ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path, value):
        status, _, body = self.ask("POST", path, json.dumps(value))
        return status, json.loads(body)

    def new_game(self, **wanted):
        status, answer = self.post("/api/games", {"clock": "none", "strength": "quick", **wanted})
        assert status == 201, answer
        return answer["session"]

    def socket(self, session, **more):
        return open_socket(self.address, session, **more)


def open_socket(address, session, **more):
    """A socket of a game; patient, since ten seconds may be few on a busy machine."""
    url = f"{address.replace('http', 'ws', 1).rstrip('/')}/api/games/{session}"
    return connect(url, open_timeout=_SECONDS, close_timeout=_SECONDS, **more)


def hear(socket):
    """The next message."""
    return json.loads(socket.recv(timeout=_SECONDS))


def say(socket, **message):
    socket.send(json.dumps(message))


def play_to_end(socket, choose, heard=None):
    """Plays with `choose(view) -> move`; returns the last message, appends all to `heard`."""
    while True:
        message = hear(socket)
        if heard is not None:
            heard.append(message)
        assert message["type"] == "view", message
        if message["result"]:
            return message
        if message["view"]["your_turn"]:
            say(socket, type="move", move=choose(message["view"]), count=message["count"])


def until_turn(socket):
    """The first message from now on in which it is the own turn."""
    while not (message := hear(socket))["view"]["your_turn"]:
        pass
    return message


def first_move(view):
    return view["moves"][0]
