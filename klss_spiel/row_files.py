"""Files of rows: `.csv` and `.jsonl`, a row a line, appended as rows are finished.

A row is a mapping from column names to values that JSON knows (`plain` makes them of
numpy's). A `RowFile` is only ever appended to, and by one process at a time: what a
killed process leaves behind is whole rows and at most one torn last line, which the next
process cuts off.

Columns of bookkeeping: `key` says which job a row belongs to. `part` is "2/3" in the
second of three rows of one job; a job counts only if all its parts are there. `error` is
why a job has no result. Several rows of one key mean that a job was done again: the last
ones count (`latest_by_key`).

CSV has one line of column names for all rows. They are those of the first row with a
result, or those declared; a row may lack columns (empty cells, read back as None) but not
have others. Nested mappings become columns with dotted names. Strings stand as they are
unless they could be read as something else; all other values, and such strings, are
written as JSON, so that what is read has the types that were written. JSONL has no such
limits; numbers that JSON does not know are the texts "NaN", "Infinity" and "-Infinity"
there, and read back as numbers.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import math
import os
import pathlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from absl import logging

Row = Mapping[str, Any]

KEY = "key"
PART = "part"
ERROR = "error"

_SUFFIXES = (".csv", ".jsonl")
_SECONDS_BETWEEN_SYNCS = 1.0
_LARGEST_CELL = 2**30
# Python's own names of the numbers that JSON has not.
_NOT_JSON = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def columns_of(rows: Iterable[Row]) -> list[str]:
    """All columns, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def check_columns(columns: Iterable[str]) -> None:
    """Raises ValueError if a column has a name of bookkeeping."""
    for column in columns:
        if column in (KEY, PART, ERROR):
            raise ValueError(f"expected columns with other names than {column!r}")


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
    return _csv_lines([columns]) + _csv_cells(flat_rows, columns)


def from_csv(text: str) -> list[dict[str, Any]]:
    """The rows that `to_csv` wrote; cells that were absent come back as None."""
    columns, *lines = _csv_cells_of(text) or [[]]
    rows: list[dict[str, Any]] = []
    for line in lines:
        row: dict[str, Any] = {}
        for column, cell in zip(columns, line, strict=True):
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


def read_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """All rows of a .csv or .jsonl file; a missing file has none.

    A torn last line is left out.
    """
    path = pathlib.Path(path)
    check_name(path)
    if not path.exists():
        return []
    return _parse(path, path.read_bytes())


def write_rows(path: str | os.PathLike[str], rows: Sequence[Row]) -> None:
    """Writes a whole file in one step, in place of an older one of that name."""
    path = pathlib.Path(path)
    check_name(path)
    write_atomically(path, to_csv(rows) if path.suffix == ".csv" else to_jsonl(rows))


def write_atomically(path: pathlib.Path, text: str | bytes) -> None:
    """Replaces a file in one step: whoever reads it sees the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def check_name(path: str | os.PathLike[str]) -> None:
    """Raises ValueError unless the name says how rows are written."""
    if pathlib.Path(path).suffix not in _SUFFIXES:
        raise ValueError(f"expected a file of rows named .csv or .jsonl, got {os.fspath(path)!r}")


def latest_by_key(rows: Iterable[Row]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each key; of several groups the last one that is complete."""
    found: dict[str, list[dict[str, Any]]] = {}
    started: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        key = row.get(KEY)
        if not isinstance(key, str):
            raise ValueError(f"expected a column {KEY!r} in every row, got {list(row)}")
        if row.get(PART) is None:
            found[key] = [dict(row)]
            continue
        number, count = (int(text) for text in row[PART].split("/"))
        group = started.setdefault(key, [])
        if number == 1:
            group.clear()
        group.append(dict(row))
        if number == count == len(group):
            found[key] = list(group)
    return found


class RowFile:
    """A file of rows that grows. Mutable; a context manager.

    Attributes:
      rows: what was in the file when it was opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] = (),
        fields: Sequence[str] = (),
        stamp: Row | None = None,
        resume: bool = True,
    ) -> None:
        """Opens or creates the file and locks it.

        Args:
          path: .csv or .jsonl.
          columns: that identify rows; every row has them.
          fields: other columns that rows may have, dotted where nested. In CSV no others
            are allowed then; without them the first row with a result decides.
          stamp: columns that are added to every row.
          resume: keep what is in the file; otherwise it is emptied.

        Raises:
          ValueError: if the file cannot be written, is being written by another process,
            holds something else, or rows of another kind.
        """
        self.path = pathlib.Path(path)
        check_name(self.path)
        self._stamp = dict(stamp or {})
        self._declared = [KEY, *columns, *fields] if fields else []
        self._header: list[str] | None = None
        self._waiting: list[Row] = []
        self._next_sync = 0.0
        self._file = self._open()
        try:
            self._lock()
            self.rows = self._recover(columns) if resume else []
            if not resume:
                os.ftruncate(self._file, 0)
        except BaseException:
            os.close(self._file)
            raise

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise ValueError(f"cannot write rows to {self.path}: {error.strerror}") from error

    def _lock(self) -> None:
        # The file itself is locked: nothing is left behind, and a kill unlocks it.
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{self.path} is being written by another process; wait or name another file"
            ) from None
        except OSError as error:
            logging.warning("%s cannot be locked: %s", self.path, error.strerror)

    def _recover(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """What is in the file, after cutting off a torn line."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            logging.warning("%s: cut off a row that was not written to its end", self.path)
            os.ftruncate(self._file, whole)
        rows = _parse(self.path, content[:whole])
        if rows and all(row.get(ERROR) is not None for row in rows) and self._is_csv:
            # Their columns are not those of results, and there is nothing to lose.
            os.ftruncate(self._file, 0)
            return []
        if whole and self._is_csv:
            self._header = _csv_cells_of(content[:whole].decode().split("\n", 1)[0])[0]
        present = self._header or [column for row in rows for column, _ in _flatten(row)]
        missing = [column for column in self._declared or [KEY, *columns] if column not in present]
        if present and missing:
            raise ValueError(
                f"{self.path} holds rows of another command: expected columns {missing} among "
                f"{list(dict.fromkeys(present))}; name another file"
            )
        return rows

    @property
    def _is_csv(self) -> bool:
        return self.path.suffix == ".csv"

    def append(self, rows: Sequence[Row]) -> None:
        """Writes rows of one job, all at once.

        Raises:
          ValueError: if they do not fit into the columns of a CSV file.
        """
        if not self._is_csv:
            self._write(to_jsonl({**row, **self._stamp} for row in rows))
        elif self._header is None and all(row.get(ERROR) is not None for row in rows):
            # They do not tell what the columns of results will be.
            self._waiting += rows
        else:
            self._append_to_csv(rows)
            if self._waiting:
                waiting, self._waiting = self._waiting, []
                self._append_to_csv(waiting)

    def _append_to_csv(self, rows: Sequence[Row]) -> None:
        text = ""
        flat_rows = [flat(row) for row in rows]
        header = self._header
        if header is None:
            bookkeeping = [column for column in (KEY, PART) if column in rows[0]]
            results = self._declared or columns_of(flat_rows)
            header = list(dict.fromkeys([*bookkeeping, *results, ERROR, *self._stamp]))
            text = _csv_lines([header])
        strange = [column for column in columns_of(flat_rows) if column not in header]
        if strange:
            raise ValueError(
                f"rows in {self.path} cannot have the new columns {strange}: it has {header}; "
                "write to a .jsonl file instead"
            )
        text += _csv_cells([{**row, **self._stamp} for row in flat_rows], header)
        self._write(text)
        self._header = header

    def _write(self, text: str) -> None:
        # What UTF-8 cannot hold (halves of characters in file names) is escaped.
        rest = memoryview(text.encode(errors="backslashreplace"))
        before = os.fstat(self._file).st_size
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, before)
            raise
        # A kill loses nothing that was written; only a crash of the machine could.
        if time.monotonic() >= self._next_sync:
            os.fsync(self._file)
            self._next_sync = time.monotonic() + _SECONDS_BETWEEN_SYNCS

    def close(self) -> None:
        """Writes what waits, and unlocks the file."""
        try:
            if self._waiting:
                self._append_to_csv(self._waiting)
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _parse(path: pathlib.Path, content: bytes) -> list[dict[str, Any]]:
    whole = content[: content.rfind(b"\n") + 1]
    try:
        text = whole.decode()
        return from_csv(text) if path.suffix == ".csv" else from_jsonl(text)
    except ValueError as error:
        raise ValueError(f"{path} is not a file of rows: {error}") from error


def _flatten(row: Row) -> Iterator[tuple[str, Any]]:
    for column, value in row.items():
        if "." in column:
            raise ValueError(f"expected column names without dots, got {column!r}")
        if isinstance(value, Mapping) and value:
            for inner, item in _flatten(value):
                yield f"{column}.{inner}", item
        else:
            yield column, value


def _csv_cells_of(text: str) -> list[list[str]]:
    # By default the csv module refuses cells of more than 128 kB.
    limit = csv.field_size_limit(_LARGEST_CELL)
    try:
        return list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    finally:
        csv.field_size_limit(limit)


def _csv_lines(lines: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _csv_cells(flat_rows: Iterable[Row], columns: Sequence[str]) -> str:
    return _csv_lines([_encode_cell(row.get(column)) for column in columns] for row in flat_rows)


def _encode_cell(value: Any) -> str:
    if value is None:
        return ""
    # A row is a line: texts with ends of lines are written as JSON.
    if isinstance(value, str) and value and not {"\n", "\r"} & set(value):
        return value if _decode_cell(value) == value else json.dumps(value)
    return json.dumps(value)


def _decode_cell(text: str) -> Any:
    if text == "":
        return None
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
