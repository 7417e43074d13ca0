"""Kriegspiel for a search, compiled: every try at many positions and what follows.

A position of a search of Kriegspiel is [5 + k] words: a packed board and counts
(`packed.counted_positions`; the illegal tries of the game so far are in the upper quarter
of word 4), and k words of tries that are closed: bit r of them is set if the try of rank
r among all the own pieces' tries, ordered by action number, has been answered "illegal"
since the last move.

`game` is (masks, [64] rising diagonals, `rule` of `kernels.announcements`, [2^15] action of
each move word, who moved first, horizon or 0, whether tries count towards it, whether
they are announced).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.announcements import (
    CHECK_BITS,
    CHECK_SHIFT,
    DEAD,
    GONE_BITS,
    ILLEGAL,
    OVERHEARD,
    STUCK,
    UNHEARD,
    announce,
    extend_heard,
)
from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    ONE,
    ZERO,
    bit_count,
    first_cell,
)
from klss_spiel.games.chess.packed.kernels.legality import keep_legal
from klss_spiel.games.chess.packed.kernels.moves import (
    MAX_MOVES,
    PUBLIC_BITS,
    attacked,
    generate,
    generate_tries,
    settle,
)
from klss_spiel.games.chess.packed.kernels.trees import restarts_clock, sort_row
from klss_spiel.kernels import kernel

COUNTS: Final = 4
CLOSED: Final = 5

PLIES_BITS: Final = np.uint64(0xFFFFFFFF)
CLOCK_SHIFT: Final = np.uint64(32)
CLOCK_BITS: Final = np.uint64(0xFFFF)
TRIES_SHIFT: Final = np.uint64(48)

# Who moves at a child where nobody does; that of OpenSpiel.
TERMINAL: Final = -4

_FIFTY_MOVES: Final = np.uint64(100)
_SQUARES: Final = np.uint64(0xFFF)
_PROMOTION: Final = np.uint64(7 << 12)
_WORD_BITS: Final = np.uint64(63)
_S6: Final = np.uint64(6)
_DRAWN: Final = np.uint64(2)


@kernel
def sorted_tries(
    p0: Any, p1: Any, p2: Any, p3: Any, side: Any, game: Any, moves: Any, actions: Any
) -> Any:
    """Writes words and numbers of all tries, ordered by number; returns how many."""
    count = np.int64(generate_tries(p0, p1, p2, p3, side, game[0], moves))
    sort_row(moves, actions, 0, count, game[3])
    return count


@kernel
def close(moves: Any, count: Any, pair: Any, closed: Any) -> Any:
    """Sets the bits ([k]) of the tries between two cells; the answer to all is the same."""
    for r in range(count):
        if (moves[r] ^ pair) & _SQUARES == ZERO:
            rank = np.uint64(r)
            closed[rank >> _S6] |= ONE << (rank & _WORD_BITS)


@kernel
def closed_words(position: Any, side: Any, pairs: Any, words: Any, game: Any) -> Any:
    """[words] bits of failed tries, given as move words, at a board [4]."""
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    actions = np.empty(MAX_MOVES, dtype=np.int32)
    count = sorted_tries(
        position[0], position[1], position[2], position[3], np.uint64(side), game, moves, actions
    )
    closed = np.zeros(words, dtype=np.uint64)
    for pair in pairs:
        close(moves, count, np.uint64(pair), closed)
    return closed


@kernel
def count_tries(positions: Any, game: Any) -> Any:
    """[n] tries that are still open at each position."""
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    found = np.empty(len(positions), dtype=np.int32)
    for i in range(len(positions)):
        row = positions[i]
        side = (row[COUNTS] + np.uint64(game[4])) & ONE
        count = generate_tries(row[0], row[1], row[2], row[3], side, game[0], moves)
        for k in range(CLOSED, len(row)):
            count -= bit_count(row[k])
        found[i] = count
    return found


@kernel
def as_if_passed(positions: Any, first: Any) -> Any:
    """[n, 5] positions for a static evaluation: the turn is lost where a try has failed.

    A side that has failed will make another move, but most of what a static evaluation
    sees in having the move would make any hopeless try look good. A side in check cannot
    pass.
    """
    rows = positions[:, :CLOSED].copy()
    for i in range(len(rows)):
        tried = ZERO
        for k in range(CLOSED, positions.shape[1]):
            tried |= positions[i, k]
        if tried == ZERO:
            continue
        p0, p1, p2, p3, counts = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, COUNTS]
        side = (counts + np.uint64(first)) & ONE
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
        occupied = s0 | p1 | p2
        own = occupied & (s3 if side else ~s3)
        king = first_cell(own & ~s0 & p1 & p2)
        if not attacked(s0, p1, p2, occupied & ~own, occupied, king, side):
            rows[i, 0], rows[i, 3], rows[i, COUNTS] = s0, s3, counts + ONE
    return rows


@kernel
def expand(positions: Any, keys: Any, count: Any, game: Any) -> Any:
    """All children of positions.

    Args:
        positions: [n, 5 + k].
        keys: [2, n] what both players know there.
        count: [n] open tries (`count_tries`), c of them altogether.
        game: see above.

    Returns:
        [c] actions, [c] who moves next, [2, c] what both know, [c] White's utility,
        [c, 5 + k] positions, [c] whether the move is forcing.
    """
    masks, rising, rule, numbers, first, horizon, counted, announced = game
    total = np.int64(0)
    for i in range(len(count)):
        total += np.int64(count[i])
    action = np.empty(total, dtype=np.int32)
    player = np.empty(total, dtype=np.int8)
    known = np.empty((2, total), dtype=np.uint64)
    utility = np.zeros(total, dtype=np.float64)
    position = np.zeros((total, positions.shape[1]), dtype=np.uint64)
    forcing = np.zeros(total, dtype=np.bool_)
    tries = np.empty(MAX_MOVES, dtype=np.uint64)
    tried = np.empty(MAX_MOVES, dtype=np.int32)
    legal = np.empty(MAX_MOVES, dtype=np.uint64)
    permitted = np.empty(MAX_MOVES, dtype=np.int32)
    umpire = (masks, rising, rule, np.empty(MAX_MOVES, dtype=np.uint64))
    c = 0
    for i in range(len(positions)):
        row = positions[i]
        p0, p1, p2, p3, counts = row[0], row[1], row[2], row[3], row[COUNTS]
        side = (counts + np.uint64(first)) & ONE
        other = side ^ ONE
        plies, clock = counts & PLIES_BITS, (counts >> CLOCK_SHIFT) & CLOCK_BITS
        made = counts >> TRIES_SHIFT
        own, theirs = np.int64(side), np.int64(other)
        passing = p3 & ~(p0 | p1 | p2)
        s0, s3 = settle(p0, p3, passing, side)
        offered = sorted_tries(p0, p1, p2, p3, side, game, tries, tried)
        possible = np.int64(
            keep_legal(
                p0, p1, p2, p3, side, legal,
                generate(p0, p1, p2, p3, side, masks, FULL, FULL, ONE, legal),
            )
        )  # fmt: skip
        sort_row(legal, permitted, 0, possible, numbers)
        at = 0
        for r in range(offered):
            while at < possible and permitted[at] < tried[r]:
                at += 1
            rank = np.uint64(r)
            if (row[CLOSED + np.int64(rank >> _S6)] >> (rank & _WORD_BITS)) & ONE:
                continue
            action[c] = tried[r]
            own_move = (tries[r] & PUBLIC_BITS) + ONE
            ending = ZERO
            if at < possible and permitted[at] == tried[r]:
                word = legal[at]
                c0, c1, c2, c3, public, private = announce(
                    s0, p1, p2, s3, passing, side, word, umpire
                )
                position[c, 0], position[c, 1] = c0, c1
                position[c, 2], position[c, 3] = c2, c3
                quiet = ZERO if restarts_clock(p0, p1, p2, p3, word) else clock + ONE
                position[c, COUNTS] = (plies + ONE) | (quiet << CLOCK_SHIFT) | (made << TRIES_SHIFT)
                checks = (public >> CHECK_SHIFT) & CHECK_BITS
                late = plies + ONE + (made if counted else ZERO) >= np.uint64(horizon)
                if public & STUCK and checks:
                    ending = _DRAWN - ONE if side else _DRAWN + ONE
                    utility[c] = -1.0 if side else 1.0
                elif public & (STUCK | DEAD) or quiet >= _FIFTY_MOVES or (horizon and late):
                    ending = _DRAWN
                player[c] = TERMINAL if ending else theirs
                known[own, c] = extend_heard(keys[own, i], own_move, public, ZERO, ending)
                known[theirs, c] = extend_heard(keys[theirs, i], ZERO, public, private, ending)
                forcing[c] = (public & GONE_BITS) | checks | (word & _PROMOTION) != ZERO
            else:
                position[c] = row
                position[c, COUNTS] = counts + (ONE << TRIES_SHIFT)
                close(tries, offered, tries[r], position[c, CLOSED:])
                if counted and horizon and plies + made + ONE >= np.uint64(horizon):
                    ending = _DRAWN
                player[c] = TERMINAL if ending else own
                known[own, c] = extend_heard(keys[own, i], own_move, ILLEGAL, ZERO, ending)
                known[theirs, c] = keys[theirs, i]
                if announced or ending:
                    heard = OVERHEARD if announced else UNHEARD
                    known[theirs, c] = extend_heard(keys[theirs, i], ZERO, heard, ZERO, ending)
            c += 1
    return action, player, known, utility, position, forcing
