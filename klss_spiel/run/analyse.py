"""What the searching agent thinks of a decision in a recorded game.

    python -m klss_spiel.run.analyse game.pgn --ply=20
    python -m klss_spiel.run.analyse games.jsonl --number=3 --ply=20 --player=0 --json

Reads PGN that `klss_spiel.run.match` or `play` wrote (the tag UCI holds the moves), or a file
of games of `match`. The agent is told what the player was told, and nothing else. --ply counts
the moves before the decision. Prints candidates with probabilities and values, what each would
tell, where the enemy's pieces may stand, and the report of the search.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from typing import Any

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.algorithms.search.settings import PRESETS
from klss_spiel.budget import Budget
from klss_spiel.matches.analysis import Analysis, analyse_record
from klss_spiel.matches.pgn import rows_from_pgn
from klss_spiel.row_files import read_rows
from klss_spiel.run import output


@dataclasses.dataclass(frozen=True)
class Config:
    """What to look at.

    Attributes:
      path: of a .pgn or .jsonl file.
      number: of the game in it, from 0.
      ply: moves before the decision.
      player: who is to move there; None for whoever it is.
      budget: of the search.
      preset: name of its settings.
      seed: of its random choices.
    """

    path: str
    number: int
    ply: int
    player: int | None
    budget: Budget
    preset: str = "strong"
    seed: int = 0


def run(config: Config) -> Analysis:
    """Searches."""
    rows = _rows(config.path)
    if not 0 <= config.number < len(rows):
        raise ValueError(f"expected a game from 0 to {len(rows) - 1}, got {config.number}")
    settings = PRESETS[config.preset]
    row = rows[config.number]
    return analyse_record(row, config.ply, config.budget, config.player, settings, config.seed)


def _rows(path: str) -> list[dict[str, Any]]:
    if path.endswith(".pgn"):
        try:
            text = pathlib.Path(path).read_text("utf-8")
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error}") from error
        return rows_from_pgn(text)
    return [dict(row) for row in read_rows(path)]


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_integer("number", 0, "Which game of the file, from 0.", lower_bound=0)
    flags.DEFINE_integer("ply", 0, "Moves before the decision.", lower_bound=0)
    flags.DEFINE_enum("player", None, ["0", "1"], "Who is to move there.")
    flags.DEFINE_integer("budget_nodes", 100_000, "Nodes of each search.", lower_bound=1)
    flags.DEFINE_float("budget_seconds", None, "Seconds of each search, instead of nodes.")
    flags.DEFINE_enum("preset", "strong", list(PRESETS), "Settings of the search.")
    flags.DEFINE_integer("seed", 0, "Seed of the search.")
    flags.DEFINE_bool("json", False, "Print a JSON object instead of text.")


@output.callable_with_flags(define_flags, takes_arguments=True)
def main(arguments: list[str]) -> None:
    """Reads the flags, searches, prints."""
    values = flags.FLAGS
    if len(arguments) != 1:
        raise ValueError(f"expected one file of games, got {arguments}")
    seconds = values.budget_seconds
    budget = Budget(nodes=values.budget_nodes) if seconds is None else Budget(seconds=seconds)
    player = None if values.player is None else int(values.player)
    config = Config(
        arguments[0], values.number, values.ply, player, budget, values.preset, values.seed
    )
    analysis = run(config)
    print(analysis.to_json() if values.json else analysis, file=sys.stdout)


if __name__ == "__main__":
    output.run_binary(define_flags, main, takes_arguments=True)
