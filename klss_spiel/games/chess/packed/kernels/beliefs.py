"""What a player of dark chess holds possible, compiled: the update of a belief.

A belief is every position consistent with what one player has seen. After the
opponent's move it becomes all successors that look like the new observation. Looking
the same needs no move generation for the viewer, and most successors need never be
made: an observation fixes, for every cell,

    seen           what stands there
    must block     that something stands there (the unseen cell ahead of a pawn)
    must be empty  a cell that a pawn would see if there were something to capture

and any position that obeys these three and has no other own pieces gives the same
observation: every line of sight meets the same cells. The cells at which a position
breaks them must all be the source or the target of the last move (castling and en
passant apart), so it is enough to generate moves from and to the right cells.

How positions are collected, weighted and thinned is in `kernels.position_tables`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    ONE,
    ZERO,
    ahead,
    bit_count,
    first_cell,
    pawn_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.move_priors import (
    CONTEXT_WORDS,
    NUM_FEATURES,
    move_score,
    total_score,
)
from klss_spiel.games.chess.packed.kernels.moves import (
    BOARD,
    DOUBLE,
    MAX_MOVES,
    apply,
    complete_word,
    generate,
    has_both_kings,
    keep_permitted,
    settle,
)
from klss_spiel.games.chess.packed.kernels.position_tables import BATCH, insert_batch, put
from klss_spiel.kernels import kernel

# Words of a filter: what an observation demands of a position.
_O0: Final = 0  # the observation, its pawn en passant shown as a plain pawn
_O1: Final = 1
_O2: Final = 2
_O3: Final = 3
_SEEN: Final = 4
_EXACT: Final = 5  # seen cells whose two low bits must agree too: all but foreign rooks
_ROOKS: Final = 6  # seen foreign rooks, which may or may not be allowed to castle
_BLOCKED: Final = 7
_EMPTY: Final = 8
_PASSING: Final = 9
_LEAVE: Final = 10  # cells that the opponent's last move may have left
_ENTER: Final = 11  # cells that it may have entered
_FALLEN: Final = 12  # all cells if the viewer's king has been captured, else none
FILTER_WORDS: Final = 13

_MOST_CHANGES: Final = 4  # castling changes four cells
_S16: Final = np.uint64(16)
_TWO_STEPS_WORD: Final = np.uint64(1 << 15 | 1 << 18)


@kernel
def make_filter(observation: Any, to_move: Any, viewer: Any, masks: Any) -> Any:
    """What an observation demands of positions.

    Args:
        observation: [5] words (`kernels.observations`).
        to_move: side to move when it was made.
        viewer: colour of the player who made it.
        masks: which board.
    """
    o0, o1, o2, o3 = observation[0], observation[1], observation[2], observation[3]
    seen = observation[4]
    side, player = np.uint64(to_move), np.uint64(viewer)
    passing = o3 & ~(o0 | o1 | o2)
    o0, o3 = settle(o0, o3, passing, side)
    occupied = o0 | o1 | o2
    own = occupied & (o3 if player else ~o3)
    foes = occupied & ~own
    rooks = foes & ~o0 & ~o1 & o2
    pawns = own & o0 & ~o1 & ~o2
    one = ahead(pawns, player)
    two = ahead(ahead(pawns & masks[DOUBLE + player], player) & seen & ~occupied, player)
    demands = np.empty(FILTER_WORDS, dtype=np.uint64)
    demands[_O0] = o0
    demands[_O1] = o1
    demands[_O2] = o2
    demands[_O3] = o3
    demands[_SEEN] = seen
    demands[_EXACT] = seen & ~rooks
    demands[_ROOKS] = rooks
    demands[_BLOCKED] = (one | two) & masks[BOARD] & ~seen
    demands[_EMPTY] = pawn_attacks_of_set(pawns, player) & masks[BOARD] & ~seen
    demands[_PASSING] = passing
    demands[_LEAVE] = ~(occupied | demands[_BLOCKED])
    demands[_ENTER] = ~demands[_EMPTY] & (~seen | foes)
    demands[_FALLEN] = ZERO if own & ~o0 & o1 & o2 else FULL
    return demands


@kernel
def conflicts(s0: Any, s1: Any, s2: Any, s3: Any, viewer: Any, demands: Any) -> Any:
    """Cells at which a settled position breaks the demands of an observation."""
    seen = demands[_SEEN]
    occupied = s0 | s1 | s2
    own = occupied & (s3 if viewer else ~s3)
    wrong = ((s0 ^ demands[_O0]) | (s1 ^ demands[_O1])) & demands[_EXACT]
    wrong |= ((s2 ^ demands[_O2]) | (s3 ^ demands[_O3])) & seen
    wrong |= (s0 ^ s1) & demands[_ROOKS]
    wrong |= demands[_BLOCKED] & ~occupied
    return wrong | (demands[_EMPTY] & occupied) | (own & ~seen)


@kernel
def consistent(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, viewer: Any, demands: Any) -> Any:
    """Whether a position gives the observation that the filter was made of."""
    passing = p3 & ~(p0 | p1 | p2)
    if viewer == side and passing != demands[_PASSING]:
        return False
    s0, s3 = settle(p0, p3, passing, side)
    return conflicts(s0, p1, p2, s3, viewer, demands) == ZERO


@kernel
def surprises(positions: Any, viewer: Any, later: Any, costs: Any) -> Any:
    """How far positions are from what the viewer sees later.

    A cell counts at the first of the later observations that says something of it, if a piece
    of the opponent has to come there or to leave it until then.

    Args:
        positions: [n, 4] packed positions.
        viewer: colour of the player who believes.
        later: [k, FILTER_WORDS] filters of the observations, in order.
        costs: [k] of a cell that counts at each of them.

    Returns:
        [n] sums of costs.
    """
    player = np.uint64(viewer)
    sums = np.zeros(len(positions))
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        occupied = p0 | p1 | p2
        foes = occupied & (~p3 if player else p3)
        new = FULL
        for j in range(len(later)):
            demands = later[j]
            then = demands[_O0] | demands[_O1] | demands[_O2]
            foes_then = then & (~demands[_O3] if player else demands[_O3])
            said = demands[_BLOCKED] | demands[_EMPTY]
            wrong = conflicts(p0, p1, p2, p3 & occupied, player, demands)
            wrong &= foes | foes_then | said
            sums[i] += costs[j] * bit_count(wrong & new)
            new &= ~(demands[_SEEN] | said)
    return sums


@kernel
def possible_last_moves(
    p0: Any, p1: Any, p2: Any, p3: Any, viewer: Any, masks: Any, demands: Any, moves: Any
) -> Any:
    """Moves of the viewer's opponent that may lead to the observation; `consistent` decides.

    Writes words to `moves` ([2 * MAX_MOVES]) and returns their number.
    """
    mover = viewer ^ ONE
    if not has_both_kings(p0, p1, p2, p3):
        return ZERO
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), mover)
    if demands[_PASSING]:  # the last move was that pawn's double step
        target = first_cell(demands[_PASSING])
        source = target + _S16 if mover else target - _S16
        moves[0] = source | (target << np.uint64(6)) | _TWO_STEPS_WORD
        occupied = s0 | p1 | p2
        path = (ONE << ((source + target) >> ONE)) | demands[_PASSING]
        pawns = s0 & ~p1 & ~p2 & (s3 if mover else ~s3)
        return ONE if pawns >> source & ONE and not path & occupied else ZERO
    # A king that falls takes its castling rights along, wherever the rooks stand.
    rooks = s0 & p1 & p2 & (s3 if viewer else ~s3) & demands[_FALLEN]
    wrong = conflicts(s0 & ~rooks, p1 & ~rooks, p2, s3, viewer, demands)
    leave, enter = demands[_LEAVE], demands[_ENTER]
    if wrong == ZERO:
        return generate(p0, p1, p2, p3, mover, masks, leave, enter, ONE, moves)
    changes = bit_count(wrong)
    if changes > _MOST_CHANGES:
        return ZERO
    one = wrong & (ZERO - wrong)
    rest = wrong ^ one
    count = ZERO
    sources, targets = ZERO, ZERO
    if changes <= 2:
        sources, targets = (rest & leave, one & enter) if rest else (leave, one & enter)
    if not targets:
        sources = ZERO
    count = generate(p0, p1, p2, p3, mover, masks, sources, targets, ONE, moves)
    if changes <= 2 and one & leave:
        targets = rest & enter if rest else enter
        if targets:
            more = moves[count:]
            count += generate(p0, p1, p2, p3, mover, masks, one, targets, ZERO, more)
    return count


@kernel
def insert_successors(
    positions: Any,
    given: Any,
    start: Any,
    viewer: Any,
    game: Any,
    demands: Any,
    members: Any,
    count: Any,
    sieve: Any,
    prior: Any,
) -> Any:
    """Adds the successors that give an observation to a set until it is full.

    Args:
        positions: [n, 4] packed positions, the viewer's opponent to move.
        given: [n] their weights, which the successors inherit, or [0] for none.
        start: first of them to expand.
        viewer: colour of the player who believes.
        game: which board (masks), and whether a pawn can become nothing but a queen.
        demands: filter made of the observation after the opponent's move.
        members: the set (`kernels.position_tables`).
        count: how many positions it has.
        sieve: which positions to accept (`kernels.position_tables`).
        prior: None, so that every move hands on the whole weight; or the factors of a move
            prior (`kernels.move_priors`) and the share of uniform moves mixed into it, by
            which moves hand on their parts. Compiled apart, so that the one does not cost
            the other anything.

    Returns:
        The first position not expanded (n if all are) and the new count.
    """
    masks, queen_only = game
    player = np.uint64(viewer)
    mover = player ^ ONE
    room = len(members[1])
    moves = np.empty(2 * MAX_MOVES, dtype=np.uint64)
    batch = np.empty((BATCH + 2 * MAX_MOVES, 5), dtype=np.uint64)
    heavy = np.empty(len(batch) if len(given) else 0, dtype=np.float64)
    if prior is not None:
        everything = np.empty(MAX_MOVES, dtype=np.uint64)
        context = np.empty(CONTEXT_WORDS, dtype=np.uint64)
        features = np.empty(NUM_FEATURES, dtype=np.uint64)
    size, filled = ZERO, np.uint64(count)
    for i in range(start, len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        found = possible_last_moves(p0, p1, p2, p3, player, masks, demands, moves)
        if queen_only:
            found = keep_permitted(moves, found, queen_only)
        if found == ZERO:
            continue
        if size >= BATCH or np.int64(filled + size + found) > room:
            filled = insert_batch(members, filled, batch, heavy, size)
            size = ZERO
            if np.int64(filled + found) > room:
                return i, filled
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), mover)
        total, number = np.float64(0.0), ZERO
        for j in range(found):
            c0, c1, c2, c3 = apply(s0, p1, p2, s3, mover, moves[j])
            if consistent(c0, c1, c2, c3, player, player, demands):
                before = size
                size = put(members, sieve, batch, size, c0, c1, c2, c3)
                if len(given) and size > before:
                    heavy[before] = given[i]
                    if prior is not None:
                        factors, uniform = prior
                        if number == ZERO:
                            total, number = total_score(
                                (p0, p1, p2, p3),
                                mover,
                                game,
                                factors,
                                everything,
                                context,
                                features,
                            )
                        score = move_score(context, mover, moves[j], factors, features)
                        heavy[before] *= (1.0 - uniform) * score / total + uniform / number
    return len(positions), insert_batch(members, filled, batch, heavy, size)


@kernel
def move_and_filter(positions: Any, viewer: Any, move: Any, demands: Any) -> Any:
    """Positions after one move of the viewer that give the observation; doubles possible.

    Args:
        positions: [n, 4] packed positions, the viewer to move.
        viewer: colour of the player who believes.
        move: his move.
        demands: filter made of the observation after the move.

    Returns:
        [m, 4] the positions, and [m] which they were before the move.
    """
    player = np.uint64(viewer)
    other = player ^ ONE
    children = np.empty_like(positions)
    origin = np.empty(len(positions), dtype=np.int64)
    count = 0
    for i in range(len(positions)):
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        word = complete_word(p0, p1, p2, p3, np.uint64(move))
        s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), player)
        c0, c1, c2, c3 = apply(s0, p1, p2, s3, player, word)
        if consistent(c0, c1, c2, c3, other, player, demands):
            children[count, 0] = c0
            children[count, 1] = c1
            children[count, 2] = c2
            children[count, 3] = c3
            origin[count] = i
            count += 1
    return children[:count], origin[:count]
