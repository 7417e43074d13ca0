"""The command that says what the searching agent thinks of a recorded decision."""

import json
import subprocess
import sys

import pyspiel
import pytest
from absl import flags

from klss_spiel.matches.pgn import pgn_of
from klss_spiel.run import analyse

MOVES = "e2e4 d7d5 e4d5 d8d5 b1c3"
FEW = "--budget_nodes=300"


def row_of(game, moves):
    state = pyspiel.load_game(game).new_initial_state()
    actions = []
    for move in moves.split():
        actions.append(state.string_to_action(move))
        state.apply_action(actions[-1])
    return {"game": game, "actions": actions, "return_0": 0.0, "number": 0, "player_0": "a",
            "player_1": "b", "termination": "rules"}  # fmt: skip


@pytest.fixture(params=["pgn", "jsonl"])
def path(request, tmp_path):
    """A file of two games, of which the second is the one to look at."""
    rows = [row_of("python_dark_chess", "a2a3"), row_of("python_dark_chess", MOVES)]
    written = {"pgn": pgn_of, "jsonl": json.dumps}[request.param]
    path = tmp_path / f"games.{request.param}"
    path.write_text("".join(f"{written(row)}\n" for row in rows), "utf-8")
    return str(path)


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_json_has_candidates_heat_and_report(path, capsys):
    analyse.main([path, "--number=1", "--ply=5", "--player=1", "--json", FEW])
    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["player"] == 1
    probabilities = [candidate["probability"] for candidate in found["candidates"]]
    assert sum(probabilities) == pytest.approx(1.0)
    assert "d5d8" in {candidate["move"] for candidate in found["candidates"]}
    # Where White's king may be, the first rank first: it has not had the time to go far.
    assert sorted(found["heat"]) == sorted("KQRBNP")
    assert all(len(shares) == 64 for shares in found["heat"].values())
    assert sum(found["heat"]["K"]) == pytest.approx(1.0)
    assert found["heat"]["K"][4] > 0.5
    assert found["belief_size"] > 1
    # Walks that end where another one has been count towards the budget, too.
    assert 270 <= found["report"]["new_nodes"] <= 400


def test_text_has_candidates_and_boards(path, capsys):
    analyse.main([path, "--number=1", "--ply=5", FEW])
    text = capsys.readouterr().out
    assert text.startswith("player 1, told last: ")
    head = text.splitlines().index("move       plays   value   bits    left  takes")
    shares = []
    for line in text.splitlines()[head + 1 :]:
        if not line:
            break
        shares.append(float(line.split()[1].removesuffix("%")))
    assert len(shares) > 20
    assert sum(shares) == pytest.approx(100.0, abs=1.0)
    assert "where enemy pieces may stand, in percent" in text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--number=1", "--ply=6"], "expected a ply from 0 to 5 with a decision to make, got 6"),
        (["--number=1", "--ply=5", "--player=0"], "expected a ply at which player 0 moves, got 5"),
        (["--number=2", "--ply=1"], "expected a game from 0 to 1, got 2"),
        (["other.pgn"], "expected one file of games, got"),
    ],
)
def test_decisions_that_are_not_there_are_refused(path, wrong, said):
    with pytest.raises(ValueError, match=said):
        analyse.main([path, *wrong, FEW])


@pytest.mark.parametrize("wrong", ["--ply=-1", "--player=2", "--number=-1", "--budget_nodes=0"])
def test_values_that_cannot_be_are_refused(path, wrong):
    with pytest.raises(flags.IllegalFlagValueError, match=wrong.split("=")[0][2:]):
        analyse.main([path, wrong])


def test_a_wrong_command_ends_in_one_line(tmp_path):
    path = tmp_path / "game.pgn"
    path.write_text(pgn_of(row_of("python_dark_chess", MOVES)), "utf-8")
    command = [sys.executable, "-m", "klss_spiel.run.analyse", str(path), "--ply=40"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: expected a ply from 0 to 5 with a decision to make, got 40")
