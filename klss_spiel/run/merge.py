"""Joins files of rows, such as those of several shards, into one.

    python -m klss_spiel.run.merge a.csv b.csv --output=all.csv

Rows that are there several times must agree in everything but times and versions. Says
which jobs failed, which shards and how many jobs are missing, and ends with an error if
there are any; what is there is written all the same. The output goes on where the files
stood if a binary is given it as its --output.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags

from klss_spiel.jobs import ALL_JOBS, SHARD
from klss_spiel.row_files import ERROR, PART, check_name, latest_by_key, read_rows, write_rows
from klss_spiel.run import job_flags, output
from klss_spiel.versions import versions

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Merged:
    """What several files hold together.

    Attributes:
      rows: of each job once.
      summary: a row per file: jobs and errors.
      failed: keys of jobs that failed in all files they are in.
      missing_shards: such as "2 of 4", of which no row is there.
      missing_jobs: how many are in no file, as far as shards tell.
    """

    rows: list[dict[str, Any]]
    summary: list[dict[str, Any]]
    failed: list[str]
    missing_shards: list[str]
    missing_jobs: int


def merge(paths: Sequence[str]) -> Merged:
    """Joins files.

    Raises:
      ValueError: if a file is missing or no file of rows, or files contradict each other.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    origin: dict[str, str] = {}
    summary = []
    for path in paths:
        if not pathlib.Path(path).is_file():
            raise ValueError(f"expected files of rows, got {path!r}, which is none")
        groups = latest_by_key(read_rows(path))
        failed = [key for key, group in groups.items() if _failed(group)]
        summary.append({"file": path, "jobs": len(groups), "failed": len(failed)})
        for key, group in groups.items():
            if key not in found or _failed(found[key]):
                found[key], origin[key] = group, path
            elif not _failed(group):
                _check_agreement(key, (origin[key], path), found[key], group)
    rows = [row for group in found.values() for row in group]
    return Merged(
        rows,
        summary,
        [key for key, group in found.items() if _failed(group)],
        _missing_shards(rows),
        max(0, max((row.get(ALL_JOBS) or 0 for row in rows), default=0) - len(found)),
    )


def _failed(group: Sequence[Row]) -> bool:
    return group[0].get(ERROR) is not None


def _result(row: Row) -> dict[str, str]:
    """What must be the same whenever and wherever a row is computed, as text."""
    hidden = {*versions(), SHARD, ALL_JOBS, PART, ERROR}
    return {
        column: repr(value)  # NaN does not equal itself.
        for column, value in row.items()
        if column not in hidden and not column.endswith("seconds") and value is not None
    }


def _check_agreement(
    key: str, files: tuple[str, str], group: Sequence[Row], other: Sequence[Row]
) -> None:
    first, second = ([_result(row) for row in rows] for rows in (group, other))
    if first == second:
        return
    if len(first) != len(second):
        raise ValueError(f"{' and '.join(files)} differ in the number of rows of {key}")
    mine, theirs = next((a, b) for a, b in zip(first, second, strict=True) if a != b)
    columns = [c for c in dict.fromkeys([*mine, *theirs]) if mine.get(c) != theirs.get(c)]
    raise ValueError(
        f"{' and '.join(files)} differ in {key}: "
        + ", ".join(f"{c} is {mine.get(c)} and {theirs.get(c)}" for c in columns)
    )


def _missing_shards(rows: Sequence[Row]) -> list[str]:
    present = {row[SHARD] for row in rows if row.get(SHARD)}
    counts = {int(shard.split(" of ")[1]) for shard in present}
    if len(counts) > 1:
        return []  # Split up differently at different times.
    return [
        f"{index} of {count}"
        for count in counts
        for index in range(count)
        if f"{index} of {count}" not in present
    ]


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags()
    flags.DEFINE_string("output", None, "File (.csv or .jsonl) of all rows; it is replaced.")


@output.callable_with_flags(define_flags, takes_arguments=True)
def main(paths: Sequence[str]) -> None:
    """Joins, writes, says what is missing."""
    values = flags.FLAGS
    if not paths or values.output is None:
        raise ValueError("expected files of rows and --output=FILE")
    check_name(values.output)
    job_flags.check_writable(values.output)
    merged = merge(paths)
    write_rows(values.output, merged.rows)
    output.emit(merged.summary, values.json)
    missing = []
    if merged.failed:
        missing.append(f"{len(merged.failed)} jobs failed, first {merged.failed[0]}")
    if merged.missing_shards:
        missing.append(f"no rows of the shards {', '.join(merged.missing_shards)}")
    if merged.missing_jobs:
        missing.append(f"{merged.missing_jobs} jobs are missing")
    if missing:
        raise ValueError("; ".join(missing))


if __name__ == "__main__":
    output.run_binary(define_flags, main, takes_arguments=True)
