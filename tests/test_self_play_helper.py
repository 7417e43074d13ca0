"""Tests of `tests.helpers.self_play`: games are kept, gone on with, and played where asked."""

import json

import pytest

from tests.helpers.self_play import carried_over, check_self_play, score_against_random

GAME = "python_dark_chess(board=minimal4x3,horizon=4)"


@pytest.fixture(autouse=True)
def _nothing_is_said(monkeypatch):
    """Whatever the environment of the tests says."""
    for name in ("KLSS_SPIEL_GAMES", "KLSS_SPIEL_EXECUTOR"):
        monkeypatch.delenv(name, raising=False)


def test_games_are_kept_in_a_folder_and_gone_on_with_after_a_kill(tmp_path, monkeypatch):
    monkeypatch.setenv("KLSS_SPIEL_GAMES", str(tmp_path / "games"))
    first = check_self_play(GAME, 4, 20)
    (file,) = (tmp_path / "games").iterdir()
    assert file.name.startswith("python_dark_chess_board=minimal4x3_horizon=4_search")
    assert file.name.endswith("_4_games_seed_51.jsonl")
    lines = file.read_text("utf-8").splitlines(keepends=True)
    assert len(lines) == 4
    file.write_text("".join(lines[:2]) + lines[2][:50], "utf-8")
    second = check_self_play(GAME, 4, 20)
    again = file.read_text("utf-8").splitlines(keepends=True)
    # Seconds of thought are in the lines: the first two were not played again, the others were.
    assert (again[:2], len(again)) == (lines[:2], 4)
    moves = [[row["moves"] for row in results.rows] for results in (first, second)]
    assert moves[0] == moves[1]
    assert carried_over(first) == carried_over(second)


def test_matches_with_other_players_have_files_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("KLSS_SPIEL_GAMES", str(tmp_path))
    score_against_random(GAME, 2, 20)
    score_against_random(GAME, 2, 20, seed=52)
    check_self_play(GAME, 2, 20)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    for file in files:
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert [row["termination"] for row in rows] == ["rules"] * 2


def test_nothing_is_kept_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    score_against_random(GAME, 2, 20)
    assert not list(tmp_path.iterdir())


def test_who_plays_can_be_said(monkeypatch):
    monkeypatch.setenv("KLSS_SPIEL_EXECUTOR", "somebody")
    with pytest.raises(ValueError, match="got 'somebody'"):
        score_against_random(GAME, 2, 20)
