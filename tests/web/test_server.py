"""The server as players meet it: whole games, bad messages, clocks, coming back, the end."""

import json
import time

import pytest

from klss_spiel.web.sessions import Limits
from tests.web.live_server import LiveServer, first_move, hear, play_to_end, say, until_turn


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(records=tmp_path_factory.mktemp("records") / "games.jsonl") as live:
        yield live


@pytest.mark.parametrize(
    "game", ["dark-minimal4x3", "kriegspiel-3x3", "kuhn", "leduc", "liars-dice", "dark-hex"]
)
def test_a_game_of_each_kind_can_be_played_to_its_end_and_looked_at(server, game):
    with server.socket(server.new_game(game=game, bot="random", seed=1)) as socket:
        last = play_to_end(socket, first_move)
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


def test_the_same_seed_gives_the_same_game(server):
    def play(seed):
        with server.socket(server.new_game(game="leduc", bot="random", seed=seed)) as socket:
            last = play_to_end(socket, first_move)
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
        before = until_turn(socket)
        socket.send(message)
        answer = hear(socket)
        assert (answer["type"], answer["error"]) == ("error", error)
        assert "hello" not in json.dumps(answer)
        with server.socket(session) as another:
            assert hear(another)["view"] == before["view"]
        say(socket, type="move", move=first_move(before["view"]), count=0)
        assert hear(socket)["count"] == 1


def test_a_lost_socket_resumes_with_the_same_state(server):
    session = server.new_game(game="kriegspiel-silverman4x4", bot="random", colour="first", seed=4)
    with server.socket(session) as socket:
        message = until_turn(socket)
        say(socket, type="move", move=message["view"]["moves"][3], count=0)
        message = until_turn(socket)
    with server.socket(session) as socket:
        assert hear(socket) == message
        say(socket, type="move", move=message["view"]["moves"][0], count=1)
        assert hear(socket)["count"] == 2


def test_clocks_run_and_moves_are_paid(server):
    session = server.new_game(game="dark-microchess", bot="random", colour="first", clock="1+1")
    with server.socket(session) as socket:
        message = until_turn(socket)
        assert message["clock"]["running"] == 0
        assert 59.0 < message["clock"]["seconds"][0] <= 60.0
        assert message["clock"]["seconds"][1] == 60.0
        say(socket, type="move", move=first_move(message["view"]), count=0)
        message = until_turn(socket)
        assert message["clock"]["seconds"][1] > 60.0  # the increment
        say(socket, type="resign")


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
            message = until_turn(socket)
            say(socket, type="move", move=first_move(message["view"]), count=0)
            until_turn(socket)
    (record,) = live.store.latest()
    with LiveServer(records=path) as live:
        replay = live.get(f"/api/records/{record['id']}")
        assert replay["termination"] == "abandoned"
        assert len(replay["steps"]) == 3
