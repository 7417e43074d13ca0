"""Tables of a board size: rays, jumps, pawn paths and castling corners of every square.

Squares are numbered rank by rank from White's left corner, square = rank * width
+ file. Sizes and what differs on boards other than 8x8 are described in `rules`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final, NamedTuple

MAX_SIDE: Final = 8
MIN_SIDE: Final = 3

# Castling rights, one bit each: towards the last file ("K") and the first ("Q").
WHITE_LAST_FILE: Final = 1
WHITE_FIRST_FILE: Final = 2
BLACK_LAST_FILE: Final = 4
BLACK_FIRST_FILE: Final = 8
NO_CASTLING: Final = 0

# (file step, rank step); opposite directions are adjacent so that i ^ 1 reverses i.
_ROOK_STEPS: Final = ((0, 1), (0, -1), (1, 0), (-1, 0))
_BISHOP_STEPS: Final = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_STEPS: Final = _ROOK_STEPS + _BISHOP_STEPS
_KNIGHT_JUMPS: Final = tuple(
    (files, ranks) for files in (-2, -1, 1, 2) for ranks in (-2, -1, 1, 2) if files**2 != ranks**2
)


class Geometry(NamedTuple):
    """Tables of a board size; `geometry(width, height)` makes and caches them.

    Attributes:
        rays: [square][direction] squares met walking that way, nearest first.
        knight: [square] targets of a knight.
        king: [square] targets of a king, without castling.
        pawn_captures: [colour][square] squares a pawn attacks.
        pawn_steps: [colour][square] squares straight ahead of a pawn, one or two.
        last_rank: [colour] rank on which that colour's pawns promote.
        long_rising: [square] whether the rising diagonal is the long one.
        corners: right bit -> the rook's square.
        lost_rights: [square] rights that end when anything leaves or enters it.
    """

    width: int
    height: int
    rays: tuple[tuple[tuple[int, ...], ...], ...]
    knight: tuple[tuple[int, ...], ...]
    king: tuple[tuple[int, ...], ...]
    pawn_captures: tuple[tuple[tuple[int, ...], ...], ...]
    pawn_steps: tuple[tuple[tuple[int, ...], ...], ...]
    last_rank: tuple[int, int]
    long_rising: tuple[bool, ...]
    corners: dict[int, int]
    lost_rights: tuple[int, ...]


def has_double_step(height: int) -> bool:
    """Whether pawns may step twice from their second rank on boards this high."""
    return height >= 5


@functools.cache
def geometry(width: int, height: int) -> Geometry:
    """Tables of the board with `width` files and `height` ranks."""
    if not (MIN_SIDE <= width <= MAX_SIDE and MIN_SIDE <= height <= MAX_SIDE):
        raise ValueError(
            f"expected a board of {MIN_SIDE}x{MIN_SIDE} to {MAX_SIDE}x{MAX_SIDE} squares, "
            f"got {width} files and {height} ranks"
        )
    squares = range(width * height)

    def step(square: int, files: int, ranks: int) -> int | None:
        file, rank = square % width + files, square // width + ranks
        return rank * width + file if 0 <= file < width and 0 <= rank < height else None

    def ray(square: int, files: int, ranks: int) -> Iterator[int]:
        reached = step(square, files, ranks)
        while reached is not None:
            yield reached
            reached = step(reached, files, ranks)

    def jumps(square: int, offsets: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
        return tuple(s for s in (step(square, *offset) for offset in offsets) if s is not None)

    def pawn_path(square: int, forward: int, home: int) -> tuple[int, ...]:
        doubles = square // width == home and has_double_step(height)
        return tuple(ray(square, 0, forward))[: 2 if doubles else 1]

    rays = tuple(tuple(tuple(ray(s, *d)) for d in _STEPS) for s in squares)
    corners = {
        WHITE_LAST_FILE: width - 1,
        WHITE_FIRST_FILE: 0,
        BLACK_LAST_FILE: width * height - 1,
        BLACK_FIRST_FILE: width * (height - 1),
    }
    return Geometry(
        width=width,
        height=height,
        rays=rays,
        knight=tuple(jumps(s, _KNIGHT_JUMPS) for s in squares),
        king=tuple(jumps(s, _STEPS) for s in squares),
        pawn_captures=(
            tuple(jumps(s, ((-1, 1), (1, 1))) for s in squares),
            tuple(jumps(s, ((-1, -1), (1, -1))) for s in squares),
        ),
        pawn_steps=(
            tuple(pawn_path(s, 1, 1) for s in squares),
            tuple(pawn_path(s, -1, height - 2) for s in squares),
        ),
        last_rank=(height - 1, 0),
        long_rising=tuple(len(r[4]) + len(r[5]) >= len(r[6]) + len(r[7]) for r in rays),
        corners=corners,
        lost_rights=tuple(
            sum(right for right, corner in corners.items() if corner == s) for s in squares
        ),
    )
