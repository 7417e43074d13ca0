"""One game of Kriegspiel, one try at a time, compiled: the states of OpenSpiel.

Records and `game` are those of `kernels.states`, with one more array at the end of `game`:
[64] whether the rising diagonal through each cell is the long one.

What the umpire says after a legal move is a row of numbers, [REPORT_SIZE]: what is gone
(GONE; a value of `kriegspiel_umpire.Gone`), from which cell (CELL, -1 for none), the
directions of check (CHECKS; bits of `rules.CheckDirection`), whether the side to move is
stuck (STUCK) or the material is dead (DEAD).
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
    bit_count,
    first_cell,
    pawn_attacks_of_set,
    rook_attacks,
)
from klss_spiel.games.chess.packed.kernels.legality import keep_legal
from klss_spiel.games.chess.packed.kernels.moves import (
    EN_PASSANT,
    MAX_MOVES,
    PUBLIC_BITS,
    apply,
    generate,
    generate_tries,
    settle,
)
from klss_spiel.games.chess.packed.kernels.states import (
    DRAWN,
    GOES_ON,
    PLIES,
    extend_record,
    is_drawn,
)
from klss_spiel.games.chess.packed.kernels.trees import sort_row
from klss_spiel.kernels import kernel

GONE: Final = 0
CELL: Final = 1
CHECKS: Final = 2
STUCK: Final = 3
DEAD: Final = 4
REPORT_SIZE: Final = 5

# Answers to a try beside GOES_ON and how a game ended.
NOT_OFFERED: Final = -1
ILLEGAL_TRY: Final = -2

_PAWN_GONE: Final = 1
_PIECE_GONE: Final = 2
_VERTICAL: Final = 1
_HORIZONTAL: Final = 2
_LONG: Final = 4
_SHORT: Final = 8
_KNIGHT: Final = 16

_S3: Final = np.uint64(3)
_S6: Final = np.uint64(6)
_KIND_SHIFT: Final = np.uint64(15)
_CELL: Final = np.uint64(63)
_LOW: Final = np.uint64(7)
_SQUARES: Final = np.uint64(0xFFF)  # source and target of a move word
_DARK: Final = np.uint64(0xAA55AA55AA55AA55)


@kernel
def offer_tries(record: Any, side: Any, game: Any) -> Any:
    """[k] action numbers of the tries of the side to move, ascending."""
    numbers = game[2]
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    count = generate_tries(
        record[0], record[1], record[2], record[3], np.uint64(side), game[0], moves
    )
    actions = np.empty(count, dtype=np.int32)
    sort_row(moves, actions, 0, np.int64(count), numbers)
    return actions


@kernel
def _without_pair(actions: Any, word: Any, move_words: Any) -> Any:
    """The actions without those between the squares of a move."""
    kept = np.empty_like(actions)
    count = 0
    for action in actions:
        if (np.uint64(move_words[action]) ^ word) & _SQUARES:
            kept[count] = action
            count += 1
    return kept[:count].copy()


@kernel
def check_directions(s0: Any, s1: Any, s2: Any, s3: Any, side: Any, rising: Any) -> Any:
    """Bits of the directions from which a side's king is in check; settled words."""
    occupied = s0 | s1 | s2
    own = occupied & (s3 if side else ~s3)
    foes = occupied & ~own
    king = first_cell(own & ~s0 & s1 & s2)
    found = 0
    if JUMPS[king, 0] & foes & ~s0 & s1 & ~s2:
        found |= _KNIGHT
    attackers = pawn_attacks_of_set(ONE << king, side) & foes & s0 & ~s1 & ~s2
    attackers |= JUMPS[king, 1] & foes & ~s0 & s1 & s2
    attackers |= bishop_attacks(king, occupied) & foes & s0 & (s1 ^ s2)
    attackers |= rook_attacks(king, occupied) & foes & s2 & (~s1 | s0)
    while attackers:
        source = first_cell(attackers)
        attackers &= attackers - ONE
        files = np.int64(source & _LOW) - np.int64(king & _LOW)
        ranks = np.int64(source >> _S3) - np.int64(king >> _S3)
        if files == 0:
            found |= _VERTICAL
        elif ranks == 0:
            found |= _HORIZONTAL
        elif (files == ranks) == rising[king]:
            found |= _LONG
        else:
            found |= _SHORT
    return found


@kernel
def is_dead(s0: Any, s1: Any, s2: Any) -> Any:
    """Whether neither side has the material to give mate; settled words."""
    minors = s1 & ~s2
    bishops = minors & s0
    if (s0 | s1 | s2) & ~minors & ~(~s0 & s1 & s2):  # pawns, rooks, queens
        return False
    if bit_count(minors) <= ONE:
        return True
    return minors == bishops and (bishops & _DARK == ZERO or bishops & ~_DARK == ZERO)


@kernel
def pawn_captures(record: Any, side: Any, game: Any) -> Any:
    """Source and target words of the legal captures by pawns, each once, unsorted."""
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    p0, p1, p2, p3 = record[0], record[1], record[2], record[3]
    mover = np.uint64(side)
    count = generate(p0, p1, p2, p3, mover, game[0], FULL, FULL, ONE, moves)
    count = keep_legal(p0, p1, p2, p3, mover, moves, count)
    found = np.empty(count, dtype=np.uint64)
    kept = 0
    last = FULL
    for i in range(count):
        source, target = moves[i] & _CELL, (moves[i] >> _S6) & _CELL
        pair = moves[i] & _SQUARES
        is_pawn = ((p0 & ~p1 & ~p2) >> source) & ONE
        # A pawn's promotions stand together.
        if is_pawn and (source & _LOW) != (target & _LOW) and pair != last:
            found[kept] = pair
            kept += 1
            last = pair
    return found[:kept].copy()


@kernel
def try_move(record: Any, tries: Any, action: Any, side: Any, made: Any, game: Any) -> Any:
    """The umpire's answer to a try.

    Args:
        record: of the state before.
        tries: [k] what is offered.
        action: one of them.
        side: to move.
        made: illegal tries so far that count as plies.
        game: see above.

    Returns:
        The new record, what is offered next, the report, and the answer: GOES_ON,
        NOT_OFFERED or ILLEGAL_TRY (with the old record), or how the game ended.
    """
    masks, move_words, _, _, _, horizon, rising = game
    report = np.zeros(REPORT_SIZE, dtype=np.int64)
    offered = False
    for known in tries:
        offered = offered or known == action
    if not offered:
        return record, tries, report, NOT_OFFERED
    mover = np.uint64(side)
    other = mover ^ ONE
    p0, p1, p2, p3 = record[0], record[1], record[2], record[3]
    wanted = np.uint64(move_words[action])
    source, target = wanted & _CELL, (wanted >> _S6) & _CELL
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    # Only moves between these squares; castling and en passant come along.
    count = generate(p0, p1, p2, p3, mover, masks, ONE << source, ONE << target, ONE, moves)
    count = keep_legal(p0, p1, p2, p3, mover, moves, count)
    word = FULL
    for i in range(count):
        if moves[i] & PUBLIC_BITS == wanted:
            word = moves[i]
    if word == FULL:
        return record, _without_pair(tries, wanted, move_words), report, ILLEGAL_TRY
    passing = p3 & ~(p0 | p1 | p2)
    s0, s3 = settle(p0, p3, passing, mover)
    c0, c1, c2, c3 = apply(s0, p1, p2, s3, mover, word)
    report[CELL] = -1
    taken = (s0 | p1 | p2) & (ONE << target)
    if (word >> _KIND_SHIFT) & _LOW == EN_PASSANT:
        taken = passing
    if taken:
        report[CELL] = np.int64(first_cell(taken))
        report[GONE] = _PAWN_GONE if s0 & ~p1 & ~p2 & taken else _PIECE_GONE
    after = extend_record(record, c0, c1, c2, c3, word)
    t0, t3 = settle(c0, c3, c3 & ~(c0 | c1 | c2), other)
    report[CHECKS] = check_directions(t0, c1, c2, t3, other, rising)
    count = generate(c0, c1, c2, c3, other, masks, FULL, FULL, ONE, moves)
    stuck = keep_legal(c0, c1, c2, c3, other, moves, count) == ZERO
    report[STUCK] = stuck
    report[DEAD] = is_dead(t0, c1, c2)
    nothing = np.empty(0, dtype=np.int32)
    if stuck and report[CHECKS]:
        return after, nothing, report, DRAWN + (-1 if mover else 1)
    late = horizon != 0 and np.int64(after[PLIES]) + made >= horizon
    if stuck or report[DEAD] or late or is_drawn(after):
        return after, nothing, report, DRAWN
    return after, offer_tries(after, other, game), report, GOES_ON
