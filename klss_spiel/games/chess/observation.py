"""What the players of dark chess and Kriegspiel are told about a position.

Texts and tensors of a player's view are built from the same squares, so that one
cannot say more than the other. Nothing here looks at clocks, repetitions or the
other side's castling rights.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.games.chess import boards, rules

UNSEEN: Final = "?"
VACANT: Final = "."
NO_SQUARE: Final = "-"
EN_PASSANT_MARK: Final = "ep:"

# Planes of a view: 6 kinds of White, 6 kinds of Black, then these.
_PIECE_CODES: Final = tuple(
    rules.piece(kind, colour)
    for colour in (rules.WHITE, rules.BLACK)
    for kind in range(rules.PAWN, rules.KING + 1)
)
VACANT_PLANE: Final = len(_PIECE_CODES)
UNSEEN_PLANE: Final = VACANT_PLANE + 1
NUM_PLANES: Final = UNSEEN_PLANE + 1


def own_squares(position: rules.Position, colour: int) -> int:
    """Bit set of the squares of a colour's pieces: all a player of Kriegspiel sees."""
    return sum(1 << s for s, code in enumerate(position.squares) if rules.is_own(code, colour))


def mutual_attacks(position: rules.Position) -> int:
    """Bit set of the pieces that could capture each other next move.

    Both players see both pieces of such a pair and know it of each other: the
    public observation of dark chess in the thesis (section 4.1.2).
    """
    found = 0
    for square, code in enumerate(position.squares):
        if code == rules.EMPTY:
            continue
        colour = code >> 3
        for other in rules.attackers(position, square, 1 - colour):
            if square in rules.attackers(position, other, colour):
                found |= 1 << square | 1 << other
    return found


def board_text(position: rules.Position, seen: int) -> str:
    """Board from the last rank down, e.g. "??/.K": pieces, VACANT and UNSEEN squares."""
    width = position.width
    marks = [
        (boards.piece_letter(code) if code else VACANT) if seen >> square & 1 else UNSEEN
        for square, code in enumerate(position.squares)
    ]
    starts = range(len(marks) - width, -1, -width)
    return "/".join(["".join(marks[start : start + width]) for start in starts])


@functools.lru_cache(maxsize=1 << 16)
def fog_text(position: rules.Position, colour: int) -> str:
    """The board as a player of dark chess sees it."""
    return board_text(position, rules.visible_squares(position, colour))


def told_text(position: rules.Position, colour: int) -> str:
    """What a player of dark chess is told after a ply: the view, and the en-passant right.

    The right is told, as in "../.. ep:d6", only to the player who can use it now, so
    that it says no more than the own legal actions do. It does not follow from the view.
    """
    right = own_en_passant_text(position, colour)
    view = fog_text(position, colour)
    return view if right == NO_SQUARE else f"{view} {EN_PASSANT_MARK}{right}"


def own_text(position: rules.Position, colour: int) -> str:
    """The board as a player of Kriegspiel sees it: the own pieces."""
    return board_text(position, own_squares(position, colour))


def own_castling_text(position: rules.Position, colour: int) -> str:
    """The player's own castling rights, as in a FEN."""
    return boards.castling_letters(position.castling & rules.rights_of(colour))


def own_en_passant_text(position: rules.Position, colour: int) -> str:
    """Square the player can capture onto en passant, as in a FEN (ZS21, appendix B.1)."""
    if position.en_passant is None or position.side != colour:
        return NO_SQUARE
    return boards.square_name(position.en_passant, position.width)


def planes_shape(position: rules.Position) -> tuple[int, int, int]:
    """Shape of the planes of a view."""
    return NUM_PLANES, position.height, position.width


def write_planes(planes: npt.NDArray[np.float32], position: rules.Position, seen: int) -> None:
    """Writes a view into `planes`.

    Args:
        planes: [NUM_PLANES, height, width], zero before the call.
        position: the true position.
        seen: bit set of the squares to be shown.
    """
    flat = planes.reshape(NUM_PLANES, -1)
    for square, code in enumerate(position.squares):
        if not seen >> square & 1:
            flat[UNSEEN_PLANE, square] = 1.0
        elif code == rules.EMPTY:
            flat[VACANT_PLANE, square] = 1.0
        else:
            flat[_PIECE_CODES.index(code), square] = 1.0


def fog_shapes(start: rules.Position) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors of a player of dark chess."""
    return {
        "board": planes_shape(start),
        "en_passant": (start.height, start.width),
        "castling": (2,),
    }


def write_fog(
    tensors: Mapping[str, npt.NDArray[np.float32]],
    position: rules.Position,
    seen: int,
    colour: int,
) -> None:
    """Fills the tensors of a player of dark chess, who sees the squares `seen`."""
    write_planes(tensors["board"], position, seen)
    write_castling(tensors["castling"], position, colour)
    if position.en_passant is not None and position.side == colour:
        tensors["en_passant"].flat[position.en_passant] = 1.0


def write_castling(rights: npt.NDArray[np.float32], position: rules.Position, colour: int) -> None:
    """Writes a player's castling rights, towards the last file and the first, into [2]."""
    own = position.castling >> 2 * colour
    rights[:] = (own & 1, own >> 1 & 1)
