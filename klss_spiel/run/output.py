"""How binaries start, and how they print: aligned tables or JSON.

A row is a mapping from column names to values. Standard output carries results
only, so that it can be piped; logs and progress go to standard error.

A binary reads

    def define_flags() -> None: ...   # absl flags, output.define_flags() among them
    def make_jobs(config: Config) -> list[Job]: ...
    def main() -> None: ...           # flags -> Config -> jobs -> rows -> output.emit
    if __name__ == "__main__":
        output.run_binary(define_flags, main)

`job_flags` runs jobs and keeps files of rows. Flags are defined by a function, not at
import: several binaries call theirs `--game`, and absl allows a name once in a process
that imports them all.
"""

from __future__ import annotations

import functools
import json
import logging as std_logging
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from absl import app, flags, logging

from klss_spiel.algorithms import compilation_cache
from klss_spiel.jobs import JobError
from klss_spiel.row_formats import Row as Row
from klss_spiel.row_formats import columns_of as columns_of

_EXIT_BAD_INPUT = 1
_EXIT_INTERRUPTED = 130


def define_flags() -> None:
    """Defines `--json`."""
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")


def run_binary(
    define: Callable[[], None],
    main: Callable[..., None],
    takes_arguments: bool = False,
) -> None:
    """Runs a binary; bad input ends in one line on standard error, not in a traceback.

    Args:
      define: defines the flags.
      main: the binary.
      takes_arguments: whether `main` gets a list of the arguments that are not flags;
        otherwise there may be none.
    """
    known = set(flags.FLAGS)
    define()
    for name in set(flags.FLAGS) - known:
        # Without this `--help` shows only flags of the file that Python was started with.
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flags.FLAGS[name])

    def guarded_main(argv: Sequence[str]) -> None:
        try:
            arguments = list(argv[1:])
            if arguments and not takes_arguments:
                raise ValueError(f"expected flags only, got the arguments {arguments}")
            compilation_cache.enable()
            # A binary with arguments can be called with flags, too, which are read already.
            plain = getattr(main, "__wrapped__", main)
            plain(arguments) if takes_arguments else plain()
        except (ValueError, JobError) as error:
            if logging.level_debug():
                traceback.print_exc()
            else:
                print(f"error: {error} (--verbosity=1 shows where)", file=sys.stderr)
            sys.exit(_EXIT_BAD_INPUT)
        except KeyboardInterrupt:
            print("interrupted; rows in an --output file are kept", file=sys.stderr)
            sys.exit(_EXIT_INTERRUPTED)
        except BrokenPipeError:
            _ignore_output()

    try:
        app.run(guarded_main)
    except BrokenPipeError:  # of `--help | head`, which absl prints before it calls the binary
        _ignore_output()


def _ignore_output() -> None:
    """For a reader (`| head`) who has seen enough: Python must not flush again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def callable_with_flags(
    define: Callable[[], None], takes_arguments: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Lets a binary's `main` be called with a list of flags, in a notebook for instance.

        from klss_spiel.run import play
        play.main(["--game=kuhn_poker", "--human=none"])

    Errors are raised as they are, and flags are forgotten afterwards, so that binaries
    whose flags have the same names can be called one after another.

    Args:
      define: defines the binary's flags.
      takes_arguments: see `run_binary`.
    """

    def decorate(main: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(main)
        def callable_main(argv: Sequence[str] | None = None) -> None:
            if argv is None:
                main()
                return
            values = flags.FLAGS
            known = set(values)
            define()
            was_parsed = values.is_parsed()
            verbosity, is_default = logging.get_verbosity(), values["verbosity"].using_default_value
            try:
                left = values(["notebook", *argv])[1:]
                if left and not takes_arguments:
                    raise ValueError(f"expected flags only, got the arguments {left}")
                compilation_cache.enable()
                main(left) if takes_arguments else main()
            finally:
                for name in set(values) - known:
                    delattr(values, name)
                logging.set_verbosity(verbosity)
                values["verbosity"].using_default_value = is_default
                if not was_parsed:
                    values.unparse_flags()

        return callable_main

    return decorate


def use_double_precision() -> None:
    """Makes jax compute in float64, as OpenSpiel does; for binaries, before any computation."""
    # jax reports every accelerator it does not find as news.
    std_logging.getLogger("jax._src.xla_bridge").setLevel(std_logging.WARNING)
    if "jax" in sys.modules:
        import jax

        jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    else:
        # Read when jax is imported, which a binary may never need.
        os.environ["JAX_ENABLE_X64"] = "1"


def set_up_worker() -> None:
    """Makes another process compute as a binary does."""
    compilation_cache.enable()
    use_double_precision()


def emit(rows: Sequence[Row], as_json: bool, table: str | None = None) -> None:
    """Writes rows to standard output, as JSON or as `table` (by default `format_table`)."""
    text = to_json(rows) if as_json else format_table(rows) if table is None else table
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


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
