r"""How likely beliefs hold what is true: log-loss of the true position in games of dark chess.

python -m klss_spiel.run.belief_loss --games=fog_of_war_games.json
python -m klss_spiel.run.belief_loss --games=match.jsonl --prior=prior.safetensors --json

Follows both players' exact beliefs through games from the standard start, and at every own
turn asks how much probability the true position has: among all that fit, each alike (flat),
and weighted by a move prior. Losses are in nats. Decisions at which more positions fit than
--limit are left out, of both, and counted. Rows of games are kept in --output; the table puts
them together by plies, with intervals (95%) by resampling games.

Reads files of `klss_spiel.run.match`, and JSON with a list "games" of {"id", "moves"}.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import flags

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.row_files import read_rows
from klss_spiel.run import job_flags, output

BUCKETS = (0, 10, 20, 30, 40, 60)  # the first ply of each
_ALL = "all"
_GAME = "python_dark_chess"
_RESAMPLES = 2000


@dataclasses.dataclass(frozen=True)
class Config:
    """What to measure.

    Attributes:
      games: name of each game, and its moves in UCI.
      prior: file of the prior, or the name of a shipped one.
      limit: most positions of a belief.
    """

    games: Mapping[str, tuple[str, ...]]
    prior: str = "dark_chess_move_prior"
    limit: int = 1_000_000

    def __post_init__(self) -> None:
        if not self.games:
            raise ValueError("expected games, got none")
        if self.limit < 1:
            raise ValueError(f"expected a limit of 1 or more positions, got {self.limit}")


def games_of(path: str) -> dict[str, tuple[str, ...]]:
    """Names and moves of the games of a file."""
    name = pathlib.Path(path).name
    if path.endswith(".json"):
        try:
            held = json.loads(pathlib.Path(path).read_text("utf-8"))
            return {f"{name}:{game['id']}": tuple(game["moves"]) for game in held["games"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"cannot read games of {path}: {error!r}") from error
    rows = [row for row in read_rows(path) if row.get("game") == _GAME and row.get("moves")]
    return {f"{name}:{i}": tuple(str(row["moves"]).split()) for i, row in enumerate(rows)}


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """A row for each game and bucket of plies; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), **how)


def make_jobs(config: Config) -> list[Job]:
    """A job for each game."""
    return [
        job_from_columns(
            compute_game,
            {"played": name, "prior": config.prior, "limit": config.limit},
            moves,
            group=_GAME,
        )
        for name, moves in config.games.items()
    ]


def compute_game(columns: Mapping[str, Any], moves: Sequence[str]) -> list[dict[str, Any]]:
    """Sums of losses of one game, a row for each bucket of plies that it reaches."""
    from klss_spiel.games.chess import rules

    found: dict[int, dict[str, Any]] = {}
    for viewer in (rules.WHITE, rules.BLACK):
        for ply, size, flat, weighted in losses_of(
            moves, viewer, str(columns["prior"]), int(columns["limit"])
        ):
            bucket = max(first for first in BUCKETS if first <= ply)
            row = found.setdefault(
                bucket,
                {"ply": bucket, "decisions": 0, "left_out": 0, "flat": 0.0, "weighted": 0.0},
            )
            if size is None:
                row["left_out"] += 1
                continue
            row["decisions"] += 1
            row["flat"] += flat
            row["weighted"] += weighted
    return [found[bucket] for bucket in sorted(found)]


def losses_of(
    moves: Sequence[str], viewer: int, prior: str, limit: int
) -> list[tuple[int, int | None, float, float]]:
    """Ply, size of the belief, flat and weighted loss at each own turn of a player.

    From the first turn on at which the belief is larger than the limit, there is no size.
    """
    from klss_spiel.games.chess import boards, rules
    from klss_spiel.games.chess.packed import positions as packed
    from klss_spiel.games.chess.packed.position_sets import PositionSet

    board = packed.layout(8, 8)
    position = boards.position_of("standard")
    held = PositionSet.of(position, viewer, prior=_prior(prior))
    found: list[tuple[int, int | None, float, float]] = []
    for ply, text in enumerate(moves):
        if position.side == viewer:
            if not held.complete:
                found.append((ply, None, 0.0, 0.0))
            else:
                true = (held.positions == packed.pack([position])).all(axis=1)
                likely = float(held.probabilities[true].sum())
                found.append((ply, len(held), float(np.log(len(held))), -float(np.log(likely))))
        move = boards.move_from_uci(text, 8, 8)
        mover = position.side
        position = rules.apply_move(position, move)
        if not held.complete:
            continue
        seen = packed.observations(board, packed.pack([position]), position.side, viewer)[0]
        if mover == viewer:
            held = held.after_own_move(move, seen)
        else:
            held = held.after_opponent_move(seen, limit)
    return found


@functools.cache
def _prior(name: str) -> Any:
    from klss_spiel.games.chess.packed.move_prior import load_prior

    return load_prior(name)


def summary_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each bucket of plies and one for all: means over decisions, with intervals."""
    found = []
    last = [f"{first} to {following - 1}" for first, following in itertools.pairwise(BUCKETS)]
    names = dict(zip(BUCKETS, [*last, f"{BUCKETS[-1]} and more"], strict=True))
    for bucket in (*BUCKETS, None):
        chosen = [row for row in rows if bucket is None or row["ply"] == bucket]
        decisions = sum(row["decisions"] for row in chosen)
        left_out = sum(row["left_out"] for row in chosen)
        if not decisions:
            continue
        line = {
            "plies": _ALL if bucket is None else names[bucket],
            "games": len({row["played"] for row in chosen if row["decisions"]}),
            "decisions": decisions,
            "left_out": left_out,
            "flat": sum(row["flat"] for row in chosen) / decisions,
            "weighted": sum(row["weighted"] for row in chosen) / decisions,
        }
        low, high = _interval(chosen)
        found.append({**line, "gain": line["flat"] - line["weighted"], "low": low, "high": high})
    return found


def _interval(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """95% of the gain per decision when games are drawn again."""
    games = sorted({row["played"] for row in rows})
    sums = np.zeros((len(games), 2))
    for row in rows:
        sums[games.index(row["played"])] += (row["flat"] - row["weighted"], row["decisions"])
    drawn = np.random.default_rng(0).integers(len(games), size=(_RESAMPLES, len(games)))
    gains = sums[drawn].sum(axis=1)
    gains = gains[gains[:, 1] > 0]
    low, high = np.quantile(gains[:, 0] / gains[:, 1], [0.025, 0.975])
    return float(low), float(high)


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws flat and weighted losses beside each other for each bucket of plies."""
    title = "log-loss of the true position, nats"
    figures.bars(summary_rows(rows), "plies", ("flat", "weighted"), title, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags()
    job_flags.define_flags()
    job_flags.define_plot_flag("a picture of the losses")
    flags.DEFINE_multi_string("games", [], "File of games; may be given several times.")
    flags.DEFINE_string("prior", Config.prior, "File of a prior, or a shipped name.")
    flags.DEFINE_integer("limit", Config.limit, "Most positions of a belief.", lower_bound=1)


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, measures, prints."""
    values = flags.FLAGS
    games = {name: moves for path in values.games for name, moves in games_of(path).items()}
    config = Config(games, values.prior, values.limit)
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(config), progress="games") as rows:
        if values.plot:
            plot(rows, values.plot)
        output.emit(rows if values.json else summary_rows(rows), values.json)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
