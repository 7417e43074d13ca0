"""The search agent at dark chess: whole games without an exception."""

import pytest

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
