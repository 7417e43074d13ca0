"""What the umpire of Kriegspiel says later, as expectations of the positions before.

A piece of the player that is captured, a check, and a king's move that is refused say that
pieces of the opponent attack a cell by then; a capture by the player, that one stands there; any
other move of the player, that none stands on its way.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Final

import numpy as np

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import rules
from klss_spiel.games.chess.packed.kernels import announcements, expectations
from klss_spiel.games.chess.packed.kernels.bits import BOARD_FILES
from klss_spiel.games.chess.packed.kriegspiel_information_states import HeardReading
from klss_spiel.games.chess.packed.kriegspiel_sets import KriegspielSet

# How far ahead is looked, moves of a position, and cells whose attackers are counted.
_FORESEEN_PLIES: Final = 40
_MOVES: Final = 30.0
_MOST_ATTACKED: Final = 12
# What it costs that a pawn has to become a piece that the opponent lacks.
_NO_SUCH_PIECE: Final = 5.0

_CHECKERS: Final = {
    rules.CheckDirection.VERTICAL: int(expectations.LINERS),
    rules.CheckDirection.HORIZONTAL: int(expectations.LINERS),
    rules.CheckDirection.LONG_DIAGONAL: int(expectations.SLANTERS),
    rules.CheckDirection.SHORT_DIAGONAL: int(expectations.SLANTERS),
    rules.CheckDirection.KNIGHT: int(expectations.JUMPERS),
}
_CELL: Final = 63
_CELL_BITS: Final = 6


def foresight(held: KriegspielSet, later: Sequence[HeardReading]) -> FloatArray:
    """[n] how far what is told later speaks for the positions, as logarithms.

    A guess at the logarithm of how likely the opponent's moves lead there: a piece gets where
    it has to be by one of some thirty moves, at any of the opponent's turns until then, and out
    of the way more easily.
    """
    if not len(held.positions):
        return np.zeros(0)
    expected, turns = _expectations(held, later)
    costs = np.empty((len(expected), expectations.NUM_COSTS))
    unlikely = np.log(np.maximum(_MOVES / np.maximum(turns, 0.1), 1.0))
    costs[:, expectations.ATTACK_COST] = unlikely
    costs[:, expectations.LEAVE_COST] = unlikely / 2.0
    costs[:, expectations.ENTER_COST] = unlikely
    costs[:, expectations.KIND_COST] = _NO_SUCH_PIECE
    found: FloatArray = -expectations.disappointments(
        np.ascontiguousarray(held.positions), held.side, held.viewer, expected, turns, costs
    )
    return found


def _expectations(
    held: KriegspielSet, later: Sequence[HeardReading]
) -> tuple[U64Array, FloatArray]:
    """[k, NUM_WORDS] rows in order, and [k] the opponent's turns until then."""
    rows: list[list[int]] = []
    turns_until: list[int] = []
    attacks: dict[int, int] = {}  # captures by cell
    king = _own_king(held)
    turns = plies = 0

    def expect(at: int, **words: int) -> None:
        row = [0] * expectations.NUM_WORDS
        for name, word in words.items():
            row[getattr(expectations, name)] = word
        rows.append(row)
        turns_until.append(at)

    def expect_attack(cell: int, number: int, at: int) -> None:
        expect(at, ATTACKED=1 << cell, ATTACKERS=number)

    for reading in later:
        if reading.move is not None:
            source, target = reading.move & _CELL, (reading.move >> _CELL_BITS) & _CELL
        if not reading.is_move:
            if reading.move is not None and source == king and _adjacent(source, target):
                expect_attack(target, 1, turns)
            continue
        plies += 1
        if plies > _FORESEEN_PLIES:
            break
        gone, cell, checkers = _said(reading.public)
        if reading.move is None:
            turns += 1
            if gone and (cell in attacks or len(attacks) < _MOST_ATTACKED):
                attacks[cell] = attacks.get(cell, 0) + 1
                expect_attack(cell, attacks[cell], turns - 1)
            if checkers:
                expect_attack(king, 1, turns)
                expect(turns, CHECKERS=checkers)
            continue
        way = _between(source, target) | (0 if gone and cell == target else 1 << target)
        expect(turns, FREE=way)
        if gone:
            kind = "PAWN" if gone == int(announcements.PAWN_GONE) else "PIECE"
            expect(turns, **{kind: 1 << cell})
        if source == king:
            king = target
    words = np.array(rows, dtype=np.uint64).reshape(len(rows), expectations.NUM_WORDS)
    return words, np.array(turns_until, dtype=np.float64)


def _own_king(held: KriegspielSet) -> int:
    """The cell of the player's king, which is the same in all positions."""
    p0, p1, p2, p3 = (int(word) for word in held.positions[0])
    kings = ~p0 & p1 & p2
    return (kings & (p3 if held.viewer else ~p3)).bit_length() - 1


def _said(public: int) -> tuple[int, int, int]:
    """What is gone (0 for nothing), from which cell, and the kinds of pieces that check."""
    gone = public & int(announcements.GONE_BITS)
    cell = (public >> int(announcements.CELL_SHIFT) & int(announcements.CELL_BITS)) - 1
    checks = public >> int(announcements.CHECK_SHIFT) & int(announcements.CHECK_BITS)
    kinds = (kind for direction, kind in _CHECKERS.items() if checks & direction)
    return gone, cell, functools.reduce(operator.or_, kinds, 0)


def _steps(source: int, target: int) -> tuple[int, int]:
    """Files and ranks from one cell to another."""
    (rank, file), (other_rank, other_file) = (divmod(c, BOARD_FILES) for c in (source, target))
    return other_file - file, other_rank - rank


def _adjacent(source: int, target: int) -> bool:
    return max(map(abs, _steps(source, target))) == 1


def _between(source: int, target: int) -> int:
    """The cells between two of one line; none of a knight's move."""
    files, ranks = _steps(source, target)
    length = max(abs(files), abs(ranks))
    if 0 < min(abs(files), abs(ranks)) < length:
        return 0
    step = (ranks * BOARD_FILES + files) // length
    return sum(1 << (source + step * i) for i in range(1, length))
