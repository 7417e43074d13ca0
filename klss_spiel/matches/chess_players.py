"""A player that is told the truth: what perfect information is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame, search_game
from klss_spiel.matches.players import Seat, register_player
from klss_spiel.matches.referee import Player
from klss_spiel.matches.world_engines import make_engine


class CheatingPlayer:
    """Sees the true state and plays the best move of a perfect-information search."""

    sees_everything = True

    def __init__(self, seat: Seat, depth: int = 4) -> None:
        game = search_game(seat.game)
        self._packed = not isinstance(game, OpenSpielSearchGame)
        self._engine = make_engine("alphabeta", game, depth)
        self._rng = np.random.default_rng(seat.seed)

    def step(self, state: Any) -> int:
        """The best action; a random one of equals."""
        player = state.current_player()
        legal = state.legal_actions()
        world = np.empty(1, dtype=object)
        world[0] = state
        if self._packed:
            from klss_spiel.matches.chess_engines import packed_world

            world = packed_world(state)
        told = state.information_state_string(player)
        scores = self._engine(world, player, told, legal)[0]
        best = np.flatnonzero(np.isclose(scores, scores.max(), atol=1e-9))
        return int(legal[best[self._rng.integers(len(best))]])


def _make_cheating(seat: Seat, depth: int = 4) -> Player:
    return CheatingPlayer(seat, depth)


register_player("cheating", _make_cheating)
