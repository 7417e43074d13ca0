"""The package in under a minute: three games, solved exactly and by CFR+.

    python -m klss_spiel.run.demo

Prints one table and writes it to results/demo.csv and results/demo.json.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from typing import Any

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel import linear_program
from klss_spiel.best_response import exploitability
from klss_spiel.openspiel import load_game, tree_from_game, turn_based
from klss_spiel.run import contenders, output
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


def run(config: Config) -> Iterator[dict[str, Any]]:
    """Yields one row per game."""
    for name in config.games:
        game = turn_based(load_game(name))
        tree = tree_from_game(game)
        form = sequence_form_from_tree(tree)
        start = time.perf_counter()
        value = linear_program.solve(form).value + tree.utility_offset
        row: dict[str, Any] = {
            "game": name,
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
            solver.advance(config.iterations)
            row[f"{shown} seconds"] = time.perf_counter() - start
            row[f"{shown} exploitability"] = exploitability(solver.policy(), form)
        row["times faster"] = row["OpenSpiel seconds"] / row["ours seconds"]
        yield row


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    flags.DEFINE_integer("iterations", 500, "CFR+ iterations of both solvers.", lower_bound=1)
    flags.DEFINE_string("directory", "results", "Where demo.csv and demo.json are written.")


def main() -> None:
    """Reads the flags, runs, prints."""
    output.use_double_precision()
    values = flags.FLAGS
    rows = list(run(Config(iterations=values.iterations)))
    os.makedirs(values.directory, exist_ok=True)
    for suffix in ("csv", "json"):
        output.write_rows(os.path.join(values.directory, f"demo.{suffix}"), rows)
    output.emit(rows, values.json, output.format_table(rows, formats={"times faster": ".1f"}))


if __name__ == "__main__":
    output.run_binary(define_flags, main)
