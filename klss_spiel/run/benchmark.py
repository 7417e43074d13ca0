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
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

from absl import flags, logging

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, compute_rows, key_of
from klss_spiel.row_formats import columns_of
from klss_spiel.run import job_flags, output

SUITES = ("cfr", "subgames", "chess", "search", "agent", "values", "mahjong", "poker", "scale")


class Suite(Protocol):
    """What a module of `suites` has."""

    # All columns that its rows may have.
    COLUMNS: Sequence[str]

    def parts(self, quick: bool) -> Sequence[str]:
        """Names of what can be measured by itself."""

    def rows(self, part: str, quick: bool) -> Iterator[dict[str, Any]]:
        """Measures a part."""


@dataclasses.dataclass(frozen=True)
class Config:
    """What to measure.

    Attributes:
      suites: names out of SUITES.
      quick: one to four minutes a suite instead of many.
    """

    suites: tuple[str, ...]
    quick: bool


def load_suite(name: str) -> Suite:
    """A suite by its name."""
    return cast(Suite, importlib.import_module(f"klss_spiel.run.suites.{name}"))


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """One row per suite, game, task and contender; `how` as in `compute_rows`."""
    return compute_rows(
        make_jobs(config), setup=output.use_double_precision, fields=fields(config), **how
    )


def make_jobs(config: Config) -> list[Job]:
    """A job for each part of each suite."""
    return [
        Job(
            key_of({"suite": name, "part": part, "quick": config.quick}),
            measure,
            (name, part, config.quick),
        )
        for name in config.suites
        for part in load_suite(name).parts(config.quick)
    ]


def measure(suite: str, part: str, quick: bool) -> list[dict[str, Any]]:
    """The rows of one part of a suite."""
    rows = []
    for row in load_suite(suite).rows(part, quick):
        logging.info("%s", {key: value for key, value in row.items() if value is not None})
        rows.append(row)
    return rows


def fields(config: Config) -> list[str]:
    """All columns that rows may have."""
    return columns_of(dict.fromkeys(load_suite(name).COLUMNS) for name in config.suites)


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Draws the ratios of times."""
    figures.bars(rows, ("game", "task", "contender"), ("ratio",), "ratio", log=True, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags()
    job_flags.define_flags(timed=True)
    job_flags.define_plot_flag("how many times faster than the first contender rows are")
    flags.DEFINE_multi_enum(
        "suite", ["cfr"], SUITES, "What to measure; may be given several times."
    )
    flags.DEFINE_bool("quick", False, "Smaller games and fewer repetitions.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, runs, prints."""
    values = flags.FLAGS
    config = Config(tuple(values.suite), values.quick)
    job_flags.check_plot(values.plot)
    # Peers compute in double precision, and so do we unless a row says otherwise.
    with job_flags.computed_rows(
        make_jobs(config), setup=output.use_double_precision, fields=fields(config)
    ) as rows:
        output.emit(rows, values.json, output.format_table(rows, formats={"ratio": ".3g"}))
        compared = [row for row in rows if row.get("ratio")]
        if values.plot and compared:
            plot(compared, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
