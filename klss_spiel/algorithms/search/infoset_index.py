"""Rows of infosets by identifier: an open hash table that compiled code can read."""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.algorithms.search.arrays import FIRST_CAPACITY
from klss_spiel.arrays import IntArray
from klss_spiel.kernels import kernel
from klss_spiel.search_game import InfosetIds
from klss_spiel.tree import NO_INFOSET

_NO_INFOSET = int(NO_INFOSET)


class InfosetIndex:
    """Where the infosets of one player are. Mutable.

    Attributes:
      table: [power of two] row + 1 of an infoset, 0 where nothing is; at least half is free.
      size: how many infosets it knows.
    """

    def __init__(self) -> None:
        self.table: IntArray = np.zeros(2 * FIRST_CAPACITY, dtype=np.int32)
        self.size = 0

    def reserve(self, more: int, identifiers: InfosetIds) -> None:
        """Makes room for so many more infosets; `identifiers` ([I]) are those of all rows."""
        slots = len(self.table)
        while slots < 2 * (self.size + more):
            slots *= 2
        if slots > len(self.table):
            rows = self.table[self.table > 0] - np.int32(1)
            self.table = np.zeros(slots, dtype=np.int32)
            insert_all(self.table, identifiers, rows)

    def add(self, first: int, last: int, identifiers: InfosetIds) -> None:
        """Adds the rows from `first` to before `last`; `identifiers` are those of all rows."""
        self.reserve(last - first, identifiers)
        insert_all(self.table, identifiers, np.arange(first, last, dtype=np.int32))
        self.size += last - first

    def find(self, identifier: int, identifiers: InfosetIds) -> int:
        """The row with that identifier, or NO_INFOSET."""
        return int(find(self.table, identifiers, np.uint64(identifier)))


@kernel
def _slot(table: Any, identifier: Any) -> int:
    """Where to begin to look; identifiers of some games are small numbers."""
    mixed = identifier * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(len(table) - 1))  # type: ignore[return-value]  # compiled


@kernel
def find(table: Any, identifiers: Any, identifier: Any) -> int:
    """The row of an identifier; NO_INFOSET if the table does not have it."""
    slot = _slot(table, identifier)
    while table[slot] > 0:
        row = table[slot] - 1
        if identifiers[row] == identifier:
            return int(row)
        slot = (slot + 1) & (len(table) - 1)
    return _NO_INFOSET


@kernel
def insert(table: Any, identifiers: Any, row: int) -> None:
    """Adds a row that the table does not have; there must be room."""
    slot = _slot(table, identifiers[row])
    while table[slot] > 0:
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = row + 1


@kernel
def insert_all(table: Any, identifiers: Any, rows: Any) -> None:
    """Adds rows ([n]) that the table does not have."""
    for row in rows:
        insert(table, identifiers, row)
