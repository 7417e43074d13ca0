"""`resolver(X)`: resolve captures first, then ask the evaluation X once.

A static evaluation is blind to what can be captured next. The resolver follows the best
line of captures and promotions, by material alone, to a quiet position and lets X
evaluate only that one (`packed.kernels.captures` says how); where the king can be
captured the value is 1 or -1 and X is not asked. It comes close to a full quiescence
search, which asks X at every position (`evaluators.quiescence`), at a fraction of its cost.

    values = resolver(packed.evaluate)(board, positions, sides)
    game = DarkChess(setup, evaluator=for_search(resolver(packed.evaluate), board, WHITE))

Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels import captures
from klss_spiel.search_game import LeafEvaluator

NODE_LIMIT: Final = captures.NODE_LIMIT

_WORDS: Final = 4

# White's expected utility at packed positions [n, 4] of a board with sides to move [n].
PackedEvaluation = Callable[
    [packed.Layout, U64Array, packed.SideArray], npt.NDArray[np.floating[Any]]
]


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
    if positions.dtype != np.uint64 or positions.shape[1:] != (_WORDS,):
        raise ValueError(
            f"expected packed positions [n, {_WORDS}] of uint64, "
            f"got {list(positions.shape)} of {positions.dtype}"
        )
    sides = np.ascontiguousarray(np.broadcast_to(side, (len(positions),)), dtype=np.uint8)
    return Resolution(
        *captures.resolve_all(
            np.ascontiguousarray(positions), sides, board.masks, node_limit, skip_losing
        )
    )


def resolver(
    evaluation: PackedEvaluation = packed.evaluate, node_limit: int = NODE_LIMIT
) -> PackedEvaluation:
    """An evaluation that resolves captures before it asks another one.

    Args:
        evaluation: is asked at quiet positions with both kings, none of which the side to
            move can capture.
        node_limit: positions to look at in each resolution.
    """

    def resolved(
        board: packed.Layout, positions: U64Array, side: packed.SideArray
    ) -> npt.NDArray[np.floating[Any]]:
        resolution = resolve(board, positions, side, node_limit)
        values = resolution.decided.astype(np.float32)
        quiet = resolution.decided == 0
        if quiet.all():
            return evaluation(board, resolution.ends, resolution.sides)
        values[quiet] = evaluation(board, resolution.ends[quiet], resolution.sides[quiet])
        return values

    return resolved


def for_search(
    evaluation: PackedEvaluation, board: packed.Layout, first: int = rules.WHITE
) -> LeafEvaluator:
    """An evaluation as a search of dark chess wants it: of positions [n, 5].

    Args:
        evaluation: of packed positions.
        board: which board.
        first: side that makes the first move of the game; the fifth word of a position
            counts the plies since then (`packed.search_game`).
    """

    def evaluate(positions: U64Array) -> FloatArray:
        plies = positions[:, _WORDS].astype(np.uint8)  # their last bit is enough
        sides = plies + np.uint8(first) & np.uint8(1)
        words = np.ascontiguousarray(positions[:, :_WORDS])
        return np.asarray(evaluation(board, words, sides), dtype=np.float64)

    return evaluate
