"""Numbering of chess moves, sized to the board: the actions of dark chess and Kriegspiel.

An action is a pair of squares that some piece could connect on the empty board, a
queen's line or a knight's jump (which covers pawns, kings and castling, written as
the king's move of two files), and for pawns that reach the last rank also the new
piece. Actions are numbered in the order of source, target, new piece:

    4x3 board, from a1:  a1b1 = 0  a1c1 = 1  a1d1 = 2  a1a2 = 3  a1b2 = 4  a1c2 = 5 ...

The numbers depend on the size alone. There are 200 of them on a 4x3 board and 1968
on 8x8 (OpenSpiel's chess games have 4674 on every board).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from klss_spiel.games.chess import boards, rules


class ActionTable(NamedTuple):
    """All moves of a board size.

    Attributes:
        width: files of the board.
        height: ranks of the board.
        moves: [action] the move.
        numbers: move -> action.
        names: [action] UCI text.
    """

    width: int
    height: int
    moves: tuple[rules.Move, ...]
    numbers: dict[rules.Move, int]
    names: tuple[str, ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> ActionTable:
        return self


@functools.cache
def action_table(width: int, height: int) -> ActionTable:
    """The action numbers of a board with `width` files and `height` ranks."""
    table = rules.geometry(width, height)
    moves: list[rules.Move] = []
    for source in range(width * height):
        reached = {target for ray in table.rays[source] for target in ray}
        for target in sorted(reached.union(table.knight[source])):
            moves.append(rules.Move(source, target))
            if _may_promote(table, source, target):
                moves += [rules.Move(source, target, kind) for kind in sorted(rules.PROMOTIONS)]
    return ActionTable(
        width=width,
        height=height,
        moves=tuple(moves),
        numbers={move: action for action, move in enumerate(moves)},
        names=tuple(boards.move_to_uci(move, width) for move in moves),
    )


def _may_promote(table: rules.Geometry, source: int, target: int) -> bool:
    for colour in (rules.WHITE, rules.BLACK):
        forward = table.pawn_captures[colour][source] + table.pawn_steps[colour][source]
        if target in forward and target // table.width == table.last_rank[colour]:
            return True
    return False
