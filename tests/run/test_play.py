"""Tests of playing in a terminal."""

import subprocess
import sys

import pytest

from klss_spiel.budget import Budget
from klss_spiel.run import play

QUICK = Budget(nodes=60)


def played(config, *typed):
    """Runs a game with scripted input; returns the row, what was shown and what bots said."""
    lines = iter(typed)
    shown, said = [], []

    def read():
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    row = play.run(config, read, shown.append, said.append)
    return row, "\n".join(shown), said


def test_a_human_plays_a_bot_to_the_end():
    config = play.Config("kuhn_poker", (play.HUMAN, "search"), budget=QUICK)
    row, shown, said = played(config, "?", "Fold", "Bet", "0", "0")
    assert row["return_0"] == -row["return_1"] != 0
    assert "0: Pass  1: Bet" in shown
    assert "'Fold' is not a legal action." in shown
    assert f"you get {row['return_0']:g}" in shown
    assert said
    assert said[0].startswith("player 1:")


@pytest.mark.parametrize("typed", [("quit",), ()])
def test_a_human_may_leave(typed):
    config = play.Config("kuhn_poker", (play.HUMAN, "random"), budget=QUICK)
    row, shown, _ = played(config, *typed)
    assert row["return_0"] is None
    assert "You left" in shown


def test_the_human_sees_the_own_view_only():
    config = play.Config(
        "python_dark_chess(board=minimal4x3,horizon=6)", ("search", play.HUMAN), budget=QUICK
    )
    _, shown, _ = played(config, "quit")
    # The lone black king in its corner sees a 2x2 part of the board; the rest is fog.
    board = shown.split("Your move")[0]
    assert board.count("?") >= 6
    assert "k" in board


@pytest.mark.parametrize(
    "name",
    [
        "leduc_poker",
        "python_dark_chess(board=minimal4x3,horizon=6)",
        "matching_pennies_3p",
        "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    ],
)
def test_bots_play_each_other_in_any_supported_game(name):
    config = play.Config(name, ("search", "random"), budget=QUICK, seed=3)
    if name == "matching_pennies_3p":
        with pytest.raises(ValueError, match="two-player"):
            played(config)
        return
    row, shown, _ = played(config)
    assert row["return_0"] is not None
    assert shown == ""
    assert played(config)[0] == row  # the same seed and node budget


def test_an_unknown_kind_of_player_is_refused():
    with pytest.raises(ValueError, match="expected players"):
        played(play.Config("kuhn_poker", ("search", "nobody"), budget=QUICK))


def test_the_command_line_plays():
    command = [
        sys.executable,
        "-m",
        "klss_spiel.run.play",
        "--game=kuhn_poker",
        "--human=none",
        "--bot=search",
        "--budget_nodes=30",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"player_0": "search"' in done.stdout
    assert "player 0: value" in done.stderr
