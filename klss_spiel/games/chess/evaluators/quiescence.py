"""Full quiescence search in plain Python: what `resolver` is measured against.

The value of a position for the side to move is the larger of its evaluation ("stand
pat") and of what the best capture or promotion to a queen leads to; capturing the king
wins. Every position met is evaluated, which is what makes it expensive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from klss_spiel.games.chess import rules

WIN: Final = 1.0

_ORDER: Final = (0, 1, 3, 3, 5, 9, 100)  # worth by kind; only the order of captures needs it


def forcing_moves(position: rules.Position) -> Iterator[rules.Move]:
    """Captures and promotions to a queen of the side to move."""
    for move in rules.pseudo_legal_moves(position):
        if move.promotion not in (rules.NO_PROMOTION, rules.QUEEN):
            continue
        if move.promotion or rules.captured_square(position, move) is not None:
            yield move


def quiescence(
    position: rules.Position,
    evaluate: Callable[[rules.Position], float],
    alpha: float = -WIN,
    beta: float = WIN,
) -> float:
    """Value for the side to move, exact if it is between alpha and beta.

    Args:
        position: both kings are on the board.
        evaluate: value of a position for its side to move, from -WIN to WIN.
        alpha: what the side to move has already.
        beta: what the other side has already.
    """
    moves = list(forcing_moves(position))
    if any(_captured(position, move) == rules.KING for move in moves):
        return WIN
    best = evaluate(position)
    if best >= beta:
        return best
    # Valuable victims first, and cheap attackers: it changes the time, not the value.
    moves.sort(
        key=lambda move: (
            _ORDER[move.promotion] + _ORDER[_captured(position, move)],
            -_ORDER[rules.kind_of(position.squares[move.source])],
        ),
        reverse=True,
    )
    for move in moves:
        child = rules.apply_move(position, move)
        value = -quiescence(child, evaluate, -beta, -max(alpha, best))
        best = max(best, value)
        if best >= beta:
            break
    return best


def _captured(position: rules.Position, move: rules.Move) -> int:
    """Kind of the piece that a move captures, EMPTY if none."""
    square = rules.captured_square(position, move)
    return rules.EMPTY if square is None else rules.kind_of(position.squares[square])
