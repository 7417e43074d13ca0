"""Rules of chess on a board of any width and height up to 8x8, in plain Python.

Everything here is a pure function of immutable values. Two sets of moves are
offered, because the games built on top need different ones:

* `pseudo_legal_moves`: how the pieces move, ignoring check. These are the moves
  of dark chess, where a king may be left, walk or castle into attack, and may be
  captured (Obscuro, appendix A; ZS21, appendix B.1).
* `legal_moves`: the moves of ordinary chess, which Kriegspiel plays.

Squares are numbered rank by rank from White's left corner, square = rank * width
+ file, so a1 is 0:

    4x3 board      8  9 10 11     a3 b3 c3 d3
                   4  5  6  7     a2 b2 c2 d2
                   0  1  2  3     a1 b1 c1 d1

Pieces are small integers: EMPTY = 0, White's pawn, knight, bishop, rook, queen,
king are 1 to 6, and a black piece is the white one plus 8.

Decisions for boards other than 8x8, none of which changes anything on 8x8:

* A pawn on its second rank may step twice if the board has at least five ranks
  (with four it would promote, with three leave the board).
* Castling joins the king and the rook in a corner of the same rank. The king
  moves two squares towards it, the rook to the square the king crossed. King and
  rook start at least three files apart.
* A pawn promotes to knight, bishop, rook or queen on the last rank.
* The long diagonal through a square is the one with more squares; if both have
  as many, the rising one (parallel to a1-b2).

The compiled kernels on arrays of packed positions are tested against this module.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from klss_spiel.games.chess.geometry import BLACK_FIRST_FILE as BLACK_FIRST_FILE
from klss_spiel.games.chess.geometry import BLACK_LAST_FILE as BLACK_LAST_FILE
from klss_spiel.games.chess.geometry import MAX_SIDE as MAX_SIDE
from klss_spiel.games.chess.geometry import MIN_SIDE as MIN_SIDE
from klss_spiel.games.chess.geometry import NO_CASTLING as NO_CASTLING
from klss_spiel.games.chess.geometry import WHITE_FIRST_FILE as WHITE_FIRST_FILE
from klss_spiel.games.chess.geometry import WHITE_LAST_FILE as WHITE_LAST_FILE
from klss_spiel.games.chess.geometry import Geometry as Geometry
from klss_spiel.games.chess.geometry import geometry as geometry
from klss_spiel.games.chess.geometry import has_double_step as has_double_step

WHITE: Final = 0
BLACK: Final = 1

EMPTY: Final = 0
PAWN: Final = 1
KNIGHT: Final = 2
BISHOP: Final = 3
ROOK: Final = 4
QUEEN: Final = 5
KING: Final = 6
BLACK_OFFSET: Final = 8
KIND_MASK: Final = 7
PROMOTIONS: Final = (QUEEN, ROOK, BISHOP, KNIGHT)
NO_PROMOTION: Final = 0

FIFTY_MOVES: Final = 100  # plies without a capture or pawn move after which the game is drawn

# Directions of `Geometry.rays`.
_SLIDES: Final = {BISHOP: range(4, 8), ROOK: range(0, 4), QUEEN: range(0, 8)}


class CheckDirection(enum.IntFlag):
    """Where a check comes from, as the umpire of Kriegspiel announces it."""

    VERTICAL = 1
    HORIZONTAL = 2
    LONG_DIAGONAL = 4
    SHORT_DIAGONAL = 8
    KNIGHT = 16


NO_CHECK: Final = CheckDirection(0)


class Move(NamedTuple):
    """A move from one square to another.

    Castling is the king's move of two squares; en passant the pawn's own move.
    """

    source: int
    target: int
    promotion: int = NO_PROMOTION  # kind of the new piece (no colour)


class Position(NamedTuple):
    """A position with everything the future moves depend on, except repetitions.

    Attributes:
        width: files of the board.
        height: ranks of the board.
        squares: [width * height] piece code of each square.
        side: colour to move.
        castling: set of the castling right bits.
        en_passant: square a pawn of `side` can capture en passant onto, or None.
            It is set only if such a pawn stands ready: a double step that nobody
            can answer leaves no trace.
        halfmove_clock: plies since the last capture or pawn move.
        fullmove_number: number of the current move, counted from 1.
    """

    width: int
    height: int
    squares: bytes
    side: int
    castling: int
    en_passant: int | None
    halfmove_clock: int
    fullmove_number: int

    def __copy__(self) -> Position:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        # OpenSpiel deep-copies the attributes of a Python state with every clone.
        return self


def piece(kind: int, colour: int) -> int:
    """Code of a piece of this kind and colour."""
    return kind + BLACK_OFFSET * colour


def kind_of(code: int) -> int:
    """Kind of a piece, without its colour; EMPTY for an empty square."""
    return code & KIND_MASK


def is_own(code: int, colour: int) -> bool:
    """Whether the code is a piece of that colour."""
    return code != EMPTY and code >> 3 == colour


def king_square(position: Position, colour: int) -> int | None:
    """Square of that colour's king, or None if it has been captured."""
    square = position.squares.find(piece(KING, colour))
    return square if square >= 0 else None


def rights_of(colour: int) -> int:
    """Both castling right bits of a colour."""
    return (WHITE_LAST_FILE | WHITE_FIRST_FILE) << 2 * colour


def castling_moves(position: Position, colour: int) -> Iterator[Move]:
    """King's moves that castle: the right is there and nothing stands between."""
    king = king_square(position, colour)
    if king is None or not position.castling & rights_of(colour):
        return
    for right, corner in geometry(position.width, position.height).corners.items():
        if position.castling & rights_of(colour) & right:
            between = range(min(king, corner) + 1, max(king, corner))
            if all(position.squares[s] == EMPTY for s in between):
                yield Move(king, king + 2 if corner > king else king - 2)


def _pawn_moves(position: Position, table: Geometry, square: int, colour: int) -> Iterator[Move]:
    squares = position.squares
    targets = []
    for ahead in table.pawn_steps[colour][square]:
        if squares[ahead] != EMPTY:
            break
        targets.append(ahead)
    en_passant = position.en_passant if colour == position.side else None
    for capture in table.pawn_captures[colour][square]:
        if is_own(squares[capture], 1 - colour) or capture == en_passant:
            targets.append(capture)
    for target in targets:
        if target // table.width == table.last_rank[colour]:
            for kind in PROMOTIONS:
                yield Move(square, target, kind)
        else:
            yield Move(square, target)


def moves_of(position: Position, colour: int) -> Iterator[Move]:
    """Pseudo-legal moves of a colour as if it were to move (en passant only if it is)."""
    table = geometry(position.width, position.height)
    squares = position.squares
    own = colour * BLACK_OFFSET
    for square, code in enumerate(squares):
        kind = code - own
        if kind < PAWN or kind > KING:
            continue
        if kind == PAWN:
            yield from _pawn_moves(position, table, square, colour)
        elif kind in _SLIDES:
            for direction in _SLIDES[kind]:
                for target in table.rays[square][direction]:
                    met = squares[target]
                    if met == EMPTY:
                        yield Move(square, target)
                        continue
                    if met >> 3 != colour:
                        yield Move(square, target)
                    break
        else:
            for target in (table.knight if kind == KNIGHT else table.king)[square]:
                met = squares[target]
                if met == EMPTY or met >> 3 != colour:
                    yield Move(square, target)
    yield from castling_moves(position, colour)


def pseudo_legal_moves(position: Position) -> list[Move]:
    """All moves of the side to move, ignoring check; none without a king."""
    if king_square(position, WHITE) is None or king_square(position, BLACK) is None:
        return []
    return list(moves_of(position, position.side))


def attackers(position: Position, square: int, colour: int) -> list[int]:
    """Squares of that colour's pieces that attack `square` (whatever stands there)."""
    table = geometry(position.width, position.height)
    squares = position.squares
    found = [s for s in table.knight[square] if squares[s] == piece(KNIGHT, colour)]
    found += [s for s in table.king[square] if squares[s] == piece(KING, colour)]
    # A pawn attacks `square` from where an enemy pawn on `square` would capture.
    found += [
        s for s in table.pawn_captures[1 - colour][square] if squares[s] == piece(PAWN, colour)
    ]
    for direction, ray in enumerate(table.rays[square]):
        sliders = (piece(QUEEN, colour), piece(ROOK if direction < 4 else BISHOP, colour))
        for met in ray:
            if squares[met] != EMPTY:
                if squares[met] in sliders:
                    found.append(met)
                break
    return found


def in_check(position: Position, colour: int) -> bool:
    """Whether that colour's king is attacked; False without a king."""
    king = king_square(position, colour)
    return king is not None and bool(attackers(position, king, 1 - colour))


def check_directions(position: Position, colour: int) -> CheckDirection:
    """All directions from which that colour's king is in check, NO_CHECK if it is not."""
    king = king_square(position, colour)
    if king is None:
        return NO_CHECK
    table = geometry(position.width, position.height)
    found = NO_CHECK
    for source in attackers(position, king, 1 - colour):
        files = source % table.width - king % table.width
        ranks = source // table.width - king // table.width
        if kind_of(position.squares[source]) == KNIGHT:
            found |= CheckDirection.KNIGHT
        elif files == 0:
            found |= CheckDirection.VERTICAL
        elif ranks == 0:
            found |= CheckDirection.HORIZONTAL
        elif (files == ranks) == table.long_rising[king]:
            found |= CheckDirection.LONG_DIAGONAL
        else:
            found |= CheckDirection.SHORT_DIAGONAL
    return found


def is_castling(position: Position, move: Move) -> bool:
    """Whether the move is castling: a king's move of two files."""
    return (
        kind_of(position.squares[move.source]) == KING
        and abs(move.target - move.source) == 2
        and move.source // position.width == move.target // position.width
    )


def captured_square(position: Position, move: Move) -> int | None:
    """Square of the piece that the move captures, or None."""
    if position.squares[move.target] != EMPTY:
        return move.target
    if kind_of(position.squares[move.source]) == PAWN and move.target == position.en_passant:
        return en_passant_victim(position)
    return None


def en_passant_victim(position: Position) -> int | None:
    """Square of the pawn that can be captured en passant, or None."""
    if position.en_passant is None:
        return None
    behind = -position.width if position.side == WHITE else position.width
    return position.en_passant + behind


def apply_move(position: Position, move: Move) -> Position:
    """The position after a move of the side to move, which must be pseudo-legal."""
    table = geometry(position.width, position.height)
    side = position.side
    source, target, promotion = move
    moved = position.squares[source]
    is_pawn = kind_of(moved) == PAWN
    captured = captured_square(position, move)
    squares = bytearray(position.squares)
    if captured is not None:
        squares[captured] = EMPTY
    if is_castling(position, move):
        on_right = target > source
        rank_start = source - source % table.width
        corner = rank_start + table.width - 1 if on_right else rank_start
        squares[(source + target) // 2] = squares[corner]
        squares[corner] = EMPTY
    squares[source] = EMPTY
    squares[target] = piece(promotion, side) if promotion else moved
    castling = position.castling & ~(table.lost_rights[source] | table.lost_rights[target])
    if kind_of(moved) == KING:
        castling &= ~rights_of(side)
    if kind_of(position.squares[target]) == KING:
        castling &= ~rights_of(1 - side)
    return Position(
        width=table.width,
        height=table.height,
        squares=bytes(squares),
        side=1 - side,
        castling=castling,
        en_passant=_en_passant_after(table, squares, move, side) if is_pawn else None,
        halfmove_clock=0 if is_pawn or captured is not None else position.halfmove_clock + 1,
        fullmove_number=position.fullmove_number + (side == BLACK),
    )


def _en_passant_after(table: Geometry, squares: bytearray, move: Move, side: int) -> int | None:
    """Square passed over by a double step if an enemy pawn can capture onto it."""
    if abs(move.target - move.source) != 2 * table.width:
        return None
    passed = (move.source + move.target) // 2
    ready = (squares[s] == piece(PAWN, 1 - side) for s in table.pawn_captures[side][passed])
    return passed if any(ready) else None


def is_legal(position: Position, move: Move) -> bool:
    """Whether a pseudo-legal move obeys the rules of check."""
    side = position.side
    if is_castling(position, move):
        path = (move.source, (move.source + move.target) // 2)
        if any(attackers(position, square, 1 - side) for square in path):
            return False
    return not in_check(apply_move(position, move), side)


def legal_moves(position: Position) -> list[Move]:
    """Moves of ordinary chess: the king may not be left, walk or castle into attack."""
    return [move for move in pseudo_legal_moves(position) if is_legal(position, move)]


def visible_squares(position: Position, colour: int) -> int:
    """Squares a player of dark chess sees, as a bit set (bit = square).

    Own pieces, every square one of them can move to, and the pawn that can be
    captured en passant (Obscuro, appendix A). What blocks a pawn stays unseen. A
    player sees the same whoever is to move, except for en passant.
    """
    own = (s for s, code in enumerate(position.squares) if code and code >> 3 == colour)
    reached = (move.target for move in moves_of(position, colour))
    seen = 0
    for square in {*own, *reached}:
        seen |= 1 << square
    victim = en_passant_victim(position)
    if victim is not None and colour == position.side:
        seen |= 1 << victim
    return seen


def squares_in(mask: int) -> list[int]:
    """Squares of a bit set, in increasing order."""
    return [square for square in range(mask.bit_length()) if mask >> square & 1]


def is_dead(position: Position) -> bool:
    """Whether neither side has the material to give mate, however the other helps.

    So it is with bare kings, one minor piece, or only bishops on squares of one
    colour. It is the same on all boards: a corner leaves a king three squares.
    """
    bishop_shades = set()
    minors = bishops = 0
    for square, code in enumerate(position.squares):
        kind = kind_of(code)
        if kind in (PAWN, ROOK, QUEEN):
            return False
        if kind == BISHOP:
            bishops += 1
            bishop_shades.add((square % position.width + square // position.width) % 2)
        minors += kind in (KNIGHT, BISHOP)
    return minors <= 1 or (minors == bishops and len(bishop_shades) == 1)


class RepetitionKey(NamedTuple):
    """What must be equal for a position to count as repeated."""

    squares: bytes
    side: int
    castling: int
    en_passant: int | None


def repetition_key(position: Position) -> RepetitionKey:
    """The part of a position that repetition compares; both clocks are left out."""
    return RepetitionKey(position.squares, position.side, position.castling, position.en_passant)


def perft(position: Position, depth: int, legal: bool = True) -> int:
    """Number of move sequences of the given length: the usual test of move generators.

    Args:
        position: where to start.
        depth: length of the sequences in plies.
        legal: count ordinary chess; otherwise dark chess, where a sequence ends
            when a king is captured.
    """
    if depth == 0:
        return 1
    moves = legal_moves(position) if legal else pseudo_legal_moves(position)
    if depth == 1:
        return len(moves)
    return sum(perft(apply_move(position, move), depth - 1, legal) for move in moves)
