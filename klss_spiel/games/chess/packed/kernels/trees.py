"""Compiled parts of enumerating a whole tree of dark chess, level by level."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS
from klss_spiel.kernels import kernel

_CELL: Final = np.uint64(63)
_S6: Final = np.uint64(6)
_REPETITIONS: Final = 2  # earlier occurrences that make a draw


@kernel
def verdict(
    p0: Any, p1: Any, p2: Any, p3: Any, side: Any, can_move: Any, no_move_loses: Any
) -> Any:
    """Whether a position ends a game of dark chess, and White's utility (0 if not)."""
    dead = ~p0 & p1 & p2 & (p3 if side else ~p3) == ZERO
    if dead or (not can_move and no_move_loses):
        return True, np.float32(1.0) if side else np.float32(-1.0)
    return not can_move, np.float32(0.0)


@kernel
def judge(positions: Any, sides: Any, can_move: Any, no_move_loses: Any) -> Any:
    """Which positions end a game of dark chess, and how.

    Args:
        positions: [n, 4] packed positions.
        sides: [n] side to move of each.
        can_move: [n] whether it can move.
        no_move_loses: a side without any move loses; else a draw.

    Returns:
        terminal: [n] whether the side to move has lost its king or cannot move.
        utility: [n] White's utility there, 0 elsewhere.
    """
    n = len(positions)
    terminal = np.zeros(n, dtype=np.bool_)
    utility = np.zeros(n, dtype=np.float32)
    for i in range(n):
        terminal[i], utility[i] = verdict(
            positions[i, 0],
            positions[i, 1],
            positions[i, 2],
            positions[i, 3],
            np.uint64(sides[i]),
            can_move[i],
            no_move_loses,
        )
    return terminal, utility


@kernel
def sort_row(words: Any, actions: Any, start: Any, stop: Any, numbers: Any) -> Any:
    """Numbers and sorts the moves words[start:stop] of one position, both arrays in place."""
    for j in range(start, stop):
        word = words[j]
        action = numbers[np.uint64(word) & PUBLIC_BITS]
        k = j
        while k > start and actions[k - 1] > action:
            actions[k] = actions[k - 1]
            words[k] = words[k - 1]
            k -= 1
        actions[k] = action
        words[k] = word


@kernel
def sort_moves(starts: Any, words: Any, numbers: Any) -> Any:
    """Sorts the moves of each position by action number, in place; returns the numbers.

    Args:
        starts: [n + 1] moves of position i are words[starts[i]:starts[i + 1]].
        words: [m] moves of `kernels.moves.generate_all`.
        numbers: [2^15] action number of each public move word.
    """
    actions = np.empty(len(words), dtype=np.int32)
    for i in range(len(starts) - 1):
        sort_row(words, actions, starts[i], starts[i + 1], numbers)
    return actions


@kernel
def restarts_clock(p0: Any, p1: Any, p2: Any, p3: Any, word: Any) -> Any:
    """Whether a move of the position captures or moves a pawn."""
    taken = ((p0 | p1 | p2 | p3) >> ((word >> _S6) & _CELL)) & ONE
    return taken != ZERO or ((p0 & ~p1 & ~p2) >> (word & _CELL)) & ONE != ZERO


@kernel
def is_irreversible(positions: Any, starts: Any, words: Any) -> Any:
    """[m] whether each move captures or moves a pawn, which restarts the fifty-move count."""
    answer = np.zeros(len(words), dtype=np.bool_)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        for j in range(starts[i], starts[i + 1]):
            answer[j] = restarts_clock(p0, p1, p2, p3, np.uint64(words[j]))
    return answer


@kernel
def intern(keys: Any) -> Any:
    """Numbers keys by first appearance.

    Returns:
        numbers: [n] number of each key.
        first: [k] where each number appears first.
    """
    n = len(keys)
    slots = 16
    while slots < 2 * n:
        slots *= 2
    table = np.zeros(slots, dtype=np.uint32)
    last = np.uint64(slots - 1)
    numbers = np.empty(n, dtype=np.int32)
    first = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        key = keys[i]
        slot = key & last
        while table[slot] and keys[first[np.uint64(table[slot]) - ONE]] != key:
            slot = (slot + ONE) & last
        if not table[slot]:
            first[count] = i
            count += 1
            table[slot] = count
        numbers[i] = table[slot] - np.uint32(1)
    return numbers, first[:count].copy()


@kernel
def is_third_occurrence(positions: Any, parents: Any, clocks: Any, start: Any) -> Any:
    """Whether nodes stand for the third time since the last capture or pawn move.

    Args:
        positions: [N, 4] positions of all nodes so far, parents before children.
        parents: [N] parent of each; those of the root are never looked at.
        clocks: [N] plies since the last capture or pawn move within the tree.
        start: first node to judge.

    Returns:
        [N - start] answers.
    """
    answer = np.zeros(len(positions) - start, dtype=np.bool_)
    for node in range(start, len(positions)):
        seen = 0
        other = node
        for _ in range(clocks[node] // 2):
            other = parents[parents[other]]
            same = True
            for k in range(4):
                same = same and positions[other, k] == positions[node, k]
            seen += same
        answer[node - start] = seen >= _REPETITIONS
    return answer
