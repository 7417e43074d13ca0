r"""Trains the move prior by which beliefs of dark chess are weighted.

python -m klss_spiel.run.train_move_prior --output=prior.safetensors \
    --games=docs/results/obscuro/ablations_klss.jsonl --games=docs/results/agent/recent.jsonl

Learns from files of games of `klss_spiel.run.match` from the standard start, and of these from
the moves of players whose specification begins with --player. The same flags, files and seed
give the same weights. A fifth of the games is left out first, to say how likely moves are that
were not trained on; then the prior is trained on all. It takes about a minute.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import time
from typing import Any

from absl import flags

from klss_spiel import weights
from klss_spiel.row_files import read_rows
from klss_spiel.run import output

_GAME = "python_dark_chess"
_LEFT_OUT = 5  # one of so many games
_NAME = "python -m klss_spiel.run.train_move_prior"


@dataclasses.dataclass(frozen=True)
class Config:
    """What to train.

    Attributes:
      output: file of the prior.
      games: files of games.
      player: how specifications begin of players to learn from.
      epochs: passes over the moves.
      penalty: of large weights; see `move_prior_training.Fit`.
      uniform: share of uniform moves mixed in.
      memory: of beliefs; see `MovePrior`.
      seed: of the order of moves.
      licence: that is written into the file.
      command: likewise.
    """

    output: str
    games: tuple[str, ...]
    player: str = "search"
    epochs: int = 12
    penalty: float = 2e-5
    uniform: float = 0.05
    memory: float = 1.0
    seed: int = 0
    licence: str = "Apache-2.0"
    command: str = _NAME

    def __post_init__(self) -> None:
        if not self.output.endswith(weights.SUFFIX):
            raise ValueError(f"expected an output named *{weights.SUFFIX}, got {self.output!r}")
        if not self.games:
            raise ValueError("expected at least one --games=FILE, got none")


def run(config: Config) -> list[dict[str, Any]]:
    """Trains, saves, and returns a row of what was reached."""
    from klss_spiel.games.chess.networks import move_prior_training as training
    from klss_spiel.games.chess.packed.move_prior import save_prior

    start = time.process_time()
    games = [game for path in config.games for game in _games(path, config.player)]
    moves = training.played_moves(games)
    how = training.Fit(
        epochs=config.epochs,
        penalty=config.penalty,
        uniform=config.uniform,
        memory=config.memory,
        seed=config.seed,
    )
    left_out = moves.games % _LEFT_OUT == 0
    if left_out.all() or not left_out.any():
        raise ValueError(f"expected at least 2 games to learn from, got {len(games)}")
    tested = training.some(moves, left_out)
    loss, uniform_loss = training.losses(training.fit(training.some(moves, ~left_out), how), tested)
    figures = {
        "games": len(games),
        "moves": len(moves),
        "nats_left_out": round(float(loss.mean()), 4),
        "nats_uniform": round(float(uniform_loss.mean()), 4),
    }
    prior = training.fit(moves, how)
    digest = hashlib.sha256("\n".join(" ".join(moves) for moves, _ in games).encode()).hexdigest()
    extra = {**figures, "games_sha256": digest}
    save_prior(config.output, prior, config.seed, config.command, config.licence, extra)
    return [{**figures, "cpu_seconds": time.process_time() - start}]


def _games(path: str, player: str) -> list[tuple[list[str], tuple[bool, bool]]]:
    """Moves of each game that ended by the rules, and whose of them to learn from."""
    return [
        (
            str(row["moves"]).split(),
            (str(row["player_0"]).startswith(player), str(row["player_1"]).startswith(player)),
        )
        for row in read_rows(path)
        if row.get("termination") == "rules" and row.get("game") == _GAME and row.get("moves")
    ]


def define_flags() -> None:
    """Defines the flags of this binary."""
    defaults = Config(f"x{weights.SUFFIX}", ("",))
    output.define_flags()
    flags.DEFINE_string("output", None, "File of the prior (.safetensors).", required=True)
    flags.DEFINE_multi_string("games", [], "File of games; may be given several times.")
    flags.DEFINE_string("player", defaults.player, "Learn from players that begin so.")
    flags.DEFINE_integer("epochs", defaults.epochs, "Passes over the moves.", lower_bound=1)
    flags.DEFINE_float("penalty", defaults.penalty, "Of large weights.", lower_bound=0.0)
    flags.DEFINE_float("uniform", defaults.uniform, "Share of uniform moves mixed in.")
    flags.DEFINE_float("memory", defaults.memory, "Of beliefs: 1 for Bayes' rule, below forgets.")
    flags.DEFINE_integer("seed", defaults.seed, "Of the order of moves.")
    flags.DEFINE_string("licence", defaults.licence, "Written into the file.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, trains, prints."""
    values = flags.FLAGS
    names = [field.name for field in dataclasses.fields(Config) if field.name != "command"]
    given: dict[str, Any] = {name: values[name].value for name in names}
    given["games"] = tuple(given["games"])
    command = f"{_NAME} {' '.join(sys.argv[1:])}".strip()
    output.emit(run(Config(**given, command=command)), values.json)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
