"""Work that takes long, in threads beside the server's: a limited number at a time.

Most threads wait for a process (`klss_spiel.web.workers`). They end with the server: a
search that nobody waits for any more must not keep it from stopping.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


class Searches:
    """Runs functions in threads, so many at once; the others wait for their turn."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"expected a limit of at least 1 search, got {limit}")
        self.limit = limit
        self._slots = asyncio.Semaphore(limit)
        self.running = 0
        self.most = 0

    async def run(self, work: Callable[[], _T]) -> _T:
        """What `work` returns or raises; it keeps its slot until it has really ended."""
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_T] = loop.create_future()
        self.running += 1
        self.most = max(self.most, self.running)

        def finish(result: _T | None, error: BaseException | None) -> None:
            self.running -= 1
            self._slots.release()
            if answer.done():  # nobody waits any more
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

        def think() -> None:
            result, error = None, None
            try:
                result = work()
            except BaseException as caught:
                error = caught
            try:
                loop.call_soon_threadsafe(finish, result, error)
            except RuntimeError:  # the server has stopped meanwhile
                return

        threading.Thread(target=think, name="search", daemon=True).start()
        return await answer
