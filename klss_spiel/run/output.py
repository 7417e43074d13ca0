"""Results of binaries: aligned tables, CSV, JSON, and files that survive a kill.

A row is a mapping from column names to values. Standard output carries results
only, so that it can be piped; logs and progress go to standard error.

A binary reads

    def define_flags() -> None: ...         # absl flags, output.define_flags() among them
    def run(config: Config) -> list[Row]: ...
    def main() -> None: ...                 # flags -> Config -> run -> output.emit
    if __name__ == "__main__":
        output.run_binary(define_flags, main)

Flags are defined by a function, not at import: several binaries call theirs
`--game`, and absl allows a name once in a process that imports them all.
"""

from __future__ import annotations

import csv
import functools
import importlib.metadata
import io
import json
import logging as std_logging
import math
import os
import pathlib
import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from absl import app, flags, logging

from klss_spiel.progress import Progress

Row = Mapping[str, Any]

_PACKAGES = ("klss_spiel", "open_spiel", "numpy", "jax")
_EXIT_BAD_INPUT = 1
_EXIT_INTERRUPTED = 130


def define_flags(resumes: bool = True) -> None:
    """Defines `--json` and `--output`.

    Args:
      resumes: whether the binary reads finished rows back from the file, as
        `compute_rows` does; measurements of time are made anew instead.
    """
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    help_text = "File (.csv or .json) that gets every row as soon as it is finished. " + (
        "Rows already in it are not computed again: a run that was stopped goes on where it stood."
        if resumes
        else "It is replaced."
    )
    flags.DEFINE_string("output", None, help_text)


def run_binary(define: Callable[[], None], main: Callable[[], None]) -> None:
    """Runs a binary; bad input ends in one line on standard error, not in a traceback."""
    known = set(flags.FLAGS)
    define()
    for name in set(flags.FLAGS) - known:
        # Without this `--help` shows only flags of the file that Python was started with.
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flags.FLAGS[name])

    def guarded_main(argv: Sequence[str]) -> None:
        try:
            if len(argv) > 1:
                raise ValueError(f"expected flags only, got the arguments {list(argv[1:])}")
            main()
        except ValueError as error:
            if logging.level_debug():
                traceback.print_exc()
            else:
                print(f"error: {error} (--verbosity=1 shows where)", file=sys.stderr)
            sys.exit(_EXIT_BAD_INPUT)
        except KeyboardInterrupt:
            print("interrupted; rows in the --output file are kept", file=sys.stderr)
            sys.exit(_EXIT_INTERRUPTED)
        except BrokenPipeError:
            # The reader (`| head`) has seen enough; Python must not flush again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    app.run(guarded_main)


def use_double_precision() -> None:
    """Makes jax compute in float64, as OpenSpiel does; for binaries, before any computation."""
    import jax

    # jax reports every accelerator it does not find as news.
    std_logging.getLogger("jax._src.xla_bridge").setLevel(std_logging.WARNING)
    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]


def emit(rows: Sequence[Row], as_json: bool, table: str | None = None) -> None:
    """Writes rows to standard output, as JSON or as `table` (by default `format_table`)."""
    text = to_json(rows) if as_json else format_table(rows) if table is None else table
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


@functools.cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("python_version", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((f"{package}_version", importlib.metadata.version(package)))
        except importlib.metadata.PackageNotFoundError:
            found.append((f"{package}_version", "missing"))
    return tuple(found)


def versions() -> dict[str, str]:
    """Columns with the versions of Python and of the packages that results depend on."""
    return dict(_versions())


def columns_of(rows: Iterable[Row]) -> list[str]:
    """All columns, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def format_table(
    rows: Sequence[Row],
    columns: Sequence[str] | None = None,
    formats: Mapping[str, str] | None = None,
) -> str:
    """Rows as text with aligned columns, numbers to the right.

    Args:
      rows: what to show.
      columns: which columns, in which order; by default all.
      formats: format specification of floats by column, e.g. {"seconds": ".1f"};
        by default ".6g".
    """
    columns = columns_of(rows) if columns is None else list(columns)
    formats = formats or {}
    cells = [[_cell_text(row.get(c), formats.get(c, ".6g")) for c in columns] for row in rows]
    numeric = [
        all(_is_number(row.get(c)) or row.get(c) is None for row in rows) and len(rows) > 0
        for c in columns
    ]
    widths = [
        max([len(column), *(len(line[i]) for line in cells)]) for i, column in enumerate(columns)
    ]
    lines = [columns, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def _is_number(value: Any) -> bool:
    return isinstance(_plain(value), int | float) and not isinstance(_plain(value), bool)


def _cell_text(value: Any, float_format: str) -> str:
    value = _plain(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format(value, float_format)
    return value if isinstance(value, str) else json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """Numpy scalars and arrays as what JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else value


def _strict(value: Any) -> Any:
    """A value that strict JSON can hold: infinities and NaN become null."""
    value = _plain(value)
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_json(rows: Iterable[Row]) -> str:
    """Rows as one JSON list, a row per line."""
    lines = [json.dumps(_strict(row), allow_nan=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]\n"


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV; `from_csv` gets back the same values, types included.

    Nested mappings become columns with dotted names. Strings stand as they are
    unless they could be read as something else; all other values, and such
    strings, are written as JSON. None is an empty cell.
    """
    text = io.StringIO()
    flat_rows = [dict(_flatten(row)) for row in rows]
    columns = columns_of(flat_rows)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_encode_cell(row.get(column)) for column in columns] for row in flat_rows)
    return text.getvalue()


def from_csv(text: str) -> list[dict[str, Any]]:
    """The rows that `to_csv` wrote; cells that were absent come back as None."""
    reader = csv.reader(io.StringIO(text))
    columns = next(reader, [])
    rows: list[dict[str, Any]] = []
    for line in reader:
        row: dict[str, Any] = {}
        for column, cell in zip(columns, line, strict=True):
            *outer, last = column.split(".")
            inner = row
            for name in outer:
                inner = inner.setdefault(name, {})
            inner[last] = _decode_cell(cell)
        rows.append(row)
    return rows


def _flatten(row: Row) -> Iterator[tuple[str, Any]]:
    for column, value in row.items():
        if "." in column:
            raise ValueError(f"expected column names without dots, got {column!r}")
        if isinstance(value, Mapping) and value:
            for inner, item in _flatten(value):
                yield f"{column}.{inner}", item
        else:
            yield column, value


def _encode_cell(value: Any) -> str:
    value = _plain(value)
    if value is None:
        return ""
    # The csv module reads a bare carriage return as the end of a line.
    if isinstance(value, str) and value and "\r" not in value and _decode_cell(value) == value:
        return value
    return json.dumps(value, default=_plain)


def _decode_cell(text: str) -> Any:
    if text == "":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Replaces a file in one step: whoever reads it sees the old text or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_rows(path: str | os.PathLike[str], rows: Sequence[Row]) -> None:
    """Writes rows to a .csv or .json file, atomically."""
    path = pathlib.Path(path)
    write_atomically(path, to_json(rows) if _suffix(path) == ".json" else to_csv(rows))


def collect(rows: Iterable[Row], path: str | None) -> list[Row]:
    """All rows, written to the file as they come; Ctrl-C ends them early, not in vain."""
    if path is not None:
        _suffix(pathlib.Path(path))  # refuses a bad name before any work is done
    done: list[Row] = []
    try:
        for row in rows:
            done.append(row)
            if path is not None:
                write_rows(path, done)
    except KeyboardInterrupt:
        logging.warning("interrupted; showing what was finished")
    return done


def read_rows(path: pathlib.Path) -> list[dict[str, Any]]:
    """Reads back a file of `write_rows`; a missing file has no rows."""
    suffix = _suffix(path)
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    try:
        rows = json.loads(text) if suffix == ".json" else from_csv(text)
    except ValueError as error:
        raise ValueError(f"{path} is not a result file: {error}") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path} is not a result file: expected a list of rows")
    return rows


def _suffix(path: pathlib.Path) -> str:
    if path.suffix not in (".csv", ".json"):
        raise ValueError(f"expected an output file named .csv or .json, got {str(path)!r}")
    return path.suffix


def compute_rows(
    tasks: Iterable[Mapping[str, Any]],
    compute: Callable[[Mapping[str, Any]], Row | Sequence[Row]],
    path: str | pathlib.Path | None = None,
    stamp: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Computes rows task by task, keeping finished ones in a file.

    Args:
      tasks: what identifies each row: its first columns (game, seed, options).
      compute: from a task to its other columns, or to a list of such for a task
        of several rows. All rows of a task are written in one step.
      path: file of finished rows (.csv or .json), also of earlier runs; tasks
        found there are not computed again, other rows there are kept.
      stamp: columns added to new rows in the file, by default `versions()`.

    Returns:
      The rows of all tasks in the order of the tasks, without the stamp.
    """
    tasks = [{key: _strict(value) for key, value in task.items()} for task in tasks]
    file = None if path is None else pathlib.Path(path)
    finished = [] if file is None else read_rows(file)
    stamp = versions() if stamp is None else stamp
    for task in tasks[:1]:
        if finished and not set(task) <= set(columns_of(finished)):
            raise ValueError(
                f"{path} holds rows of another command: expected columns {list(task)}, got "
                f"{columns_of(finished)}; name another file"
            )
    progress = Progress("computing rows", len(tasks))
    result: list[dict[str, Any]] = []
    for number, task in enumerate(tasks):
        rows = [row for row in finished if all(row.get(key) == task[key] for key in task)]
        if not rows:
            computed = compute(task)
            computed = [computed] if isinstance(computed, Mapping) else computed
            rows = [{**task, **row, **stamp} for row in computed]
            finished = [*finished, *rows]
            if file is not None:
                write_rows(file, finished)
        for row in rows:
            result.append({key: value for key, value in row.items() if key not in stamp})
        progress.update(number + 1)
    return result
