"""Draws rows that binaries have written to files, of several runs in one figure.

    python -m klss_spiel.run.plot a.jsonl b.jsonl --plot=curves.pdf
    python -m klss_spiel.run.plot cfr.csv --x=seconds --line=solver --plot=curves.svg

Rows that differ in nothing but a seed make one curve with a band around it.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from absl import flags

from klss_spiel import plot as figures
from klss_spiel.row_files import ERROR, read_rows
from klss_spiel.run import job_flags, output

# Columns that name curves, the first that rows have.
_LINES = ("preset", "solver", "recipe", "contender")
_AXES = ("budget_nodes", "iterations", "seconds")


@dataclasses.dataclass(frozen=True)
class Config:
    """What to draw.

    Attributes:
      files: with rows, .csv or .jsonl.
      path: the figure.
      x: columns of horizontal axes; none for the first that rows have.
      y: column of the vertical axis.
      line: column that names curves; None for the first that rows have.
    """

    files: tuple[str, ...]
    path: str
    x: tuple[str, ...] = ()
    y: str = "exploitability"
    line: str | None = None


def run(config: Config) -> Any:
    """Draws the figure and returns it."""
    for file in config.files:
        if not pathlib.Path(file).is_file():
            raise ValueError(f"expected files of rows, got {file!r}, which is none")
    rows = [row for file in config.files for row in read_rows(file) if not row.get(ERROR)]
    x = config.x or (_first(_AXES, rows, "--x"),)
    line = config.line or _first(_LINES, rows, "--line")
    for column in ("game", config.y, line, *x):
        if any(column not in row for row in rows):
            raise ValueError(f"expected rows with a column {column!r}, got some without it")
    return figures.exploitability_curves(rows, x, config.y, line, path=config.path)


def _first(columns: Sequence[str], rows: Sequence[dict[str, Any]], flag: str) -> str:
    for column in columns:
        if rows and all(column in row for row in rows):
            return column
    raise ValueError(f"expected rows with one of the columns {', '.join(columns)}; give {flag}")


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_string("plot", "curves.svg", "File to draw to: .svg, .pdf or .png.")
    flags.DEFINE_list("x", [], "Columns of horizontal axes.")
    flags.DEFINE_string("y", "exploitability", "Column of the vertical axis.")
    flags.DEFINE_string("line", None, "Column that names curves.")


@output.callable_with_flags(define_flags, takes_arguments=True)
def main(files: Sequence[str]) -> None:
    """Reads the flags, draws, says where."""
    values = flags.FLAGS
    if not files:
        raise ValueError("expected files of rows, got none")
    job_flags.check_plot(values.plot)
    run(Config(tuple(files), values.plot, tuple(values.x), values.y, values.line))
    print(values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main, takes_arguments=True)
