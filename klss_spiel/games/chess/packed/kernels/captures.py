"""Compiled capture resolver: where a position's captures and promotions end.

Alpha-beta over captures and promotions to a queen, by material alone, in which either
side may stop at any time ("stand pat"). Its principal line leads to a position in which
nobody gains material by a capture, and only that one has to be evaluated. Material alone
makes three things cheap:

* The material a capture can win at most is known before it is made, since the other side
  may stop right after it: captures that cannot reach alpha are left out without loss.
* Captures are made lazily, the most valuable victim first and for each the least valuable
  attacker first, so that most are never generated.
* A capture that plainly loses is skipped: the victim is worth less than the attacker and
  is guarded by a pawn, or is guarded at all while nobody supports the attacker.

Kings can be captured and there is no check: whoever can capture the king has won. As
either side may stop, such a win is only ever found for the side to move at the start.

The readable counterpart is `evaluators.quiescence`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    JUMPS,
    ONE,
    ZERO,
    ahead,
    beside,
    bishop_attacks,
    bishop_attacks_of_set,
    bit_count,
    first_cell,
    king_attacks_of_set,
    knight_attacks_of_set,
    pawn_attacks_of_set,
    rook_attacks,
    rook_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.moves import (
    BOARD,
    EN_PASSANT,
    KING_STEP,
    LAST,
    PLAIN,
    apply,
    settle,
)
from klss_spiel.kernels import kernel

# Worth of the pieces by the low three bits of their code. No piece: the pawn that is
# captured en passant does not stand where its captor goes. 7 is a rook that may castle.
VALUES: Final = np.array([1, 1, 3, 3, 5, 9, 1000, 5], dtype=np.int64)
_PROMOTION_GAIN: Final = 8
_KING_CAPTURED: Final = 10_000

# Every capture takes a piece and every promotion a pawn, so longer lines are rare; where
# the line is this long or the limit of nodes is reached, everybody stops.
MAX_PLIES: Final = 40
NODE_LIMIT: Final = 256

_PAWN: Final = np.uint64(1)
_QUEEN: Final = np.uint64(5)
_KING: Final = np.uint64(6)
_ROOK: Final = np.uint64(4)
_CASTLING_ROOK: Final = np.uint64(7)
_S1: Final = np.uint64(1)
_S2: Final = np.uint64(2)
_TARGET_SHIFT: Final = np.uint64(6)
_PROMOTION_SHIFT: Final = np.uint64(12)
_KIND_SHIFT: Final = np.uint64(15)
_ARRIVES_SHIFT: Final = np.uint64(18)

# Columns of a resolver's scratch arrays, one row per ply.
_END: Final = 4  # words: 0..3 the position, then where its best line ends ...
_END_SIDE: Final = 8  # ... and who is to move there
_PREY: Final = 9  # attacked pieces of which no capture has been tried yet
_PROMOTIONS: Final = 10  # the same for cells on which pawns promote
_CAPTORS: Final = 11  # pieces that have not yet captured on the current cell
_CELL: Final = 12  # the current cell
_WORD_COLUMNS: Final = 13
_STAND: Final = 0  # scores: material of the side to move if it stops
_ALPHA: Final = 1
_BETA: Final = 2
_BEST: Final = 3
_GAIN: Final = 4  # material that a capture on the current cell wins at most
_SCORE_COLUMNS: Final = 5


@kernel
def scratch() -> Any:
    """Arrays that `resolve` works in: one pair serves any number of calls in turn."""
    words = np.zeros((MAX_PLIES + 1, _WORD_COLUMNS), dtype=np.uint64)
    scores = np.zeros((MAX_PLIES + 1, _SCORE_COLUMNS), dtype=np.int64)
    return words, scores


@kernel
def attack_set(s0: Any, s1: Any, s2: Any, own: Any, occupied: Any, side: Any) -> Any:
    """Cells that pieces of one colour attack; settled words."""
    empty = ~occupied
    return (
        pawn_attacks_of_set(own & s0 & ~s1 & ~s2, side)
        | knight_attacks_of_set(own & ~s0 & s1 & ~s2)
        | king_attacks_of_set(own & ~s0 & s1 & s2)
        | bishop_attacks_of_set(own & s0 & (s1 ^ s2), empty)
        | rook_attacks_of_set(own & s2 & (~s1 | s0), empty)
    )


@kernel
def attackers(s0: Any, s1: Any, s2: Any, own: Any, occupied: Any, cell: Any, side: Any) -> Any:
    """Pieces of `own`, which is of colour `side`, that attack a cell; settled words."""
    from_pawns = pawn_attacks_of_set(ONE << cell, side ^ ONE)
    return own & (
        (from_pawns & s0 & ~s1 & ~s2)
        | (JUMPS[cell, 0] & ~s0 & s1 & ~s2)
        | (JUMPS[cell, 1] & ~s0 & s1 & s2)
        | (bishop_attacks(cell, occupied) & s0 & (s1 ^ s2))
        | (rook_attacks(cell, occupied) & s2 & (~s1 | s0))
    )


@kernel
def material(s0: Any, s1: Any, s2: Any, cells: Any) -> Any:
    """Worth of the pieces on some cells, kings left out; settled words."""
    return (
        np.int64(bit_count(cells & s0 & ~s1 & ~s2))
        + 3 * np.int64(bit_count(cells & s1 & ~s2))
        + 5 * np.int64(bit_count(cells & s2 & ~(s0 ^ s1)))
        + 9 * np.int64(bit_count(cells & s0 & ~s1 & s2))
    )


@kernel
def _code(s0: Any, s1: Any, s2: Any, cell: Any) -> Any:
    """Low three bits of the piece on a cell."""
    return ((s0 >> cell) & ONE) | (((s1 >> cell) & ONE) << _S1) | (((s2 >> cell) & ONE) << _S2)


@kernel
def _most_valuable(s0: Any, s1: Any, s2: Any, prey: Any) -> Any:
    """Cell of the most valuable piece of a set; an empty cell counts as a pawn."""
    queens = prey & s0 & ~s1 & s2
    if queens:
        return first_cell(queens)
    rooks = prey & s2
    if rooks:
        return first_cell(rooks)
    minor = prey & s1
    return first_cell(minor if minor else prey)


@kernel
def _least_valuable(s0: Any, s1: Any, s2: Any, captors: Any) -> Any:
    """Cell of the least valuable piece of a set; kings come last."""
    pawns = captors & ~s1 & ~s2
    if pawns:
        return first_cell(pawns)
    minor = captors & s1 & ~s2
    if minor:
        return first_cell(minor)
    rooks = captors & ~(s0 ^ s1)
    if rooks:
        return first_cell(rooks)
    queens = captors & s0
    return first_cell(queens if queens else captors)


@kernel
def _plainly_loses(
    s0: Any, s1: Any, s2: Any, own: Any, foes: Any, source: Any, cell: Any, side: Any, margin: Any
) -> Any:
    """Whether a capture loses the attacker for less than it is worth.

    Args:
        s0: first settled word, and so on.
        s1: second word.
        s2: third word.
        own: cells of the attacker's side.
        foes: cells of the other side.
        source: cell of the attacker.
        cell: of the victim.
        side: colour of the attacker.
        margin: worth of the attacker less that of the victim; positive.
    """
    # Whoever stands behind the attacker takes part once it has moved.
    rest = own & ~(ONE << source)
    guards = attackers(s0, s1, s2, foes, rest | foes, cell, side ^ ONE)
    if not guards:
        return False
    if guards & ~s1 & ~s2 or margin > _PROMOTION_GAIN:  # a pawn guards, or a king attacks
        return True
    return not attackers(s0, s1, s2, rest, rest | foes, cell, side)


@kernel
def resolve(
    p0: Any,
    p1: Any,
    p2: Any,
    p3: Any,
    side: Any,
    masks: Any,
    node_limit: Any,
    skip_losing: Any,
    words: Any,
    scores: Any,
) -> Any:
    """The quiet end of a position's best line of captures, by material.

    Args:
        p0: first word of the position, and so on.
        p1: second word.
        p2: third word.
        p3: fourth word.
        side: to move.
        masks: which board.
        node_limit: positions to look at before everybody stops capturing.
        skip_losing: leave out captures that plainly lose.
        words: scratch array of `scratch`.
        scores: the other one.

    Returns:
        decided: 1 if the side to move has won or can capture the king, -1 if it has lost
            its king, 0 otherwise. The row `words[0]` then holds the quiet end and the
            side to move there: see `quiet_end`.
        gain: material that the side to move wins on the way; 0 if decided.
        nodes: positions looked at.
    """
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    passing = p3 & ~(p0 | p1 | p2)
    everybody = s0 | p1 | p2
    kings = ~s0 & p1 & p2
    mine = everybody & (s3 if side else ~s3)
    if not kings & mine:
        return -1, np.int64(0), 1
    if not kings & ~mine:
        return 1, np.int64(0), 1

    start = material(s0, p1, p2, mine) - material(s0, p1, p2, everybody & ~mine)
    words[0, 0], words[0, 1], words[0, 2], words[0, 3] = s0, p1, p2, s3
    scores[0, _STAND] = start
    scores[0, _ALPHA] = -_KING_CAPTURED
    scores[0, _BETA] = _KING_CAPTURED
    nodes = 0
    ply = ZERO
    entering = True
    while True:
        mover = side ^ (ply & ONE)
        s0, s1, s2, s3 = words[ply, 0], words[ply, 1], words[ply, 2], words[ply, 3]
        occupied = s0 | s1 | s2
        own = occupied & (s3 if mover else ~s3)
        foes = occupied & ~own
        leaving = False
        if entering:
            nodes += 1
            stand = scores[ply, _STAND]
            scores[ply, _BEST] = stand
            for k in range(4):
                words[ply, _END + k] = words[ply, k]
            words[ply, _END_SIDE] = mover
            if stand >= scores[ply, _BETA]:
                leaving = True
            else:
                scores[ply, _ALPHA] = max(scores[ply, _ALPHA], stand)
                reach = attack_set(s0, s1, s2, own, occupied, mover)
                words[ply, _PREY] = reach & foes
                words[ply, _CAPTORS] = ZERO
                if words[ply, _PREY] & ~s0 & s1 & s2:
                    scores[ply, _BEST] = _KING_CAPTURED
                    leaving = True
                elif nodes >= node_limit or ply == MAX_PLIES:
                    leaving = True
                else:
                    last = masks[LAST + mover]
                    pawns = own & s0 & ~s1 & ~s2
                    open_cells = masks[BOARD] & ~occupied
                    words[ply, _PROMOTIONS] = last & (
                        (ahead(pawns, mover) & open_cells)
                        | (pawn_attacks_of_set(pawns, mover) & foes)
                    )
                    if passing and ply == ZERO:
                        words[ply, _PREY] |= ahead(passing, mover)

        # The next cell on which something can be won.
        while not leaving and not words[ply, _CAPTORS]:
            if words[ply, _PROMOTIONS]:
                cell = first_cell(words[ply, _PROMOTIONS])
                words[ply, _PROMOTIONS] &= words[ply, _PROMOTIONS] - ONE
                pawns = own & s0 & ~s1 & ~s2
                gain = np.int64(_PROMOTION_GAIN)
                if (occupied >> cell) & ONE:
                    gain += VALUES[_code(s0, s1, s2, cell)]
                    captors = pawns & pawn_attacks_of_set(ONE << cell, mover ^ ONE)
                else:
                    captors = pawns & ahead(ONE << cell, mover ^ ONE)
                if scores[ply, _STAND] + gain <= scores[ply, _ALPHA]:
                    continue  # another cell may promise more
            elif words[ply, _PREY]:
                cell = _most_valuable(s0, s1, s2, words[ply, _PREY])
                words[ply, _PREY] &= ~(ONE << cell)
                gain = VALUES[_code(s0, s1, s2, cell)]
                if scores[ply, _STAND] + gain <= scores[ply, _ALPHA]:
                    leaving = True  # the others are worth no more
                    break
                if (occupied >> cell) & ONE:
                    captors = attackers(s0, s1, s2, own, occupied, cell, mover)
                    if (masks[LAST + mover] >> cell) & ONE:
                        captors &= s1 | s2  # pawns promote there: they had their turn
                else:
                    captors = beside(passing) & own & s0 & ~s1 & ~s2
            else:
                leaving = True
                break
            words[ply, _CELL] = cell
            words[ply, _CAPTORS] = captors
            scores[ply, _GAIN] = gain

        if leaving:
            value = -scores[ply, _BEST]
            if ply == ZERO:
                break
            # Back to the position before: was this capture the best so far?
            ply -= ONE
            entering = False
            if value > scores[ply, _BEST]:
                scores[ply, _BEST] = value
                scores[ply, _ALPHA] = max(scores[ply, _ALPHA], value)
                for k in range(_END, _END_SIDE + 1):
                    words[ply, k] = words[ply + ONE, k]
            if scores[ply, _ALPHA] >= scores[ply, _BETA] or nodes >= node_limit:
                words[ply, _CAPTORS] = words[ply, _PREY] = words[ply, _PROMOTIONS] = ZERO
            elif scores[ply, _STAND] + scores[ply, _GAIN] <= scores[ply, _ALPHA]:
                words[ply, _CAPTORS] = ZERO  # no other captor wins more here
            continue

        # The next capture on that cell.
        cell = words[ply, _CELL]
        source = _least_valuable(s0, s1, s2, words[ply, _CAPTORS])
        words[ply, _CAPTORS] &= ~(ONE << source)
        entering = False
        piece = _code(s0, s1, s2, source)
        kind = PLAIN
        promotion = ZERO
        if piece == _PAWN:
            if (masks[LAST + mover] >> cell) & ONE:
                promotion = _QUEEN
            elif not (occupied >> cell) & ONE:
                kind = EN_PASSANT
        else:
            if piece == _KING:
                kind = KING_STEP
            margin = VALUES[piece] - scores[ply, _GAIN]
            if (
                skip_losing
                and margin > 0
                and _plainly_loses(s0, s1, s2, own, foes, source, cell, mover, margin)
            ):
                continue
        arrives = piece
        if promotion:
            arrives = promotion
        elif piece == _CASTLING_ROOK:
            arrives = _ROOK
        word = (
            source
            | (cell << _TARGET_SHIFT)
            | (promotion << _PROMOTION_SHIFT)
            | (kind << _KIND_SHIFT)
            | (arrives << _ARRIVES_SHIFT)
        )
        c0, c1, c2, c3 = apply(s0, s1, s2, s3, mover, word)
        stand = -(scores[ply, _STAND] + scores[ply, _GAIN])
        alpha, beta = -scores[ply, _BETA], -scores[ply, _ALPHA]
        ply += ONE
        words[ply, 0], words[ply, 1], words[ply, 2], words[ply, 3] = c0, c1, c2, c3
        scores[ply, _STAND], scores[ply, _ALPHA], scores[ply, _BETA] = stand, alpha, beta
        entering = True

    best = scores[0, _BEST]
    if best == _KING_CAPTURED:
        return 1, np.int64(0), nodes
    if best == start:
        # Nothing is captured: the position as it came, en passant included.
        words[0, _END], words[0, _END + 1] = p0, p1
        words[0, _END + 2], words[0, _END + 3] = p2, p3
    return 0, best - start, nodes


@kernel
def quiet_end(words: Any) -> Any:
    """The four words of the quiet end that `resolve` has left, and who is to move."""
    return (
        words[0, _END],
        words[0, _END + 1],
        words[0, _END + 2],
        words[0, _END + 3],
        words[0, _END_SIDE],
    )


@kernel
def resolve_all(positions: Any, side: Any, masks: Any, node_limit: Any, skip_losing: Any) -> Any:
    """Resolves many positions.

    Args:
        positions: [n, 4] packed positions.
        side: [n] side to move of each.
        masks: which board.
        node_limit: see `resolve`.
        skip_losing: see `resolve`.

    Returns:
        ends: [n, 4] quiet ends; where decided, the positions themselves.
        end_sides: [n] who is to move there.
        decided: [n] White's utility where the king can be captured or is gone, else 0.
        gains: [n] material that the side to move wins.
        nodes: [n] positions looked at.
    """
    n = len(positions)
    ends = np.empty((n, 4), dtype=np.uint64)
    end_sides = np.empty(n, dtype=np.uint8)
    decided = np.empty(n, dtype=np.int8)
    gains = np.empty(n, dtype=np.int16)
    nodes = np.empty(n, dtype=np.int32)
    words, scores = scratch()
    for i in range(n):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        mover = np.uint64(side[i])
        won, gain, looked = resolve(
            p0, p1, p2, p3, mover, masks, node_limit, skip_losing, words, scores
        )
        decided[i] = -won if mover else won
        gains[i] = gain
        nodes[i] = looked
        if won:
            e0, e1, e2, e3, end_side = p0, p1, p2, p3, mover
        else:
            e0, e1, e2, e3, end_side = quiet_end(words)
        ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3] = e0, e1, e2, e3
        end_sides[i] = end_side
    return ends, end_sides, decided, gains, nodes
