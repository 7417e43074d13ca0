"""Tests of playing in a terminal."""

import json
import subprocess
import sys
import time

import pytest
from absl import flags as absl_flags
from absl import logging

import klss_spiel as ks
from klss_spiel.matches.players import register_player
from klss_spiel.run import play
from klss_spiel.run.typed_moves import action_typed

QUICK = "search(nodes=60)"
SMALL_CHESS = "python_dark_chess(board=minimal4x3,horizon=6)"


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
    config = play.Config("kuhn_poker", (play.HUMAN, QUICK))
    row, shown, said = played(config, "?", "Betl", "bet", "0", "0")
    assert row["return_0"] == -row["return_1"] != 0
    assert row["moves"].startswith("Bet ")
    assert "0: Pass  1: Bet" in shown
    assert "'Betl' is not a legal action; did you mean 'bet'? (? lists all)" in shown
    assert f"you get {row['return_0']:g}" in shown
    assert said[0].startswith("player 1:")
    before, after = shown.split("The game is over")
    assert "Your card:" in before
    # The bot's card is shown at the end and not before.
    assert "What player 1 was told:" in after
    assert "Your card:" in after


def test_help_names_every_word_that_is_no_move():
    _, shown, _ = played(play.Config("kuhn_poker", (play.HUMAN, "random")), "help", "quit")
    prompt, told = shown.split("Your move, player 0 ")[1].split("\n")[:2]
    assert prompt == "(2 legal, ? lists them; or help):"
    for word in ("hint", "undo", "save", "resign", "quit"):
        assert word in told


@pytest.mark.parametrize("typed", [("quit",), ("Q",), ()])
def test_a_human_may_leave(typed):
    row, shown, _ = played(play.Config("kuhn_poker", (play.HUMAN, "random")), *typed)
    assert row["return_0"] is None
    assert row["termination"] == "abandoned"
    assert "You left" in shown


def test_who_resigns_gets_the_worst_payoff():
    row, shown, _ = played(play.Config("leduc_poker", ("random", play.HUMAN), seed=1), "resign")
    assert (row["return_0"], row["return_1"], row["loser"]) == (13.0, -13.0, 1)
    assert "You resigned; you get -13." in shown


class Guest:
    """Notes that it was closed."""

    closed = 0

    def step(self, state):
        return state.legal_actions()[0]

    def close(self):
        Guest.closed += 1


register_player("guest_for_tests", lambda seat: Guest())


@pytest.mark.parametrize(
    ("typed", "closed"), [(("0", "resign"), 1), (("0",), 1), (("0", "undo", "0", "resign"), 2)]
)
def test_bots_are_closed_however_the_game_ends(typed, closed):
    Guest.closed = 0
    played(play.Config("liars_dice", (play.HUMAN, "guest_for_tests")), *typed)
    assert Guest.closed == closed


def test_the_human_sees_the_own_view_only_until_the_end():
    _, shown, _ = played(play.Config(SMALL_CHESS, (QUICK, play.HUMAN)), "quit")
    board, end = shown.split("Your move")
    # The lone black king in its corner sees a 2x2 part of the board; the rest is fog.
    assert board.count("?") >= 6
    assert "k" in board
    assert "The true board:" in end
    assert "?" not in end.split("The true board:")[1]


def test_captures_and_the_last_visible_move_are_told():
    # White's rook takes the pawn that Black sees; then Black's king takes the rook.
    game = "python_dark_chess(fen=k3/p3/4/R2K w - -)"
    row, shown, _ = played(play.Config(game, (play.HUMAN, play.HUMAN)), "Rxa3", "Kxa3", "quit")
    assert row["moves"] == "a1a3 a4a3"
    assert "Your pawn on a3 was captured." in shown
    assert "Your opponent moved ?a3." in shown or "Your opponent moved a1a3." in shown
    assert "You captured a pawn on a3." in shown
    assert "Your rook on a3 was captured." in shown
    assert "You have captured pawn; you have lost rook." in shown


def test_an_umpire_is_heard_and_an_illegal_try_costs_nothing():
    game = "python_kriegspiel(fen=k3/r3/4/3K w - -)"
    state = ks.load_game(game).new_initial_state()
    tries = [state.action_to_string(a) for a in state.legal_actions()]
    assert "d1c2" in tries
    _, shown, _ = played(play.Config(game, (play.HUMAN, play.HUMAN)), "Kc2", "Ra2", "quit")
    assert "The umpire says: Check on the rank." in shown


def test_a_move_may_be_taken_back_and_chance_stays():
    config = play.Config("leduc_poker", (play.HUMAN, "random"), seed=4)
    row, shown, _ = played(config, "undo", "call", "undo", "raise", "quit")
    assert "There is no move of yours to take back." in shown
    assert row["moves"].startswith("Raise")
    cards = [line for line in shown.splitlines() if line.startswith("Your card:")]
    assert len(set(cards[:3])) == 1
    clocked = play.Config("kuhn_poker", (play.HUMAN, "random"), clock="3+2")
    assert "nothing is taken back" in played(clocked, "undo", "quit")[1]


def test_a_hint_comes_from_what_the_human_knows():
    config = play.Config("kuhn_poker", (play.HUMAN, "random"), hints="search(nodes=100)")
    _, shown, _ = played(config, "hint", "quit")
    assert "A search would play " in shown


def test_games_are_written_when_they_are_over(tmp_path):
    for name in ("game.pgn", "game.json"):
        path = tmp_path / name
        config = play.Config(SMALL_CHESS, (play.HUMAN, "random"))
        _, shown, _ = played(config, f"save {path}", "?", "resign")
        assert f"The game is in {path}." in shown
    written = (tmp_path / "game.pgn").read_text("utf-8")
    assert '[Result "0-1"]' in written
    assert '[Termination "normal"]' in written
    assert "{resignation}" in written
    assert json.loads((tmp_path / "game.json").read_text("utf-8"))["termination"] == "resignation"
    left = tmp_path / "left.pgn"
    played(play.Config(SMALL_CHESS, (play.HUMAN, "random"), save=str(left)), "quit")
    assert '[Result "*"]' in left.read_text("utf-8")
    assert '[Termination "abandoned"]' in left.read_text("utf-8")
    _, shown, _ = played(play.Config("kuhn_poker", (play.HUMAN, "random")), "save a.pgn", "quit")
    assert "ends in .json, got 'a.pgn'" in shown


def test_a_clock_is_shown_and_runs_out(monkeypatch):
    config = play.Config("kuhn_poker", (play.HUMAN, "random"), clock="3+2")
    assert "3:00 left" in played(config, "quit")[1]
    now = iter(range(0, 100_000, 200))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))
    row, shown, _ = played(config, "Bet", "Bet", "Bet")
    assert (row["termination"], row["loser"], row["return_0"]) == ("time", 0, -2.0)
    assert "Time is over" in shown


@pytest.mark.parametrize(
    ("fen", "typed", "meant"),
    [
        ("4k3/8/8/8/8/5N2/4P3/R3K2R w KQ - 0 1", "e4", "e2e4"),
        ("4k3/8/8/8/8/5N2/4P3/R3K2R w KQ - 0 1", "E2E4", "e2e4"),
        ("4k3/8/8/8/8/5N2/4P3/R3K2R w KQ - 0 1", "nd4", "f3d4"),
        ("4k3/8/8/8/8/5N2/4P3/R3K2R w KQ - 0 1", "O-O", "e1g1"),
        ("4k3/8/8/8/8/5N2/4P3/R3K2R w KQ - 0 1", "0-0-0", "e1c1"),
        ("4k3/8/8/8/8/5N2/4P3/R3K2R w KQ - 0 1", "Kd2+", "e1d2"),
        ("4k3/P7/8/3p4/4P1p1/8/8/R3K3 w - - 0 1", "a8=N", "a7a8n"),
        ("4k3/P7/8/3p4/4P1p1/8/8/R3K3 w - - 0 1", "exd5", "e4d5"),
        ("4k3/8/8/8/8/2p5/1P6/B3K3 w - - 0 1", "bxc3", "b2c3"),
        ("4k3/8/8/8/R7/8/8/R3K3 w - - 0 1", "R1a3", "a1a3"),
    ],
)
def test_chess_moves_may_be_typed_in_uci_and_san(fen, typed, meant):
    state = ks.load_game(f"python_dark_chess(fen={fen})").new_initial_state()
    assert state.action_to_string(action_typed(state, 0, typed)) == meant


def test_ambiguous_and_impossible_moves_are_answered_in_one_line():
    state = ks.load_game(
        "python_dark_chess(fen=4k3/P7/8/8/R7/8/8/R3K3 w - - 0 1)"
    ).new_initial_state()
    for typed, answer in (
        ("Ra3", "'Ra3' may be a1a3, a4a3; say which."),
        ("a8", "'a8' may be "),
        ("Qh5", "'Qh5' is not a legal action; legal are "),
        ("d5", "'d5' is not a legal action"),
    ):
        with pytest.raises(ValueError, match=r"legal|may be") as refused:
            action_typed(state, 0, typed)
        assert str(refused.value).startswith(answer)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "leduc_poker",
        SMALL_CHESS,
        "matching_pennies_3p",
        "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    ],
)
def test_bots_play_each_other_in_any_supported_game(name):
    config = play.Config(name, (QUICK, "random"), seed=3)
    if name == "matching_pennies_3p":
        with pytest.raises(ValueError, match="two-player"):
            played(config)
        return
    row, shown, _ = played(config)
    assert row["return_0"] is not None
    assert row["moves"].startswith(shown.splitlines()[0].split(": ", 1)[1])
    assert len(shown.splitlines()) == row["plies"]
    assert played(config)[0] == row  # the same seed and node budget


def test_a_try_that_is_refused_earns_no_time(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    # A rook of Black's is in the way.
    game = "python_kriegspiel(fen=4k3/8/8/8/4r3/8/4R3/4K3 w - - 0 1)"
    config = play.Config(game, (play.HUMAN, play.HUMAN), clock="1+5")
    _, shown, _ = played(config, "Re5", "Kd1", "Kd8", "quit")
    assert "e2e5 is illegal" in shown
    turns = [line for line in shown.splitlines() if line.startswith("Your move")]
    assert [line[line.index(":") - 1 :][:4] for line in turns] == ["1:00", "1:00", "1:00", "1:05"]


def test_a_hand_of_mahjong_can_be_read_and_played():
    config = play.Config("python_two_player_mahjong", (play.HUMAN, "mahjong_greedy"), seed=1)
    row, shown, _ = played(config, "?", "resign")
    assert "Your hand: \U0001f007" in shown and "1m" in shown
    assert "You drew" in shown and "discard 1m" in shown
    assert row["termination"] == "resignation"


def test_an_unknown_kind_of_player_is_refused():
    with pytest.raises(ValueError, match="expected a player"):
        played(play.Config("kuhn_poker", ("random", "nobody")))


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
    (row,) = json.loads(done.stdout)
    assert row["player_0"] == "search(preset=strong,nodes=30)"
    assert row["moves"]
    assert "player 0: value" in done.stderr


def test_main_can_be_called_with_flags_again_and_again(capsys, monkeypatch):
    from klss_spiel.run import output

    monkeypatch.setattr(output, "use_double_precision", lambda: None)
    monkeypatch.setattr(output.compilation_cache, "enable", lambda: None)
    for _ in range(2):
        play.main(["--game=kuhn_poker", "--human=none", "--bot=random", "--json"])
        (row,) = json.loads(capsys.readouterr().out)
        assert row["player_0"] == "random"
    with pytest.raises(ValueError, match="expected flags only"):
        play.main(["--game=kuhn_poker", "stray"])


# Twice, since a notebook's next game must not take the flags of the last.
@pytest.mark.parametrize("flags", [(), ("--verbosity=0",), ()])
def test_a_board_is_not_interrupted_by_news_of_the_search(monkeypatch, flags):
    seen = []

    def typed():
        seen.append(logging.get_verbosity())
        raise EOFError

    monkeypatch.setattr("builtins.input", typed)
    # Tests before this one may have said how much they want to hear.
    monkeypatch.setattr(absl_flags.FLAGS["verbosity"], "using_default_value", True)
    before = logging.get_verbosity()
    play.main(["--game=kuhn_poker", "--bot=random", *flags])
    assert seen == [logging.INFO if flags else logging.WARNING]
    assert logging.get_verbosity() == before
