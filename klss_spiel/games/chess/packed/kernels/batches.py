"""Compiled kernels over arrays of packed positions: moves, successors, perft."""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import FULL, ONE, ZERO
from klss_spiel.games.chess.packed.kernels.legality import keep_legal
from klss_spiel.games.chess.packed.kernels.moves import (
    MAX_MOVES,
    apply,
    generate,
    keep_permitted,
    settle,
)
from klss_spiel.kernels import kernel


@kernel
def generate_all(positions: Any, sides: Any, masks: Any, legal: Any, queen_only: Any) -> Any:
    """Moves of many positions.

    Args:
        positions: [n, 4] packed positions.
        sides: [n] side to move of each.
        masks: which board.
        legal: rules of ordinary chess; else dark chess.
        queen_only: a pawn can become nothing but a queen.

    Returns:
        starts: [n + 1] the moves of position i are words[starts[i]:starts[i + 1]].
        words: [m] moves with the bits that `apply` needs.
    """
    n = len(positions)
    starts = np.zeros(n + 1, dtype=np.int64)
    words = np.empty(max(64 * n, 2 * MAX_MOVES), dtype=np.uint32)
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    total = np.int64(0)
    for i in range(n):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        count = generate(p0, p1, p2, p3, side, masks, FULL, FULL, ONE, moves)
        if legal:
            count = keep_legal(p0, p1, p2, p3, side, moves, count)
        if queen_only:
            count = keep_permitted(moves, count, queen_only)
        if total + MAX_MOVES > len(words):
            more = np.empty(2 * len(words), dtype=np.uint32)
            for j in range(total):  # numba takes seconds to compile the assignment of a slice
                more[j] = words[j]
            words = more
        for j in range(count):
            words[total + np.int64(j)] = moves[j]
        total += np.int64(count)
        starts[i + 1] = total
    return starts, words[:total].copy()


@kernel
def apply_all(positions: Any, sides: Any, starts: Any, words: Any) -> Any:
    """[m, 4] positions after the moves of `generate_all`."""
    children = np.empty((len(words), 4), dtype=np.uint64)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
        for j in range(starts[i], starts[i + 1]):
            c0, c1, c2, c3 = apply(s0, p1, p2, s3, side, np.uint64(words[j]))
            children[j, 0] = c0
            children[j, 1] = c1
            children[j, 2] = c2
            children[j, 3] = c3
    return children


@kernel
def count_paths(position: Any, mover: Any, masks: Any, depth: Any, legal: Any) -> Any:
    """Number of move sequences of `depth` plies (perft)."""
    if depth == 0:
        return ONE
    words = np.empty((depth, MAX_MOVES), dtype=np.uint64)
    left = np.zeros(depth, dtype=np.uint64)
    line = np.zeros((depth + 1, 4), dtype=np.uint64)
    line[0] = position
    total = ZERO
    ply = 0
    fresh = True
    while ply >= 0:
        p0, p1, p2, p3 = line[ply, 0], line[ply, 1], line[ply, 2], line[ply, 3]
        side = np.uint64(mover) ^ np.uint64(ply & 1)
        if fresh:
            count = generate(p0, p1, p2, p3, side, masks, FULL, FULL, ONE, words[ply])
            if legal:
                count = keep_legal(p0, p1, p2, p3, side, words[ply], count)
            left[ply] = count
            if ply == depth - 1:
                total += count
                left[ply] = ZERO
        if left[ply] == ZERO:
            ply -= 1
            fresh = False
            continue
        left[ply] -= ONE
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
        c0, c1, c2, c3 = apply(s0, p1, p2, s3, side, words[ply, left[ply]])
        ply += 1
        line[ply, 0] = c0
        line[ply, 1] = c1
        line[ply, 2] = c2
        line[ply, 3] = c3
        fresh = True
    return total
