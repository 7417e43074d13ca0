"""Searching players of matches."""

import pytest

from klss_spiel.algorithms.search import bot as search_bot
from klss_spiel.matches.players import Seat, make_player
from klss_spiel.openspiel import load_game


@pytest.mark.parametrize("budget", ["", "(seconds=0.01)", "(evaluator=zero,limit=50)"])
def test_a_player_with_a_budget_of_time_is_made_ready_once_and_for_its_game(monkeypatch, budget):
    """Made ready for no game first, it would compile one half after the other."""
    games = []
    monkeypatch.setattr(search_bot, "make_ready", lambda game, player: games.append(game))
    game = load_game("python_dark_chess(board=microchess)")
    make_player(f"search{budget}", Seat(game, 0))
    assert games == [game]


def test_a_player_with_a_budget_of_nodes_needs_no_preparation(monkeypatch):
    games = []
    monkeypatch.setattr(search_bot, "make_ready", lambda game, player: games.append(game))
    make_player("search(nodes=10)", Seat(load_game("kuhn_poker"), 0))
    assert not games
