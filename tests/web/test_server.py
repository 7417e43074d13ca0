"""The server as clients meet it: choices, moves, errors, limits, other sites, the end."""

import asyncio
import json
import re
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from klss_spiel.matches.players import register_player
from klss_spiel.matches.sampling_players import Believer  # noqa: F401  (loads the players)
from klss_spiel.veiled_state import VeiledState
from klss_spiel.web import catalogue
from klss_spiel.web import session as web_session
from klss_spiel.web.catalogue import DEFAULT_BOTS, BotOffer, Catalogue, RefusedError, bot_from_flag
from klss_spiel.web.security import LOOPBACK, HostGuard
from klss_spiel.web.sessions import Limits
from tests.web.live_server import LiveServer, hear, play_to_end, say

_GATE = threading.Event()
_THINKING = []


class _Slow:
    """Thinks until the gate opens."""

    def step(self, state):
        _THINKING.append(threading.current_thread().name)
        assert isinstance(state, VeiledState)
        _GATE.wait(20.0)
        return state.legal_actions()[0]


class _Busy:
    """Computes in Python, holding the interpreter's lock, until the gate opens."""

    def step(self, state):
        _THINKING.append(threading.current_thread().name)
        end = time.monotonic() + 20.0
        while not _GATE.is_set() and time.monotonic() < end:
            sum(range(1000))
        return state.legal_actions()[0]


class _Broken:
    def step(self, state):
        raise ValueError("secret position")


_CLOSED = []


class _Closable(_Slow):
    def close(self):
        _CLOSED.append(self)


register_player("closable_for_tests", lambda seat: _Closable())
register_player("slow_for_tests", lambda seat: _Slow())
register_player("busy_for_tests", lambda seat: _Busy())
register_player("broken_for_tests", lambda seat: _Broken())
_BOTS = (
    *DEFAULT_BOTS,
    BotOffer("slow", "Slow", ("slow_for_tests",)),
    BotOffer("closable", "Closable", ("closable_for_tests",)),
    BotOffer("busy", "Busy", ("busy_for_tests",)),
    BotOffer("broken", "Broken", ("broken_for_tests",)),
    BotOffer("searching", "Searching", ("search(nodes=60)",)),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(_BOTS, records=tmp_path_factory.mktemp("records") / "games.jsonl") as live:
        yield live


def _until_turn(socket):
    while not (message := hear(socket))["view"]["your_turn"]:
        pass
    return message


def _first(view):
    return view["moves"][0]


@pytest.mark.parametrize(
    "game", ["dark-minimal4x3", "kriegspiel-3x3", "kuhn", "leduc", "liars-dice", "dark-hex"]
)
def test_a_game_of_each_kind_can_be_played_to_its_end_and_looked_at(server, game):
    with server.socket(server.new_game(game=game, bot="random", seed=1)) as socket:
        last = play_to_end(socket, _first)
    assert last["result"]["termination"] == "rules"
    replay = server.get(f"/api/records/{last['result']['record']}")
    row = server.store.get(last["result"]["record"])
    assert len(replay["steps"]) == len(row["actions"]) + 1
    assert replay["returns"] == last["result"]["returns"]


def test_every_game_that_is_offered_can_be_begun(server):
    for offer in server.get("/api/catalogue")["games"]:
        assert offer["bots"]
        more = {"fen": "k3/3p/P3/3K w - - 0 1"} if offer["takes_fen"] else {}
        session = server.new_game(game=offer["name"], bot="random", colour="first", **more)
        with server.socket(session) as socket:
            assert hear(socket)["game"] == offer["title"]
            say(socket, type="resign")


def test_a_search_bot_says_what_it_considered_after_the_game(server):
    session = server.new_game(game="dark-minimal4x3", bot="searching", colour="second", seed=2)
    with server.socket(session) as socket:
        _until_turn(socket)
        say(socket, type="resign")
        while not (last := hear(socket))["result"]:
            pass
    step = server.get(f"/api/records/{last['result']['record']}")["steps"][1]
    assert step["player"] == 0
    assert step["report"]["said"]["nodes"] > 0
    shares = [share for _, share in step["report"]["candidates"]]
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    assert step["move"] in [move for move, _ in step["report"]["candidates"]]


def test_the_same_seed_gives_the_same_game(server):
    def play(seed):
        with server.socket(server.new_game(game="leduc", bot="random", seed=seed)) as socket:
            last = play_to_end(socket, _first)
        return server.store.get(last["result"]["record"])["actions"]

    assert play(7) == play(7)
    assert len({tuple(play(seed)) for seed in range(6)}) > 1


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("{", "bad_json"),
        ("[1]", "bad_message"),
        ('{"type": 3}', "bad_message"),
        ('{"type": "cheat"}', "unknown_type"),
        ('{"type": "move", "count": 0}', "bad_move"),
        ('{"type": "move", "move": "a1a2"}', "bad_count"),
        ('{"type": "move", "move": "a1a2", "count": true}', "bad_count"),
        ('{"type": "move", "move": "a1a2", "count": 7}', "stale_move"),
        ('{"type": "move", "move": "a9z2", "count": 0}', "illegal_move"),
        ('{"type": "move", "move": "<b>hello</b>", "count": 0}', "illegal_move"),
        (b"\x00\x01", "bad_message"),
    ],
)
def test_bad_messages_get_a_named_error_and_change_nothing(server, message, error):
    session = server.new_game(game="dark-microchess", bot="random", colour="first", seed=1)
    with server.socket(session) as socket:
        before = _until_turn(socket)
        socket.send(message)
        answer = hear(socket)
        assert (answer["type"], answer["error"]) == ("error", error)
        assert "hello" not in json.dumps(answer)
        with server.socket(session) as another:
            assert hear(another)["view"] == before["view"]
        say(socket, type="move", move=_first(before["view"]), count=0)
        assert hear(socket)["count"] == 1


def test_a_move_out_of_turn_and_one_after_the_end_are_refused(server):
    _GATE.clear()
    session = server.new_game(game="dark-microchess", bot="slow", colour="first")
    with server.socket(session) as socket:
        view = _until_turn(socket)["view"]
        say(socket, type="move", move=_first(view), count=0)
        assert not hear(socket)["view"]["your_turn"]
        say(socket, type="move", move=_first(view), count=1)
        assert hear(socket)["error"] == "not_your_turn"
        say(socket, type="resign")
        assert hear(socket)["result"]["termination"] == "resigned"
        say(socket, type="resign")
        assert hear(socket)["error"] == "game_over"
    _GATE.set()


def test_a_lost_socket_resumes_with_the_same_state(server):
    session = server.new_game(game="kriegspiel-silverman4x4", bot="random", colour="first", seed=4)
    with server.socket(session) as socket:
        message = _until_turn(socket)
        say(socket, type="move", move=message["view"]["moves"][3], count=0)
        message = _until_turn(socket)
    with server.socket(session) as socket:
        assert hear(socket) == message
        say(socket, type="move", move=message["view"]["moves"][0], count=1)
        assert hear(socket)["count"] == 2


def test_messages_that_are_too_large_or_too_many_are_refused():
    limits = Limits(messages_per_second=3.0)
    with LiveServer(limits=limits) as live:
        session = live.new_game(game="dark-microchess", bot="random", colour="first")
        with live.socket(session) as socket:
            _until_turn(socket)
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


def test_the_page_answers_while_bots_think_and_only_so_many_think_at_once():
    _GATE.clear()
    _THINKING.clear()
    with LiveServer(_BOTS, Limits(searches=2, games=3)) as live:
        sessions = [
            live.new_game(game="dark-microchess", bot="slow", colour="second") for _ in range(3)
        ]
        while len(_THINKING) < 2:
            time.sleep(0.01)
        assert live.get("/api/catalogue")["games"]
        status, answer = live.post("/api/games", {"game": "kuhn", "bot": "random"})
        assert (status, answer["error"]) == (400, "too_many_games")
        time.sleep(0.1)
        assert len(_THINKING) == 2
        _GATE.set()
        for session in sessions:
            with live.socket(session) as socket:
                _until_turn(socket)
        assert len(_THINKING) == 3


def test_another_game_is_played_to_its_end_while_a_bot_computes(server):
    _GATE.clear()
    _THINKING.clear()
    session = server.new_game(game="dark-microchess", bot="busy", colour="second")
    while not _THINKING:
        time.sleep(0.01)
    with server.socket(server.new_game(game="leduc", bot="random", seed=1)) as socket:
        assert play_to_end(socket, _first)["result"]["termination"] == "rules"
    with server.socket(session) as socket:
        assert not hear(socket)["view"]["your_turn"]  # it still computes
        _GATE.set()
        _until_turn(socket)
        say(socket, type="resign")


def test_a_bot_that_fails_moves_at_random_and_it_is_told_at_the_end_only(server):
    session = server.new_game(game="dark-microchess", bot="broken", colour="first", seed=1)
    heard = []
    with server.socket(session) as socket:
        for count in range(2):
            message = _until_turn(socket)
            heard.append(message)
            say(socket, type="move", move=_first(message["view"]), count=count)
        heard.append(_until_turn(socket))
        say(socket, type="resign")
        while not (last := hear(socket))["result"]:
            pass
    assert "secret" not in json.dumps(heard) and "random" not in json.dumps(heard)
    assert last["result"]["moves_at_random"] == [0, 2]
    row = server.store.get(last["result"]["record"])
    assert row["moves_at_random"] == [0, 2]
    assert row["reports"][1]["said"].startswith("moved at random after ValueError")
    step = server.get(f"/api/records/{last['result']['record']}")["steps"][2]
    assert step["report"]["failed"] == "ValueError: secret position"


def test_bots_are_closed_when_the_human_resigns_even_while_they_think(server):
    _GATE.clear()
    _THINKING.clear()
    _CLOSED.clear()
    session = server.new_game(game="dark-microchess", bot="closable", colour="second")
    with server.socket(session) as socket:
        while not _THINKING:
            time.sleep(0.01)
        say(socket, type="resign")
        while not hear(socket)["result"]:
            pass
    end = time.monotonic() + 20.0
    while not _CLOSED and time.monotonic() < end:
        time.sleep(0.01)
    assert len(_CLOSED) == 1 and not _GATE.is_set()
    _GATE.set()


def test_clocks_run_and_moves_are_paid(server):
    session = server.new_game(game="dark-microchess", bot="random", colour="first", clock="1+1")
    with server.socket(session) as socket:
        message = _until_turn(socket)
        assert message["clock"]["running"] == 0
        assert 59.0 < message["clock"]["seconds"][0] <= 60.0
        assert message["clock"]["seconds"][1] == 60.0
        say(socket, type="move", move=_first(message["view"]), count=0)
        message = _until_turn(socket)
        assert message["clock"]["seconds"][1] > 60.0  # the increment
        say(socket, type="resign")


@pytest.mark.parametrize("colour", ["first", "second"])
def test_a_player_without_time_loses(server, monkeypatch, colour):
    monkeypatch.setitem(catalogue.CLOCKS, "0.2s+0", "a fifth of a second")
    monkeypatch.setattr(web_session, "_SECONDS_OF_GRACE", 0.0)
    _GATE.clear()
    # White runs out of time: a human who does nothing, or a bot that thinks on and on.
    session = server.new_game(game="dark-microchess", bot="slow", colour=colour, clock="0.2s+0")
    with server.socket(session) as socket:
        while not (last := hear(socket))["result"]:
            pass
        say(socket, type="move", move="a1a2", count=0)
        assert hear(socket)["error"] == "game_over"
    _GATE.set()
    assert (last["result"]["termination"], last["result"]["loser"]) == ("time", 0)
    assert last["result"]["returns"] == [-1.0, 1.0]
    assert server.store.get(last["result"]["record"])["actions"] == []


def test_unattended_games_end_and_are_kept(monkeypatch):
    from klss_spiel.web import server as module

    monkeypatch.setattr(module, "_SECONDS_BETWEEN_SWEEPS", 0.05)
    with LiveServer(limits=Limits(seconds_unattended=0.2)) as live:
        session = live.new_game(game="dark-microchess", bot="random", colour="first")
        end = time.monotonic() + 20.0
        while not live.store.latest() and time.monotonic() < end:
            time.sleep(0.05)
        (record,) = live.store.latest()
        assert record["termination"] == "abandoned"
        time.sleep(0.5)  # and is forgotten after a while
        with live.socket(session) as socket:
            assert hear(socket)["error"] == "unknown_session"


def test_stopping_the_server_keeps_running_games_and_the_file_is_read_again(tmp_path):
    path = tmp_path / "folder" / "games.jsonl"
    with LiveServer(records=path) as live:
        session = live.new_game(game="dark-microchess", bot="random", colour="first")
        with live.socket(session) as socket:
            message = _until_turn(socket)
            say(socket, type="move", move=_first(message["view"]), count=0)
            _until_turn(socket)
    (record,) = live.store.latest()
    with LiveServer(records=path) as live:
        replay = live.get(f"/api/records/{record['id']}")
        assert replay["termination"] == "abandoned"
        assert len(replay["steps"]) == 3


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


@pytest.mark.parametrize("game", ["dark-standard", "kriegspiel-standard", "leduc"])
def test_the_strong_search_is_the_first_opponent_that_is_offered(game):
    catalogue = Catalogue()
    (offer,) = [one for one in catalogue.as_json()["games"] if one["name"] == game]
    assert offer["bots"][:2] == ["strong", "search"]
    choice = catalogue.choose({"game": game, "bot": "strong"})
    assert choice.seats[1].specification(choice.strength) == "search(preset=strong)"


def test_the_strong_search_plays_kriegspiel(server):
    wanted = {"game": "kriegspiel-minimal4x3", "bot": "strong", "strength": "quick"}
    with server.socket(server.new_game(**wanted, colour="second", seed=3)) as socket:
        _until_turn(socket)
        say(socket, type="resign")
        while not (last := hear(socket))["result"]:
            pass
    assert last["result"]["moves_at_random"] == [0, 0]
    row = server.store.get(last["result"]["record"])
    assert row["reports"][0]["said"]["nodes"] > 0


def test_bots_of_flags_are_checked_and_named():
    assert bot_from_flag("random").specifications == ("random",)
    named = bot_from_flag("fast=search(preset=obscuro,nodes=10)")
    assert (named.name, named.specifications) == ("fast", ("search(preset=obscuro,nodes=10)",))
    assert bot_from_flag("search(nodes=10)").name == "search(nodes=10)"
    with pytest.raises(ValueError, match="nobody"):
        bot_from_flag("nobody(3)")


def test_bots_can_be_watched_with_both_views(server):
    session = server.new_game(game="dark-minimal4x3", bot="random", opponent="random", seed=3)
    steps = []
    with server.socket(session) as socket:
        while not (message := hear(socket))["result"]:
            assert message["type"] == "watch"
            assert message["from"] == len(steps)
            steps += message["steps"]
        steps += message["steps"]
        say(socket, type="resign")
        assert hear(socket)["error"] == "not_a_player"
    assert steps == server.get(f"/api/records/{message['result']['record']}")["steps"]
    assert "?" in steps[0]["views"][0] and "?" not in steps[0]["truth"]
