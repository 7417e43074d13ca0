"""Alpha-beta on packed positions: the engine of players who guess or know the position.

    engine = AlphaBeta(layout(8, 8))
    result = engine.search(pack([position])[0], WHITE, depth=4)
    result.best, result.score, result.line

Perfect information by the rules of dark chess; what is searched, and that nothing but time
depends on the table, is told in `kernels.alphabeta`. The same arguments give the same
result. Importing this module imports numba.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess.dark_chess_play import RULES, DarkChessRules
from klss_spiel.games.chess.evaluators import handmade_kernels
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels import alphabeta as kernels
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS
from klss_spiel.games.chess.packed.kernels.search_memory import MAX_DEPTH as MAX_DEPTH
from klss_spiel.games.chess.packed.kernels.search_memory import Options, make_memory
from klss_spiel.games.chess.packed.kernels.transpositions import DECIDED, UTILITY, WIN

DEFAULT_TABLE_ENTRIES: Final = 1 << 16  # one megabyte; cleared before every search

_NO_LIMIT: Final = -1


@dataclasses.dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search has found, from the view of the side to move.

    Attributes:
        best: the best move (`packed.positions.unpack_move`).
        score: its utility, from -1 to 1.
        plies_to_end: plies after which the game is over if both play the best moves and
            it is decided within the depth; else None.
        moves: [m] the root's moves.
        scores: [m] utility of each, if asked for; else None.
        line: [k] principal variation; it ends early where the table or a capture of the
            king gave the answer.
        depth: of the last finished iteration.
        nodes: positions looked at.
    """

    best: int
    score: float
    plies_to_end: int | None
    moves: packed.MoveArray
    scores: FloatArray | None
    line: packed.MoveArray
    depth: int
    nodes: int


class AlphaBeta:
    """An alpha-beta search with its memory. Mutable; used by one thread at a time."""

    def __init__(
        self,
        board: packed.Layout,
        variant: DarkChessRules = RULES["paper"],
        legal: bool = False,
        weights: npt.ArrayLike = handmade_kernels.WEIGHTS,
        table_entries: int = DEFAULT_TABLE_ENTRIES,
        pruning: bool = True,
    ) -> None:
        """An engine for one board.

        Args:
            board: which board.
            variant: rules of dark chess.
            legal: play by the rules of ordinary chess instead, as Kriegspiel does.
            weights: [2, NUM_FEATURES] of the hand-made evaluation.
            table_entries: size of the transposition table, a power of two; 0 for none.
            pruning: whether to leave out what cannot change the result; off for tests.
        """
        if table_entries < 0 or table_entries & (table_entries - 1):
            raise ValueError(f"expected a power of two or 0 table entries, got {table_entries}")
        self.board = board
        self._weights = np.asarray(weights, dtype=np.float32)
        if self._weights.shape != handmade_kernels.WEIGHTS.shape:
            expected = list(handmade_kernels.WEIGHTS.shape)
            raise ValueError(f"expected weights {expected}, got {list(self._weights.shape)}")
        self._options = Options(
            legal=legal,
            no_move_loses=variant.no_move_loses,
            queen_only=variant.queen_only,
            pruning=pruning,
            use_table=table_entries > 0,
        )
        self._memory = make_memory(max(1, table_entries))
        self._busy = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_busy"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._busy = threading.Lock()

    def search(
        self,
        position: U64Array,
        side: int,
        depth: int = MAX_DEPTH,
        nodes: int | None = None,
        all_scores: bool = False,
    ) -> SearchResult:
        """Searches until the depth or the nodes are reached, or the game is decided.

        Args:
            position: [4] packed, with both kings and at least one move.
            side: to move.
            depth: plies before captures are resolved.
            nodes: positions to look at before stopping; depth 1 is always finished.
            all_scores: find the score of every move of the root: slower.
        """
        if not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"expected a depth from 1 to {MAX_DEPTH} plies, got {depth}")
        if depth == MAX_DEPTH and nodes is None:
            raise ValueError("expected a limit of depth or of nodes, got neither")
        if nodes is not None and nodes < 1:
            raise ValueError(f"expected a limit of 1 node or more, got {nodes}")
        (words,) = packed.checked(np.atleast_2d(position))
        packed.side_array(side, 1)
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("expected one search at a time, got another on the same engine")
        try:
            full, scores, line, finished, looked = kernels.search(
                words,
                int(side),
                self.board.masks,
                self._weights,
                self._options,
                self._memory,
                depth,
                _NO_LIMIT if nodes is None else nodes,
                all_scores,
            )
        finally:
            self._busy.release()
        if not len(full):
            raise ValueError("expected a position with both kings and a move, got one without")
        # Beside the best move, scores are exact only if asked for.
        score = int(scores[full & PUBLIC_BITS == line[0]][0])
        decided = abs(score) > DECIDED
        return SearchResult(
            best=int(line[0]),
            score=float(_utility(np.array([score]))[0]),
            plies_to_end=WIN - abs(score) if decided else None,
            moves=(full & PUBLIC_BITS).astype(np.uint16),
            scores=_utility(scores) if all_scores else None,
            line=line,
            depth=int(finished),
            nodes=int(looked),
        )


def _utility(scores: npt.NDArray[np.int64]) -> FloatArray:
    """Utilities of scores."""
    return np.clip(scores / UTILITY, -1.0, 1.0)
