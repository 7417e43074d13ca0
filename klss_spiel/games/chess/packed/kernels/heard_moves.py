"""What a player of Kriegspiel holds possible, compiled: the update of a belief.

After the opponent's move the belief becomes all positions that a legal move leads to of
which the umpire would have said what he did; after the own move, those in which that move
was legal and sounds so; after an illegal try, those in which it is illegal.

`game` is (masks, [64] rising diagonals, `rule` of `kernels.announcements`). How positions
are collected, weighted and thinned is in `kernels.position_tables`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.announcements import (
    CELL_BITS,
    CELL_SHIFT,
    GONE_BITS,
    announce,
)
from klss_spiel.games.chess.packed.kernels.bits import FULL, ONE, ZERO
from klss_spiel.games.chess.packed.kernels.legality import (
    is_legal,
    is_surely_legal,
    keep_legal,
    unpinned,
)
from klss_spiel.games.chess.packed.kernels.moves import (
    EN_PASSANT,
    MAX_MOVES,
    PUBLIC_BITS,
    apply,
    generate,
    generate_tries,
    is_permitted,
    settle,
    sides,
)
from klss_spiel.games.chess.packed.kernels.position_tables import BATCH, insert_batch, passes, put
from klss_spiel.kernels import kernel

_CELL: Final = np.uint64(63)
_S6: Final = np.uint64(6)
_KIND_SHIFT: Final = np.uint64(15)
_LOW: Final = np.uint64(7)
NOT_LEGAL: Final = FULL


@kernel
def _legal_word(
    p0: Any, p1: Any, p2: Any, p3: Any, side: Any, wanted: Any, masks: Any, moves: Any
) -> Any:
    """The word of a legal move with the bits that kernels need; NOT_LEGAL if it is not."""
    source, target = ONE << (wanted & _CELL), ONE << ((wanted >> _S6) & _CELL)
    count = generate(p0, p1, p2, p3, side, masks, source, target, ONE, moves)
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    for i in range(count):
        if moves[i] & PUBLIC_BITS == wanted and is_legal(s0, p1, p2, s3, side, moves[i]):
            return moves[i]
    return NOT_LEGAL


@kernel
def _pairs(moves: Any, count: Any) -> Any:
    """How many different pairs of cells the moves connect."""
    found = ZERO
    for i in range(count):
        found += np.uint64(is_permitted(moves[i], True))  # one promotion of each pawn
    return found


@kernel
def is_refused(positions: Any, viewer: Any, move: Any, masks: Any) -> Any:
    """[n] whether a try of the viewer is illegal at each of [n, 4] positions."""
    player, wanted = np.uint64(viewer), np.uint64(move)
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    refused = np.empty(len(positions), dtype=np.bool_)
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        word = _legal_word(p0, p1, p2, p3, player, wanted, masks, moves)
        refused[i] = word == NOT_LEGAL
    return refused


@kernel
def move_and_listen(positions: Any, viewer: Any, move: Any, public: Any, game: Any) -> Any:
    """Positions after a legal move of the viewer that sounds right; doubles possible.

    Args:
        positions: [n, 4] packed positions, the viewer to move.
        viewer: colour of the player who believes.
        move: his move.
        public: what the umpire says of it.
        game: see above.

    Returns:
        [m, 4] the positions, and [m] which they were before the move.
    """
    masks, rising, rule = game
    player, wanted = np.uint64(viewer), np.uint64(move)
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    umpire = (masks, rising, rule, moves)
    children = np.empty_like(positions)
    origin = np.empty(len(positions), dtype=np.int64)
    count = 0
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        word = _legal_word(p0, p1, p2, p3, player, wanted, masks, moves)
        if word == NOT_LEGAL:
            continue
        passing = p3 & ~(p0 | p1 | p2)
        s0, s3 = settle(p0, p3, passing, player)
        c0, c1, c2, c3, said, _ = announce(s0, p1, p2, s3, passing, player, word, umpire)
        if said == np.uint64(public):
            children[count, 0] = c0
            children[count, 1] = c1
            children[count, 2] = c2
            children[count, 3] = c3
            origin[count] = i
            count += 1
    return children[:count], origin[:count]


@kernel
def insert_heard_moves(
    positions: Any,
    given: Any,
    start: Any,
    viewer: Any,
    game: Any,
    heard: Any,
    members: Any,
    count: Any,
    sieve: Any,
) -> Any:
    """Adds the positions after the opponent's moves that sound right until a set is full.

    Args:
        positions: [n, 4] packed positions, the viewer's opponent to move.
        given: [n] their weights, which the successors inherit, or [0] for none.
        start: first of them to expand.
        viewer: colour of the player who believes.
        game: see above.
        heard: [3] public and private word, and how many illegal tries were overheard.
        members: the set (`kernels.position_tables`).
        count: how many positions it has.
        sieve: which positions to accept (`kernels.position_tables`).

    Returns:
        The first position not expanded (n if all are) and the new count.
    """
    masks, rising, rule = game
    player = np.uint64(viewer)
    mover = player ^ ONE
    room = len(members[1])
    public, private, overheard = heard[0], heard[1], heard[2]
    gone = (public & GONE_BITS) != ZERO
    lost = ONE << ((((public >> CELL_SHIFT) & CELL_BITS) - ONE) & _CELL)
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    umpire = (masks, rising, rule, np.empty(MAX_MOVES, dtype=np.uint64))
    batch = np.empty((BATCH + MAX_MOVES, 5), dtype=np.uint64)
    heavy = np.empty(len(batch) if len(given) else 0, dtype=np.float64)
    size, filled = ZERO, np.uint64(count)
    for i in range(start, len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        _, prey, passing = sides(p0, p1, p2, p3, mover)
        if overheard:
            found = keep_legal(
                p0, p1, p2, p3, mover, moves,
                generate(p0, p1, p2, p3, mover, masks, FULL, FULL, ONE, moves),
            )  # fmt: skip
            possible = _pairs(moves, found)
            tries = _pairs(moves, generate_tries(p0, p1, p2, p3, mover, masks, moves))
            if tries < possible + overheard:
                continue
        targets = lost if gone else ~prey
        found = generate(p0, p1, p2, p3, mover, masks, FULL, targets, ONE, moves)
        if found == ZERO:
            continue
        if size >= BATCH or np.int64(filled + size + found) > room:
            filled = insert_batch(members, filled, batch, heavy, size)
            size = ZERO
            if np.int64(filled + found) > room:
                return i, filled
        s0, s3 = settle(p0, p3, passing, mover)
        free = unpinned(s0, p1, p2, s3, mover)
        for j in range(found):
            word = moves[j]
            if ((word >> _KIND_SHIFT) & _LOW == EN_PASSANT) and not gone:
                continue
            # Of a large set most are thinned out: that is found out before what costs more.
            if sieve[0] != FULL:
                c0, c1, c2, c3 = apply(s0, p1, p2, s3, mover, word)
                if not passes(sieve, c0, c1, c2, c3):
                    continue
            if not (is_surely_legal(free, word) or is_legal(s0, p1, p2, s3, mover, word)):
                continue
            c0, c1, c2, c3, said, whispered = announce(s0, p1, p2, s3, passing, mover, word, umpire)
            if said == public and whispered == private:
                before = size
                size = put(members, sieve, batch, size, c0, c1, c2, c3)
                if len(given) and size > before:
                    heavy[before] = given[i]
    return len(positions), insert_batch(members, filled, batch, heavy, size)
