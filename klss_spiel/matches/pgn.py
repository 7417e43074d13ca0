"""Records of chess games as PGN.

Standard algebraic notation cannot tell what a player knew, and illegal tries of Kriegspiel
are no moves; so a tag `UCI` holds every action as it was made, and tries stand in comments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from klss_spiel.games.chess import boards, rules
from klss_spiel.matches import records
from klss_spiel.matches.referee import TimeControl
from klss_spiel.openspiel import load_game

_VARIANTS = {"python_dark_chess": "Fog of War", "python_kriegspiel": "Kriegspiel"}
# In the words of PGN.
_TERMINATIONS = {
    records.BY_RULE: "normal",
    records.BY_TIME: "time forfeit",
    records.BY_ILLEGAL_ACTION: "rules infraction",
    records.BY_ERROR: "abandoned",
}
_WIDTH = 80
_LETTERS = "?PNBRQK"


def san(position: rules.Position, move: rules.Move, legal: bool) -> str:
    """A move in standard algebraic notation, without marks of check.

    Args:
      position: before the move.
      move: one of its moves.
      legal: other moves of ordinary chess decide what is ambiguous; else those of dark
        chess, in which kings may be left to be captured.
    """
    width = position.width
    kind = rules.kind_of(position.squares[move.source])
    files = move.target % width - move.source % width
    if kind == rules.KING and abs(files) > 1:
        return "O-O" if files > 0 else "O-O-O"
    target = boards.square_name(move.target, width)
    source = boards.square_name(move.source, width)
    is_capture = position.squares[move.target] != rules.EMPTY or (kind == rules.PAWN and files != 0)
    takes = "x" if is_capture else ""
    if kind == rules.PAWN:
        promotion = f"={_LETTERS[move.promotion]}" if move.promotion else ""
        return f"{source[0] if is_capture else ''}{takes}{target}{promotion}"
    moves = rules.legal_moves(position) if legal else rules.pseudo_legal_moves(position)
    rivals = [
        other.source
        for other in moves
        if other.target == move.target
        and other.source != move.source
        and position.squares[other.source] == position.squares[move.source]
    ]
    which = ""
    if rivals:
        same_file = any(square % width == move.source % width for square in rivals)
        same_rank = any(square // width == move.source // width for square in rivals)
        which = source if same_file and same_rank else source[1] if same_file else source[0]
    return f"{_LETTERS[kind]}{which}{takes}{target}"


def check_is_chess(game: str) -> str:
    """The short name of a game whose records can be PGN; ValueError for others."""
    name = str(load_game(game).get_type().short_name)
    if name not in _VARIANTS:
        raise ValueError(f"expected a game among {', '.join(_VARIANTS)} for PGN, got {game}")
    return name


def pgn_of(row: Mapping[str, Any], event: str = "klss_spiel match") -> str:
    """One game of a match's file as PGN.

    Args:
      row: of a file of `match`.
      event: for the tag of that name.
    """
    short_name = check_is_chess(row["game"])
    state = load_game(row["game"]).new_initial_state()
    start = state.moment.position
    result = _result(float(row["return_0"]))
    tags = {
        "Event": event,
        "Site": "?",
        "Date": "????.??.??",
        "Round": str(row["number"] + 1),
        "White": row["player_0"],
        "Black": row["player_1"],
        "Result": result,
        "Variant": _VARIANTS[short_name],
        "Game": str(row["game"]),  # with its rules, which Variant does not tell
        "TimeControl": _time_control(row.get("clock")),
        "Termination": _TERMINATIONS.get(row["termination"], "normal"),
        "PlyCount": "0",
    }
    if start != boards.position_of("standard"):
        tags |= {"SetUp": "1", "FEN": boards.fen_of(start)}
    words: list[str] = []
    made: list[str] = []
    plies = 0
    for action in row["actions"]:
        position = state.moment.position
        name = state.action_to_string(action)
        made.append(name)
        state.apply_action(action)
        if state.moment.plies == plies:
            words.append(f"{{tried {name}}}")
            continue
        plies = state.moment.plies
        white = position.side == rules.WHITE
        if white or not words or words[-1].startswith("{"):
            words.append(f"{position.fullmove_number}{'.' if white else '...'}")
        move = boards.move_from_uci(name, position.width, position.height)
        words.append(san(position, move, short_name == "python_kriegspiel"))
    tags |= {"PlyCount": str(plies), "UCI": " ".join(made)}
    if row.get("reason"):
        words.append(f"{{{_comment(row['reason'])}}}")
    head = "".join(f'[{key} "{_tag(value)}"]\n' for key, value in tags.items())
    return f"{head}\n{_wrap([*words, result])}\n"


def rows_from_pgn(text: str) -> list[dict[str, Any]]:
    """The games of a PGN file: `game`, `actions` and the `tags` of each.

    The moves are those of the tag `UCI`, the rules those of `Game`, which `pgn_of` writes;
    without the latter they are the usual ones of the variant.

    Raises:
      ValueError: a game of another variant, without that tag, or with a move that is not
        possible.
    """
    names = {variant: name for name, variant in _VARIANTS.items()}
    rows = []
    for block in re.findall(r"(?:^\[.*\]\s*\n)+", text, flags=re.MULTILINE):
        tags = {
            key: re.sub(r"\\(.)", r"\1", value)
            for key, value in re.findall(r'^\[(\w+) "(.*)"\]', block, flags=re.MULTILINE)
        }
        name = names.get(tags.get("Variant", ""))
        if name is None:
            expected = ", ".join(names)
            raise ValueError(f"expected a Variant among {expected}, got {tags.get('Variant')!r}")
        if "UCI" not in tags:
            raise ValueError("expected a tag UCI with the moves, as `pgn_of` writes it, got none")
        game = f"{name}(fen={tags['FEN']})" if "FEN" in tags else name
        if "Game" in tags:
            game = tags["Game"]
            if check_is_chess(game) != name:
                raise ValueError(f"expected a Game of {tags['Variant']}, got {game}")
        rows.append({"game": game, "actions": _actions(game, tags["UCI"].split()), "tags": tags})
    return rows


def _actions(game: str, moves: list[str]) -> list[int]:
    state = load_game(game).new_initial_state()
    actions = []
    for number, move in enumerate(moves):
        legal = {state.action_to_string(action): action for action in state.legal_actions()}
        if move not in legal:
            raise ValueError(f"expected a possible move, got {move} as number {number + 1}")
        actions.append(legal[move])
        state.apply_action(legal[move])
    return actions


def _result(payoff: float) -> str:
    return "1/2-1/2" if payoff == 0.0 else "1-0" if payoff > 0.0 else "0-1"


def _time_control(clock: str | None) -> str:
    """A clock in the words of PGN: seconds, and seconds more for each move."""
    if clock is None:
        return "-"
    control = TimeControl.parse(clock)
    return f"{control.base:g}" + (f"+{control.increment:g}" if control.increment else "")


def _tag(text: str) -> str:
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _comment(text: str) -> str:
    return " ".join(text.replace("{", "(").replace("}", ")").split())


def _wrap(words: list[str]) -> str:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)
