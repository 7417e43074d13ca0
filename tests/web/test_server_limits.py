"""What the server refuses: other sites, files, what is not offered, too much."""

import asyncio
import json
import re

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from klss_spiel.web.catalogue import Catalogue, RefusedError, bot_from_flag
from klss_spiel.web.security import LOOPBACK, HostGuard
from klss_spiel.web.sessions import Limits
from tests.web.live_server import LiveServer, hear, say, until_turn


@pytest.fixture(scope="module")
def server():
    with LiveServer() as live:
        yield live


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_other_sites_cannot_use_the_server(server, headers, status):
    assert server.ask("GET", "/api/catalogue", headers=headers)[0] == status
    if "Origin" in headers:
        with pytest.raises(InvalidStatus):
            server.socket("x", additional_headers=headers)
        headers = {**headers, "Content-Type": "application/json"}
        assert server.ask("POST", "/api/games", "{}", headers)[0] == 403


@pytest.mark.parametrize(
    ("host", "any_address", "welcome"),
    [
        ("localhost:8000", False, True),
        ("[::1]:8000", False, True),
        ("192.0.2.7:8000", False, False),
        ("192.0.2.7:8000", True, True),
        ("[2001:db8::7]:8000", True, True),
        ("evil.example:8000", True, False),
    ],
)
def test_a_server_for_others_answers_to_addresses_but_not_to_foreign_names(
    host, any_address, welcome
):
    reached = []

    async def app(scope, receive, send):
        reached.append(scope["path"])

    async def ignore(message=None):
        return {"type": "http.request"}

    scope = {"type": "http", "path": "/", "headers": [(b"host", host.encode())]}
    asyncio.run(HostGuard(app, LOOPBACK, any_address)(scope, ignore, ignore))
    assert bool(reached) == welcome


def test_the_own_origin_is_welcome(server):
    assert server.ask("GET", "/", headers={"Origin": server.address})[0] == 200
    session = server.new_game(game="kuhn", bot="random")
    with server.socket(session, origin=server.address) as socket:
        assert hear(socket)["type"] == "view"


def test_answers_forbid_foreign_and_inline_code(server):
    for path in ("/", "/api/catalogue", "/static/app.js", "/nowhere"):
        _, headers, _ = server.ask("GET", path)
        policy = {name.lower(): value for name, value in headers.items()}
        assert policy["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in policy["content-security-policy"]
        assert policy["x-content-type-options"] == "nosniff"
    page = server.ask("GET", "/")[2].decode()
    assert not re.search(r"<style|style=|<script(?! type=\"module\" src=)|onclick|https?://", page)
    scripts = [p for p in server._server.config.app._app.state.server._files if p.endswith(".js")]
    for path in scripts:
        text = server.ask("GET", path)[2].decode()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/etc/passwd",
        "/api/records/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_path_names_a_file(server, path):
    status, _, body = server.ask("GET", path)
    assert status == 404
    assert json.loads(body)["error"] in ("unknown_path", "unknown_record")


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ([], "bad_message"),
        ({"game": "kuhn_poker", "bot": "random"}, "unknown_game"),
        ({"game": "kuhn", "bot": 'engine(command="touch /tmp/x")'}, "unknown_bot"),
        ({"game": "kuhn", "bot": "listener"}, "unknown_bot"),
        ({"game": "kuhn", "bot": {"name": "random"}}, "unknown_bot"),
        ({"game": "kuhn", "bot": "random", "clock": "99999+9"}, "unknown_clock"),
        ({"game": "kuhn", "bot": "random", "strength": "god"}, "unknown_strength"),
        ({"game": "kuhn", "bot": "random", "colour": "red"}, "unknown_colour"),
        ({"game": "kuhn", "bot": "random", "seed": -1}, "bad_seed"),
        ({"game": "kuhn", "bot": "random", "seed": True}, "bad_seed"),
        ({"game": "kuhn", "bot": "random", "fen": "k2/3/2K w - -"}, "bad_fen"),
        ({"game": "dark-fen", "bot": "random", "fen": "k2/3/2K"}, "bad_fen"),
        ({"game": "dark-fen", "bot": "random", "fen": "k2/3/3 w - -"}, "bad_fen"),
        ({"game": "dark-fen", "bot": "random", "fen": "k2/3/2K w - -,horizon=3"}, "bad_fen"),
    ],
)
def test_only_what_is_offered_can_be_chosen(wanted, error):
    with pytest.raises(RefusedError) as refusal:
        Catalogue().choose(wanted)
    assert refusal.value.name == error


def test_messages_that_are_too_large_or_too_many_are_refused():
    limits = Limits(messages_per_second=3.0)
    with LiveServer(limits=limits) as live:
        session = live.new_game(game="dark-microchess", bot="random", colour="first")
        with live.socket(session) as socket:
            until_turn(socket)
            for _ in range(5):
                say(socket, type="cheat")
            errors = [hear(socket)["error"] for _ in range(5)]
            assert errors[0] == "unknown_type" and errors[-1] == "too_fast"
        with live.socket(session) as socket:
            hear(socket)
            socket.send("x" * 3000)
            assert hear(socket)["error"] == "too_large"
            with pytest.raises(ConnectionClosed):
                hear(socket)
        status, answer = live.post("/api/games", {"game": "x" * 5000})
        assert (status, answer["error"]) == (413, "too_large")


@pytest.mark.parametrize("game", ["dark-standard", "kriegspiel-standard", "leduc"])
def test_the_strong_search_is_the_first_opponent_that_is_offered(game):
    catalogue = Catalogue()
    (offer,) = [one for one in catalogue.as_json()["games"] if one["name"] == game]
    assert offer["bots"][:2] == ["strong", "search"]
    choice = catalogue.choose({"game": game, "bot": "strong"})
    assert choice.seats[1].specification(choice.strength) == "search(preset=strong)"


def test_bots_of_flags_are_checked_and_named():
    assert bot_from_flag("random").specifications == ("random",)
    named = bot_from_flag("fast=search(preset=obscuro,nodes=10)")
    assert (named.name, named.specifications) == ("fast", ("search(preset=obscuro,nodes=10)",))
    assert bot_from_flag("search(nodes=10)").name == "search(nodes=10)"
    with pytest.raises(ValueError, match="nobody"):
        bot_from_flag("nobody(3)")
