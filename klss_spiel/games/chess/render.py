"""Boards as text and as SVG, with or without a player's fog.

    state = pyspiel.load_game("python_dark_chess(board=microchess)").new_initial_state()
    print(render.text(state, player=0))
    pathlib.Path("board.svg").write_text(render.svg(state, player=0))

Without a player the true board is drawn. Black's view has Black at the bottom.
"""

from __future__ import annotations

from typing import Final

from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.adapter import ChessState
from klss_spiel.games.chess.observation import UNSEEN, VACANT

_CELL: Final = 45
_MARGIN: Final = 18
_CAPTION: Final = 20
_LIGHT, _DARK = "#f0e6d2", "#b58f6b"
_FOG_LIGHT, _FOG_DARK = "#8b919c", "#7b818c"
_LABEL: Final = "#444b55"
_COLOURS: Final = {rules.WHITE: ("#ffffff", "#1b1b1b"), rules.BLACK: ("#2b2b2b", "#e8e8e8")}

# Outlines on a cell of 45 by 45; own drawings, so a picture needs no chess font.
_FOOT: Final = "M12 36H33V40.5H12Z"
_SHAPES: Final = {
    rules.PAWN: (
        "M22.5 9A5.5 5.5 0 0 1 25.5 19.2Q29 27 29.5 36H15.5Q16 27 19.5 19.2A5.5 5.5 0 0 1 22.5 9Z"
    ),
    rules.KNIGHT: (
        "M14.5 36C14.5 28 21 27 21 22L14.5 25.5L11.5 21.5L18.5 12.5L18.5 7L23.5 10.5"
        "C31.5 13 32.5 25 31 36ZM19.5 15.5H21"
    ),
    rules.BISHOP: (
        "M22.5 5.5A2.4 2.4 0 0 1 23.6 10.2C30 16 30.5 23 26.5 29.5L28.5 36H16.5L18.5 29.5"
        "C14.5 23 15 16 21.4 10.2A2.4 2.4 0 0 1 22.5 5.5ZM22.5 16V24M19 20H26"
    ),
    rules.ROOK: "M12.5 8.5H17.5V12H20V8.5H25V12H27.5V8.5H32.5V18H28.5L30 36H15L16.5 18H12.5Z",
    rules.QUEEN: "M8.5 12L15.5 24L15.5 8.5L21 23L22.5 7L24 23L29.5 8.5L29.5 24L36.5 12L31 36H14Z",
    rules.KING: (
        "M21.3 3.5H23.7V6.3H26.5V8.7H23.7V14C28 10.5 37 14 34 22.5L29.5 36H15.5L11 22.5"
        "C8 14 17 10.5 21.3 14V8.7H18.5V6.3H21.3ZM22.5 18V30"
    ),
}


def piece_path(kind: int) -> str:
    """The outline of a kind of piece as the data of an SVG path on a cell of 45 by 45."""
    return _SHAPES[kind] + _FOOT


def everything(position: rules.Position) -> int:
    """Bit set of all squares: a board without fog."""
    return (1 << len(position.squares)) - 1


def text(state: ChessState, player: int | None = None) -> str:
    """The board of a state as text: the true one, or a player's view."""
    position, seen = _view(state, player)
    return draw_text(position, seen, black_below=player == rules.BLACK)


def svg(state: ChessState, player: int | None = None) -> str:
    """The board of a state as an SVG document: the true one, or a player's view."""
    position, seen = _view(state, player)
    return draw_svg(position, seen, black_below=player == rules.BLACK)


def svg_views(state: ChessState) -> str:
    """The true board, White's view and Black's view side by side as an SVG document."""
    pictures = [("the position", None), ("White sees", rules.WHITE), ("Black sees", rules.BLACK)]
    position = state.moment.position
    width, height = _picture_size(position)
    parts = [_opening(len(pictures) * width, height + _CAPTION)]
    for column, (caption, player) in enumerate(pictures):
        x = column * width
        parts.append(
            f'<text x="{x + width / 2}" y="{_CAPTION - 4}" font-family="sans-serif" '
            f'font-size="14" fill="{_LABEL}" text-anchor="middle">{caption}</text>'
        )
        board = svg(state, player).replace("<svg ", f'<svg x="{x}" y="{_CAPTION}" ', 1)
        parts.append(board.rstrip())
    return "\n".join([*parts, "</svg>\n"])


def _view(state: ChessState, player: int | None) -> tuple[rules.Position, int]:
    if player is None:
        position = state.moment.position
        return position, everything(position)
    if player not in (rules.WHITE, rules.BLACK):
        raise ValueError(f"expected player 0 (White), 1 (Black) or None, got {player}")
    return state.moment.view(player)


def draw_text(position: rules.Position, seen: int, black_below: bool = False) -> str:
    """The squares in the bit set `seen` as text, the others as fog."""
    files, ranks = _axes(position, black_below)
    lines = []
    for rank in ranks:
        marks = []
        for file in files:
            square = rank * position.width + file
            code = position.squares[square]
            shown = boards.piece_letter(code) if code else VACANT
            marks.append(shown if seen >> square & 1 else UNSEEN)
        lines.append(f"{rank + 1} {' '.join(marks)}")
    names = [boards.square_name(file, position.width)[0] for file in files]
    return "\n".join([*lines, f"  {' '.join(names)}"])


def draw_svg(position: rules.Position, seen: int, black_below: bool = False) -> str:
    """The squares in the bit set `seen` as an SVG document, the others as fog."""
    files, ranks = _axes(position, black_below)
    width, height = _picture_size(position)
    parts = [
        _opening(width, height),
        f'<g font-family="sans-serif" font-size="11" fill="{_LABEL}" text-anchor="middle">',
    ]
    for column, file in enumerate(files):
        x = _MARGIN + (column + 0.5) * _CELL
        name = boards.square_name(file, position.width)[0]
        parts.append(f'<text x="{x}" y="{height - 5}">{name}</text>')
    for row, rank in enumerate(ranks):
        y = _MARGIN + (row + 0.5) * _CELL + 4
        parts.append(f'<text x="{_MARGIN / 2}" y="{y}">{rank + 1}</text>')
    parts.append("</g>")
    for row, rank in enumerate(ranks):
        for column, file in enumerate(files):
            square = rank * position.width + file
            corner = (_MARGIN + column * _CELL, _MARGIN + row * _CELL)
            visible = bool(seen >> square & 1)
            parts.append(_cell(corner, light=(file + rank) % 2 == 1, visible=visible))
            if visible and position.squares[square] != rules.EMPTY:
                parts.append(_piece(corner, position.squares[square]))
    return "\n".join([*parts, "</svg>\n"])


def _picture_size(position: rules.Position) -> tuple[int, int]:
    return position.width * _CELL + 2 * _MARGIN, position.height * _CELL + 2 * _MARGIN


def _opening(width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    )


def _axes(position: rules.Position, black_below: bool) -> tuple[list[int], list[int]]:
    """Files from left to right and ranks from top to bottom."""
    files, ranks = list(range(position.width)), list(range(position.height))
    return (files[::-1], ranks) if black_below else (files, ranks[::-1])


def _cell(corner: tuple[int, int], light: bool, visible: bool) -> str:
    seen_fill, fog_fill = (_LIGHT, _FOG_LIGHT) if light else (_DARK, _FOG_DARK)
    x, y = corner
    fill = seen_fill if visible else fog_fill
    return f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}"/>'


def _piece(corner: tuple[int, int], code: int) -> str:
    fill, line = _COLOURS[code >> 3]
    x, y = corner
    return (
        f'<path transform="translate({x} {y})" d="{piece_path(rules.kind_of(code))}" '
        f'fill="{fill}" stroke="{line}" stroke-width="1.4" stroke-linejoin="round">'
        f"<title>{boards.piece_letter(code)}</title></path>"
    )
