"""Files of rows: `.csv` and `.jsonl`, a row a line, appended as rows are finished.

Formats and rows are those of `row_formats`. A `RowFile` is only ever appended to, and by
one process at a time: what a killed process leaves behind is whole rows and at most one
torn last line, which the next process cuts off.

Columns of bookkeeping: `key` says which job a row belongs to. `part` is "2/3" in the
second of three rows of one job; a job counts only if all its parts are there. `error` is
why a job has no result. Several rows of one key mean that a job was done again: the last
ones count (`latest_by_key`).

CSV has one line of column names for all rows: those of the first row with a result, or
those declared. A row may lack columns but not have others. JSONL has no such limit.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from absl import logging

from klss_spiel.row_formats import (
    Row,
    columns_of,
    csv_cells,
    csv_lines,
    csv_rows,
    flat,
    from_csv,
    from_jsonl,
    to_csv,
    to_jsonl,
)

KEY = "key"
PART = "part"
ERROR = "error"

_SUFFIXES = (".csv", ".jsonl")
_SECONDS_BETWEEN_SYNCS = 1.0


def check_columns(columns: Iterable[str]) -> None:
    """Raises ValueError if a column has a name of bookkeeping."""
    for column in columns:
        if column in (KEY, PART, ERROR):
            raise ValueError(f"expected columns with other names than {column!r}")


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
        start = KEY.encode() if self._is_csv else f'{{"{KEY}"'.encode()
        if content and not whole and not content.startswith(start[: len(content)]):
            raise ValueError(f"{self.path} is not a file of rows; name another file")
        rows = _parse(self.path, content[:whole])
        if rows and all(row.get(ERROR) is not None for row in rows) and self._is_csv:
            # Their columns are not those of results, and there is nothing to lose.
            os.ftruncate(self._file, 0)
            return []
        if whole and self._is_csv:
            self._header = csv_cells(content[:whole].decode().split("\n", 1)[0])[0]
        present = self._header or columns_of(flat(row) for row in rows)
        missing = [column for column in self._declared or [KEY, *columns] if column not in present]
        if present and missing:
            raise ValueError(
                f"{self.path} holds rows of another command: expected columns {missing} among "
                f"{list(dict.fromkeys(present))}; name another file"
            )
        if whole < len(content):
            # Last of all: files that are not ours stay as they are.
            logging.warning("%s: cut off a row that was not written to its end", self.path)
            os.ftruncate(self._file, whole)
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
            text = csv_lines([header])
        strange = [column for column in columns_of(flat_rows) if column not in header]
        if strange:
            raise ValueError(
                f"rows in {self.path} cannot have the new columns {strange}: it has {header}; "
                "write to a .jsonl file instead"
            )
        text += csv_rows([{**row, **self._stamp} for row in flat_rows], header)
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
