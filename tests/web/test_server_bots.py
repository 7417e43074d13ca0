"""Bots on the server: they think elsewhere, fail, are closed, lose on time, are watched."""

import json
import os
import time

import pytest

from klss_spiel.web import catalogue
from klss_spiel.web import session as web_session
from klss_spiel.web.catalogue import DEFAULT_BOTS
from klss_spiel.web.sessions import Limits
from tests.web import gated_players
from tests.web.live_server import LiveServer, first_move, hear, play_to_end, say, until_turn


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gate")


@pytest.fixture
def gate(folder):
    """Shut; opened at the end, so that nobody thinks on."""
    found = gated_players.Gate(folder)
    found.shut()
    yield found
    found.open()


@pytest.fixture(scope="module")
def server(folder):
    with LiveServer((*DEFAULT_BOTS, *gated_players.bots(folder))) as live:
        yield live


def test_a_search_bot_says_what_it_considered_after_the_game(server):
    session = server.new_game(game="dark-minimal4x3", bot="searching", colour="second", seed=2)
    with server.socket(session) as socket:
        until_turn(socket)
        say(socket, type="resign")
        while not (last := hear(socket))["result"]:
            pass
    step = server.get(f"/api/records/{last['result']['record']}")["steps"][1]
    assert step["player"] == 0
    assert step["report"]["said"]["nodes"] > 0
    shares = [share for _, share in step["report"]["candidates"]]
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    assert step["move"] in [move for move, _ in step["report"]["candidates"]]


def test_the_page_answers_while_bots_think_and_only_so_many_think_at_once(folder, gate):
    with LiveServer(gated_players.bots(folder), Limits(searches=2, games=3)) as live:
        sessions = [
            live.new_game(game="dark-microchess", bot="slow", colour="second") for _ in range(3)
        ]
        gate.wait_for_thinking(2)
        assert live.get("/api/catalogue")["games"]
        status, answer = live.post("/api/games", {"game": "kuhn", "bot": "slow"})
        assert (status, answer["error"]) == (400, "too_many_games")
        time.sleep(0.1)
        assert gate.thinking == 2
        gate.open()
        for session in sessions:
            with live.socket(session) as socket:
                until_turn(socket)
        assert gate.thinking == 3


def test_another_game_is_played_to_its_end_while_a_bot_computes(server, gate):
    session = server.new_game(game="dark-microchess", bot="busy", colour="second")
    gate.wait_for_thinking()
    with server.socket(server.new_game(game="leduc", bot="random", seed=1)) as socket:
        assert play_to_end(socket, first_move)["result"]["termination"] == "rules"
    with server.socket(session) as socket:
        assert not hear(socket)["view"]["your_turn"]  # it still computes
        gate.open()
        until_turn(socket)
        say(socket, type="resign")


def test_a_bot_that_fails_moves_at_random_and_it_is_told_at_the_end_only(server):
    session = server.new_game(game="dark-microchess", bot="broken", colour="first", seed=1)
    heard = []
    with server.socket(session) as socket:
        for count in range(2):
            message = until_turn(socket)
            heard.append(message)
            say(socket, type="move", move=first_move(message["view"]), count=count)
        heard.append(until_turn(socket))
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


def test_bots_are_closed_when_the_human_resigns_even_while_they_think(server, gate):
    session = server.new_game(game="dark-microchess", bot="slow", colour="second")
    with server.socket(session) as socket:
        gate.wait_for_thinking()
        say(socket, type="resign")
        while not hear(socket)["result"]:
            pass
    gate.wait_for_closed()
    assert gate.closed == 1 and not gate.is_open()


def test_bots_think_in_processes_that_end_with_their_game_or_with_the_server(server, folder, gate):
    session = server.new_game(game="dark-microchess", bot="slow", colour="second")
    with LiveServer(gated_players.bots(folder)) as another:
        another.new_game(game="dark-microchess", bot="slow", colour="second")
        gate.wait_for_thinking(2)
        assert len(gate.pids) == 2 and os.getpid() not in gate.pids
    with server.socket(session) as socket:
        say(socket, type="resign")
        while not hear(socket)["result"]:
            pass
    end = time.monotonic() + 30.0
    while any(map(_is_alive, gate.pids)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(_is_alive, gate.pids))


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_game_goes_on_when_the_bots_process_has_died(server):
    session = server.new_game(game="dark-microchess", bot="mortal", colour="second", seed=1)
    with server.socket(session) as socket:
        message = until_turn(socket)
        say(socket, type="move", move=first_move(message["view"]), count=0)
        until_turn(socket)
        say(socket, type="resign")
        while not (last := hear(socket))["result"]:
            pass
    assert last["result"]["moves_at_random"] == [2, 0]
    row = server.store.get(last["result"]["record"])
    assert row["reports"][0]["failed"] == "the process has ended"


def test_the_strong_search_plays_kriegspiel(server):
    wanted = {"game": "kriegspiel-minimal4x3", "bot": "strong", "strength": "quick"}
    with server.socket(server.new_game(**wanted, colour="second", seed=3)) as socket:
        until_turn(socket)
        say(socket, type="resign")
        while not (last := hear(socket))["result"]:
            pass
    assert last["result"]["moves_at_random"] == [0, 0]
    row = server.store.get(last["result"]["record"])
    assert row["reports"][0]["said"]["nodes"] > 0


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


@pytest.mark.parametrize("colour", ["first", "second"])
def test_a_player_without_time_loses(server, monkeypatch, colour, gate):
    monkeypatch.setitem(catalogue.CLOCKS, "0.2s+0", "a fifth of a second")
    monkeypatch.setattr(web_session, "_SECONDS_OF_GRACE", 0.0)
    # White runs out of time: a human who does nothing, or a bot that thinks on and on.
    session = server.new_game(game="dark-microchess", bot="slow", colour=colour, clock="0.2s+0")
    with server.socket(session) as socket:
        while not (last := hear(socket))["result"]:
            pass
        say(socket, type="move", move="a1a2", count=0)
        assert hear(socket)["error"] == "game_over"
    gate.open()
    assert (last["result"]["termination"], last["result"]["loser"]) == ("time", 0)
    assert last["result"]["returns"] == [-1.0, 1.0]
    assert server.store.get(last["result"]["record"])["actions"] == []


def test_a_move_out_of_turn_and_one_after_the_end_are_refused(server, gate):
    session = server.new_game(game="dark-microchess", bot="slow", colour="first")
    with server.socket(session) as socket:
        view = until_turn(socket)["view"]
        say(socket, type="move", move=first_move(view), count=0)
        assert not hear(socket)["view"]["your_turn"]
        say(socket, type="move", move=first_move(view), count=1)
        assert hear(socket)["error"] == "not_your_turn"
        say(socket, type="resign")
        assert hear(socket)["result"]["termination"] == "resigned"
        say(socket, type="resign")
        assert hear(socket)["error"] == "game_over"
    gate.open()
