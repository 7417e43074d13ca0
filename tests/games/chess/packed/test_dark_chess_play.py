"""The search agent at dark chess: whole games without an exception."""

import pytest

from klss_spiel.row_files import read_rows
from tests.helpers.game_ends import ended_by_repetition
from tests.helpers.paths import ROOT
from tests.helpers.self_play import SMALL_BOARDS, carried_over, check_self_play


@pytest.mark.parametrize(("options", "nodes"), [("board=microchess", 100), ("horizon=40", 300)])
def test_a_sample_of_games_ends_by_the_rules(options, nodes):
    check_self_play(f"python_dark_chess({options})", 2, nodes)


@pytest.mark.slow
@pytest.mark.parametrize("board", SMALL_BOARDS)
def test_fifty_games_on_every_small_board_end_by_the_rules(board):
    check_self_play(f"python_dark_chess(board={board})", 50, 2000)


@pytest.mark.slow
def test_two_hundred_games_on_the_standard_board_end_by_the_rules():
    """Six minutes on a core of its own."""
    results = check_self_play("python_dark_chess", 200, 2000)
    # Obscuro, appendix D: 181,421 of 1.07 million nodes, 17%, at five seconds a move.
    assert 0.12 < carried_over(results) < 0.25
    # Who sees no repetition coming wanders about: a third of the games without `repetitions`.
    assert sum(map(ended_by_repetition, results.rows)) <= 0.25 * len(results.rows)


_KNIGHTS = "g1f3 g8f6 f3g1 f6g8"


@pytest.mark.parametrize(
    ("moves", "repeated"),
    [
        (f"{_KNIGHTS} {_KNIGHTS}", True),  # the start for the third time
        (_KNIGHTS, False),
        (f"{_KNIGHTS} a2a3 a7a6 {_KNIGHTS}", False),  # twice each
        ("e2e4 f7f5 d1h5 a7a6 h5e8", False),  # the king is captured
    ],
)
def test_a_game_that_ended_by_repetition_is_told_from_others(moves, repeated):
    assert ended_by_repetition({"game": "python_dark_chess", "moves": moves}) == repeated


def test_a_draw_by_fifty_moves_or_the_horizon_is_no_repetition():
    fifty = "python_dark_chess(fen=k7/8/8/8/8/8/8/7K w - - 98 80)"
    assert not ended_by_repetition({"game": fifty, "moves": "h1h2 a8a7"})
    few = "python_dark_chess(board=minimal4x3,horizon=2)"
    assert not ended_by_repetition({"game": few, "moves": "d2d3 a3a2"})


def test_one_of_the_recorded_games_of_self_play_ended_by_repetition():
    """As docs/agent.md says, at ply 272."""
    rows = read_rows(ROOT / "docs" / "results" / "agent" / "self_play.jsonl")
    assert [row["plies"] for row in rows if ended_by_repetition(row)] == [272]
