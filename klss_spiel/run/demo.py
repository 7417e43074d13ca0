"""The package in under a minute: three games, solved exactly and by CFR+.

    python -m klss_spiel.run.demo

Prints one table and writes it to results/demo.csv and results/demo.json.
"""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel import linear_program
from klss_spiel import plot as figures
from klss_spiel.best_response import exploitability
from klss_spiel.jobs import Job, compute_rows, key_of
from klss_spiel.openspiel import load_game, tree_from_game, turn_based
from klss_spiel.row_files import write_atomically, write_rows
from klss_spiel.run import contenders, job_flags, output
from klss_spiel.sequence_form import sequence_form_from_tree

GAMES = ("kuhn_poker", "leduc_poker", "python_n_matching_pennies")


@dataclasses.dataclass(frozen=True)
class Config:
    """What to show.

    Attributes:
      games: game strings.
      iterations: CFR+ iterations of both solvers.
    """

    games: tuple[str, ...] = GAMES
    iterations: int = 500


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """One row per game; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), setup=output.use_double_precision, **how)


def make_jobs(config: Config) -> list[Job]:
    """A job for each game."""
    return [
        Job(
            key_of({"game": game, "iterations": config.iterations}),
            compute_row,
            (game, config.iterations),
            {"game": game},
        )
        for game in config.games
    ]


def compute_row(name: str, iterations: int) -> dict[str, Any]:
    """The figures of one game."""
    game = turn_based(load_game(name))
    tree = tree_from_game(game)
    form = sequence_form_from_tree(tree)
    start = time.perf_counter()
    value = linear_program.solve(form).value + tree.utility_offset
    row: dict[str, Any] = {
        "nodes": tree.num_nodes,
        "infosets": tree.num_decision_infosets,
        "value": value,
        "LP seconds": time.perf_counter() - start,
    }
    for shown, contender in (
        ("ours", contenders.KLSS_SPIEL),
        ("OpenSpiel", contenders.OPENSPIEL_CPP),
    ):
        contender.start(game, tree).advance(1)  # compile apart
        solver = contender.start(game, tree)
        start = time.perf_counter()
        solver.advance(iterations)
        row[f"{shown} seconds"] = time.perf_counter() - start
        row[f"{shown} exploitability"] = exploitability(solver.policy(), form)
    row["times faster"] = row["OpenSpiel seconds"] / row["ours seconds"]
    return row


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws the seconds of both solvers."""
    figures.bars(rows, "game", ("ours seconds", "OpenSpiel seconds"), "seconds", True, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags()
    job_flags.define_flags(timed=True)
    job_flags.define_plot_flag("the seconds of both solvers")
    flags.DEFINE_integer("iterations", 500, "CFR+ iterations of both solvers.", lower_bound=1)
    flags.DEFINE_string("directory", "results", "Where demo.csv and demo.json are written.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, runs, prints."""
    values = flags.FLAGS
    directory = pathlib.Path(values.directory)
    job_flags.check_writable(directory / "demo.csv")
    job_flags.check_plot(values.plot)
    jobs = make_jobs(Config(iterations=values.iterations))
    with job_flags.computed_rows(jobs, setup=output.use_double_precision) as rows:
        write_rows(directory / "demo.csv", rows)
        write_atomically(directory / "demo.json", output.to_json(rows))
        output.emit(rows, values.json, output.format_table(rows, formats={"times faster": ".1f"}))
        if values.plot:
            plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
