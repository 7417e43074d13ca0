"""Players of two-player Mahjong by specification; jax is imported when one sits down.

`mahjong_greedy` completes its hand as soon as possible, `mahjong_prospector` looks at points
as well, `mahjong_blueprint(file=...)` plays
the most likely action of a trained blueprint, `mahjong_search(simulations=1000)` searches
discards on top of it by OLSS-II.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from klss_spiel.games.mahjong.game import MahjongGame
from klss_spiel.matches.players import Seat, register_player
from klss_spiel.matches.referee import Player

_BLUEPRINT = "two_player_mahjong_ach"
_MODEL = "two_player_mahjong_ach_model"


def _game(seat: Seat) -> Any:
    if not isinstance(seat.game, MahjongGame):
        raise ValueError(f"expected a game of two-player Mahjong, got {seat.game}")
    return seat.game


def _make_greedy(seat: Seat) -> Player:
    game = _game(seat)
    from klss_spiel.matches.mahjong_players import GreedyBot

    return GreedyBot(game.variant)


def _make_prospector(seat: Seat) -> Player:
    game = _game(seat)
    from klss_spiel.matches.mahjong_players import ProspectorBot

    return ProspectorBot(game.variant)


def _make_blueprint(seat: Seat, file: str = _BLUEPRINT) -> Player:
    return _make(seat, file, "blueprint", _MODEL, 0)


def _make_search(
    seat: Seat,
    simulations: int = 1000,
    models: str = "R",
    file: str = _BLUEPRINT,
    model: str = _MODEL,
) -> Player:
    return _make(seat, file, models, model, simulations)


def _make(seat: Seat, file: str, models: str, model: str, simulations: int) -> Player:
    """A bot of a blueprint, with a search unless `models` is "blueprint"."""
    training = _game(seat).trainable_game()
    from klss_spiel.algorithms.olss_search.search import OLSS_II
    from klss_spiel.matches.mahjong_players import MahjongBot, MahjongPlayer, loaded, models_of

    settings = dataclasses.replace(OLSS_II, until_decided=True)
    if simulations:
        settings = dataclasses.replace(settings, simulations=simulations)
    player = MahjongPlayer(
        training.variant, loaded(training, file), models_of(training, models, model), settings
    )
    bot: Player = MahjongBot(player, seat.seed)
    return bot


register_player("mahjong_greedy", _make_greedy)
register_player("mahjong_prospector", _make_prospector)
register_player("mahjong_blueprint", _make_blueprint)
register_player("mahjong_search", _make_search)
