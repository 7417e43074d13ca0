"""`alphabeta(depth, nodes)`: what a perfect-information search says of a position.

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.evaluators.packed_evaluation import PackedSetup, on_positions
from klss_spiel.games.chess.packed.alphabeta import AlphaBeta
from klss_spiel.games.chess.packed.positions import Layout, SideArray, layout


@dataclasses.dataclass(frozen=True, eq=False)
class _Searched:
    """Values of boards [n, 4] by an engine that was made for them."""

    engine: AlphaBeta
    depth: int
    nodes: int

    def __call__(self, board: Layout, positions: U64Array, sides: SideArray) -> FloatArray:
        del board
        values = np.empty(len(positions))
        for i, (position, side) in enumerate(zip(positions, sides.tolist(), strict=True)):
            score = self.engine.search(position, side, self.depth, self.nodes).score
            values[i] = score if side == 0 else -score
        return values


def alphabeta_evaluator(setup: PackedSetup, depth: int, nodes: int) -> Evaluator:
    """Values of positions by alpha-beta with iterative deepening.

    Args:
        setup: the game.
        depth: plies before captures are resolved.
        nodes: positions to look at before stopping.
    """
    board = layout(setup.start.width, setup.start.height)
    if isinstance(setup, DarkChessSetup):
        engine = AlphaBeta(board, setup.variant)
    else:
        engine = AlphaBeta(board, legal=True)

    return on_positions("alphabeta", _Searched(engine, depth, nodes), setup)
