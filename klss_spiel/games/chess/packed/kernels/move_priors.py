"""How likely moves of dark chess are before anything is known of the player, compiled.

A linear softmax: every move has NUM_FEATURES indices into one vector of weights, its score
is the sum of those weights, and its probability the exponential of that over the same of
all moves of the position. Kernels work on *factors*, the exponentials of the weights, so
that nothing but products is left to compute for each move.

Cells are those of the mover: Black's are mirrored. What the mover sees of the enemy is
what he can capture; other attackers count as hidden. Features of a move, each with its own
part of the vector:

    target     phase of the game x kind x cell
    source     phase of the game x kind x cell
    prey       kind x kind of what is captured x whether the target is attacked
    danger     kind x how the source is attacked x how the target is attacked
    threat     kind x most valuable enemy attacked from the target x whether it is seen
    manner     promotion x double step, en passant, castling
    check      whether the own king is attacked, by seen pieces or others, and still is then
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    JUMPS,
    ONE,
    ZERO,
    bishop_attacks,
    bishop_attacks_of_set,
    bit_count,
    king_attacks_of_set,
    knight_attacks_of_set,
    pawn_attacks_of_set,
    rook_attacks,
    rook_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.legality import is_legal
from klss_spiel.games.chess.packed.kernels.moves import (
    MAX_MOVES,
    generate,
    keep_permitted,
    settle,
)
from klss_spiel.kernels import kernel

NUM_FEATURES: Final = 7

_PHASES: Final = 3
_OPENING_PIECES: Final = 28  # as many or more
_MIDDLE_PIECES: Final = 16
_KINDS: Final = 6
_CELLS: Final = 64
_CHECKS: Final = 5

# Where the parts of the vector begin.
_TARGET: Final = 0
_SOURCE: Final = _TARGET + _PHASES * _KINDS * _CELLS
_PREY: Final = _SOURCE + _PHASES * _KINDS * _CELLS
_DANGER: Final = _PREY + _KINDS * 7 * 2
_THREAT: Final = _DANGER + _KINDS * 4 * 4
_MANNER: Final = _THREAT + _KINDS * 7 * 2
_CHECK: Final = _MANNER + 6 * 5
NUM_WEIGHTS: Final = _CHECK + _CHECKS

_MIRROR: Final = np.uint64(56)
_CELL: Final = np.uint64(63)
_THREE_BITS: Final = np.uint64(7)
_S1: Final = np.uint64(1)
_S2: Final = np.uint64(2)
_TARGET_SHIFT: Final = np.uint64(6)
_PROMOTION_SHIFT: Final = np.uint64(12)
_MANNER_SHIFT: Final = np.uint64(15)
_ROOK: Final = np.uint64(4)
_CASTLING_ROOK: Final = np.uint64(7)

# Places of a context, what all moves of a position share.
_C0: Final = 0  # the settled position
_C1: Final = 1
_C2: Final = 2
_C3: Final = 3
_OCCUPIED: Final = 4
_FOES: Final = 5
_SEEN: Final = 6  # foes that can be captured
_BY_SEEN: Final = 7  # cells that they attack
_BY_SEEN_PAWNS: Final = 8
_BY_ANY: Final = 9  # cells that any foe attacks
_COVERED: Final = 10  # cells that own pieces attack
_PHASE: Final = 11
_IN_CHECK: Final = 12  # 0 no, 1 by a seen piece, 3 by others only
CONTEXT_WORDS: Final = 13


@kernel
def _kind(s0: Any, s1: Any, s2: Any, cell: Any) -> Any:
    """Kind of the piece on a cell of a settled position, 0 for none."""
    code = ((s0 >> cell) & ONE) | (((s1 >> cell) & ONE) << _S1) | (((s2 >> cell) & ONE) << _S2)
    return _ROOK if code == _CASTLING_ROOK else code


@kernel
def _attacks(s0: Any, s1: Any, s2: Any, pieces: Any, occupied: Any, side: Any) -> Any:
    """Cells that a set of pieces of one colour attacks."""
    pawns = pieces & s0 & ~s1 & ~s2
    straight = pieces & s2 & (~s1 | s0)
    diagonal = pieces & s0 & (s1 ^ s2)
    return (
        pawn_attacks_of_set(pawns, side)
        | knight_attacks_of_set(pieces & ~s0 & s1 & ~s2)
        | king_attacks_of_set(pieces & ~s0 & s1 & s2)
        | rook_attacks_of_set(straight, ~occupied)
        | bishop_attacks_of_set(diagonal, ~occupied)
    )


@kernel
def fill_context(
    p0: Any, p1: Any, p2: Any, p3: Any, side: Any, moves: Any, count: Any, context: Any
) -> None:
    """Writes what the features of all moves of a position need.

    Args:
        p0: first word of the position, and so on.
        p1: second word.
        p2: third word.
        p3: fourth word.
        side: side to move.
        moves: all its moves.
        count: how many.
        context: [CONTEXT_WORDS] to write to.
    """
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    occupied = s0 | p1 | p2
    own = occupied & (s3 if side else ~s3)
    foes = occupied & ~own
    reached = ZERO
    for j in range(count):
        reached |= ONE << ((moves[j] >> _TARGET_SHIFT) & _CELL)
    seen = foes & reached
    other = side ^ ONE
    king = own & ~s0 & p1 & p2
    context[_C0] = s0
    context[_C1] = p1
    context[_C2] = p2
    context[_C3] = s3
    context[_OCCUPIED] = occupied
    context[_FOES] = foes
    context[_SEEN] = seen
    context[_BY_SEEN] = _attacks(s0, p1, p2, seen, occupied, other)
    context[_BY_SEEN_PAWNS] = pawn_attacks_of_set(seen & s0 & ~p1 & ~p2, other)
    context[_BY_ANY] = _attacks(s0, p1, p2, foes, occupied, other)
    context[_COVERED] = _attacks(s0, p1, p2, own, occupied, side)
    pieces = bit_count(occupied)
    context[_PHASE] = ZERO
    if pieces < _OPENING_PIECES:
        context[_PHASE] = ONE if pieces >= _MIDDLE_PIECES else _S2
    context[_IN_CHECK] = ZERO
    if king & context[_BY_ANY]:
        context[_IN_CHECK] = ONE if king & context[_BY_SEEN] else np.uint64(3)


@kernel
def _threat(context: Any, kind: Any, source: Any, target: Any, side: Any) -> Any:
    """The most valuable enemy attacked from the target, twice, plus 1 if it is seen."""
    onto = ONE << target
    occupied = (context[_OCCUPIED] & ~(ONE << source)) | onto
    if kind == ONE:
        reach = pawn_attacks_of_set(onto, side)
    elif kind == np.uint64(2):
        reach = JUMPS[target, 0]
    elif kind == np.uint64(6):
        reach = JUMPS[target, 1]
    else:
        reach = ZERO
        if kind != _ROOK:
            reach |= bishop_attacks(target, occupied)
        if kind != np.uint64(3):
            reach |= rook_attacks(target, occupied)
    victims = reach & context[_FOES] & ~onto
    if not victims:
        return ZERO
    s0, s1, s2 = context[_C0], context[_C1], context[_C2]
    if victims & ~s0 & s1 & s2:
        best, cells = np.uint64(6), victims & ~s0 & s1 & s2
    elif victims & s0 & ~s1 & s2:
        best, cells = np.uint64(5), victims & s0 & ~s1 & s2
    elif victims & s2:
        best, cells = np.uint64(4), victims & s2
    elif victims & s1 & s0:
        best, cells = np.uint64(3), victims & s1 & s0
    elif victims & s1:
        best, cells = np.uint64(2), victims & s1
    else:
        best, cells = ONE, victims
    return best * _S2 + (ONE if cells & context[_SEEN] else ZERO)


@kernel
def move_features(context: Any, side: Any, word: Any, features: Any) -> None:
    """Writes the indices of a move's weights.

    Args:
        context: of the position (`fill_context`).
        side: side to move.
        word: the move.
        features: [NUM_FEATURES] to write to.
    """
    source, target = word & _CELL, (word >> _TARGET_SHIFT) & _CELL
    promotion = (word >> _PROMOTION_SHIFT) & _THREE_BITS
    manner = (word >> _MANNER_SHIFT) & _THREE_BITS
    s0, s1, s2, s3 = context[_C0], context[_C1], context[_C2], context[_C3]
    kind = _kind(s0, s1, s2, source)
    prey = _kind(s0, s1, s2, target)
    if manner == np.uint64(2):
        prey = ONE
    piece = kind - ONE
    flip = _MIRROR if side else ZERO
    square = context[_PHASE] * np.uint64(_KINDS) + piece
    features[0] = np.uint64(_TARGET) + square * np.uint64(_CELLS) + (target ^ flip)
    features[1] = np.uint64(_SOURCE) + square * np.uint64(_CELLS) + (source ^ flip)
    threatened = (context[_BY_ANY] >> target) & ONE
    features[2] = np.uint64(_PREY) + (piece * _THREE_BITS + prey) * _S2 + threatened
    left = ZERO
    if (context[_BY_SEEN] >> source) & ONE:
        left = np.uint64(3) if (context[_BY_SEEN_PAWNS] >> source) & ONE else _S2
        if not (context[_COVERED] >> source) & ONE:
            left = np.uint64(3)
    elif (context[_BY_ANY] >> source) & ONE:
        left = ONE
    entered = ZERO
    if (context[_BY_SEEN_PAWNS] >> target) & ONE:
        entered = np.uint64(3)
    elif (context[_BY_SEEN] >> target) & ONE:
        entered = _S2
    elif threatened:
        entered = ONE
    features[3] = np.uint64(_DANGER) + (piece * np.uint64(4) + left) * np.uint64(4) + entered
    threat = _threat(context, promotion if promotion else kind, source, target, side)
    features[4] = np.uint64(_THREAT) + piece * np.uint64(14) + threat
    features[5] = np.uint64(_MANNER) + promotion * np.uint64(5) + manner
    check = context[_IN_CHECK]
    if check and not is_legal(s0, s1, s2, s3, side, word):
        check += ONE
    features[6] = np.uint64(_CHECK) + check


@kernel
def move_score(context: Any, side: Any, word: Any, factors: Any, features: Any) -> Any:
    """The product of a move's factors ([NUM_WEIGHTS]); `features` is room for indices."""
    move_features(context, side, word, features)
    score = np.float64(1.0)
    for k in range(NUM_FEATURES):
        score *= factors[features[k]]
    return score


@kernel
def all_features(positions: Any, sides: Any, starts: Any, words: Any) -> Any:
    """[m, NUM_FEATURES] indices of the moves of `batches.generate_all`."""
    found = np.empty((len(words), NUM_FEATURES), dtype=np.int32)
    context = np.empty(CONTEXT_WORDS, dtype=np.uint64)
    features = np.empty(NUM_FEATURES, dtype=np.uint64)
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        side = np.uint64(sides[i])
        first, count = starts[i], starts[i + 1] - starts[i]
        for j in range(count):
            moves[j] = np.uint64(words[first + j])
        fill_context(p0, p1, p2, p3, side, moves, count, context)
        for j in range(count):
            move_features(context, side, moves[j], features)
            for k in range(NUM_FEATURES):
                found[first + j, k] = features[k]
    return found


@kernel
def total_score(
    position: Any, side: Any, game: Any, factors: Any, moves: Any, context: Any, features: Any
) -> Any:
    """Sum of the scores of all moves of a position, and their number.

    Args:
        position: its four words.
        side: side to move.
        game: which board (masks), and whether a pawn can become nothing but a queen.
        factors: [NUM_WEIGHTS].
        moves: [MAX_MOVES] room for the moves.
        context: [CONTEXT_WORDS] filled for this position.
        features: [NUM_FEATURES] room for indices.
    """
    p0, p1, p2, p3 = position
    masks, queen_only = game
    count = generate(p0, p1, p2, p3, side, masks, FULL, FULL, ONE, moves)
    if queen_only:
        count = keep_permitted(moves, count, queen_only)
    fill_context(p0, p1, p2, p3, side, moves, count, context)
    total = np.float64(0.0)
    for j in range(count):
        total += move_score(context, side, moves[j], factors, features)
    return total, count
