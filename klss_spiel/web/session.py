"""One game on the server: the state, the seats, the clocks, and who listens.

While a human plays, nothing but `told.view_of` of the human's own seat, public facts
(who plays, the clocks, that the game is over) and named errors leave a session.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import secrets
import threading
import time
from typing import Any, Final

import numpy as np

from klss_spiel.matches import records
from klss_spiel.matches.records import GameRecord
from klss_spiel.matches.referee import TimeControl, forfeited
from klss_spiel.openspiel import load_game, turn_based
from klss_spiel.tree import CHANCE
from klss_spiel.web import catalogue, replay
from klss_spiel.web.bot_table import BotTable
from klss_spiel.web.catalogue import Choice, RefusedError
from klss_spiel.web.clocks import GameClock
from klss_spiel.web.record_store import RecordStore
from klss_spiel.web.searches import Searches
from klss_spiel.web.thinking import is_failure
from klss_spiel.web.told import Told, start_of, told_to, view_of
from klss_spiel.web.workers import Workers

BY_RESIGNATION: Final = "resigned"
BY_ABSENCE: Final = "abandoned"
_log = logging.getLogger(__name__)
# A bot that is this much over its time, queue included, has lost even if it never answers.
_SECONDS_OF_GRACE: Final = 60.0


@dataclasses.dataclass(frozen=True)
class _Ending:
    """How a game ended otherwise than by the rules."""

    termination: str
    loser: int | None = None


class Listener:
    """A socket that hears of a session. Mutable.

    Attributes:
      plays: whether it sits at the board; otherwise it hears nothing before the end.
      changed: set when there may be something new.
      steps: how many steps of a game without humans it has been sent.
    """

    def __init__(self, plays: bool) -> None:
        self.plays = plays
        self.changed = asyncio.Event()
        self.changed.set()
        self.steps = 0


class Session:
    """A game that is played here. Mutable; lives in the event loop."""

    def __init__(
        self, choice: Choice, searches: Searches, store: RecordStore, workers: Workers
    ) -> None:
        self.id = secrets.token_urlsafe(18)
        self.watch_id = secrets.token_urlsafe(18)
        self.choice = choice
        self.human = choice.human
        self.listeners: set[Listener] = set()
        self.last_active = time.monotonic()
        self.record_id: str | None = None
        self._searches = searches
        self._store = store
        self._game = turn_based(load_game(choice.game))
        self._state = self._game.new_initial_state()
        self._start = start_of(self._game, choice.offer.family)
        self._clock = GameClock(None if choice.clock is None else TimeControl.parse(choice.clock))
        self._steps = [replay.first_step(self._state, choice.offer.family)]
        self._preparing = True
        self._table = BotTable(choice, workers)
        self._made = 0
        self._last_told: Told | None = None
        self._answer: asyncio.Future[int] | None = None
        self._ending: asyncio.Future[_Ending] = asyncio.get_running_loop().create_future()
        self._result: dict[str, Any] | None = None
        self._actions: list[int] = []
        self._moves: list[str] = []
        self._reports: list[Any] = []
        self._seconds = [0.0, 0.0]
        self._longest = [0.0, 0.0]
        self._at_random = [0, 0]

    # What clients hear.

    @property
    def over(self) -> bool:
        """Whether the game is over and kept."""
        return self._result is not None

    def messages(self, listener: Listener) -> list[dict[str, Any]]:
        """What a listener has not heard yet."""
        if self.human is None:
            new, listener.steps = self._steps[listener.steps :], len(self._steps)
            return [{**self._watched(), "from": len(self._steps) - len(new), "steps": new}]
        if not listener.plays:
            return [{"type": "spectator", "over": self.over, "record": self.record_id}]
        return [self._seen()]

    def _seen(self) -> dict[str, Any]:
        """What the human player is shown."""
        assert self.human is not None
        view = view_of(self._start, told_to(self._state, self.human))
        if self.over or self._preparing:
            view = {**view, "your_turn": False, "over": self.over, "moves": []}
        return {
            "type": "view",
            "game": self.choice.offer.title,
            "opponent": self._names()[1 - self.human],
            "watch": self.watch_id,
            "preparing": self._preparing,
            "count": self._made,
            "clock": self._clock.as_json(),
            "result": self._result,
            "view": view,
        }

    def _watched(self) -> dict[str, Any]:
        return {
            "type": "watch",
            "game": self.choice.offer.title,
            "family": self.choice.offer.family,
            "players": list(self._names()),
            "preparing": self._preparing,
            "clock": self._clock.as_json(),
            "result": self._result,
        }

    def _names(self) -> tuple[str, str]:
        first, second = (
            "You" if bot is None else catalogue.bot_title(bot) for bot in self.choice.seats
        )
        return first, second

    def _notify(self) -> None:
        for listener in self.listeners:
            listener.changed.set()

    # What clients say.

    def handle(self, message: Any) -> None:
        """Does what the human asks for.

        Raises:
          RefusedError: it cannot be done; nothing has changed.
        """
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            raise RefusedError("bad_message", "expected an object with a type")
        kind = message["type"]
        if kind not in ("move", "resign"):
            raise RefusedError("unknown_type", "expected a message of type move or resign")
        if self.human is None:
            raise RefusedError("not_a_player", "nobody but bots plays in this game")
        if self.over or self._ending.done():
            raise RefusedError("game_over", "the game is over")
        self.last_active = time.monotonic()
        if kind == "resign":
            self.end(_Ending(BY_RESIGNATION, self.human))
            return
        self._handle_move(message)

    def _handle_move(self, message: dict[str, Any]) -> None:
        move, count = message.get("move"), message.get("count")
        if not isinstance(move, str) or len(move) > 100:
            raise RefusedError("bad_move", "expected a move as a short text")
        if isinstance(count, bool) or not isinstance(count, int):
            raise RefusedError("bad_count", "expected the number of your moves so far")
        if self._answer is None or self._answer.done():
            raise RefusedError("not_your_turn", "it is not your turn")
        if count != self._made:
            raise RefusedError("stale_move", "the move is for an earlier position")
        names = {
            self._state.action_to_string(self.human, action): action
            for action in self._state.legal_actions(self.human)
        }
        action = names.get(move, names.get(move.lower()))
        if action is None:
            raise RefusedError("illegal_move", "that is not one of your moves")
        self._answer.set_result(int(action))

    def end(self, ending: _Ending) -> None:
        """Ends the game otherwise than by the rules."""
        if not self._ending.done():
            self._ending.set_result(ending)

    def abandon(self) -> None:
        """Ends a game that nobody attends to."""
        self.end(_Ending(BY_ABSENCE, self.human))

    # The game itself.

    async def run(self) -> None:
        """Plays the game to its end and keeps it."""
        ending: _Ending | None = None
        try:
            ending = await self._play()
        except asyncio.CancelledError:  # the server stops
            ending = _Ending(BY_ABSENCE, self.human)
            raise
        except Exception as error:
            # Nobody's fault at the board; the error's text may name what is hidden.
            _log.error("a game broke off: %s", type(error).__name__)
            ending = _Ending(records.BY_ERROR)
        finally:
            self._finish(ending)
            # Beside the server's thread: a process has to end, a program may dawdle.
            threading.Thread(target=self._table.dismiss, name="closing", daemon=True).start()

    async def _play(self) -> _Ending | None:
        made = await self._until_ending(self._searches.run(self._table.make))
        if isinstance(made, _Ending):
            return made
        self._preparing = False
        chances = 0
        while not self._state.is_terminal():
            mover = int(self._state.current_player())
            if mover == CHANCE:
                self._apply(_outcome(self._state, [self.choice.seed, chances]), None)
                chances += 1
                continue
            self._clock.begin_turn(mover)
            self._notify_of_turn(mover)
            ask = self._ask_human() if mover == self.human else self._ask_bot(mover)
            answer = await self._until_ending(ask)
            if isinstance(answer, _Ending):
                return answer
            action, seconds, report = answer
            self._at_random[mover] += is_failure(report)
            if seconds > self._clock.remaining[mover]:
                return _Ending(records.BY_TIME, mover)
            self._seconds[mover] += seconds
            self._longest[mover] = max(self._longest[mover], seconds)
            self._moves.append(self._state.action_to_string(mover, action))
            self._reports.append(report)
            self._apply(action, report)
            self._made += mover == self.human
            self._clock.spend(mover, seconds, self._state.current_player() != mover)
        return None

    def _notify_of_turn(self, mover: int) -> None:
        """Tells listeners, unless a bot merely tries again after an illegal try."""
        if self.human is None or mover == self.human or not self._state_is_unchanged():
            self._notify()

    def _state_is_unchanged(self) -> bool:
        assert self.human is not None
        told = told_to(self._state, self.human)
        same = told == self._last_told
        self._last_told = told
        return same

    async def _until_ending(self, work: Any) -> Any:
        """What `work` gives, or how the game ended before that."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._ending}, return_when=asyncio.FIRST_COMPLETED)
            if self._ending.done():
                return self._ending.result()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _ask_human(self) -> Any:
        assert self.human is not None
        self._answer = asyncio.get_running_loop().create_future()
        remaining = self._clock.remaining[self.human]
        start = time.monotonic()
        timeout = None if self._clock.control is None else max(0.0, remaining)
        try:
            action = await asyncio.wait_for(self._answer, timeout)
        except TimeoutError:
            self._clock.remaining[self.human] = 0.0
            return _Ending(records.BY_TIME, self.human)
        finally:
            self._answer = None
        return action, time.monotonic() - start, None

    async def _ask_bot(self, mover: int) -> Any:
        reading = self._clock.reading(mover, self.choice.strength.seconds)
        question = self._table.question(self._state, mover, len(self._actions), reading)
        work = self._searches.run(lambda: self._table.think(*question))
        if self._clock.control is None:
            return await work
        try:
            return await asyncio.wait_for(work, self._clock.remaining[mover] + _SECONDS_OF_GRACE)
        except TimeoutError:
            return _Ending(records.BY_TIME, mover)

    def _apply(self, action: int, report: Any) -> None:
        self._actions.append(action)
        self._steps.append(replay.apply_step(self._state, action, self.choice.offer.family, report))

    def _finish(self, ending: _Ending | None) -> None:
        """Keeps the game and tells everybody."""
        self._clock.stop()
        loser = None if ending is None else ending.loser
        if ending is None:
            first, second = self._state.returns()
            returns = (float(first), float(second))
        elif loser is None:
            returns = (0.0, 0.0)
        else:
            returns = forfeited(self._game, loser)
        record = GameRecord(
            returns=returns,
            actions=tuple(self._actions),
            moves=tuple(self._moves),
            termination=records.BY_RULE if ending is None else ending.termination,
            loser=loser,
            seconds=(self._seconds[0], self._seconds[1]),
            longest=(self._longest[0], self._longest[1]),
            reports=tuple(self._reports),
        )
        names = self._names()
        row = {
            "game": self.choice.game,
            "title": self.choice.offer.title,
            "number": 0,
            "player_0": names[0],
            "player_1": names[1],
            "seed": self.choice.seed,
            "clock": self.choice.clock,
            "strength": self.choice.strength.name,
            "moves_at_random": list(self._at_random),
            **record.row(),
        }
        self.record_id = self._store.add(row)
        self._result = {
            "returns": list(returns),
            "termination": record.termination,
            "loser": loser,
            "record": self.record_id,
            "moves_at_random": list(self._at_random),
        }
        self._notify()


def _outcome(state: Any, seed: list[int]) -> int:
    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
    rng = np.random.default_rng(seed)
    return int(rng.choice(outcomes, p=np.array(weights) / sum(weights)))
