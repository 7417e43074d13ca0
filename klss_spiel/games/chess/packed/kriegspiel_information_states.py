"""Information states of Kriegspiel, read back into tries, announcements and keys.

The text is "White e2e4 - - d1h5? d1f3 piece:f6 tried ...": own tries, with a question mark
if they were illegal, else followed by what the umpire said; what he said of the opponent's
moves; and "tried" for each illegal try that was overheard, if they are announced.

A `HeardReading` is linked to that of one step earlier, and `KriegspielInformationStates`
remembers the latest ones: the text of a decision begins with that of the decision before,
so only what is new is read.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from klss_spiel.arrays import U64Array
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.kriegspiel_play import ILLEGAL, OVERHEARD, KriegspielSetup
from klss_spiel.games.chess.kriegspiel_umpire import CHECK_TEXT, QUIET, AreThereAny, Gone
from klss_spiel.games.chess.memory import Memory
from klss_spiel.games.chess.packed import positions
from klss_spiel.games.chess.packed.kernels import announcements as kernels
from klss_spiel.games.chess.packed.kernels.observations import hash_words
from klss_spiel.games.chess.packed.kernels.own_pieces import own_pieces, own_pieces_after
from klss_spiel.games.chess.packed.linked_readings import LinkedReading

_COLOURS: Final = ("White", "Black")
_REMEMBERED: Final = 256  # readings
# Words to look back for a text that has been read: more than one decision adds, unless
# many tries were overheard.
_LOOK_BACK: Final = 24
_CELL: Final = 63
_GONE: Final = {gone.name.lower(): int(gone) for gone in Gone if gone is not Gone.NOTHING}
_CHECKS: Final = {text: int(direction) for direction, text in CHECK_TEXT.items()}
_ENDS: Final = {
    "mate": int(kernels.STUCK),
    "stalemate": int(kernels.STUCK),
    "draw": int(kernels.DEAD),
}


@dataclasses.dataclass(frozen=True, eq=False)
class HeardReading(LinkedReading):
    """What a player has been told up to a step: a try, a move or something overheard.

    Attributes:
        steps: how many steps there were.
        plies: how many of them were moves of either side.
        key: identifies everything told so far (`kernels.announcements`).
        pieces: [4] the own pieces and castling rights (`kernels.own_pieces`).
        move: word of the own try of this step; None if it was not the own.
        is_move: whether the step was a move, not an illegal try.
        public: what the umpire said to both, as a word.
        private: what he said to the player alone.
        overheard: illegal tries of the other side that the player has heard of since the
            last move; of a move, those before it.
        failed: words of the own illegal tries since the last move.
        tries: illegal tries in the whole game that the player knows of.
        final: whether the step was a move of an own pawn, or a capture by either side.
        before: the reading one step ago; None at the start.
    """

    steps: int
    plies: int
    key: np.uint64
    pieces: U64Array
    move: int | None = None
    is_move: bool = False
    public: int = 0
    private: int = 0
    overheard: int = 0
    failed: tuple[int, ...] = ()
    tries: int = 0
    final: bool = False
    before: HeardReading | None = None


class KriegspielInformationStates:
    """Reads information states of one game. Thread-safe; remembers the latest readings."""

    def __init__(self, setup: KriegspielSetup) -> None:
        start = setup.start
        self._each = setup.are_there_any is AreThereAny.ALL
        self._board = positions.layout(start.width, start.height)
        self._words = {
            name: positions.pack_move(self._board, move)
            for name, move in zip(setup.table.names, setup.table.moves, strict=True)
        }
        words = positions.pack([start])
        p0, p1, p2, p3 = words[0]
        sides = positions.side_array(start.side, 1)
        self._first = tuple(
            HeardReading(
                steps=0,
                plies=0,
                key=np.uint64(hash_words(p0, p1, p2, p3, np.uint64(1 + player))),
                pieces=own_pieces(words, sides, player)[0],
            )
            for player in (rules.WHITE, rules.BLACK)
        )
        self._known: Memory[str, HeardReading] = Memory(_REMEMBERED)

    def read(self, player: int, text: str) -> HeardReading:
        """The reading of a player's information state.

        Raises:
            ValueError: the text is not an information state of that player.
        """
        if text.split(maxsplit=1)[:1] != [_COLOURS[player]]:
            raise ValueError(f"expected an information state of player {player}, got {text!r}")
        reading, rest = self._longest_known(player, text)
        tokens = iter(rest.split())
        for token in tokens:
            if token in self._words:
                said = next(tokens, None)
                if said is None:
                    raise ValueError(f"expected what the umpire said after {token} in {text!r}")
                heard = self._parse(said, text)
                reading = _after_move(player, reading, self._words[token], heard)
            elif token.endswith(ILLEGAL) and token.removesuffix(ILLEGAL) in self._words:
                reading = _after_refusal(reading, self._words[token.removesuffix(ILLEGAL)])
            elif token == OVERHEARD.strip():
                reading = _after_overhearing(reading)
            else:
                reading = _after_move(player, reading, None, self._parse(token, text))
        self._known.put(text, reading)
        return reading

    def _longest_known(self, player: int, text: str) -> tuple[HeardReading, str]:
        """A remembered reading of the text's beginning, and the rest of the text."""
        end = len(text)
        for _ in range(_LOOK_BACK):
            known = self._known.get(text[:end])
            if known is not None:
                return known, text[end:]
            end = text.rfind(" ", 0, end)
            if end < 0:
                break
        return self._first[player], text[len(_COLOURS[player]) :]

    def _parse(self, said: str, text: str) -> tuple[int, int]:
        """The public and the private word of an announcement."""
        public, private = 0, 0
        for part in said.split(","):
            what, _, detail = part.partition(":")
            if part in _CHECKS:
                public |= _CHECKS[part] << int(kernels.CHECK_SHIFT)
            elif what in _GONE:
                square = boards.square_from_name(detail, self._board.width, self._board.height)
                public |= _GONE[what]
                public |= (int(self._board.cell_of[square]) + 1) << int(kernels.CELL_SHIFT)
            elif part in ("try", "no"):
                public |= (1 + (part == "try")) << int(kernels.CAPTURES_SHIFT)
            elif what == "tries" and self._each:
                private = self._sum_of_captures(detail)
            elif what == "tries" and detail.isdecimal():
                public |= (1 + int(detail)) << int(kernels.CAPTURES_SHIFT)
            elif part in _ENDS:
                public |= _ENDS[part]
            elif part != QUIET:
                raise ValueError(f"expected tries and announcements, got {part!r} in {text!r}")
        return public, private

    def _sum_of_captures(self, detail: str) -> int:
        names = [] if detail == QUIET else detail.split("+")
        words = [int(kernels.mix_pair(np.uint64(self._words[name]))) for name in names]
        return sum(words) % 2**64


def _after_move(
    player: int, last: HeardReading, move: int | None, said: tuple[int, int]
) -> HeardReading:
    public, private = said
    own_move = 0 if move is None else move + 1
    key = kernels.extend_heard(
        last.key, np.uint64(own_move), np.uint64(public), np.uint64(private), np.uint64(0)
    )
    gone = bool(public & int(kernels.GONE_BITS))
    if move is None:
        pieces = _without_gone(last.pieces, public) if gone else last.pieces
    else:
        pieces = own_pieces_after(last.pieces, player, move)
    return HeardReading(
        steps=last.steps + 1,
        plies=last.plies + 1,
        key=np.uint64(key),
        pieces=pieces,
        move=move,
        is_move=True,
        public=public,
        private=private,
        overheard=0 if last.is_move else last.overheard,
        tries=last.tries,
        final=gone or (move is not None and _is_pawn(last.pieces, move)),
        before=last,
    )


def _without_gone(pieces: U64Array, public: int) -> U64Array:
    """[4] the pieces without the one that is announced gone."""
    cell = (public >> int(kernels.CELL_SHIFT) & int(kernels.CELL_BITS)) - 1
    return pieces & ~np.uint64(1 << cell)


def _is_pawn(pieces: U64Array, move: int) -> bool:
    """Whether a move is that of a pawn among the pieces."""
    source = move & _CELL
    return [int(word) >> source & 1 for word in pieces[:3]] == [1, 0, 0]


def _after_refusal(last: HeardReading, move: int) -> HeardReading:
    none = np.uint64(0)
    key = kernels.extend_heard(last.key, np.uint64(move + 1), kernels.ILLEGAL, none, none)
    # Nothing is overheard while it is the own turn.
    return HeardReading(
        steps=last.steps + 1,
        plies=last.plies,
        key=np.uint64(key),
        pieces=last.pieces,
        move=move,
        failed=(*last.failed, move),
        tries=last.tries + 1,
        before=last,
    )


def _after_overhearing(last: HeardReading) -> HeardReading:
    none = np.uint64(0)
    key = kernels.extend_heard(last.key, none, kernels.OVERHEARD, none, none)
    # What was overheard before the last move belongs to that move.
    earlier = 0 if last.is_move else last.overheard
    return HeardReading(
        steps=last.steps + 1,
        plies=last.plies,
        key=np.uint64(key),
        pieces=last.pieces,
        overheard=earlier + 1,
        tries=last.tries + 1,
        before=last,
    )
