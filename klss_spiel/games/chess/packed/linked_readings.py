"""Readings of information states that are linked to those before them.

Copying and pickling follow links by recursion, which ends after a few hundred of them. Games
are longer than that, so a chain is taken apart into rows and put together again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

_LINK = "before"


class LinkedReading:
    """A frozen dataclass with `steps` and a field `before`: the reading one step ago, or None.

    Its field `final` says whether the step changed something for good: the player moved a
    pawn, or captured or lost something. What the opponent's pawns do unseen is not known.
    """

    steps: Any
    before: Any
    final: Any

    def since(self, steps: int) -> list[Any]:
        """The readings after so many steps up to this one, in order."""
        found: list[Any] = []
        reading: Any = self
        while reading is not None and reading.steps > steps:
            found.append(reading)
            reading = reading.before
        return found[::-1]

    def last_change(self) -> Any:
        """The latest reading up to this one that is `final`; the first of all if none is."""
        reading: Any = self
        while not reading.final and reading.before is not None:
            reading = reading.before
        return reading

    def __reduce__(self) -> tuple[Any, ...]:
        names = _names(type(self))
        rows = []
        reading: Any = self
        while reading is not None:
            rows.append(tuple(getattr(reading, name) for name in names))
            reading = getattr(reading, _LINK)
        return _linked, (type(self), rows[::-1])


def _names(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.name != _LINK]


def _linked(kind: Any, rows: Sequence[tuple[Any, ...]]) -> Any:
    """The last reading of a chain with these values of all fields but the link."""
    names = _names(kind)
    reading = None
    for row in rows:
        reading = kind(**dict(zip(names, row, strict=True)), **{_LINK: reading})
    return reading
