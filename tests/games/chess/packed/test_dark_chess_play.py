"""The search agent at dark chess: whole games without an exception."""

import pytest

from klss_spiel.games.chess import boards
from klss_spiel.matches.match import Match, play_match

PLAYER = "search(preset=strong,nodes={nodes},limit=20000)"
SMALL_BOARDS = [board for board in boards.BOARDS if board != "standard"]


def check_match(game, games, nodes, seed=51):
    """Plays a match of the agent with itself, in which every game ends by the rules."""
    # The second sees roots differently, so that games of a pair are not the same.
    players = (PLAYER.format(nodes=nodes), PLAYER.format(nodes=nodes + 1))
    results = play_match(Match(game, players, games, seed=seed), strict=True)
    assert not results.failed
    assert [row["termination"] for row in results.rows] == ["rules"] * games


def test_a_sample_of_games_ends_by_the_rules():
    check_match("python_dark_chess(board=microchess)", 2, 100)


@pytest.mark.slow
@pytest.mark.parametrize("board", SMALL_BOARDS)
def test_fifty_games_on_every_small_board_end_by_the_rules(board):
    check_match(f"python_dark_chess(board={board})", 50, 2000)


@pytest.mark.slow
def test_two_hundred_games_on_the_standard_board_end_by_the_rules():
    check_match("python_dark_chess", 200, 2000)
