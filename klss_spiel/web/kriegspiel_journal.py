"""The journal of a player of Kriegspiel, read off the information state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from klss_spiel.games.chess import boards, rules
from klss_spiel.web.journal import OPPONENT, RESULTS, UNKNOWN_MOVE, YOU, Entry, Journal

_TRY: Final = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?\??")
_OVERHEARD: Final = "tried"
_CHECKS: Final = {
    "vertical": "Check on the file",
    "horizontal": "Check on the rank",
    "long": "Check on the long diagonal",
    "short": "Check on the short diagonal",
    "knight": "Check by a knight",
}
_PLAIN: Final = {
    "mate": "Checkmate",
    "stalemate": "Stalemate",
    "draw": "Draw: nobody can mate",
    "try": "There is a pawn capture",
    "no": "There is no pawn capture",
}


def kriegspiel_journal(start: rules.Position, player: int, words: Sequence[str]) -> Journal:
    """The journal of an information state.

    Args:
      start: the starting position; the own pieces are followed from there.
      player: who.
      words: of the information state after the colour: own tries, those refused with a
        question mark, and what the umpire said after every move.
    """
    own = bytes(c if rules.is_own(c, player) else rules.EMPTY for c in start.squares)
    alone = start._replace(squares=own, side=player, en_passant=None)
    entries: list[Entry] = []
    move: str | None = None
    for word in words:
        if word in RESULTS or word == _OVERHEARD:
            continue
        if _TRY.fullmatch(word):
            if word.endswith("?"):
                entries.append(Entry(YOU, word[:-1], illegal=True, said=("Illegal",)))
            else:
                move = word
            continue
        gone, at, said = _announcement(word)
        if move is not None:
            made = boards.move_from_uci(move, start.width, start.height)
            after = rules.apply_move(alone, made)
            alone = after._replace(side=player, en_passant=None)
            entries.append(Entry(YOU, move, gone, at, said=said))
            move = None
            continue
        if at:
            square = boards.square_from_name(at, start.width, start.height)
            gone = boards.piece_letter(alone.squares[square])
            left = bytearray(alone.squares)
            left[square] = rules.EMPTY
            alone = alone._replace(squares=bytes(left))
        entries.append(Entry(OPPONENT, UNKNOWN_MOVE, gone, at, said=said))
    return Journal(tuple(entries))


def _announcement(word: str) -> tuple[str, str, tuple[str, ...]]:
    """What is gone, from where, and everything that was said, in words."""
    gone, at = "", ""
    said = []
    for part in word.split(","):
        head, _, rest = part.partition(":")
        if head in ("pawn", "piece"):
            gone, at = head, rest
            said.append(f"{head.capitalize()} gone on {rest}")
        elif head == "check":
            said.append(_CHECKS.get(rest, f"Check: {rest}"))
        elif head == "tries":
            said.append(f"Pawn captures: {rest.replace('+', ', ')}")
        elif head in _PLAIN:
            said.append(_PLAIN[head])
    return gone, at, tuple(said)
