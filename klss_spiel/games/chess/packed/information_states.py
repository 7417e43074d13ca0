"""Information states of dark chess, read back into moves, observations and keys.

The text is "White e2e4 <view> <view> g1f3 <view> ...": after every ply what the player
is told (`observation.told_text`), the own moves in between. Views show the board and
the en-passant right; castling rights follow from the own moves and pieces.

A `Reading` is linked to that of one ply earlier, and `InformationStates` remembers the
latest ones: the text of a decision begins with that of the decision before, so only
what is new is read.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.memory import Memory
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import knowledge
from klss_spiel.games.chess.packed.linked_readings import LinkedReading

_COLOURS: Final = ("White", "Black")
_REMEMBERED: Final = 256  # readings
# Plies to look back for a text that has been read: more than one decision adds.
_LOOK_BACK: Final = 4


@dataclasses.dataclass(frozen=True, eq=False)
class Reading(LinkedReading):
    """What a player has been told up to a ply.

    Attributes:
        plies: how many plies have been seen.
        key: identifies everything told so far (`kernels.knowledge`).
        move: the own move of the last ply; None if the other side moved.
        observation: [5] what the player saw after it.
        before: the reading one ply ago; None at the start.
        castling: the own rights.
        marks: the last view by square, the first rank first.
        final: whether the player moved a pawn, captured or lost something at this ply.
    """

    plies: int
    key: np.uint64
    move: rules.Move | None
    observation: U64Array
    before: Reading | None
    castling: int
    marks: str
    final: bool = False

    @property
    def steps(self) -> int:
        """How many plies have been seen."""
        return self.plies


class InformationStates:
    """Reads information states of one game. Thread-safe; remembers the latest readings."""

    def __init__(self, setup: DarkChessSetup) -> None:
        self._setup = setup
        self._board = positions.layout(setup.start.width, setup.start.height)
        self._move_of = dict(zip(setup.table.names, setup.table.moves, strict=True))
        self._first = tuple(self._first_reading(player) for player in (rules.WHITE, rules.BLACK))
        self._known: Memory[str, Reading] = Memory(_REMEMBERED)

    def read(self, player: int, text: str) -> Reading:
        """The reading of a player's information state.

        Raises:
            ValueError: the text is not an information state of that player.
        """
        if text.split(maxsplit=1)[:1] != [_COLOURS[player]]:
            raise ValueError(f"expected an information state of player {player}, got {text!r}")
        reading, rest = self._longest_known(player, text)
        tokens = rest.split()
        move: rules.Move | None = None
        for token, following in zip(tokens, [*tokens[1:], ""][: len(tokens)], strict=True):
            if "/" in token:
                right = following.removeprefix(observation.EN_PASSANT_MARK)
                passing = right if right != following else observation.NO_SQUARE
                reading = self._after(player, reading, move, token, passing)
                move = None
            elif token in self._move_of:
                move = self._move_of[token]
            elif not token.startswith(observation.EN_PASSANT_MARK):
                raise ValueError(f"expected moves and views, got {token!r} in {text!r}")
        if move is None:  # else the view after the own move is still to come
            self._known.put(text, reading)
        return reading

    def _longest_known(self, player: int, text: str) -> tuple[Reading, str]:
        """A remembered reading of the text's beginning, and the rest of the text."""
        end = len(text)
        # Beginnings end before an own move or a view: each token may be one.
        for _ in range(3 * _LOOK_BACK):
            known, rest = self._known.get(text[:end]), text[end:]
            # The right belongs to the view before it; without it that view means another.
            if known is not None and not rest.startswith(f" {observation.EN_PASSANT_MARK}"):
                return known, rest
            end = text.rfind(" ", 0, end)
            if end < 0:
                break
        return self._first[player], text[len(_COLOURS[player]) :]

    def _first_reading(self, player: int) -> Reading:
        start = self._setup.start
        words = positions.pack([start])
        return Reading(
            plies=0,
            key=positions.observation_keys(self._board, words, start.side)[0, player],
            move=None,
            observation=positions.observations(self._board, words, start.side, player)[0],
            before=None,
            castling=start.castling & rules.rights_of(player),
            marks=_marks(observation.fog_text(start, player)),
        )

    def _after(
        self, player: int, last: Reading, move: rules.Move | None, view: str, en_passant: str
    ) -> Reading:
        """The reading one ply later."""
        marks = _marks(view)
        king, rook = (
            boards.piece_letter(rules.piece(kind, player)) for kind in (rules.KING, rules.ROOK)
        )
        castling = last.castling
        if move is not None and last.marks[move.source] == king:
            castling = rules.NO_CASTLING
        for right, corner in rules.geometry(self._board.width, self._board.height).corners.items():
            if marks[corner : corner + 1] != rook:
                castling &= ~right
        seen = positions.observation_from_text(
            self._board, player, f"{view} {boards.castling_letters(castling)} {en_passant}"
        )
        word = 0 if move is None else positions.pack_move(self._board, move) + 1
        key = np.uint64(knowledge.extend_one(last.key, np.uint64(word), seen))
        final = _changes_for_good(player, last.marks, move, marks)
        return Reading(last.plies + 1, key, move, seen, last, castling, marks, final)


def _changes_for_good(player: int, last: str, move: rules.Move | None, marks: str) -> bool:
    """Whether a ply moves an own pawn, or captures or loses something, given marks."""
    letters = [
        boards.piece_letter(rules.piece(kind, player)) for kind in range(rules.PAWN, rules.KING + 1)
    ]
    if move is None:
        return sum(map(last.count, letters)) != sum(map(marks.count, letters))
    pawn = boards.piece_letter(rules.piece(rules.PAWN, player))
    return last[move.source] == pawn or last[move.target] != observation.VACANT


def _marks(view: str) -> str:
    """The marks of a view by square, the first rank first."""
    return "".join(reversed(view.split("/")))
