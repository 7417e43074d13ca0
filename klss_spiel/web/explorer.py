"""Beliefs of recorded games, worked out in the background and kept for a while."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from klss_spiel.matches.beliefs import BeliefAt, beliefs_of
from klss_spiel.web.record_store import RecordStore
from klss_spiel.web.searches import Searches

_MOST_GAMES: Final = 32
_SECONDS_AT_ONCE: Final = 1.0


class _Work:
    """One player's beliefs in one game as far as they are known. Mutable."""

    def __init__(self, found: Iterator[BeliefAt]) -> None:
        self.source = found
        self.known: list[BeliefAt] = []
        self.done = False
        self.error: str | None = None
        self.task: asyncio.Task[None] | None = None

    def advance(self) -> None:
        """Works for a moment; runs in a search's thread."""
        start = time.monotonic()
        while time.monotonic() - start < _SECONDS_AT_ONCE:
            found = next(self.source, None)
            if found is None:
                self.done = True
                return
            self.known.append(found)


class BeliefExplorer:
    """Answers what players could know; slots are shared with the searches of games."""

    def __init__(self, store: RecordStore, searches: Searches) -> None:
        self._store = store
        self._searches = searches
        self._works: OrderedDict[tuple[str, int], _Work] = OrderedDict()

    def answer(self, record: str, player: int, step: int) -> dict[str, Any] | None:
        """What is known by now; starts to work it out if nobody has asked before.

        Returns:
          Sizes up to here, whether more are to come, and the belief after `step` actions
          if it is known; None if there is no such record.
        """
        row = self._store.get(record)
        if row is None:
            return None
        work = self._works.get((record, player))
        if work is None:
            work = self._works[record, player] = _Work(beliefs_of(row, player))
            while len(self._works) > _MOST_GAMES:
                _, old = self._works.popitem(last=False)
                if old.task is not None:
                    old.task.cancel()
            work.task = asyncio.ensure_future(self._follow(work))
        known = list(work.known)
        return {
            "sizes": [found.size for found in known],
            "complete": [found.complete for found in known],
            "done": work.done,
            "error": work.error,
            "belief": known[step].as_json() if 0 <= step < len(known) else None,
        }

    async def _follow(self, work: _Work) -> None:
        try:
            while not work.done:
                # In portions, so that games in progress get their turn.
                await self._searches.run(work.advance)
        except ValueError as error:
            work.error, work.done = str(error)[:300], True
