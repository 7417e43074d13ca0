"""Beliefs of recorded games, worked out in the background and kept for a while."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from klss_spiel.matches.beliefs import BeliefAt, beliefs_of
from klss_spiel.web.record_store import RecordStore
from klss_spiel.web.searches import Searches
from klss_spiel.web.workers import Worker, Workers

_MOST_GAMES: Final = 32
_SECONDS_AT_ONCE: Final = 1.0
_LONGEST_REASON: Final = 300


@dataclasses.dataclass(frozen=True)
class Portion:
    """What a moment's work has found.

    Attributes:
      found: beliefs, one for each further action.
      done: whether there are no more.
      error: why not, if it is not that the game is over.
    """

    found: tuple[BeliefAt, ...]
    done: bool
    error: str | None = None


class BeliefSource:
    """One player's beliefs in one game, worked out bit by bit. Mutable."""

    def __init__(self, row: Mapping[str, Any], player: int) -> None:
        self._source = beliefs_of(row, player)

    def advance(self) -> Portion:
        """Works for a moment."""
        start = time.monotonic()
        found: list[BeliefAt] = []
        try:
            while time.monotonic() - start < _SECONDS_AT_ONCE:
                belief = next(self._source, None)
                if belief is None:
                    return Portion(tuple(found), True)
                found.append(belief)
        except ValueError as error:
            return Portion(tuple(found), True, str(error)[:_LONGEST_REASON])
        return Portion(tuple(found), False)

    def close(self) -> None:
        """Nothing has been started."""


class _Work:
    """One player's beliefs in one game as far as they are known. Mutable."""

    def __init__(self) -> None:
        self.known: list[BeliefAt] = []
        self.done = False
        self.error: str | None = None
        self.task: asyncio.Task[None] | None = None


class BeliefExplorer:
    """Answers what players could know; slots are shared with the searches of games."""

    def __init__(self, store: RecordStore, searches: Searches, workers: Workers) -> None:
        self._store = store
        self._searches = searches
        self._workers = workers
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
            work = self._works[record, player] = _Work()
            while len(self._works) > _MOST_GAMES:
                _, old = self._works.popitem(last=False)
                if old.task is not None:
                    old.task.cancel()
            work.task = asyncio.ensure_future(self._follow(work, row, player))
        known = list(work.known)
        return {
            "sizes": [found.size for found in known],
            "complete": [found.complete for found in known],
            "done": work.done,
            "error": work.error,
            "belief": known[step].as_json() if 0 <= step < len(known) else None,
        }

    async def _follow(self, work: _Work, row: Mapping[str, Any], player: int) -> None:
        started: list[Worker] = []

        def start() -> None:
            started.append(self._workers.start(BeliefSource, row, player))
            started[0].ready()

        try:
            await self._searches.run(start)
            while not work.done:
                # In portions, so that games in progress get their turn.
                portion = await self._searches.run(lambda: started[0].call("advance"))
                work.known += portion.found
                work.done, work.error = portion.done, portion.error
        except Exception as error:  # whatever it is, whoever waits is told
            work.error, work.done = str(error)[:_LONGEST_REASON], True
        finally:
            for worker in started:
                threading.Thread(target=worker.close, name="closing", daemon=True).start()

    async def close(self) -> None:
        """Stops all work."""
        tasks = [work.task for work in self._works.values() if work.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
