"""Play matches of any two or more players of a game, and say who is better.

    python -m klss_spiel.run.match --game=kuhn_poker --player=random --player="cfr(1000)" \
        --games=1000 --output=kuhn.jsonl
    python -m klss_spiel.run.match --game=python_dark_chess --executor=processes:2 \
        --player="search(nodes=20000)" --player="pimc(worlds=64,depth=4)" --games=100 \
        --output=match.jsonl --pgn=match.pgn

Games are played in pairs with swapped seats and the same chance. Each game is appended to
--output as it ends; the same command goes on where it was stopped. More than two players
make a round-robin. Players that see the truth are marked with *.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
import time
from typing import Any

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel import plot as figures
from klss_spiel.executors import IN_PROCESS
from klss_spiel.matches import ratings
from klss_spiel.matches.match import Match, Results, jobs_of, play_match, sprt_row
from klss_spiel.matches.players import player_names, sees_everything
from klss_spiel.run import job_flags, output

_SECONDS_BETWEEN_LINES = 5.0


@dataclasses.dataclass(frozen=True)
class Config:
    """A match and what to do with it.

    Attributes:
      match: what is played.
      executor: where.
      output: file of games, or None.
      resume: go on with the games that are missing there.
      strict: end at the first game that cannot be played.
      shard: number and count of the share to play, or None.
      sprt: elo0 and elo1 of a sequential test, or None.
    """

    match: Match
    executor: str = IN_PROCESS
    output: str | None = None
    resume: bool = True
    strict: bool = False
    shard: tuple[int, int] | None = None
    sprt: tuple[float, float] | None = None


def run(config: Config, watch: Any = None) -> Results:
    """Plays the match."""
    sprt = None if config.sprt is None else ratings.Sprt(*config.sprt)
    return play_match(
        config.match,
        config.executor,
        config.output,
        sprt,
        watch,
        setup=output.use_double_precision,
        resume=config.resume,
        strict=config.strict,
        shard=config.shard,
        progress="games",
    )


def reported(config: Config) -> Results:
    """The games that the file has; nothing is played."""
    results = Results(config.match)
    for row in job_flags.reported_rows(jobs_of(config.match), config.output):
        results.add(row)
    return results


def _label(player: str) -> str:
    return f"{player}*" if sees_everything(player) else player


def report_rows(results: Results) -> list[dict[str, Any]]:
    """A line for every two players, for people."""
    rows = []
    for summary in results.summaries():
        first, second = map(_label, summary["players"])
        rows.append(
            {
                "player": first,
                "opponent": second,
                "games": summary["games"],
                "+": summary["wins"],
                "=": summary["draws"],
                "-": summary["losses"],
                "score": summary["score"],
                "elo": _span(summary, "elo"),
                "los": summary["los"],
                "reward": _span(summary, "reward"),
                "forfeits": summary["forfeits"],
            }
        )
    return rows


def rating_rows(results: Results) -> list[dict[str, Any]]:
    """A line for every player, the strongest first."""
    return [{**row, "player": _label(row["player"])} for row in results.table()]


def _span(summary: dict[str, Any], name: str) -> str:
    def text(value: float | None, unbounded: str) -> str:
        return unbounded if value is None else f"{value:.4g}"

    low, high = text(summary[f"{name}_low"], "-inf"), text(summary[f"{name}_high"], "inf")
    return f"{text(summary[name], 'unbounded')} [{low}, {high}]"


class ProgressLine:
    """Shows the running score on standard error every few seconds. Mutable."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, results: Results) -> None:
        """Called after every game."""
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        parts = []
        for first, second in ratings.all_pairings(len(results.match.players)):
            tally = results.tally(first, second)
            if tally.games:
                points = tally.wins + 0.5 * tally.draws
                interval = ratings.mean_interval(tally.units, weights=tally.unit_games)
                parts.append(
                    f"{_label(results.match.players[first])} v "
                    f"{_label(results.match.players[second])}: "
                    f"{points:g}/{tally.games} ({interval.estimate:.3f}, "
                    f"{interval.low:.3f} to {interval.high:.3f})"
                )
        print("; ".join(parts), file=sys.stderr, flush=True)


def define_flags() -> None:
    """Defines the flags of this binary."""
    job_flags.define_flags()
    flags.DEFINE_string("game", "kuhn_poker", "OpenSpiel game string.")
    flags.DEFINE_multi_string(
        "player", [], "Specification of a player; give the flag twice or more often."
    )
    flags.DEFINE_integer("games", 100, "Games of every two players; even.", lower_bound=2)
    flags.DEFINE_integer("seed", 0, "Seed of chance and of the players.")
    flags.DEFINE_string("clock", None, "Minutes+seconds such as 3+2, or seconds as in 9s+0.1.")
    flags.DEFINE_float("seconds", None, "Per move, for players without a budget of their own.")
    flags.DEFINE_list("sprt", None, "elo0,elo1: stop as soon as one of them is accepted.")
    flags.DEFINE_string("openings", None, "File with a FEN or first moves in UCI on each line.")
    flags.DEFINE_bool("reports", False, "Keep players' reports in the file of games.")
    flags.DEFINE_string("pgn", None, "File that gets all games as PGN (chess games).")
    flags.DEFINE_string("plot", None, "File (.svg, .pdf, .png) for a picture of the ratings.")
    flags.DEFINE_bool("json", False, "Print one JSON list instead of tables.")
    flags.DEFINE_bool("list_players", False, "Print the names of all players and stop.")


def config_from_flags() -> Config:
    """What the flags ask for."""
    values = flags.FLAGS
    openings: tuple[str, ...] = ()
    if values.openings is not None:
        from klss_spiel.matches.openings import games_of_openings

        try:
            lines = pathlib.Path(values.openings).read_text("utf-8").splitlines()
        except OSError as error:
            raise ValueError(f"cannot read --openings: {error}") from error
        openings = games_of_openings(values.game, lines)
        if not openings:
            raise ValueError(f"expected a FEN or moves on a line of {values.openings}, got none")
    sprt = None
    if values.sprt is not None:
        try:
            elo0, elo1 = map(float, values.sprt)
        except ValueError:
            got = ",".join(values.sprt)
            raise ValueError(f"expected --sprt=elo0,elo1 with two numbers, got {got}") from None
        sprt = (elo0, elo1)
    match = Match(
        game=values.game,
        players=tuple(values.player),
        games=values.games,
        seed=values.seed,
        control=values.clock,
        seconds=values.seconds,
        openings=openings,
        reports=values.reports,
    )
    shard = None if values.shard is None else job_flags.parse_shard(values.shard)
    return Config(match, values.executor, values.output, values.resume, values.strict, shard, sprt)


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, plays, prints."""
    values = flags.FLAGS
    if values.list_players:
        print("\n".join(sorted(player_names())))
        return
    config = config_from_flags()
    job_flags.check_plot(values.plot)
    if values.pgn is not None:
        from klss_spiel.matches.pgn import check_is_chess

        check_is_chess(config.match.game)
        job_flags.check_writable(values.pgn)
    results = reported(config) if values.report else run(config, ProgressLine())
    if values.pgn is not None:
        from klss_spiel.matches.pgn import pgn_of

        ordered = sorted(results.rows, key=lambda row: (row["pairing"], row["number"]))
        text = "\n".join(pgn_of(row) for row in ordered)
        pathlib.Path(values.pgn).write_text(text, "utf-8")
    test = None if config.sprt is None else sprt_row(results, ratings.Sprt(*config.sprt))
    if values.json:
        extra = {} if test is None else {"sprt": test}
        print(json.dumps([{**row, **extra} for row in results.summaries()]))
    else:
        output.emit(report_rows(results), as_json=False)
        if test is not None:
            output.emit([test], as_json=False)
        if len(config.match.players) > 2:
            output.emit(rating_rows(results), as_json=False)
    if values.plot is not None:
        figures.ratings(rating_rows(results), results.match.game, values.plot)
    if results.failed:
        print(
            f"{len(results.failed)} games were not played; the first: {results.failed[0]}",
            file=sys.stderr,
        )
        sys.exit(1)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
