"""Named starting positions, and FEN of any board size.

The FEN fields are those of ordinary chess: placement from the last rank down,
side to move, castling rights (`K` and `k` towards the last file, `Q` and `q`
towards the a-file), en-passant square, half-move clock, move number. The last
two may be left out. An en-passant square that no pawn can use is dropped.
"""

from __future__ import annotations

from typing import Final

from klss_spiel.games.chess import rules

# Sources. minimal4x3 and mate2 are the boards of the thesis (section 4.1.4; the figure of
# the second is lost, this is a mate in two with a tree of the size it states, if pawns
# can only become queens). silverman4x4,
# microchess (Glimne 1997) and demichess (Krystufek 1986) are known small variants, and
# openspiel4x4 is the small board of OpenSpiel's own dark chess and Kriegspiel.
BOARDS: Final[dict[str, str]] = {
    "standard": "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "minimal4x3": "k3/3R/2K1 w - - 0 1",
    "mate2": "2k2/K3P/5/1r1R1/5 w - - 0 1",
    "silverman4x4": "rqkr/pppp/PPPP/RQKR w - - 0 1",
    "openspiel4x4": "r1kr/pppp/PPPP/R1KR w - - 0 1",
    "microchess": "knbr/p3/4/3P/RBNK w Qk - 0 1",
    "demichess": "kbnr/pppp/4/4/4/4/PPPP/KBNR w Kk - 0 1",
}

_LETTERS: Final = " PNBRQK  pnbrqk"
_CODES: Final = {letter: code for code, letter in enumerate(_LETTERS) if letter != " "}
_RIGHTS: Final = {
    "K": rules.WHITE_LAST_FILE,
    "Q": rules.WHITE_FIRST_FILE,
    "k": rules.BLACK_LAST_FILE,
    "q": rules.BLACK_FIRST_FILE,
}
_SIDES: Final = {"w": rules.WHITE, "b": rules.BLACK}
_FILES: Final = "abcdefgh"
_CASTLING_FILES: Final = 3  # king and rook are at least this far apart


def piece_letter(code: int) -> str:
    """FEN letter of a piece code."""
    return _LETTERS[code]


def piece_code(mark: str) -> int:
    """Piece code of a FEN letter; EMPTY for any other mark."""
    return _CODES.get(mark, rules.EMPTY)


def square_name(square: int, width: int) -> str:
    """Name such as "e4"."""
    return f"{_FILES[square % width]}{square // width + 1}"


def square_from_name(name: str, width: int, height: int) -> int:
    """Square with a name such as "e4"; ValueError if the board has none."""
    if len(name) == 2 and name[0] in _FILES[:width] and name[1] in "12345678"[:height]:
        return (int(name[1]) - 1) * width + _FILES.index(name[0])
    raise ValueError(f"expected a square of a {width}x{height} board, got {name!r}")


def move_to_uci(move: rules.Move, width: int) -> str:
    """UCI text of a move: "e2e4", "e7e8q", castling as the king's move "e1g1"."""
    promotion = _LETTERS[move.promotion].lower() if move.promotion else ""
    return square_name(move.source, width) + square_name(move.target, width) + promotion


def move_from_uci(text: str, width: int, height: int) -> rules.Move:
    """Move with that UCI text."""
    promotion = rules.NO_PROMOTION
    if len(text) == 5 and text[4] in "qrbn":
        promotion = _CODES[text[4].upper()]
    elif len(text) != 4:
        raise ValueError(f"expected a move such as e2e4 or e7e8q, got {text!r}")
    return rules.Move(
        square_from_name(text[:2], width, height),
        square_from_name(text[2:4], width, height),
        promotion,
    )


def position_of(board: str) -> rules.Position:
    """Starting position of a named board."""
    if board not in BOARDS:
        raise ValueError(f"expected a board among {', '.join(BOARDS)}, got {board!r}")
    return position_from_fen(BOARDS[board])


def position_from_fen(fen: str, need_kings: bool = True) -> rules.Position:
    """Position described by a FEN of any board size.

    Args:
        fen: four or six fields.
        need_kings: refuse positions in which a king has been captured.

    Raises:
        ValueError: the text is not a FEN, or describes no position of the game.
    """

    def refuse(expected: str) -> ValueError:
        return ValueError(f"expected {expected}, got FEN {fen!r}")

    fields = fen.split()
    if len(fields) not in (4, 6):
        raise refuse("four or six fields")
    placement, side, castling, en_passant = fields[:4]
    clock, number = fields[4:] or ("0", "1")
    if side not in _SIDES:
        raise refuse("w or b as the side to move")
    if not (clock.isdecimal() and number.isdecimal() and int(number) >= 1):
        raise refuse("a half-move clock from 0 and a move number from 1")
    width, height, squares = _parse_placement(placement, fen)
    for colour, name in ((rules.WHITE, "White"), (rules.BLACK, "Black")):
        kings = squares.count(rules.piece(rules.KING, colour))
        if kings > 1 or (need_kings and kings == 0):
            raise refuse(f"one king of {name}")
    ends = squares[:width] + squares[-width:]
    if any(rules.kind_of(code) == rules.PAWN for code in ends):
        raise refuse("no pawn on the first or last rank")
    position = rules.Position(
        width, height, squares, _SIDES[side], rules.NO_CASTLING, None, int(clock), int(number)
    )
    position = position._replace(castling=_parse_castling(castling, position, fen))
    return position._replace(en_passant=_parse_en_passant(en_passant, position, fen))


def _parse_placement(placement: str, fen: str) -> tuple[int, int, bytes]:
    ranks: list[list[int]] = []
    for text in placement.split("/"):
        rank: list[int] = []
        for letter in text:
            if letter in _CODES:
                rank.append(_CODES[letter])
            elif letter in "12345678":
                rank.extend([rules.EMPTY] * int(letter))
            else:
                raise ValueError(f"expected pieces and counts, got {letter!r} in FEN {fen!r}")
        ranks.append(rank)
    width, height = len(ranks[0]), len(ranks)
    if any(len(rank) != width for rank in ranks):
        lengths = [len(rank) for rank in ranks]
        raise ValueError(f"expected ranks of equal length, got {lengths} in FEN {fen!r}")
    rules.geometry(width, height)  # refuses impossible sizes
    return width, height, bytes(code for rank in reversed(ranks) for code in rank)


def _parse_castling(text: str, position: rules.Position, fen: str) -> int:
    if text == "-":
        return rules.NO_CASTLING
    if len(set(text)) != len(text) or not set(text) <= set(_RIGHTS):
        raise ValueError(f"expected castling rights such as KQkq, got {text!r} in FEN {fen!r}")
    corners = rules.geometry(position.width, position.height).corners
    rights = rules.NO_CASTLING
    for letter in text:
        right = _RIGHTS[letter]
        colour = rules.WHITE if letter.isupper() else rules.BLACK
        king, corner = rules.king_square(position, colour), corners[right]
        if (
            king is None
            or king // position.width != corner // position.width
            or abs(king - corner) < _CASTLING_FILES
            or position.squares[corner] != rules.piece(rules.ROOK, colour)
        ):
            raise ValueError(
                f"expected king and corner rook on one back rank, {_CASTLING_FILES} or more "
                f"files apart, for the castling right {letter}; got FEN {fen!r}"
            )
        rights |= right
    return rights


def _parse_en_passant(text: str, position: rules.Position, fen: str) -> int | None:
    if text == "-":
        return None
    square = square_from_name(text, position.width, position.height)
    table = rules.geometry(position.width, position.height)
    side = position.side
    forward = position.width if side == rules.WHITE else -position.width
    origin, victim = square + forward, square - forward
    home = position.height - 2 if side == rules.WHITE else 1
    if (
        not rules.has_double_step(position.height)
        or origin // position.width != home
        or position.squares[origin] != rules.EMPTY
        or position.squares[square] != rules.EMPTY
        or position.squares[victim] != rules.piece(rules.PAWN, 1 - side)
    ):
        raise ValueError(f"expected a pawn that stepped twice over {text}, got FEN {fen!r}")
    captors = table.pawn_captures[1 - side][square]
    ready = any(position.squares[s] == rules.piece(rules.PAWN, side) for s in captors)
    return square if ready else None


def placement_of(squares: bytes, width: int) -> str:
    """First FEN field: the pieces, from the last rank down."""
    ranks = []
    for start in range(len(squares) - width, -1, -width):
        text, empty = "", 0
        for code in squares[start : start + width]:
            if code == rules.EMPTY:
                empty += 1
                continue
            text += f"{empty or ''}{_LETTERS[code]}"
            empty = 0
        ranks.append(f"{text}{empty or ''}")
    return "/".join(ranks)


def castling_letters(castling: int) -> str:
    """Castling field of a FEN."""
    return "".join(letter for letter, right in _RIGHTS.items() if castling & right) or "-"


def castling_rights(letters: str) -> int:
    """Rights of the castling field of a FEN."""
    rights = rules.NO_CASTLING
    for letter in letters.replace("-", ""):
        rights |= _RIGHTS[letter]
    return rights


def fen_of(position: rules.Position) -> str:
    """FEN of a position, six fields."""
    en_passant = "-"
    if position.en_passant is not None:
        en_passant = square_name(position.en_passant, position.width)
    return (
        f"{placement_of(position.squares, position.width)} {'wb'[position.side]} "
        f"{castling_letters(position.castling)} {en_passant} "
        f"{position.halfmove_clock} {position.fullmove_number}"
    )
