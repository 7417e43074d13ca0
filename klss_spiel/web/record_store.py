"""Games that are over, by id: in memory, and in one file of JSON lines.

The file has a line per game, which is a row of the match runner with an `id`. Clients
name ids, never files.
"""

from __future__ import annotations

import json
import pathlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

_MOST_KEPT: Final = 5000
_MOST_LOADED: Final = 200


class RecordStore:
    """Records by id. Mutable."""

    def __init__(self, path: pathlib.Path | None) -> None:
        """Reads what earlier servers have kept.

        Args:
          path: file of JSON lines; None to keep games in memory only.
        """
        self.path = path
        self._rows: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._loaded: OrderedDict[str, dict[str, Any]] = OrderedDict()
        if path is not None and path.exists():
            for line in path.read_text("utf-8").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:  # a line that was cut off
                    continue
                if isinstance(row, dict) and isinstance(row.get("id"), str):
                    _keep(self._rows, row["id"], row, _MOST_KEPT)

    def add(self, row: Mapping[str, Any]) -> str:
        """Keeps a game that was played here; returns its id."""
        number = secrets.token_hex(8)
        kept = {"id": number, **row}
        _keep(self._rows, number, kept, _MOST_KEPT)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept) + "\n")
        return number

    def add_loaded(self, row: Mapping[str, Any]) -> str:
        """Keeps a game that a client has brought, in memory only; returns its id."""
        number = secrets.token_hex(8)
        _keep(self._loaded, number, {"id": number, **row}, _MOST_LOADED)
        return number

    def get(self, number: str) -> dict[str, Any] | None:
        """The record with that id."""
        return self._rows.get(number) or self._loaded.get(number)

    def latest(self, count: int = 20) -> list[dict[str, Any]]:
        """What to list: the last games played here, newest first."""
        columns = ("id", "title", "player_0", "player_1", "return_0", "termination", "plies")
        rows = list(self._rows.values())[::-1][:count]
        return [{column: row.get(column) for column in columns} for row in rows]


def _keep(
    rows: OrderedDict[str, dict[str, Any]], number: str, row: dict[str, Any], most: int
) -> None:
    rows[number] = row
    while len(rows) > most:
        rows.popitem(last=False)
