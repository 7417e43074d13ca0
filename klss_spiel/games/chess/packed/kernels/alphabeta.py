"""Compiled alpha-beta on packed positions, with all the information on the board.

Iterative deepening with a transposition table, moves ordered by the table, by victims and
attackers, by killers and history; leaves are evaluated by the hand-made evaluation at the
quiet end of their captures (`kernels.captures`). Nothing is reduced or guessed: the result
of depth n is that of plain minimax to depth n with the same leaves, and an entry of the
table serves only where the same depth is left, so that the table saves time and changes
no value.

Rules of dark chess: kings can be captured, there is no check, and whoever cannot move
loses (`search_memory.Options` has the other rules). Repetitions and the fifty-move rule
are not seen. What scores mean is told in `kernels.transpositions`.

The walk is a loop over plies in preallocated arrays (`search_memory.Memory`), not a
recursion, since numba passes every array by its seven parts with each call.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.evaluators.handmade_kernels import evaluate_all
from klss_spiel.games.chess.packed.kernels.bits import (
    FULL,
    ONE,
    ZERO,
    ahead,
    first_cell,
    pawn_attacks_of_set,
)
from klss_spiel.games.chess.packed.kernels.captures import (
    NODE_LIMIT,
    attack_set,
    quiet_end,
    resolve,
)
from klss_spiel.games.chess.packed.kernels.legality import keep_legal
from klss_spiel.games.chess.packed.kernels.move_order import (
    RANK_SHIFT,
    WORD_BITS,
    note_cutoff,
    pick,
    rank_moves,
)
from klss_spiel.games.chess.packed.kernels.moves import (
    BOARD,
    MAX_MOVES,
    PUBLIC_BITS,
    apply,
    attacked,
    generate,
    keep_permitted,
    settle,
    sides,
)
from klss_spiel.games.chess.packed.kernels.observations import hash_words
from klss_spiel.games.chess.packed.kernels.search_memory import (
    ALPHA,
    BEST,
    BEST_MOVE,
    BETA,
    COUNT,
    FIRST_ALPHA,
    KEY,
    MAX_DEPTH,
    NEXT,
)
from klss_spiel.games.chess.packed.kernels.transpositions import (
    DECIDED,
    EXACT,
    LOWER,
    UPPER,
    UTILITY,
    WIN,
    probe,
    store,
)
from klss_spiel.kernels import kernel

_INFINITY: Final = 30_000


@kernel
def _can_move(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, masks: Any) -> Any:
    """Whether the side to move has a pseudo-legal move, both kings being there."""
    own, foes, passing = sides(p0, p1, p2, p3, side)
    pawns = own & p0 & ~p1 & ~p2
    if passing or ahead(pawns, side) & masks[BOARD] & ~(own | foes):
        return True
    if pawn_attacks_of_set(pawns, side) & foes:
        return True
    pieces = own & ~pawns
    reach = attack_set(p0, p1, p2, pieces, own | foes, side)
    return (reach & masks[BOARD] & ~own) != ZERO


@kernel
def _king_attacked(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, colour: Any) -> Any:
    """Whether the king of `colour` is attacked, both kings being there."""
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), side)
    occupied = s0 | p1 | p2
    own = occupied & (s3 if colour else ~s3)
    king = first_cell(own & ~s0 & p1 & p2)
    return attacked(s0, p1, p2, occupied & ~own, occupied, king, colour)


@kernel
def _without_moves(p0: Any, p1: Any, p2: Any, p3: Any, side: Any, ply: Any, options: Any) -> Any:
    """Score of a side that cannot move."""
    if options.legal:
        return -(WIN - ply) if _king_attacked(p0, p1, p2, p3, side, side) else 0
    return -(WIN - ply) if options.no_move_loses else 0


@kernel
def _moves(
    p0: Any, p1: Any, p2: Any, p3: Any, side: Any, masks: Any, options: Any, moves: Any
) -> Any:
    """Writes the moves of a position by the rules of `options`; returns their number."""
    count = generate(p0, p1, p2, p3, side, masks, FULL, FULL, ONE, moves)
    if options.legal:
        count = keep_legal(p0, p1, p2, p3, side, moves, count)
    if options.queen_only:
        count = keep_permitted(moves, count, options.queen_only)
    return count


@kernel
def _leaf_score(
    p0: Any, p1: Any, p2: Any, p3: Any, side: Any, ply: Any, masks: Any, weights: Any, memory: Any
) -> Any:
    """Score at the end of the search: captures resolved, then evaluated."""
    decided, _, _ = resolve(
        p0,
        p1,
        p2,
        p3,
        side,
        masks,
        NODE_LIMIT,
        True,
        memory.capture_words,
        memory.capture_scores,
    )
    if decided:
        return WIN - (ply + 1) if decided > 0 else -(WIN - ply)
    e0, e1, e2, e3, end_side = quiet_end(memory.capture_words)
    leaf = memory.leaf
    leaf[0, 0], leaf[0, 1], leaf[0, 2], leaf[0, 3] = e0, e1, e2, e3
    memory.leaf_side[0] = end_side
    value = evaluate_all(leaf, memory.leaf_side, masks, weights)[0]
    score = np.int64(np.round(value * np.float32(UTILITY)))
    return -score if side else score


@kernel
def _enter(
    side: Any, ply: Any, depth: Any, masks: Any, weights: Any, options: Any, memory: Any
) -> Any:
    """Whether the position of a ply has a score without looking further, and which.

    If not, its moves are generated and ranked. The ply's position and window are set.
    """
    words, scores = memory.words, memory.scores
    memory.counters[0] += 1
    p0, p1, p2, p3 = words[ply, 0], words[ply, 1], words[ply, 2], words[ply, 3]
    kings = ~p0 & p1 & p2
    if not kings & (p3 if side else ~p3):
        return True, -(WIN - ply)
    if options.pruning and _king_attacked(p0, p1, p2, p3, side, side ^ ONE):
        return True, WIN - (ply + 1)
    if depth == 0:
        if options.legal:
            can_move = _moves(p0, p1, p2, p3, side, masks, options, memory.moves[ply]) != ZERO
        else:
            can_move = _can_move(p0, p1, p2, p3, side, masks)
        if can_move:
            return True, _leaf_score(p0, p1, p2, p3, side, ply, masks, weights, memory)
        return True, _without_moves(p0, p1, p2, p3, side, ply, options)
    suggestion = ZERO
    if options.use_table:
        words[ply, KEY] = hash_words(p0, p1, p2, p3, side)
        answers, score, suggestion = probe(
            memory.table, words[ply, KEY], depth, ply, scores[ply, ALPHA], scores[ply, BETA]
        )
        if answers:
            return True, score
    count = _moves(p0, p1, p2, p3, side, masks, options, memory.moves[ply])
    if count == ZERO:
        return True, _without_moves(p0, p1, p2, p3, side, ply, options)
    words[ply, COUNT] = count
    words[ply, NEXT] = ZERO
    words[ply, BEST_MOVE] = ZERO
    scores[ply, BEST] = -_INFINITY
    scores[ply, FIRST_ALPHA] = scores[ply, ALPHA]
    _, foes, passing = sides(p0, p1, p2, p3, side)
    rank_moves(
        p0 | passing,
        p1,
        p2,
        foes,
        suggestion,
        memory.moves[ply, :count],
        memory.killers[ply],
        memory.history[side],
    )
    # From here on the moves are made: the pawn en passant becomes a plain one.
    words[ply, 0], words[ply, 3] = settle(p0, p3, passing, side)
    return False, 0


@kernel
def search_below(
    side: Any,
    depth: Any,
    masks: Any,
    weights: Any,
    options: Any,
    memory: Any,
    node_limit: Any,
) -> Any:
    """Score of the position in row 1 of the memory, for its side to move.

    Args:
        side: to move there.
        depth: plies to search.
        masks: which board.
        weights: of the hand-made evaluation.
        options: rules and parts.
        memory: row 1 has the position and the window.
        node_limit: positions after which to give up; -1 for no limit.

    Returns:
        The score, and whether the search was completed.
    """
    words, scores, lines = memory.words, memory.scores, memory.lines
    ply = 1
    score = 0
    entering = True
    while True:
        mover = side ^ np.uint64((ply - 1) & 1)
        left = depth - (ply - 1)
        leaving = False
        if entering:
            if node_limit >= 0 and memory.counters[0] >= node_limit:
                return 0, False
            lines[ply, 0] = 0
            leaving, score = _enter(mover, ply, left, masks, weights, options, memory)
        elif words[ply, NEXT] == words[ply, COUNT]:
            score = scores[ply, BEST]
            if options.use_table:
                bound = EXACT
                if score >= scores[ply, BETA]:
                    bound = LOWER
                elif score <= scores[ply, FIRST_ALPHA]:
                    bound = UPPER
                store(
                    memory.table,
                    words[ply, KEY],
                    left,
                    ply,
                    score,
                    bound,
                    words[ply, BEST_MOVE],
                )
            leaving = True
        if leaving:
            if ply == 1:
                return score, True
            ply -= 1
            entering = False
            mover = mover ^ ONE
            value = -score
            word = memory.moves[ply, words[ply, NEXT] - ONE] & WORD_BITS
            if value > scores[ply, BEST]:
                scores[ply, BEST] = value
                words[ply, BEST_MOVE] = word & PUBLIC_BITS
                if value > scores[ply, ALPHA]:
                    scores[ply, ALPHA] = value
                    _extend_line(lines, ply, word)
                    if options.pruning and value >= scores[ply, BETA]:
                        words[ply, NEXT] = words[ply, COUNT]
                        note_cutoff(
                            mover, ply, left + 1, word, memory.words, memory.killers, memory.history
                        )
            continue
        at = words[ply, NEXT]
        word = pick(memory.moves, ply, at, words[ply, COUNT])
        words[ply, NEXT] = at + ONE
        c0, c1, c2, c3 = apply(
            words[ply, 0], words[ply, 1], words[ply, 2], words[ply, 3], mover, word
        )
        below = ply + 1
        words[below, 0], words[below, 1], words[below, 2], words[below, 3] = c0, c1, c2, c3
        scores[below, ALPHA] = -scores[ply, BETA]
        scores[below, BETA] = -scores[ply, ALPHA] if options.pruning else _INFINITY
        ply = below
        entering = True


@kernel
def _extend_line(lines: Any, ply: Any, word: Any) -> Any:
    """The principal variation of a ply: a move, then that of the ply below."""
    lines[ply, 0] = word & PUBLIC_BITS
    for i in range(len(lines) - 1):
        lines[ply, i + 1] = lines[ply + 1, i]
        if not lines[ply + 1, i]:
            break


@kernel
def _bring_to_front(moves: Any, index: Any) -> Any:
    """Moves one of the root's moves to the front; the others keep their order."""
    word = moves[index]
    for i in range(index, 0, -1):
        moves[i] = moves[i - 1]
    moves[0] = word


@kernel
def search(
    position: Any,
    side: Any,
    masks: Any,
    weights: Any,
    options: Any,
    memory: Any,
    max_depth: Any,
    node_limit: Any,
    exact: Any,
) -> Any:
    """Searches one position deeper and deeper.

    Args:
        position: [4] packed, both kings there and a move possible.
        side: to move.
        masks: which board.
        weights: of the hand-made evaluation.
        options: rules and parts.
        memory: is cleared first.
        max_depth: plies of the last iteration; from 1 to MAX_DEPTH.
        node_limit: positions after which to stop, once depth 1 is done; -1 for no limit.
        exact: find the score of every move and not only of the best one.

    Returns:
        moves: [m] the root's moves as they were generated.
        scores: [m] score of each in the last finished iteration; if not `exact`, those of
            moves other than the best are upper bounds.
        line: [k] principal variation of the best move.
        depth: of the last finished iteration.
        nodes: positions looked at, the root once per iteration included.
    """
    memory.table[:] = ZERO
    memory.killers[:] = ZERO
    memory.history[:] = ZERO
    memory.counters[0] = 0
    mover = np.uint64(side)
    p0, p1, p2, p3 = position[0], position[1], position[2], position[3]
    buffer = np.empty(MAX_MOVES, dtype=np.uint64)
    count = np.int64(_moves(p0, p1, p2, p3, mover, masks, options, buffer))
    moves = buffer[:count].copy()
    memory.words[0, 0], memory.words[0, 1], memory.words[0, 2] = p0, p1, p2
    memory.words[0, COUNT] = np.uint64(count)
    memory.moves[0, :count] = moves
    _, foes, passing = sides(p0, p1, p2, p3, mover)
    rank_moves(
        p0 | passing,
        p1,
        p2,
        foes,
        ZERO,
        memory.moves[0, :count],
        memory.killers[0],
        memory.history[mover],
    )
    order = np.argsort(-(memory.moves[0, :count] >> RANK_SHIFT).astype(np.int64), kind="mergesort")
    s0, s3 = settle(p0, p3, passing, mover)
    scores = np.zeros(count, dtype=np.int64)
    fresh = np.zeros(count, dtype=np.int64)
    line = np.zeros(0, dtype=np.uint16)
    finished = 0
    for depth in range(1, max_depth + 1):
        limit = -1 if depth == 1 else node_limit
        best = -_INFINITY
        memory.counters[0] += 1
        complete = True
        favourite = 0
        for i in range(count):
            index = order[i]
            c0, c1, c2, c3 = apply(s0, p1, p2, s3, mover, moves[index])
            memory.words[1, 0], memory.words[1, 1] = c0, c1
            memory.words[1, 2], memory.words[1, 3] = c2, c3
            open_window = exact or not options.pruning
            memory.scores[1, ALPHA] = -_INFINITY
            memory.scores[1, BETA] = _INFINITY if open_window else -best
            value, complete = search_below(
                mover ^ ONE, depth - 1, masks, weights, options, memory, limit
            )
            if not complete:
                break
            fresh[index] = -value
            if -value > best:
                best = -value
                favourite = i
                _extend_line(memory.lines, 0, moves[index])
        if not complete:
            break
        finished = depth
        scores[:] = fresh
        if exact:
            # A stable order: equal scores stay as they were.
            order = order[np.argsort(-scores[order], kind="mergesort")]
        else:
            _bring_to_front(order, favourite)
        length = 0
        while length <= MAX_DEPTH and memory.lines[0, length]:
            length += 1
        line = memory.lines[0, :length].copy()
        if abs(best) > DECIDED and (not exact or np.all(np.abs(scores) > DECIDED)):
            break  # a shorter win or a longer defence would have been seen
        if node_limit >= 0 and memory.counters[0] >= node_limit:
            break
    return moves, scores, line, finished, memory.counters[0]
