"""Games of Fog-of-War chess that tests replay: of people, or of this package's players.

`KLSS_SPIEL_DATA` names a folder with games of people (`fog_of_war_games.json`). Without it
tests replay games that the searching players of this package played in its matches.
"""

import dataclasses
import functools
import json
import os
import pathlib

from tests.helpers.paths import ROOT

_OWN = ROOT / "docs" / "results" / "agent"
# Self-play and play against others; the first different games of each. They castle, and one
# of those by the clock has a capture en passant.
_OWN_FILES = ("self_play.jsonl", "v_first.jsonl", "v_pimc.jsonl", "clock_9s.jsonl")
_OWN_GAMES = 5


@dataclasses.dataclass(frozen=True)
class RecordedGame:
    """One game from the standard start.

    Attributes:
      name: says which one it is when a test fails.
      moves: in UCI.
    """

    name: str
    moves: tuple[str, ...]


def are_of_people() -> bool:
    """Whether `recorded_games` gives games of people."""
    return bool(os.environ.get("KLSS_SPIEL_DATA"))


@functools.cache
def recorded_games() -> tuple[RecordedGame, ...]:
    """Twenty games of people if there are any, else as many of this package."""
    return games_of_people() if are_of_people() else own_games()


def games_of_people() -> tuple[RecordedGame, ...]:
    """Those of the folder that `KLSS_SPIEL_DATA` names."""
    path = pathlib.Path(os.environ["KLSS_SPIEL_DATA"]) / "fog_of_war_games.json"
    games = json.loads(path.read_text("utf-8"))["games"]
    return tuple(RecordedGame(game["id"], tuple(game["moves"])) for game in games)


def own_games() -> tuple[RecordedGame, ...]:
    """The first different games of some of this package's matches."""
    found: list[RecordedGame] = []
    for file in _OWN_FILES:
        rows = [json.loads(line) for line in (_OWN / file).read_text("utf-8").splitlines()]
        lines = list(dict.fromkeys(row["moves"] for row in rows))
        found += [
            RecordedGame(f"{file}, different game {number}", tuple(line.split()))
            for number, line in enumerate(lines[:_OWN_GAMES])
        ]
    return tuple(found)
