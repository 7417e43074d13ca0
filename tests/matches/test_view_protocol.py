"""Programs that are told views only play whole games."""

import shlex
import sys

import numpy as np
import pyspiel
import pytest

from klss_spiel.line_program import ProgramError
from klss_spiel.matches import records
from klss_spiel.matches.match import Match, play_match
from klss_spiel.matches.view_engine import ViewEngine
from klss_spiel.matches.view_protocol import ToldGame, View, parse_view, views_of_state
from klss_spiel.specification import Specification

GAMES = [
    "python_dark_chess",
    "python_dark_chess(board=microchess)",
    "python_kriegspiel",
    "python_kriegspiel(board=silverman4x4)",
    "python_kriegspiel(board=microchess,are_there_any=count)",
]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seed", range(6))
def test_views_give_back_the_information_state_and_the_legal_actions(name, seed):
    game = pyspiel.load_game(name)
    state = game.new_initial_state()
    rng = np.random.default_rng(seed)
    told = [ToldGame(game, player) for player in (0, 1)]
    sent = [0, 0]
    for _ in range(80):
        if state.is_terminal():
            break
        player = state.current_player()
        words = state.information_state_string(player)
        for view in views_of_state(words, state.observation_string(player), sent[player]):
            line = view.line().split()
            assert line[:2] == ["position", "fog_fen"]
            told[player].see(parse_view(line[2:], *told[player].size))
        sent[player] = len(words.split())
        assert told[player].told == words
        assert list(told[player].legal_actions()) == state.legal_actions()
        state.apply_action(int(rng.choice(state.legal_actions())))


@pytest.mark.parametrize(
    "name", ["python_dark_chess(board=minimal4x3)", "python_kriegspiel(board=minimal4x3)"]
)
def test_a_program_plays_through_pipes(name):
    command = f"{shlex.quote(sys.executable)} -m klss_spiel.run.engine --player=random"
    match = Match(name, (f'engine("{command}")', "random"), games=2)
    results = play_match(match)
    assert results.failed == []
    assert [row["termination"] for row in results.rows] == [records.BY_RULE] * 2


def test_a_program_that_cannot_sit_down_ends_the_match_before_it_begins():
    for command in ("false", f"{shlex.quote(sys.executable)} -c pass"):
        match = Match(
            "python_dark_chess(board=minimal4x3)", (f'engine("{command}")', "random"), games=2
        )
        with pytest.raises(ValueError, match="expected a player of python_dark_chess") as error:
            play_match(match)
        assert isinstance(error.value.__cause__, ProgramError)


def test_a_program_that_dies_answers_nonsense_or_oversleeps_loses():
    game = "python_dark_chess(board=minimal4x3)"
    for answer, termination, reason in (
        ("raise SystemExit", records.BY_ERROR, "the program ended"),
        ("print('bestmove a9a9')", records.BY_ERROR, "expected a legal move"),
        ("print('info string error lost')", records.BY_ERROR, "error lost"),
        ("time.sleep(2)", records.BY_TIME, "s over"),
    ):
        lines = (
            "import sys, time",
            "for line in sys.stdin:",
            " if line == 'uci\\n': print('uciok', flush=True)",
            " if line == 'isready\\n': print('readyok', flush=True)",
            " if line == 'quit\\n': break",
            f" if line[:2] == 'go': {answer}; sys.stdout.flush()",
        )
        command = shlex.join([sys.executable, "-c", "\n".join(lines)])
        player = str(Specification("engine", (command,)))
        results = play_match(Match(game, (player, "random"), games=2, control="1s+0"))
        assert results.failed == []
        assert {row["termination"] for row in results.rows} == {termination}
        assert reason in results.rows[0]["reason"]
        assert [row["return_0"] for row in results.rows] == [-1.0, 1.0]


class Session:
    """An engine in this process, and what it wrote."""

    def __init__(self, player="random"):
        self.lines = []
        self.engine = ViewEngine(self.lines.append, player)

    def send(self, *lines):
        """The answers to some commands."""
        before = len(self.lines)
        for line in lines:
            self.engine.command(line)
        self.engine.wait()
        return self.lines[before:]


START = "position fog_fen rnbqkbnr/pppppppp/8/8/????????/????????/????????/???????? kq -"


def test_a_session_ends_with_a_move():
    session = Session("search")
    assert session.send("uci")[-1] == "uciok"
    assert session.send("isready") == ["readyok"]
    answers = session.send(
        "setoption name Game value python_dark_chess(board=minimal4x3)",
        "ucinewgame",
        "go nodes 50",
    )
    assert answers[-1].startswith("bestmove ")
    assert any(line.startswith("info depth") and " belief " in line for line in answers)
    (shown,) = (line for line in answers if line.startswith("info string candidates "))
    candidates = dict(pair.split(":") for pair in shown.split()[3:])
    assert answers[-1].split()[1] in candidates
    assert sum(map(float, candidates.values())) == pytest.approx(1.0, abs=0.02)


def test_stop_ends_a_search_that_would_go_on():
    session = Session("search")
    session.engine.command("setoption name Game value python_dark_chess(board=minimal4x3)")
    for go in ("go movetime 100000", "go infinite"):
        before = len(session.lines)
        session.engine.command(go)
        session.engine.command("stop")
        session.engine.wait()
        assert session.lines[before:][-1].startswith("bestmove ")


def test_whose_turn_it_is_is_known():
    session = Session()
    session.send("setoption name Colour value black", "ucinewgame")
    assert "opponent's ply before 'go'" in session.send("go nodes 1")[0]
    assert "ply of the opponent" in session.send(START + " move e7e5")[0]
    assert session.send(START) == []
    assert "own move of this ply" in session.send(START)[0]
    assert session.send("go nodes 1")[-1].startswith("bestmove ")
    assert session.send(START + " move e7e5") == []
    assert "opponent's ply before 'go'" in session.send("go nodes 1")[0]


def test_rules_that_show_too_little_are_refused():
    with pytest.raises(ValueError, match="view after every ply"):
        ToldGame(pyspiel.load_game("python_dark_chess(rules=observe_on_turn)"), 0)


@pytest.mark.parametrize(
    "line",
    [
        "castle",
        "position startpos",
        "position fog_fen 8/8 - -",
        "position fog_fen x" + START[len("position fog_fen r") :],
        START + " move e9e5",
        START + " move",
        START + " because",
        START.replace("kq -", "xy -"),
        START.replace("kq -", "kq z9"),
        "setoption Colour green",
        "setoption name Colour value green",
        "setoption name Player value policy(secret.npz)",
        "setoption name Game value kuhn_poker",
        "setoption name Game value nonsense",
        "setoption name Seed value -1",
        "go movetime",
        "go sideways 3",
        START,
    ],
)
def test_malformed_commands_are_answered_and_change_nothing(line):
    session = Session()
    session.send("setoption name Colour value black", "ucinewgame", START)
    told = session.engine._told.told
    answers = session.send(line)
    assert len(answers) == 1
    assert answers[0].startswith("info string error ")
    assert session.engine._told.told == told
    assert session.send("go nodes 1")[-1].startswith("bestmove ")


def test_stars_and_numbers_are_understood():
    plain = parse_view(["k3/****/??K1", "-", "-"], 4, 3)
    assert plain == View("k.../????/??K.")
