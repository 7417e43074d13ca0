"""One game of dark chess, one move at a time, compiled: the states of OpenSpiel.

A record is all there is to know of a state, [RECORD_HEAD + r] words: the packed position,
plies played, plies since the last capture or pawn move, and the hashes of the r + 1
positions since then, of which the last is that of this one (two positions that differ
share a hash with probability 2^-64).

`game` is what the kernels need to know of the game: (masks of the board, [actions] move
word of each action, [2^15] action of each move word, whether pawns become only queens,
whether a side without a move loses, plies to the horizon or 0).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import FULL, ONE, ZERO, ahead, first_cell
from klss_spiel.games.chess.packed.kernels.moves import (
    MAX_MOVES,
    apply,
    complete_word,
    generate,
    keep_permitted,
    settle,
)
from klss_spiel.games.chess.packed.kernels.observations import hash_words, observe, visible
from klss_spiel.games.chess.packed.kernels.trees import restarts_clock, sort_row, verdict
from klss_spiel.kernels import kernel

PLIES: Final = 4
CLOCK: Final = 5
_HASHES: Final = 6

# How a state goes on; a game that is over gives White's utility plus DRAWN.
GOES_ON: Final = 0
DRAWN: Final = 2
ILLEGAL: Final = -1

_REPETITIONS: Final = 2  # earlier occurrences that make a draw
_FIFTY_MOVES: Final = np.uint64(100)
_SLASH: Final = np.uint8(ord("/"))
_UNSEEN: Final = np.uint8(ord("?"))
# Marks of the codes of packed positions, which are settled (no pawn en passant, 8).
_MARKS: Final = np.frombuffer(b".PNBRQKR?pnbrqkr", dtype=np.uint8)


@kernel
def begin(position: Any, side: Any, clock: Any, game: Any) -> Any:
    """Record and actions of the first state; `position` is [4]."""
    record = new_record(position, clock)
    return record, _actions(record, np.uint64(side), game)


@kernel
def new_record(position: Any, clock: Any) -> Any:
    """The record of a game's first position [4]."""
    record = np.empty(_HASHES + 1, dtype=np.uint64)
    record[0], record[1], record[2], record[3] = position[0], position[1], position[2], position[3]
    record[PLIES] = ZERO
    record[CLOCK] = np.uint64(clock)
    record[_HASHES] = hash_words(position[0], position[1], position[2], position[3], ZERO)
    return record


@kernel
def _actions(record: Any, side: Any, game: Any) -> Any:
    """[k] action numbers of the moves of the side to move, ascending."""
    masks, _, numbers, queen_only, _, _ = game
    moves = np.empty(MAX_MOVES, dtype=np.uint64)
    count = generate(
        record[0], record[1], record[2], record[3], side, masks, FULL, FULL, ONE, moves
    )
    count = keep_permitted(moves, count, queen_only)
    actions = np.empty(count, dtype=np.int32)
    sort_row(moves, actions, 0, np.int64(count), numbers)
    return actions


@kernel
def extend_record(record: Any, c0: Any, c1: Any, c2: Any, c3: Any, word: Any) -> Any:
    """The record after a move (a word of `record`'s position) that leads to c0 to c3."""
    fresh = restarts_clock(record[0], record[1], record[2], record[3], word)
    earlier = 0 if fresh else len(record) - _HASHES
    after = np.empty(_HASHES + earlier + 1, dtype=np.uint64)
    after[0], after[1], after[2], after[3] = c0, c1, c2, c3
    after[PLIES] = record[PLIES] + ONE
    after[CLOCK] = ZERO if fresh else record[CLOCK] + ONE
    for i in range(earlier):
        after[_HASHES + i] = record[_HASHES + i]
    after[_HASHES + earlier] = hash_words(c0, c1, c2, c3, ZERO)
    return after


@kernel
def is_drawn(record: Any) -> Any:
    """Whether the position stands for the third time or fifty moves have passed."""
    last = len(record) - 1
    seen = 0
    # The same side is to move at every second one.
    for i in range(last - 2, _HASHES - 1, -2):
        seen += record[i] == record[last]
    return seen >= _REPETITIONS or record[CLOCK] >= _FIFTY_MOVES


@kernel
def advance(record: Any, actions: Any, action: Any, side: Any, game: Any) -> Any:
    """The state after an action.

    Args:
        record: of the state before.
        actions: [k] its actions.
        action: one of them.
        side: to move before.
        game: see above.

    Returns:
        The new record, its actions (none when the game is over), and how it goes on:
        GOES_ON, ILLEGAL if the action is none of `actions` (record and actions are then
        the old ones), or how it ended.
    """
    masks, move_words, _, _, no_move_loses, horizon = game
    legal = False
    for known in actions:
        legal = legal or known == action
    if not legal:
        return record, actions, ILLEGAL
    mover = np.uint64(side)
    other = mover ^ ONE
    p0, p1, p2, p3 = record[0], record[1], record[2], record[3]
    word = complete_word(p0, p1, p2, p3, np.uint64(move_words[action]))
    s0, s3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), mover)
    c0, c1, c2, c3 = apply(s0, p1, p2, s3, mover, word)
    after = extend_record(record, c0, c1, c2, c3, word)
    _, _, _, _, _, can_move = observe(c0, c1, c2, c3, other, other, masks)
    over, utility = verdict(c0, c1, c2, c3, other, can_move, no_move_loses)
    late = horizon != 0 and after[PLIES] >= np.uint64(horizon)
    if over or late or is_drawn(after):
        return after, np.empty(0, dtype=np.int32), DRAWN + np.int64(utility)
    return after, _actions(after, other, game), GOES_ON


@kernel
def sight(record: Any, side: Any, viewer: Any, game: Any) -> Any:
    """Cells that a player sees, as a bit set."""
    _, seen = visible(
        record[0], record[1], record[2], record[3], np.uint64(side), np.uint64(viewer), game[0]
    )
    return seen


@kernel
def write_view(record: Any, side: Any, viewer: Any, game: Any, width: Any, height: Any) -> Any:
    """What a player sees, as text.

    Returns:
        [height * (width + 1) - 1] characters of the board from the last rank down, and
        the cell onto which the player can capture en passant, -1 if there is none.
    """
    o0, o1, o2, o3, seen, _ = observe(
        record[0], record[1], record[2], record[3], np.uint64(side), np.uint64(viewer), game[0]
    )
    passing = o3 & ~(o0 | o1 | o2)
    onto: Any = -1
    if passing:
        onto = np.int64(first_cell(ahead(passing, np.uint64(side))))
        o0, o3 = settle(o0, o3, passing, np.uint64(side))
    return _write_cells(o0, o1, o2, o3, seen, (width, height)), onto


@kernel
def write_own(record: Any, side: Any, viewer: Any, width: Any, height: Any) -> Any:
    """A player's own pieces as text, as `write_view` writes them."""
    p0, p1, p2, p3 = record[0], record[1], record[2], record[3]
    p0, p3 = settle(p0, p3, p3 & ~(p0 | p1 | p2), np.uint64(side))
    own = (p0 | p1 | p2) & (p3 if viewer else ~p3)
    return _write_cells(p0, p1, p2, p3, own, (width, height))


@kernel
def _write_cells(o0: Any, o1: Any, o2: Any, o3: Any, seen: Any, size: Any) -> Any:
    """Characters of the settled cells that are seen, from the last rank down."""
    width, height = size
    text = np.full(height * (width + 1) - 1, _SLASH, dtype=np.uint8)
    at = 0
    for rank in range(height - 1, -1, -1):
        for file in range(width):
            cell = np.uint64(8 * rank + file)
            if (seen >> cell) & ONE:
                code = (
                    ((o0 >> cell) & ONE)
                    | (((o1 >> cell) & ONE) << np.uint64(1))
                    | (((o2 >> cell) & ONE) << np.uint64(2))
                    | (((o3 >> cell) & ONE) << np.uint64(3))
                )
                text[at] = _MARKS[code]
            else:
                text[at] = _UNSEEN
            at += 1
        at += 1
    return text
