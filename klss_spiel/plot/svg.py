"""Small pieces of SVG that trees and graphs are put together from."""

from __future__ import annotations

import html
from typing import Final

INK: Final = "#2f353d"
PALE: Final = "#8b919c"
# Player 0, player 1; everything else is INK.
PLAYER_COLOURS: Final = ("#d55e00", "#0072b2")


def document(width: float, height: float, parts: list[str], title: str) -> str:
    """An SVG document."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" font-family="sans-serif" '
            f'font-size="11" fill="{INK}">',
            f"<title>{html.escape(title)}</title>",
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    """A line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}">'
        f"{html.escape(words)}</text>"
    )


def player_colour(player: int) -> str:
    """The colour of whoever moves."""
    return PLAYER_COLOURS[player] if player in (0, 1) else PALE
