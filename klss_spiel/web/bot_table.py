"""The bots of a game as its session knows them: in a worker, asked by threads that wait."""

from __future__ import annotations

import hashlib
import logging
import time
from typing import Any

from klss_spiel.matches.players import sees_everything
from klss_spiel.veiled_state import ClockReading, veil
from klss_spiel.web.catalogue import Choice
from klss_spiel.web.thinking import Table, at_random
from klss_spiel.web.workers import Worker, WorkerError, Workers

_log = logging.getLogger(__name__)


class BotTable:
    """The bots of one game. Mutable; its methods are for threads, except `question`."""

    def __init__(self, choice: Choice, workers: Workers) -> None:
        self._choice = choice
        self._workers = workers
        self._worker: Worker | None = None
        self._dismissed = False

    def make(self) -> None:
        """Lets the bots sit down."""
        strength = self._choice.strength
        seats = {
            player: (bot.specification(strength), _seed(self._choice.seed, player))
            for player, bot in enumerate(self._choice.seats)
            if bot is not None
        }
        if self._dismissed:  # the game has ended before it began
            return
        self._worker = self._workers.start(Table, self._choice.game, seats, strength.seconds)
        if self._dismissed:
            self.dismiss()
        self._worker.ready()

    def question(
        self, state: Any, mover: int, turn: int, clock: ClockReading | None
    ) -> tuple[Any, ...]:
        """What `think` is to be called with: what a bot may see of the state, no more.

        Args:
          state: the true state.
          mover: who moves.
          turn: number of actions so far.
          clock: what to tell the bot of its clock.
        """
        bot = self._choice.seats[mover]
        assert bot is not None
        seeing = sees_everything(bot.specification(self._choice.strength))
        shown = state.clone() if seeing else veil(state, mover, clock)
        names = {a: state.action_to_string(mover, a) for a in state.legal_actions(mover)}
        return mover, shown, names, (self._choice.seed, mover, turn)

    def think(
        self, mover: int, shown: Any, names: dict[int, str], spare: tuple[int, ...]
    ) -> tuple[int, float, dict[str, Any]]:
        """A bot's action, seconds and report; any action if its process has died."""
        assert self._worker is not None
        start = time.monotonic()
        try:
            found: tuple[int, float, dict[str, Any]]
            found = self._worker.call("think", mover, shown, names, spare)
            return found
        except WorkerError as error:
            action, report = at_random(names, spare, str(error))
            return action, time.monotonic() - start, report

    def dismiss(self) -> None:
        """Ends what bots have started; also while one of them thinks."""
        self._dismissed = True
        if self._worker is None:
            return
        try:
            self._worker.close()
        except Exception as error:
            # The game is over and kept; the error's text may name what is hidden.
            _log.error("a bot did not close: %s", type(error).__name__)


def _seed(seed: int, player: int) -> int:
    digest = hashlib.sha256(f"{seed}/{player}".encode()).digest()
    return int.from_bytes(digest[:4], "little")
