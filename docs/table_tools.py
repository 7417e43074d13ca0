"""What the pages' tables are made with: rows that binaries print, and markdown."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from klss_spiel.run import (
    benchmark,
    mahjong_tables,
    match,
    obscuro_tables,
    search_exploitability,
    value_tables,
)

ROOT = pathlib.Path(__file__).parent.parent
Line = Mapping[str, Any]

_BINARIES = {
    f"klss_spiel.run.{module.__name__.rpartition('.')[2]}": module.main
    for module in (
        benchmark,
        mahjong_tables,
        match,
        obscuro_tables,
        search_exploitability,
        value_tables,
    )
}


def lines_of(command: str) -> list[dict[str, Any]]:
    """What a command prints about the file it wrote."""
    _, _, module, *arguments = shlex.split(command)
    arguments = [
        re.sub(r"^--output=", f"--output={ROOT}/", argument)
        for argument in arguments
        if not argument.startswith(("--executor", "--plot"))
    ]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _BINARIES[module]([*arguments, "--report", "--json"])
    lines: list[dict[str, Any]] = json.loads(printed.getvalue())
    return lines


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows with the same columns as a table."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def commands_block(commands: Sequence[str]) -> str:
    """Commands as a person would type them, long ones on two lines."""
    parts = []
    for command in commands:
        head, _, file = command.rpartition(" --output=")
        parts.append(f"{head} \\\n    --output={file}")
    return "\n```\n" + "\n".join(parts) + "\n```\n"


def percent(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f}"


def with_interval(line: Line, name: str) -> str:
    """A share in percent with its interval."""
    return f"{percent(line[name])} ({percent(line['low'])} to {percent(line['high'])})"


def thousands(value: int) -> str:
    """A whole number for people."""
    return f"{value:,}"
