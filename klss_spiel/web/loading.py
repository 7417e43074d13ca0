"""Games that a client brings: PGN, or rows of the match runner as JSON.

The text comes from strangers. A game string in it may name the two chess games, with
parameters that are checked, or exactly a game that the server offers anyway; nothing
else, since OpenSpiel has games that read files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from klss_spiel.games.chess import boards, rules
from klss_spiel.matches.pgn import san
from klss_spiel.openspiel import load_game
from klss_spiel.web.catalogue import RefusedError

MOST_GAMES: Final = 20
_MOST_ACTIONS: Final = 5000
_CHESS: Final = re.compile(r"python_(?:dark_chess|kriegspiel)(?:\(([^()]{0,300})\))?")
_PARAMETER: Final = re.compile(r"([a-z_]{1,20})=([A-Za-z0-9 /._-]{0,100})")
_PARAMETERS: Final = (
    "announce_tries",
    "are_there_any",
    "board",
    "count_tries",
    "fen",
    "horizon",
    "players",
    "rules",
    "tries",
)
_TAG: Final = re.compile(r'^\s*\[(\w{1,30}) "((?:[^"\\]|\\.)*)"\]\s*$', re.MULTILINE)
_VARIANTS: Final = {"fog of war": "python_dark_chess", "dark chess": "python_dark_chess"}
_SCORES: Final = {"1-0": 1.0, "0-1": -1.0, "1/2-1/2": 0.0}


def load_text(text: str, offered: Iterable[str]) -> list[dict[str, Any]]:
    """The games of a text, as rows.

    Args:
      text: PGN, a row as JSON, a list of them, or a row on each line.
      offered: game strings that may stand in rows beside those of chess.

    Raises:
      RefusedError: there is nothing that can be shown.
    """
    text = text.strip()
    if not text:
        raise RefusedError("empty_text", "expected a PGN or a record")
    if text[0] in "[" and _TAG.search(text):
        rows = [_row_from_pgn(game) for game in _split_pgn(text)[:MOST_GAMES]]
    else:
        rows = [_checked_row(row, set(offered)) for row in _json_rows(text)[:MOST_GAMES]]
    if not rows:
        raise RefusedError("no_games", "the text holds no games")
    return rows


def _json_rows(text: str) -> list[Any]:
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in text.splitlines()[:MOST_GAMES] if line.strip()]
    except (ValueError, RecursionError):
        raise RefusedError("bad_text", "expected PGN or JSON") from None


def _checked_row(row: Any, offered: set[str]) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise RefusedError("bad_record", "expected an object for each game")
    game, actions = row.get("game"), row.get("actions")
    if not isinstance(game, str) or not (game in offered or _is_chess(game)):
        raise RefusedError("unknown_game", "expected a record of a game that is offered here")
    if (
        not isinstance(actions, list)
        or len(actions) > _MOST_ACTIONS
        or not all(isinstance(a, int) and not isinstance(a, bool) for a in actions)
    ):
        raise RefusedError("bad_record", f"expected at most {_MOST_ACTIONS} actions")
    kept: dict[str, Any] = {"game": game, "actions": actions}
    for name in ("player_0", "player_1", "termination", "clock", "title"):
        if isinstance(row.get(name), str):
            kept[name] = row[name][:100]
    for name in ("return_0", "return_1", "loser", "seed", "plies"):
        if isinstance(row.get(name), int | float):
            kept[name] = row[name]
    if isinstance(row.get("reports"), list):
        kept["reports"] = [_checked_report(report) for report in row["reports"][:_MOST_ACTIONS]]
    _check_actions(kept)
    return kept


def _checked_report(report: Any) -> Any:
    """A report as this server writes it: rows of the match runner have the bare one."""
    if report is None or isinstance(report, str):
        return report if report is None else {"said": report[:500]}
    if isinstance(report, dict):
        return report if "said" in report else {"said": report}
    return None


def _is_chess(game: str) -> bool:
    match = _CHESS.fullmatch(game)
    if match is None:
        return False
    for part in (match[1] or "").split(","):
        parameter = _PARAMETER.fullmatch(part.strip())
        if part and (parameter is None or parameter[1] not in _PARAMETERS):
            return False
    return True


def _check_actions(row: dict[str, Any]) -> None:
    try:
        state = load_game(row["game"]).new_initial_state()
    except ValueError as error:
        raise RefusedError("bad_record", str(error)[:300]) from error
    for number, action in enumerate(row["actions"]):
        if state.is_terminal() or action not in state.legal_actions():
            raise RefusedError("bad_record", f"action {number + 1} is not legal in that game")
        state.apply_action(action)


def _split_pgn(text: str) -> list[str]:
    """The games of a PGN: tags begin a new one after movetext."""
    games: list[list[str]] = [[]]
    in_moves = False
    for line in text.splitlines():
        is_tag = _TAG.match(line) is not None
        if is_tag and in_moves:
            games.append([])
        in_moves = not is_tag and (in_moves or bool(line.strip()))
        games[-1].append(line)
    return ["\n".join(lines) for lines in games if any(line.strip() for line in lines)]


def _row_from_pgn(text: str) -> dict[str, Any]:
    tags = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _TAG.findall(text)}
    variant = tags.get("Variant", "Fog of War").lower()
    game = "python_kriegspiel" if variant == "kriegspiel" else _VARIANTS.get(variant)
    if game is None:
        raise RefusedError("unknown_game", "expected the variant Fog of War or Kriegspiel")
    if _is_chess(tags.get("Game", "")) and tags["Game"].startswith(game):
        game = tags["Game"]  # our own files tell the rules, too
    elif tags.get("FEN"):
        game = f"{game}(fen={tags['FEN']})"
        if not _is_chess(game):
            raise RefusedError("bad_fen", "expected a position as a FEN")
    try:
        state = load_game(game).new_initial_state()
    except ValueError as error:
        raise RefusedError("bad_fen", str(error)[:300]) from error
    words = tags["UCI"].split() if "UCI" in tags else _movetext(_TAG.sub("", text))
    actions = []
    for word in words[:_MOST_ACTIONS]:
        action = _action_of(state, word, is_uci="UCI" in tags, legal=variant == "kriegspiel")
        actions.append(action)
        state.apply_action(action)
    score = _SCORES.get(tags.get("Result", "*"))
    return {
        "game": game,
        "title": tags.get("Event", "")[:100],
        "actions": actions,
        "player_0": tags.get("White", "?")[:100],
        "player_1": tags.get("Black", "?")[:100],
        "return_0": score,
        "return_1": None if score is None else 0.0 - score,
        "termination": tags.get("Termination", "")[:100],
        "plies": len(actions),
    }


def _movetext(text: str) -> list[str]:
    """Moves of movetext; comments, variations, numbers and marks left out."""
    text = re.sub(r"\{[^}]*\}|;[^\n]*|\$\d+", " ", text)
    while "(" in text:
        shorter = re.sub(r"\([^()]*\)", " ", text)
        if shorter == text:
            raise RefusedError("bad_pgn", "expected every bracket to be closed")
        text = shorter
    words = [re.sub(r"^\d+\.+", "", word) for word in text.split()]
    return [word for word in words if word and word not in (*_SCORES, "*")]


def _action_of(state: Any, word: str, is_uci: bool, legal: bool) -> int:
    names = (
        {}
        if state.is_terminal()
        else {state.action_to_string(action): int(action) for action in state.legal_actions()}
    )
    if is_uci and word in names:
        return names[word]
    if not is_uci and names:
        plain = word.rstrip("+#!?").replace("0-0-0", "O-O-O").replace("0-0", "O-O")
        position: rules.Position = boards.position_from_fen(str(state))
        for name, action in names.items():
            move = boards.move_from_uci(name, position.width, position.height)
            if san(position, move, legal) == plain or name == plain:
                return action
    raise RefusedError("bad_pgn", f"expected a legal move, got {word[:20]!r}")
