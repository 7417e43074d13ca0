"""Compiled move generation on packed positions, for boards of any size up to 8x8.

A packed position is four words, 32 bytes: bit `cell` of word k is bit k of the code of
the piece on that cell (cells: `kernels.bits`). The codes are those of
`rules` (white pawn to king 1..6, black ones plus 8), and the three codes it
leaves free say all the rest:

     7, 15   a white, a black rook with which the king may still castle
     8       the pawn that can be captured en passant now (it belongs to the side that is
             not to move; set only if an enemy pawn stands beside it)

What is *not* packed: the side to move (an argument of every kernel, 1 for Black), the
fifty-move clock, repetitions and the move number. Two histories that differ only in
those pack to the same words.

A move is a word: source cell, 6 bits target cell << 6, promotion kind << 12. Kernels
keep more in it (how the move is special << 15, kind of the piece that arrives << 18);
the low 15 bits are the public `uint16`.

`masks` says which board it is, made by `packed.positions.Layout`: [5] words at the
indices BOARD (its cells), DOUBLE + side (cells from which pawns step twice),
LAST + side (cells on which they promote).

The readable counterpart is `rules`, against which all of this is tested.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    JUMPS,
    NOT_FIRST_FILE,
    NOT_LAST_FILE,
    ONE,
    ZERO,
    ahead,
    beside,
    bishop_attacks,
    first_cell,
    last_cell,
    pawn_attacks_of_set,
    rook_attacks,
)
from klss_spiel.kernels import kernel

BOARD: Final = 0
DOUBLE: Final = 1
LAST: Final = 3

# Moves of one position cannot be more: 64 pieces, none with more than 27 targets.
MAX_MOVES: Final = 1792

PLAIN: Final = np.uint64(0)
TWO_STEPS: Final = np.uint64(1)
EN_PASSANT: Final = np.uint64(2)
KING_STEP: Final = np.uint64(3)
CASTLING: Final = np.uint64(4)

PUBLIC_BITS: Final = np.uint64(0x7FFF)

_CELL: Final = np.uint64(63)
_THREE_BITS: Final = np.uint64(7)
_TARGET_SHIFT: Final = np.uint64(6)
_PROMOTION_SHIFT: Final = np.uint64(12)
_KIND_SHIFT: Final = np.uint64(15)
_ARRIVES_SHIFT: Final = np.uint64(18)
_S1: Final = np.uint64(1)
_S2: Final = np.uint64(2)
_S7: Final = np.uint64(7)
_S8: Final = np.uint64(8)
_S9: Final = np.uint64(9)
_S16: Final = np.uint64(16)

_PAWN: Final = np.uint64(1)
_KNIGHT: Final = np.uint64(2)
_BISHOP: Final = np.uint64(3)
_ROOK: Final = np.uint64(4)
_QUEEN: Final = np.uint64(5)
_KING: Final = np.uint64(6)


@kernel
def sides(p0: Any, p1: Any, p2: Any, p3: Any, side: Any) -> Any:
    """Cells of the side to move, of the other side, and of the pawn en passant."""
    typed = p0 | p1 | p2
    passing = p3 & ~typed
    if side:
        own = p3 & typed
        return own, (typed & ~p3) | passing, passing
    own = typed & ~p3
    return own, p3, passing


@kernel
def settle(p0: Any, p3: Any, passing: Any, side: Any) -> Any:
    """Words 0 and 3 once the pawn en passant of the side not to move is a plain pawn."""
    if side:
        return p0 | passing, p3 & ~passing
    return p0 | passing, p3


@kernel
def has_both_kings(p0: Any, p1: Any, p2: Any, p3: Any) -> Any:
    """Whether no king has been captured."""
    kings = ~p0 & p1 & p2
    return (kings & p3) != ZERO and (kings & ~p3) != ZERO


@kernel
def attacked(p0: Any, p1: Any, p2: Any, foes: Any, occupied: Any, cell: Any, side: Any) -> Any:
    """Whether a piece of `foes` attacks `cell`, on which a piece of colour `side` stands.

    The words must be settled: no pawn en passant among them.
    """
    if JUMPS[cell, 0] & foes & ~p0 & p1 & ~p2:
        return True
    if JUMPS[cell, 1] & foes & ~p0 & p1 & p2:
        return True
    if pawn_attacks_of_set(ONE << cell, side) & foes & p0 & ~p1 & ~p2:
        return True
    if bishop_attacks(cell, occupied) & foes & p0 & (p1 ^ p2):
        return True
    return (rook_attacks(cell, occupied) & foes & p2 & (~p1 | p0)) != ZERO


@kernel
def _put_targets(moves: Any, count: Any, source: Any, targets: Any, kind: Any, arrives: Any) -> Any:
    """Appends a move from `source` to each target."""
    head = source | (kind << _KIND_SHIFT) | (arrives << _ARRIVES_SHIFT)
    while targets:
        moves[count] = head | (first_cell(targets) << _TARGET_SHIFT)
        count += ONE
        targets &= targets - ONE
    return count


@kernel
def _put_pawns(moves: Any, count: Any, targets: Any, shift: Any, side: Any, last: Any) -> Any:
    """Appends pawn moves that all go `shift` cells forward; on `last` they promote."""
    while targets:
        target = first_cell(targets)
        source = target + shift if side else target - shift
        word = source | (target << _TARGET_SHIFT)
        if (ONE << target) & last:
            for kind in range(2, 6):
                new = np.uint64(kind)
                moves[count] = word | (new << _PROMOTION_SHIFT) | (new << _ARRIVES_SHIFT)
                count += ONE
        else:
            moves[count] = word | (_PAWN << _ARRIVES_SHIFT)
            count += ONE
        targets &= targets - ONE
    return count


@kernel
def generate(
    p0: Any,
    p1: Any,
    p2: Any,
    p3: Any,
    side: Any,
    masks: Any,
    sources: Any,
    targets: Any,
    specials: Any,
    moves: Any,
) -> Any:
    """Writes the pseudo-legal moves of a position and returns how many there are.

    Args:
        p0: first word of the position, and so on.
        p1: second word.
        p2: third word.
        p3: fourth word.
        side: side to move.
        masks: which board.
        sources: cells from which moves are wanted, FULL for all.
        targets: cells to which moves are wanted, FULL for all.
        specials: ONE if castling and en passant are wanted, else ZERO; both masks leave them
            alone. Not True and False: numba would compile the function for each of them.
        moves: [MAX_MOVES] words to write to.
    """
    if not has_both_kings(p0, p1, p2, p3):
        return ZERO
    own, foes, passing = sides(p0, p1, p2, p3, side)
    pieces = (p0, p1, p2, own)
    return _generate(
        pieces, own | foes, foes, passing, side, masks, sources, targets, specials, moves
    )


@kernel
def generate_tries(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, masks: Any, moves: Any) -> Any:
    """Writes the moves that the own pieces alone do not rule out; returns their number.

    Lines are open up to the first own piece, and pawns may capture on any cell that is
    not the own: the tries of Kriegspiel. Arguments as those of `generate`.
    """
    own, _, _ = sides(p0, p1, p2, p3, side)
    pieces = (p0, p1, p2, own)
    prey = masks[BOARD] & ~own
    return _generate(pieces, own, prey, ZERO, side, masks, FULL, FULL, ONE, moves)


@kernel
def _generate(
    pieces: Any,
    occupied: Any,
    foes: Any,
    passing: Any,
    side: Any,
    masks: Any,
    sources: Any,
    targets: Any,
    specials: Any,
    moves: Any,
) -> Any:
    """Writes the moves of the pieces (three words and the own cells) of a side.

    Args:
        pieces: three words of the position, and the cells of the own pieces.
        occupied: cells that stop a line.
        foes: cells on which pawns can capture.
        passing: cell of the pawn that can be captured en passant.
        side: whose pieces they are.
        masks: which board.
        sources: cells from which moves are wanted.
        targets: cells to which moves are wanted.
        specials: ONE if castling and en passant are wanted, else ZERO.
        moves: [MAX_MOVES] words to write to.
    """
    p0, p1, p2, own = pieces
    count = ZERO
    empty = masks[BOARD] & ~occupied
    wanted = masks[BOARD] & ~own & targets
    movers = own & sources

    left = movers & ~p0 & p1 & ~p2
    while left:
        source = first_cell(left)
        count = _put_targets(moves, count, source, JUMPS[source, 0] & wanted, PLAIN, _KNIGHT)
        left &= left - ONE
    left = movers & p0 & p1 & ~p2
    while left:
        source = first_cell(left)
        reach = bishop_attacks(source, occupied) & wanted
        count = _put_targets(moves, count, source, reach, PLAIN, _BISHOP)
        left &= left - ONE
    left = movers & p2 & ~(p0 ^ p1)
    while left:
        source = first_cell(left)
        reach = rook_attacks(source, occupied) & wanted
        count = _put_targets(moves, count, source, reach, PLAIN, _ROOK)
        left &= left - ONE
    left = movers & p0 & ~p1 & p2
    while left:
        source = first_cell(left)
        reach = (bishop_attacks(source, occupied) | rook_attacks(source, occupied)) & wanted
        count = _put_targets(moves, count, source, reach, PLAIN, _QUEEN)
        left &= left - ONE
    left = movers & ~p0 & p1 & p2
    while left:
        source = first_cell(left)
        count = _put_targets(moves, count, source, JUMPS[source, 1] & wanted, KING_STEP, _KING)
        left &= left - ONE

    pawns = movers & p0 & ~p1 & ~p2
    last = masks[LAST + side]
    one = ahead(pawns, side) & empty
    two = ahead(ahead(pawns & masks[DOUBLE + side], side) & empty, side) & empty & targets
    count = _put_pawns(moves, count, one & targets, _S8, side, last)
    while two:
        target = first_cell(two)
        source = target + _S16 if side else target - _S16
        count = _put_targets(moves, count, source, ONE << target, TWO_STEPS, _PAWN)
        two &= two - ONE
    prey = foes & targets
    if side:
        nine = (pawns >> _S9) & NOT_LAST_FILE & prey
        seven = (pawns >> _S7) & NOT_FIRST_FILE & prey
    else:
        nine = (pawns << _S9) & NOT_FIRST_FILE & prey
        seven = (pawns << _S7) & NOT_LAST_FILE & prey
    count = _put_pawns(moves, count, nine, _S9, side, last)
    count = _put_pawns(moves, count, seven, _S7, side, last)
    if specials:
        count = _put_specials(p0, p1, p2, own, passing, occupied, side, moves, count)
    return count


@kernel
def _put_specials(
    p0: Any,
    p1: Any,
    p2: Any,
    own: Any,
    passing: Any,
    occupied: Any,
    side: Any,
    moves: Any,
    count: Any,
) -> Any:
    """Appends en passant and castling."""
    if passing:
        ready = beside(passing) & own & p0 & ~p1 & ~p2
        onto = ahead(passing, side)
        while ready:
            source = first_cell(ready)
            count = _put_targets(moves, count, source, onto, EN_PASSANT, _PAWN)
            ready &= ready - ONE
    rooks = own & p0 & p1 & p2
    if rooks:
        king = first_cell(own & ~p0 & p1 & p2)
        while rooks:
            rook = first_cell(rooks)
            low, high = (king, rook) if king < rook else (rook, king)
            between = ((ONE << high) - ONE) & ~((_S2 << low) - ONE)
            if not between & occupied:
                target = king + _S2 if king < rook else king - _S2
                count = _put_targets(moves, count, king, ONE << target, CASTLING, _KING)
            rooks &= rooks - ONE
    return count


@kernel
def apply(s0: Any, s1: Any, s2: Any, s3: Any, side: Any, word: Any) -> Any:
    """The four words after a move; those before it must be settled (`settle`)."""
    source = word & _CELL
    target = (word >> _TARGET_SHIFT) & _CELL
    kind = (word >> _KIND_SHIFT) & _THREE_BITS
    arrives = (word >> _ARRIVES_SHIFT) & _THREE_BITS
    onto = ONE << target
    if ~s0 & s1 & s2 & onto:  # a captured king takes its castling rights along
        rooks = s0 & s1 & s2 & (~s3 if side else s3)
        s0 &= ~rooks
        s1 &= ~rooks
    stay = ~((ONE << source) | onto)
    c0 = (s0 & stay) | ((arrives & ONE) << target)
    c1 = (s1 & stay) | (((arrives >> _S1) & ONE) << target)
    c2 = (s2 & stay) | ((arrives >> _S2) << target)
    c3 = (s3 & stay) | (np.uint64(side) << target)
    if kind == PLAIN:
        return c0, c1, c2, c3
    if kind == TWO_STEPS:
        if beside(onto) & c0 & ~c1 & ~c2 & (~c3 if side else c3):
            c0 &= ~onto
            c3 |= onto
    elif kind == EN_PASSANT:
        victim = onto << _S8 if side else onto >> _S8
        c0 &= ~victim
        c3 &= ~victim
    else:
        rooks = c0 & c1 & c2 & (c3 if side else ~c3)
        c0 &= ~rooks
        c1 &= ~rooks
        if kind == CASTLING:
            right = target > source
            aside = rooks & (FULL << source if right else (ONE << source) - ONE)
            rook = ONE << (first_cell(aside) if right else last_cell(aside))
            crossed = ONE << ((source + target) >> _S1)
            c2 = (c2 & ~rook) | crossed
            c3 = (c3 & ~rook) | (crossed if side else ZERO)
    return c0, c1, c2, c3


@kernel
def complete_word(p0: Any, p1: Any, p2: Any, p3: Any, move: Any) -> Any:
    """A public move with the bits that `apply` needs, read off the position."""
    source, target = move & _CELL, (move >> _TARGET_SHIFT) & _CELL
    promotion = (move >> _PROMOTION_SHIFT) & _THREE_BITS
    piece = (
        ((p0 >> source) & ONE) | (((p1 >> source) & ONE) << _S1) | (((p2 >> source) & ONE) << _S2)
    )
    distance = target - source if target > source else source - target
    kind = PLAIN
    if piece == _PAWN:
        if distance == _S16:
            kind = TWO_STEPS
        elif distance != _S8 and not ((p0 | p1 | p2 | p3) >> target) & ONE:
            kind = EN_PASSANT
    elif piece == _KING:
        kind = CASTLING if distance == _S2 else KING_STEP
    arrives = promotion if promotion else (_ROOK if piece == _S7 else piece)
    return (move & PUBLIC_BITS) | (kind << _KIND_SHIFT) | (arrives << _ARRIVES_SHIFT)


@kernel
def is_permitted(word: Any, queen_only: Any) -> Any:
    """Whether the variant knows a move: with `queen_only` a pawn becomes nothing else."""
    promotion = (word >> _PROMOTION_SHIFT) & _THREE_BITS
    return not queen_only or promotion in (ZERO, _QUEEN)


@kernel
def keep_permitted(moves: Any, count: Any, queen_only: Any) -> Any:
    """Moves those that the variant knows to the front and returns how many there are."""
    kept = ZERO
    for i in range(count):
        word = moves[i]
        if is_permitted(word, queen_only):
            moves[kept] = word
            kept += ONE
    return kept
