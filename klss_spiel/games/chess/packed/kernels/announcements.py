"""What the umpire of Kriegspiel says after a move, as words that can be compared, compiled.

An announcement is two words. The public one, heard by both players:

    bits 0-1    what is gone (`kriegspiel_umpire.Gone`)
    bits 2-8    its cell plus one
    bits 9-13   directions of check (`rules.CheckDirection`)
    bit  14     the side to move has no legal move
    bit  15     nobody can mate any more
    bits 16-    what is said to both about pawn captures, plus one; 0 if nothing

and the private one, for the side to move: a hash of the pawn captures it has, if these are
told one by one. Two announcements sound the same to a player if the words do that the
player hears. `rule` numbers what is said about pawn captures: NOTHING, WHETHER, HOW_MANY
or EACH (`kriegspiel_umpire.AreThereAny`).

The readable counterpart is `kriegspiel_umpire`, and `kernels.umpire` is the same for one
state at a time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    ONE,
    ZERO,
    ahead,
    bishop_attacks,
    bishop_attacks_of_set,
    first_cell,
    fold,
    knight_attacks_of_set,
    pawn_attacks_of_set,
    rook_attacks,
    rook_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.legality import is_legal, keep_legal
from klss_spiel.games.chess.packed.kernels.moves import (
    BOARD,
    EN_PASSANT,
    apply,
    generate,
    settle,
)
from klss_spiel.games.chess.packed.kernels.observations import extend_key
from klss_spiel.games.chess.packed.kernels.umpire import check_directions, is_dead
from klss_spiel.kernels import kernel

NOTHING: Final = 0
WHETHER: Final = 1
HOW_MANY: Final = 2
EACH: Final = 3

GONE_BITS: Final = np.uint64(3)
CELL_SHIFT: Final = np.uint64(2)
CELL_BITS: Final = np.uint64(127)
CHECK_SHIFT: Final = np.uint64(9)
CHECK_BITS: Final = np.uint64(31)
STUCK: Final = np.uint64(1 << 14)
DEAD: Final = np.uint64(1 << 15)
CAPTURES_SHIFT: Final = np.uint64(16)

# Words that no announcement has: what is heard of illegal tries.
ILLEGAL: Final = np.uint64(1 << 60)
OVERHEARD: Final = np.uint64(1 << 61)
UNHEARD: Final = np.uint64(1 << 62)  # but the game is over

PAWN_GONE: Final = np.uint64(1)
PIECE_GONE: Final = np.uint64(2)

_S6: Final = np.uint64(6)
_KIND_SHIFT: Final = np.uint64(15)
_LOW: Final = np.uint64(7)
_CELL: Final = np.uint64(63)
_SQUARES: Final = np.uint64(0xFFF)
# Odd words without pattern.
_PAIR: Final = np.uint64(0x2FFD72DBD01ADFB7)
_SAID: Final = np.uint64(0xB8E1AFED6A267E97)
_ENDING: Final = np.uint64(0xBA7C9045F12C7F99)


@kernel
def mix_pair(pair: Any) -> Any:
    """What a pawn capture from one cell to another adds to the private word."""
    return fold(np.uint64(pair) ^ _PAIR, _SAID)


@kernel
def extend_heard(key: Any, own_move: Any, public: Any, private: Any, ending: Any) -> Any:
    """What a player knows after hearing something.

    Args:
        key: what the player knew before.
        own_move: word of the own try plus one; 0 if the other side moved.
        public: word heard by both.
        private: word heard by this player alone, else 0.
        ending: how the game ended, 0 if it goes on.
    """
    heard = fold(np.uint64(public) ^ _SAID, np.uint64(private) ^ _PAIR)
    return extend_key(np.uint64(key), np.uint64(own_move), heard ^ np.uint64(ending) * _ENDING)


@kernel
def _moves_freely(s0: Any, s1: Any, s2: Any, s3: Any, side: Any, masks: Any) -> Any:
    """Whether a side that is not in check has a move that no pin can forbid; settled words.

    False where looking at pieces that stand on no line with their king finds none.
    """
    occupied = s0 | s1 | s2
    own = occupied & (s3 if side else ~s3)
    king = first_cell(own & ~s0 & s1 & s2)
    lines = bishop_attacks(king, occupied) | rook_attacks(king, occupied)
    free = own & ~lines & ~(ONE << king)
    empty = masks[BOARD] & ~occupied
    wanted = masks[BOARD] & ~own
    if knight_attacks_of_set(free & ~s0 & s1 & ~s2) & wanted:
        return True
    pawns = free & s0 & ~s1 & ~s2
    if ahead(pawns, side) & empty or pawn_attacks_of_set(pawns, side) & wanted & occupied:
        return True
    if rook_attacks_of_set(free & s2 & (~s1 | s0), empty) & wanted:
        return True
    return (bishop_attacks_of_set(free & s0 & (s1 ^ s2), empty) & wanted) != ZERO


@kernel
def _is_stuck(c0: Any, c1: Any, c2: Any, c3: Any, side: Any, checks: Any, game: Any) -> Any:
    """Whether a side has no legal move; `game` is that of `announce`."""
    masks, _, _, moves = game
    s0, s3 = settle(c0, c3, c3 & ~(c0 | c1 | c2), side)
    if not checks and _moves_freely(s0, c1, c2, s3, side, masks):
        return False
    count = generate(c0, c1, c2, c3, side, masks, FULL, FULL, ONE, moves)
    stuck = True
    for i in range(count):
        if is_legal(s0, c1, c2, s3, side, moves[i]):
            stuck = False
            break
    return stuck


@kernel
def _pawn_captures(c0: Any, c1: Any, c2: Any, c3: Any, side: Any, game: Any) -> Any:
    """Number of legal captures by pawns, whatever they become, and the sum of their words."""
    masks, _, _, moves = game
    pawns = (c0 & ~c1 & ~c2) & (c3 if side else ~c3)
    count = generate(c0, c1, c2, c3, side, masks, pawns, FULL, ONE, moves)
    count = keep_legal(c0, c1, c2, c3, side, moves, count)
    found, words, last = ZERO, ZERO, FULL
    for i in range(count):
        source, target = moves[i] & _CELL, (moves[i] >> _S6) & _CELL
        pair = moves[i] & _SQUARES
        is_pawn = (pawns >> source) & ONE
        # A pawn's promotions stand together.
        if is_pawn and (source & _LOW) != (target & _LOW) and pair != last:
            found += ONE
            words += mix_pair(pair)
            last = pair
    return found, words


@kernel
def announce(
    s0: Any, s1: Any, s2: Any, s3: Any, passing: Any, side: Any, word: Any, game: Any
) -> Any:
    """What a legal move leads to and what the umpire says of it.

    Args:
        s0: first word of the settled position, and so on.
        s1: second word.
        s2: third word.
        s3: fourth word.
        passing: cell of the pawn that could be captured en passant.
        side: who moves.
        word: the move.
        game: masks of the board, [64] rising diagonals (`kernels.umpire`), `rule`, and
            [MAX_MOVES] words to work on.

    Returns:
        The four words after the move, and the public and the private word.
    """
    _, rising, rule, _ = game
    other = side ^ ONE
    taken = (s0 | s1 | s2) & (ONE << ((word >> _S6) & _CELL))
    if (word >> _KIND_SHIFT) & _LOW == EN_PASSANT:
        taken = passing
    public = ZERO
    if taken:
        public = PAWN_GONE if s0 & ~s1 & ~s2 & taken else PIECE_GONE
        public |= (first_cell(taken) + ONE) << CELL_SHIFT
    c0, c1, c2, c3 = apply(s0, s1, s2, s3, side, word)
    t0, t3 = settle(c0, c3, c3 & ~(c0 | c1 | c2), other)
    checks = np.uint64(check_directions(t0, c1, c2, t3, other, rising))
    public |= checks << CHECK_SHIFT
    if _is_stuck(c0, c1, c2, c3, other, checks, game):
        public |= STUCK
    elif is_dead(t0, c1, c2):
        public |= DEAD
    private = ZERO
    if rule != NOTHING:
        found, words = _pawn_captures(c0, c1, c2, c3, other, game)
        if rule == WHETHER:
            public |= (ONE + np.uint64(found != ZERO)) << CAPTURES_SHIFT
        elif rule == HOW_MANY:
            public |= (ONE + found) << CAPTURES_SHIFT
        else:
            private = words
    return c0, c1, c2, c3, public, private
