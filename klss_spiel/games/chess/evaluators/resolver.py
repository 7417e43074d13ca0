"""`resolver(X)`: resolve captures first, then ask the evaluation X once.

A static evaluation is blind to what can be captured next. The resolver follows the best
line of captures and promotions, by material alone, to a quiet position and lets X
evaluate only that one (`packed.kernels.captures` says how); where the king can be
captured the value is 1 or -1 and X is not asked. It comes close to a full quiescence
search, which asks X at every position (`evaluators.quiescence`), at a fraction of its cost.

    values = resolver(packed.evaluate)(board, positions, sides)
    evaluator = make_evaluator("python_dark_chess", "resolver(handmade)")

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import U64Array
from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess.evaluators import DEFAULT, default_inner, default_static
from klss_spiel.games.chess.evaluators.hunt import Hunt
from klss_spiel.games.chess.evaluators.packed_evaluation import (
    PackedEvaluation,
    PackedSetup,
    on_positions,
)
from klss_spiel.games.chess.networks.network import shipped_network
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels import captures

NODE_LIMIT: Final = captures.NODE_LIMIT


@dataclasses.dataclass(frozen=True, eq=False)
class Resolution:
    """Where the captures of n positions end.

    Attributes:
        ends: [n, 4] quiet ends; where decided, the positions themselves.
        sides: [n] who is to move at the quiet ends.
        decided: [n] White's utility where the side to move can capture the king or a king
            is gone, 0 elsewhere.
        gains: [n] material in pawns that the side to move wins on the way.
        nodes: [n] positions looked at.
    """

    ends: U64Array
    sides: packed.SideArray
    decided: npt.NDArray[np.int8]
    gains: npt.NDArray[np.int16]
    nodes: npt.NDArray[np.int32]


def resolve(
    board: packed.Layout,
    positions: U64Array,
    side: packed.Sides,
    node_limit: int = NODE_LIMIT,
    skip_losing: bool = True,
) -> Resolution:
    """Follows the best line of captures of each position to its quiet end.

    Args:
        board: which board.
        positions: [n, 4].
        side: to move.
        node_limit: positions to look at before everybody stops capturing.
        skip_losing: leave out captures that plainly lose.
    """
    if node_limit < 1:
        raise ValueError(f"expected a limit of 1 node or more, got {node_limit}")
    words, sides = packed.checked(positions), packed.side_array(side, len(positions))
    return Resolution(*captures.resolve_all(words, sides, board.masks, node_limit, skip_losing))


@dataclasses.dataclass(frozen=True, eq=False)
class _Resolved:
    """The evaluation that `resolver` makes."""

    evaluation: PackedEvaluation
    node_limit: int

    def __call__(
        self, board: packed.Layout, positions: U64Array, side: packed.SideArray
    ) -> npt.NDArray[np.floating[Any]]:
        resolution = resolve(board, positions, side, self.node_limit)
        quiet = resolution.decided == 0
        if quiet.all():
            return self.evaluation(board, resolution.ends, resolution.sides)
        values = resolution.decided.astype(np.float32)
        values[quiet] = self.evaluation(board, resolution.ends[quiet], resolution.sides[quiet])
        return values


def resolver(
    evaluation: PackedEvaluation = packed.evaluate, node_limit: int = NODE_LIMIT
) -> PackedEvaluation:
    """An evaluation that resolves captures before it asks another one.

    Args:
        evaluation: is asked at quiet positions with both kings, none of which the side to
            move can capture.
        node_limit: positions to look at in each resolution.
    """
    return _Resolved(evaluation, node_limit)


def default_evaluator(setup: PackedSetup) -> Evaluator:
    """The evaluator of a game of dark chess or Kriegspiel for which none is chosen."""
    evaluation: PackedEvaluation = packed.evaluate
    if default_static(setup.start.width, setup.start.height) == "network":
        evaluation = shipped_network().evaluate
    if default_inner(setup) == "hunt":
        evaluation = Hunt(evaluation)
    return on_positions(DEFAULT, resolver(evaluation), setup)
