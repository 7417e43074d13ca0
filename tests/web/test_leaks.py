"""Nothing but the own information state leaves the server while a game runs.

Games are played through the socket; afterwards the record says what really happened, and
every message is held against what the human's information state said at that moment.
"""

import collections
import hashlib
import itertools
import json
import re

import pytest

from klss_spiel.openspiel import load_game
from klss_spiel.tree import CHANCE
from tests.web.live_server import LiveServer, hear, play_to_end, say

_ENVELOPE = {
    "type", "game", "opponent", "watch", "preparing", "count", "clock", "result", "view",
}  # fmt: skip
_VIEW = {"family", "you", "your_turn", "over", "moves"}
_CHESS_VIEW = {"width", "height", "board", "journal", "taken", "lost", "first"}
_ENTRY = {"by", "move", "takes", "at", "illegal", "said"}
_RESULTS = ("1-0", "0-1", "1/2")


@pytest.fixture(scope="module")
def server():
    with LiveServer() as live:
        yield live


def _choose(view):
    """A move that depends on nothing but what is shown."""
    digest = hashlib.sha256(json.dumps(view, sort_keys=True).encode()).digest()
    return view["moves"][int.from_bytes(digest[:4], "big") % len(view["moves"])]


def _play(server, game, seed, most=40, bot="random", colour="second"):
    """All messages of a game, and its record."""
    session = server.new_game(game=game, bot=bot, colour=colour, seed=seed)
    heard = []
    with server.socket(session) as socket:

        def choose(view):
            if heard[-1]["count"] == most:
                say(socket, type="resign")
            return _choose(view)

        while True:
            message = hear(socket)
            if message["type"] == "error":  # the move that came after resigning
                assert message["error"] == "game_over"
                continue
            heard.append(message)
            if message["result"]:
                break
            if message["view"]["your_turn"]:
                move = choose(message["view"])
                say(socket, type="move", move=move, count=message["count"])
    return heard, server.store.get(heard[-1]["result"]["record"])


def _moments(row, human):
    """(own actions made, own turn, over) -> what the human was told then, and the truth."""
    state = load_game(row["game"]).new_initial_state()
    found = {}
    made = 0
    for action in [*row["actions"], None]:
        player = state.current_player()
        if player != CHANCE:
            # Of several moments that look the same (the bot tries again) the first counts.
            legal = [state.action_to_string(a) for a in state.legal_actions()]
            moment = (state.information_state_string(human), str(state), legal)
            found.setdefault((made, player == human, state.is_terminal()), moment)
        if action is None:
            break
        made += player == human
        state.apply_action(action)
    return found


def _moment_of(message, moments):
    over = bool(message["result"])
    key = (message["count"], message["view"]["your_turn"], over)
    if key in moments:
        return moments[key]
    # Resigned: the last thing told before.
    return moments.get((message["count"], True, False)) or moments[message["count"], False, False]


def _check_dark_chess(view, told, start):
    """Every part of a view is in the information state."""
    words = [w for w in told.split()[1:] if w not in _RESULTS and not w.startswith("ep:")]
    boards = [start, *(w for w in words if "/" in w)]
    assert view["board"] == boards[-1]
    journal = view["journal"]
    assert len(journal) == len(boards) - 1
    assert [e["move"] for e in journal if e["by"] == "you"] == [w for w in words if "/" not in w]
    for entry, before, after in zip(journal, boards, boards[1:], strict=False):
        assert set(entry) == _ENTRY
        assert entry["said"] == [] and not entry["illegal"]
        if entry["by"] == "you":
            continue
        shown = _marks(after)
        was = _marks(before)
        for square in re.findall("[a-h][1-8]", entry["move"] + entry["at"]):
            assert shown[square] != "?" or was[square] != "?"
        if entry["takes"]:
            assert was[entry["at"]] == entry["takes"] != shown[entry["at"]]


def _marks(board):
    rows = board.split("/")
    return {
        f"{'abcdefgh'[c]}{len(rows) - r}": mark
        for r, row in enumerate(rows)
        for c, mark in enumerate(row)
    }


def _check_kriegspiel(view, told, start):
    words = [w for w in told.split()[1:] if w not in _RESULTS]
    own = [w for w in words if re.fullmatch(r"([a-h][1-8]){2}[qrbn]?\??", w)]
    journal = view["journal"]
    mine = [e["move"] + ("?" if e["illegal"] else "") for e in journal if e["by"] == "you"]
    assert mine == own
    heard = [w for w in words if w not in own]
    # One announcement after every move that was made, whoever made it.
    assert len([e for e in journal if not e["illegal"]]) == len(heard)
    assert all(e["move"] == "?" for e in journal if e["by"] == "opponent")
    letters = set(view["board"]) - set("?/")
    assert all(mark.isupper() == (view["you"] == 0) for mark in letters)
    for entry in journal:
        for square in re.findall("[a-h][1-8]", " ".join([entry["at"], *entry["said"]])):
            assert square in told


def _check_game(heard, row, human, check):
    game = load_game(row["game"])
    moments = _moments(row, human)
    start = game.new_initial_state().observation_string(human).split()[1]
    for message in heard:
        assert set(message) == _ENVELOPE
        assert set(message["view"]) == _VIEW | _CHESS_VIEW
        told, _, legal = _moment_of(message, moments)
        view = message["view"]
        assert view["moves"] == (legal if view["your_turn"] else [])
        check(view, told, start)


@pytest.mark.parametrize("colour", ["first", "second"])
@pytest.mark.parametrize("board", ["microchess", "silverman4x4", "standard"])
def test_views_of_dark_chess_say_what_the_information_state_says(server, board, colour):
    heard, row = _play(server, f"dark-{board}", seed=3, most=25, colour=colour)
    human = 0 if colour == "first" else 1
    assert any(m["view"]["lost"] or m["view"]["taken"] for m in heard) or board == "standard"
    _check_game(heard, row, human, _check_dark_chess)


@pytest.mark.parametrize("colour", ["first", "second"])
@pytest.mark.parametrize("board", ["microchess", "silverman4x4"])
def test_views_of_kriegspiel_say_what_the_information_state_says(server, board, colour):
    heard, row = _play(server, f"kriegspiel-{board}", seed=1, most=25, colour=colour)
    _check_game(heard, row, 0 if colour == "first" else 1, _check_kriegspiel)


def test_the_check_notices_a_view_that_says_more(server, monkeypatch):
    from klss_spiel.web import session, told

    def see_all(start, seen):
        return {**told.view_of(start, seen), "board": "k?b?/????/????/????/???K"}

    monkeypatch.setattr(session, "view_of", see_all)
    heard, row = _play(server, "dark-microchess", seed=3, most=3)
    with pytest.raises(AssertionError):
        _check_game(heard, row, 1, _check_dark_chess)


def _public(message):
    """A message without what names the session."""
    kept = {key: value for key, value in message.items() if key != "watch"}
    if kept["result"]:
        kept["result"] = {k: v for k, v in kept["result"].items() if k != "record"}
    return json.dumps(kept, sort_keys=True)


@pytest.mark.parametrize(
    ("game", "seeds", "most", "least"),
    [
        ("dark-microchess", 14, 4, 2),
        ("dark-standard", 10, 3, 3),
        ("kriegspiel-microchess", 14, 4, 3),
        ("leduc", 25, 9, 3),
        ("dark-hex", 14, 4, 3),
    ],
)
def test_messages_depend_on_the_information_state_only(server, game, seeds, most, least):
    messages = collections.defaultdict(set)
    truths = collections.defaultdict(set)
    for seed in range(seeds):
        heard, row = _play(server, game, seed, most)
        moments = _moments(row, 1)
        for message in heard:
            # Before the deal, and at the end, when the result is told, there is more.
            if message["result"] or message["preparing"]:
                continue
            # A bot of Leduc may move twice in a row, before and after the public card.
            if game == "leduc" and not message["view"]["your_turn"]:
                continue
            told, truth, _ = _moment_of(message, moments)
            key = (told, message["view"]["your_turn"], message["count"])
            messages[key].add(_public(message))
            truths[key].add(truth)
    assert all(len(texts) == 1 for texts in messages.values())
    # Otherwise nothing was hidden, and nothing tested.
    assert sum(len(found) > 1 for found in truths.values()) >= least


def test_a_bots_illegal_tries_send_nothing(server):
    tries = 0
    for seed in range(6):
        heard, row = _play(server, "kriegspiel-silverman4x4", seed, most=15)
        state = load_game(row["game"]).new_initial_state()
        for action in row["actions"]:
            before = str(state)
            bots = state.current_player() == 0
            state.apply_action(action)
            tries += bots and str(state) == before
        for message, following in itertools.pairwise(heard):
            # Between two own turns at most one message: that the opponent thinks.
            if not message["view"]["your_turn"] and not message["preparing"]:
                assert following["view"]["your_turn"] or following["result"]
    assert tries > 10


def test_nobody_sees_a_running_game_and_everybody_the_end(server):
    session = server.new_game(game="dark-microchess", bot="random", colour="first", seed=5)
    with server.socket(session) as player:
        message = hear(player)
        while not message["view"]["your_turn"]:
            message = hear(player)
        with server.socket(message["watch"]) as spectator:
            assert hear(spectator) == {"type": "spectator", "over": False, "record": None}
            say(spectator, type="move", move=message["view"]["moves"][0], count=0)
            assert hear(spectator)["error"] == "not_a_player"
            for number in (session, message["watch"]):
                assert server.ask("GET", f"/api/records/{number}")[0] == 404
                assert server.ask("GET", f"/api/records/{number}/beliefs")[0] == 404
            known = server.get("/api/catalogue")["records"]
            say(player, type="move", move=message["view"]["moves"][0], count=0)
            hear(player)
            say(player, type="resign")
            # A spectator may be told again that there is nothing to see.
            while not (last := hear(spectator))["over"]:
                assert last == {"type": "spectator", "over": False, "record": None}
        assert last["record"] not in [record["id"] for record in known]
        assert server.get(f"/api/records/{last['record']}")["steps"][1]["truth"]


def test_a_text_game_shows_the_own_card_only(server):
    hands = set()
    for seed in range(8):
        session = server.new_game(game="kuhn", bot="random", colour="first", seed=seed)
        heard = []
        with server.socket(session) as socket:
            play_to_end(socket, _choose, heard)
        row = server.store.get(heard[-1]["result"]["record"])
        own, other = row["actions"][:2]
        names = ("Jack", "Queen", "King")
        text = json.dumps([m["view"] for m in heard])
        assert names[own] in text and names[other] not in text
        hands.add((own, other))
    assert len(hands) > 2


def test_mahjong_shows_the_own_hand_only(server):
    hidden = 0
    for seed in range(3):
        heard, row = _play(server, "mahjong", seed, most=6)
        moments = _moments(row, 1)
        for message in heard:
            assert set(message["view"]) == _VIEW | {"lines"}
            if message["result"] or message["preparing"]:
                continue
            _, truth, _ = _moment_of(message, moments)
            hands = re.findall(r"P[01]: ((?:\w\w )*\w\w)(?= \[| river|;|$)", truth)
            text = "\n".join(message["view"]["lines"])
            if message["view"]["your_turn"]:
                assert f"({hands[1]})" in text
                hidden += 1
            assert hands[0] not in text
            # Draws of the opponent are told without the tile.
            assert not re.search(r"opponent: draw [^F\n]", text)
    assert hidden > 6
