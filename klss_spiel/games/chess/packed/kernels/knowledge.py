"""Compiled parts of searching dark chess: what players know, which moves are forcing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO, first_cell
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS, attacked
from klss_spiel.games.chess.packed.kernels.observations import extend_key, hash_words
from klss_spiel.kernels import kernel

_CELL: Final = np.uint64(63)
_S6: Final = np.uint64(6)
_PROMOTION: Final = np.uint64(7 << 12)
# Odd words without pattern; they keep keys of one kind apart from those of another.
_INFORMED: Final = np.uint64(0x9216D5D98979FB1B)
_ENDING: Final = np.uint64(0xD1310BA698DFB5AC)


@kernel
def extend_knowledge(
    keys: Any, moves: Any, movers: Any, observed: Any, ending: Any, every_ply: Any
) -> Any:
    """What both players know at the children of some positions.

    Args:
        keys: [2, n] what they know at the parents.
        moves: two arrays, [n + 1] starts and [m] words: children of position i are at
            starts[i]:starts[i + 1], reached by these moves.
        movers: [n] who moves at each parent.
        observed: [m, 2] keys of what both see there.
        ending: [m] how the game ended there, 0 if it goes on; both are told and look.
        every_ply: whether the mover looks at the board after the own move, too.

    Returns:
        [2, m].
    """
    starts, words = moves
    extended = np.empty((2, len(words)), dtype=np.uint64)
    for i in range(len(movers)):
        for j in range(starts[i], starts[i + 1]):
            for player in range(2):
                own = movers[i] == player
                move = (np.uint64(words[j]) & PUBLIC_BITS) + ONE if own else ZERO
                looks = every_ply or not own or ending[j]
                seen = observed[j, player] if looks else ZERO
                seen ^= np.uint64(ending[j]) * _ENDING
                extended[player, j] = extend_key(keys[player, i], move, seen)
    return extended


@kernel
def extend_one(key: Any, own_move: Any, observation: Any) -> Any:
    """The same for one player and one ply; `own_move` is the move's word + 1, or 0."""
    return extend_key(key, own_move, view_key(observation))


@kernel
def view_key(observation: Any) -> Any:
    """Key of what a player sees ([5])."""
    return hash_words(
        observation[0], observation[1], observation[2], observation[3], observation[4]
    )


@kernel
def position_keys(positions: Any) -> Any:
    """[n] keys that tell positions ([n, 5]) apart: what a player knows who knows all."""
    keys = np.empty(len(positions), dtype=np.uint64)
    for i in range(len(positions)):
        keys[i] = hash_words(
            positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3], _INFORMED
        )
    return keys


@kernel
def is_forcing(parents: Any, starts: Any, words: Any, children: Any, sides: Any) -> Any:
    """[m] whether each move captures, promotes, or attacks the enemy king.

    Args:
        parents: [n, 4 or more] positions before the moves.
        starts: [n + 1] moves of position i are at starts[i]:starts[i + 1].
        words: [m] moves.
        children: [m, 4] positions after them.
        sides: [m] side to move after them.
    """
    answer = np.zeros(len(words), dtype=np.bool_)
    for i in range(len(starts) - 1):
        before = parents[i, 0] | parents[i, 1] | parents[i, 2] | parents[i, 3]
        for j in range(starts[i], starts[i + 1]):
            word = np.uint64(words[j])
            if (before >> ((word >> _S6) & _CELL)) & ONE or word & _PROMOTION:
                answer[j] = True
                continue
            p0, p1, p2, p3 = children[j, 0], children[j, 1], children[j, 2], children[j, 3]
            side = np.uint64(sides[j])
            typed = p0 | p1 | p2
            passing = p3 & ~typed
            p0 |= passing  # counts as a pawn of the side that is not to move
            if side:
                p3 &= ~passing
            typed |= passing
            own = typed & (p3 if side else ~p3)
            king = own & ~p0 & p1 & p2
            if king:
                cell = first_cell(king)
                answer[j] = attacked(p0, p1, p2, typed & ~own, typed, cell, side)
    return answer
