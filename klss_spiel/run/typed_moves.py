"""What people type for an action: its name in any case, its number, UCI or SAN in chess.

Only the player's own pieces and legal actions are looked at, so an answer tells nothing
that the player does not know: in Kriegspiel `exd5` names a try of the pawn on e4 whether
or not anything stands on d5.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Final

from klss_spiel.games.chess import boards, rules

_SAN: Final = re.compile(
    r"(?P<kind>[KQRBN]?)(?P<file>[a-h]?)(?P<rank>[1-8]?)[x:-]?(?P<target>[a-h][1-8])"
    r"(?:e\.?p\.?)?=?(?P<promotion>[QRBNqrbn]?)[+#!?]*"
)
_CASTLING: Final = re.compile(r"[oO0]-?[oO0](?P<long>-?[oO0])?[+#!?]*")
_KINDS: Final = {
    "": rules.PAWN,
    "N": rules.KNIGHT,
    "B": rules.BISHOP,
    "R": rules.ROOK,
    "Q": rules.QUEEN,
    "K": rules.KING,
}
_SHOWN: Final = 4


def action_typed(state: Any, player: int, typed: str) -> int:
    """The legal action that a text means.

    Args:
      state: a `pyspiel.State` in which `player` is to move.
      player: who typed it.
      typed: what was typed.

    Raises:
      ValueError: no action or several; the message is one line for the player.
    """
    names = {int(a): state.action_to_string(player, a) for a in state.legal_actions(player)}
    exact = [action for action, name in names.items() if name == typed]
    if exact:
        return exact[0]
    if typed.isdigit() and int(typed) in names:
        return int(typed)
    folded = [action for action, name in names.items() if name.casefold() == typed.casefold()]
    if not folded and hasattr(state, "moment"):
        folded = _by_notation(state, names, typed)
    if len(folded) == 1:
        return folded[0]
    if folded:
        which = ", ".join(names[action] for action in folded)
        raise ValueError(f"{typed!r} may be {which}; say which.")
    near = difflib.get_close_matches(typed.casefold(), [n.casefold() for n in names.values()], 1)
    hint = f"did you mean {near[0]!r}?" if near else _some(list(names.values()))
    raise ValueError(f"{typed!r} is not a legal action; {hint} (? lists all)")


def _some(names: list[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"legal are {', '.join(names[:_SHOWN])}{more}"


def _by_notation(state: Any, names: dict[int, str], typed: str) -> list[int]:
    """Actions that a text in standard algebraic notation may mean."""
    position = state.moment.position
    width, height = position.width, position.height
    moves = {a: boards.move_from_uci(name, width, height) for a, name in names.items()}
    castling = _CASTLING.fullmatch(typed)
    if castling:
        step = -1 if castling["long"] else 1
        return [
            a
            for a, move in moves.items()
            if rules.kind_of(position.squares[move.source]) == rules.KING
            and (move.target - move.source) * step > 1
            and move.target // width == move.source // width
        ]
    # `nf3` is a knight's move; `bxc3` may be a pawn's, which the first reading finds.
    for text in (typed, typed[:1].upper() + typed[1:]):
        read = _SAN.fullmatch(text)
        if read is None:
            continue
        found = [a for a, move in moves.items() if _fits(read, move, position)]
        if found:
            return found
    return []


def _fits(read: re.Match[str], move: rules.Move, position: rules.Position) -> bool:
    source = boards.square_name(move.source, position.width)
    promotion = _KINDS[read["promotion"].upper()] if read["promotion"] else None
    return (
        rules.kind_of(position.squares[move.source]) == _KINDS[read["kind"]]
        and boards.square_name(move.target, position.width) == read["target"]
        and read["file"] in ("", source[0])
        and read["rank"] in ("", source[1])
        # A pawn's move without a file goes straight on.
        and not (read["kind"] == read["file"] == "" and source[0] != read["target"][0])
        and (promotion is None or move.promotion == promotion)
    )
