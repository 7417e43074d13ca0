"""The journal of a player of dark chess, read off the information state."""

from __future__ import annotations

from collections.abc import Sequence

from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.observation import EN_PASSANT_MARK, UNSEEN, VACANT
from klss_spiel.web.journal import OPPONENT, RESULTS, UNKNOWN_MOVE, YOU, Entry, Journal


def dark_chess_journal(
    start: rules.Position, first_view: str, player: int, words: Sequence[str]
) -> Journal:
    """The journal of an information state.

    Args:
      start: the starting position, for the size of the board.
      first_view: what the player sees in it.
      player: who.
      words: of the information state after the colour: own moves, and a view after
        every ply.
    """
    width = start.width
    marks = _marks(first_view)
    entries: list[Entry] = []
    move: str | None = None
    for word in words:
        if word in RESULTS or word.startswith(EN_PASSANT_MARK):
            continue
        if "/" not in word:
            move = word
            continue
        after = _marks(word)
        if move is None:
            entries.append(_seen_move(marks, after, player, width))
        else:
            entries.append(_own_move(marks, move, start))
            move = None
        marks = after
    return Journal(tuple(entries))


def _own_move(before: str, name: str, start: rules.Position) -> Entry:
    move = boards.move_from_uci(name, start.width, start.height)
    mark = before[move.target]
    if mark not in (VACANT, UNSEEN):
        return Entry(YOU, name, mark, boards.square_name(move.target, start.width))
    is_pawn = before[move.source] in "Pp"
    if is_pawn and move.source % start.width != move.target % start.width:
        # Beside the pawn stands the one that is captured in passing.
        victim = move.source - move.source % start.width + move.target % start.width
        letter = "p" if before[move.source] == "P" else "P"
        return Entry(YOU, name, letter, boards.square_name(victim, start.width))
    return Entry(YOU, name)


def _seen_move(before: str, after: str, player: int, width: int) -> Entry:
    """What two views in a row show of the move between them."""

    def own(mark: str) -> bool:
        return mark.isalpha() and mark.isupper() == (player == rules.WHITE)

    def enemy(mark: str) -> bool:
        return mark.isalpha() and not own(mark)

    squares = range(len(before))
    gone = [s for s in squares if own(before[s]) and not own(after[s])]
    left = [s for s in squares if enemy(before[s]) and after[s] == VACANT]
    come = [
        s
        for s in squares
        if enemy(after[s]) and before[s] not in (UNSEEN, after[s]) and s not in left
    ]
    if not (gone or left or come):
        # Nothing has made way, so what is seen for the first time has come: a pawn sees
        # the squares it attacks only if somebody stands there. A rook may have castled.
        last_ranks = (*range(width), *range(len(before) - width, len(before)))
        fresh = [s for s in squares if enemy(after[s]) and before[s] == UNSEEN]
        castled = len(fresh) == 1 and after[fresh[0]] in "Rr" and fresh[0] in last_ranks
        come = fresh if len(fresh) == 1 and not castled else []
    # The king says more than the rook he castles with.
    left.sort(key=lambda s: before[s] not in "Kk")
    come.sort(key=lambda s: after[s] not in "Kk")
    source = boards.square_name(left[0], width) if left else UNKNOWN_MOVE
    target = boards.square_name(come[0], width) if come else UNKNOWN_MOVE
    move = UNKNOWN_MOVE if source == target == UNKNOWN_MOVE else f"{source}{target}"
    if not gone:
        return Entry(OPPONENT, move)
    return Entry(OPPONENT, move, before[gone[0]], boards.square_name(gone[0], width))


def _marks(view: str) -> str:
    """The marks of a view by square, the first rank first."""
    return "".join(reversed(view.split("/")))
