"""Rows as text: CSV and JSON lines that are read back as what was written.

A row is a mapping from column names to values that JSON knows (`plain` makes them of
numpy's).

CSV has one line of column names for all rows. Nested mappings become columns with dotted
names. Strings stand as they are unless they could be read as something else; all other
values, and such strings, are written as JSON, so that what is read has the types that were
written. An empty cell is a column that the row does not have; None is `null`.

JSONL has a JSON object per line. Numbers that JSON does not know are the texts "NaN",
"Infinity" and "-Infinity" there, and read back as numbers.

In both a row is a line: texts with ends of lines are escaped.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_LARGEST_CELL = 2**30
# Python's own names of the numbers that JSON has not.
_NOT_JSON = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def columns_of(rows: Iterable[Row]) -> list[str]:
    """All columns, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def plain(value: Any) -> Any:
    """A value as files give it back: numpy's as Python's, tuples as lists, keys as texts.

    Raises:
      ValueError: if there is no such value.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(
        f"expected numbers, texts, lists, mappings or None in a row, got {type(value).__name__}"
    )


def flat(row: Row) -> dict[str, Any]:
    """The row with nested mappings spread over columns with dotted names."""
    return dict(_flatten(plain(row)))


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV with all their columns; `from_csv` gets back the same values."""
    flat_rows = [flat(row) for row in rows]
    columns = columns_of(flat_rows)
    return csv_lines([columns]) + csv_rows(flat_rows, columns)


def from_csv(text: str) -> list[dict[str, Any]]:
    """The rows that `to_csv` wrote."""
    columns, *lines = csv_cells(text) or [[]]
    rows: list[dict[str, Any]] = []
    for line in lines:
        row: dict[str, Any] = {}
        for column, cell in zip(columns, line, strict=True):
            if not cell:
                continue
            *outer, last = column.split(".")
            inner = row
            for name in outer:
                inner = inner.setdefault(name, {})
            inner[last] = _decode_cell(cell)
        rows.append(row)
    return rows


def to_jsonl(rows: Iterable[Row]) -> str:
    """Rows as JSON, a line each; `from_jsonl` gets back the same values."""
    return "".join(
        json.dumps(_finite(plain(row)), allow_nan=False, ensure_ascii=False) + "\n" for row in rows
    )


def from_jsonl(text: str) -> list[dict[str, Any]]:
    """The rows that `to_jsonl` wrote."""
    # Not splitlines(), for which more than "\n" ends a line.
    rows = [_with_numbers(json.loads(line)) for line in text.split("\n") if line]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("expected a JSON object in every line")
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


def csv_cells(text: str) -> list[list[str]]:
    """The lines of CSV text, their cells as they stand there."""
    # By default the csv module refuses cells of more than 128 kB.
    limit = csv.field_size_limit(_LARGEST_CELL)
    try:
        return list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    finally:
        csv.field_size_limit(limit)


def csv_lines(lines: Iterable[Sequence[str]]) -> str:
    """Lines of CSV from the texts in their cells."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def csv_rows(flat_rows: Iterable[Row], columns: Sequence[str]) -> str:
    """Lines of CSV without the names of columns; rows as `flat` makes them."""
    return csv_lines(
        [_encode_cell(row[column]) if column in row else "" for column in columns]
        for row in flat_rows
    )


def _encode_cell(value: Any) -> str:
    # A row is a line: texts with ends of lines are written as JSON.
    if isinstance(value, str) and value and not {"\n", "\r"} & set(value):
        return value if _decode_cell(value) == value else json.dumps(value)
    return json.dumps(value)


def _decode_cell(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    return _NOT_JSON.get(value, value) if isinstance(value, str) else value
