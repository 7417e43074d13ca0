"""Benchmarks against OpenSpiel and other packages, as ratios measured in one run.

python -m klss_spiel.run.benchmark --suite=cfr [--quick] [--json]

In suite cfr, `ratio` is OpenSpiel C++'s time over the contender's, so larger is
faster. In the others no one peer does everything, and `ratio` says how many times
faster klss_spiel is than the contender of the row. `task` tells apart the rows of
one game.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any

from absl import flags, logging

from klss_spiel.run import output

SUITES = ("cfr", "subgames", "chess", "search")


@dataclasses.dataclass(frozen=True)
class Config:
    """What to measure.

    Attributes:
      suites: names out of SUITES.
      quick: one to four minutes a suite instead of many.
    """

    suites: tuple[str, ...]
    quick: bool


def run(config: Config) -> Iterator[dict[str, Any]]:
    """Yields one row per suite, game, task and contender, as each is measured."""
    for name in config.suites:
        suite = importlib.import_module(f"klss_spiel.run.suites.{name}")
        for row in suite.rows(config.quick):
            logging.info("%s", {key: value for key, value in row.items() if value is not None})
            yield row


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags(resumes=False)
    flags.DEFINE_multi_enum(
        "suite", ["cfr"], SUITES, "What to measure; may be given several times."
    )
    flags.DEFINE_bool("quick", False, "Smaller games and fewer repetitions.")


def main() -> None:
    """Reads the flags, runs, prints."""
    # Peers compute in double precision, and so do we unless a row says otherwise.
    output.use_double_precision()
    values = flags.FLAGS
    config = Config(tuple(values.suite), values.quick)
    rows = output.collect(run(config), values.output)
    output.emit(rows, values.json, output.format_table(rows, formats={"ratio": ".3g"}))


if __name__ == "__main__":
    output.run_binary(define_flags, main)
