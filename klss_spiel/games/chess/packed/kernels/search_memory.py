"""Rules and arrays that the kernels of the alpha-beta search are given."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from klss_spiel.games.chess.packed.kernels.captures import scratch
from klss_spiel.games.chess.packed.kernels.moves import MAX_MOVES

MAX_DEPTH: Final = 48

# Columns of Memory.words, one row per ply.
KEY: Final = 4
COUNT: Final = 5
NEXT: Final = 6
BEST_MOVE: Final = 7
_WORD_COLUMNS: Final = 8
# Columns of Memory.scores, one row per ply.
ALPHA: Final = 0
BETA: Final = 1
BEST: Final = 2
FIRST_ALPHA: Final = 3
_SCORE_COLUMNS: Final = 4


class Options(NamedTuple):
    """Rules, and parts of the search that tests turn off.

    Attributes:
        legal: rules of ordinary chess: no king may be left in check.
        no_move_loses: whoever cannot move loses; else a draw. With `legal` a mate loses
            and a stalemate is a draw whatever this says.
        queen_only: pawns become queens only.
        pruning: cut off what cannot matter; else every position to the full depth.
        use_table: keep and use the transposition table.
    """

    legal: bool
    no_move_loses: bool
    queen_only: bool
    pruning: bool
    use_table: bool


class Memory(NamedTuple):
    """Arrays that a search works in; D = MAX_DEPTH + 1 plies.

    Attributes:
        table: [t, 2] transposition table, t a power of two.
        words: [D, 8] position, key, number of moves, next move, best move of each ply.
        scores: [D, 4] window and best score of each ply.
        moves: [D, MAX_MOVES] moves of each ply.
        lines: [D + 1, D + 1] principal variation from each ply on, zero behind its end.
        killers: [D, 2] quiet moves that caused the last cut-offs of each ply.
        history: [2, 4096] how often quiet moves of each side caused cut-offs.
        leaf: [1, 4] position to evaluate.
        leaf_side: [1] side to move there.
        capture_words: scratch of the resolver.
        capture_scores: the other scratch of the resolver.
        counters: [1] positions looked at.
    """

    table: Any
    words: Any
    scores: Any
    moves: Any
    lines: Any
    killers: Any
    history: Any
    leaf: Any
    leaf_side: Any
    capture_words: Any
    capture_scores: Any
    counters: Any


def make_memory(table_entries: int) -> Memory:
    """Memory with a table of that many entries, a power of two."""
    plies = MAX_DEPTH + 1
    capture_words, capture_scores = scratch()
    return Memory(
        table=np.zeros((table_entries, 2), dtype=np.uint64),
        words=np.zeros((plies, _WORD_COLUMNS), dtype=np.uint64),
        scores=np.zeros((plies, _SCORE_COLUMNS), dtype=np.int64),
        moves=np.zeros((plies, MAX_MOVES), dtype=np.uint64),
        lines=np.zeros((plies + 1, plies + 1), dtype=np.uint16),
        killers=np.zeros((plies, 2), dtype=np.uint64),
        history=np.zeros((2, 4096), dtype=np.uint64),
        leaf=np.zeros((1, 4), dtype=np.uint64),
        leaf_side=np.zeros(1, dtype=np.uint8),
        capture_words=capture_words,
        capture_scores=capture_scores,
        counters=np.zeros(1, dtype=np.int64),
    )
