"""Evaluations of packed boards, and how they become a search's evaluators and back.

A `PackedEvaluation` looks at boards [n, 4] and sides to move [n]. A search holds
positions with counts [n, 5], or wider rows (`packed.counted_positions`, `kernels.tries`).
Evaluators that ask another one about boards of their own making (`resolver(X)`) use both
directions, so that any evaluator of these games can be X.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.kriegspiel_play import KriegspielSetup
from klss_spiel.games.chess.packed.counted_positions import boards_of, sides_of, with_counts
from klss_spiel.games.chess.packed.positions import Layout, SideArray, layout
from klss_spiel.search_game import LeafEvaluator

PackedSetup = DarkChessSetup | KriegspielSetup

# White's expected utility: (board, [n, 4] positions, [n] sides to move) -> [n].
PackedEvaluation = Callable[[Layout, U64Array, SideArray], npt.NDArray[np.floating[Any]]]


@dataclasses.dataclass(frozen=True, eq=False)
class _OnPositions:
    """Boards [n, 4] for an evaluation out of a search's positions. A class, so that it pickles."""

    evaluation: PackedEvaluation
    board: Layout
    first: int

    def __call__(self, positions: U64Array) -> FloatArray:
        sides = sides_of(positions, self.first)
        values = self.evaluation(self.board, boards_of(positions), sides)
        return np.asarray(values, dtype=np.float64)


@dataclasses.dataclass(frozen=True, eq=False)
class _OnBoards:
    """A search's positions, counts new, out of boards [n, 4]."""

    evaluator: LeafEvaluator
    first: int

    def __call__(self, board: Layout, positions: U64Array, sides: SideArray) -> FloatArray:
        del board  # the evaluator was made for it
        plies = np.asarray(sides) ^ np.uint8(self.first)  # as few as the side to move allows
        return self.evaluator(with_counts(positions, plies))


def on_positions(name: str, evaluation: PackedEvaluation, setup: PackedSetup) -> Evaluator:
    """An evaluation of boards as an evaluator of a search's positions."""
    board = layout(setup.start.width, setup.start.height)
    is_dark = isinstance(setup, DarkChessSetup)
    return Evaluator(
        name,
        _OnPositions(evaluation, board, setup.start.side),
        "python_dark_chess" if is_dark else "python_kriegspiel",
    )


def on_boards(evaluator: LeafEvaluator, setup: PackedSetup) -> PackedEvaluation:
    """An evaluator of a search's positions as an evaluation of boards, counts new."""
    return _OnBoards(evaluator, setup.start.side)
