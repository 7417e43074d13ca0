"""All games of a server: by unguessable ids, a limited number, none of them forever."""

from __future__ import annotations

import asyncio
import dataclasses
import time

from klss_spiel.web.catalogue import Choice, RefusedError
from klss_spiel.web.record_store import RecordStore
from klss_spiel.web.searches import Searches
from klss_spiel.web.session import Listener, Session
from klss_spiel.web.workers import Workers


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a server bears.

    Attributes:
      searches: bots that think at the same time; the others wait.
      games: that are played at the same time.
      seconds_unattended: after which a game that no socket listens to ends.
      seconds_idle: after which a game ends in which the human does nothing.
      message: bytes of a message on a socket.
      upload: bytes of a game that a client brings.
      messages_per_second: on one socket.
    """

    searches: int = 2
    games: int = 50
    seconds_unattended: float = 600.0
    seconds_idle: float = 3600.0
    message: int = 2048
    upload: int = 1_000_000
    messages_per_second: float = 20.0


class Sessions:
    """Games that are played, and those that have just ended. Mutable."""

    def __init__(
        self, limits: Limits, searches: Searches, store: RecordStore, workers: Workers
    ) -> None:
        self.limits = limits
        self._searches = searches
        self._store = store
        self._workers = workers
        self._sessions: dict[str, Session] = {}
        self._watched: dict[str, Session] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unattended_since: dict[str, float] = {}

    @property
    def running(self) -> int:
        """How many games are being played."""
        return sum(not session.over for session in self._sessions.values())

    def create(self, choice: Choice) -> Session:
        """Starts a game.

        Raises:
          RefusedError: there are too many already.
        """
        if self.running >= self.limits.games:
            raise RefusedError("too_many_games", "the server plays as many games as it can")
        session = Session(choice, self._searches, self._store, self._workers)
        self._sessions[session.id] = session
        self._watched[session.watch_id] = session
        self._unattended_since[session.id] = time.monotonic()
        self._tasks[session.id] = asyncio.ensure_future(session.run())
        return session

    def join(self, number: str) -> tuple[Session, Listener]:
        """A listener for the session with an id: of the player, or for spectators.

        Raises:
          RefusedError: there is no such session.
        """
        session = self._sessions.get(number)
        plays = session is not None
        session = session or self._watched.get(number)
        if session is None:
            raise RefusedError("unknown_session", "there is no such game here")
        listener = Listener(plays)
        session.listeners.add(listener)
        return session, listener

    def leave(self, session: Session, listener: Listener) -> None:
        """A listener goes; the game waits for it for a while."""
        session.listeners.discard(listener)
        self._unattended_since[session.id] = time.monotonic()

    def sweep(self) -> None:
        """Ends games that nobody attends to and forgets those that are over."""
        now = time.monotonic()
        for session in list(self._sessions.values()):
            attended = any(listener.plays for listener in session.listeners)
            away = 0.0 if attended else now - self._unattended_since[session.id]
            if session.over:
                if not session.listeners and away > self.limits.seconds_unattended:
                    self._forget(session)
            elif away > self.limits.seconds_unattended or (
                session.human is not None and now - session.last_active > self.limits.seconds_idle
            ):
                session.abandon()

    def _forget(self, session: Session) -> None:
        del self._sessions[session.id], self._watched[session.watch_id]
        del self._unattended_since[session.id], self._tasks[session.id]

    async def close(self) -> None:
        """Ends all games and keeps them."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
