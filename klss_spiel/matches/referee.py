"""The referee of one game: owns the state and the clocks, tells players only their own.

A player is anything with a method `step(state) -> action`, such as a `pyspiel.Bot`. It
gets a `VeiledState`: its information state, legal actions and clock. A player that raises
an error, answers with an action that is not legal, or oversteps its time loses the game,
and the record says why. Players marked `sees_everything` get the true state; only players
that are labelled so have that mark.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from klss_spiel.budget import Clock
from klss_spiel.matches import records
from klss_spiel.matches.records import GameRecord
from klss_spiel.tree import CHANCE
from klss_spiel.veiled_state import ClockReading, veil

_LONGEST_REASON = 500


class Player(Protocol):
    """Who chooses actions for one seat of one game."""

    def step(self, state: Any) -> int:
        """The action to play at a (veiled) state."""


def close_player(player: Any) -> None:
    """Ends what a player has started: threads, programs. Not every player has a `close`."""
    close = getattr(player, "close", None)
    if close is not None:
        close()


# A clock for each player, under the name that chess has for it.
TimeControl = Clock


class _Forfeit(Exception):
    """A player has lost otherwise than by the rules."""

    def __init__(self, termination: str, reason: str) -> None:
        super().__init__(reason)
        self.termination = termination
        self.reason = reason


class _Seat:
    """One player with its clock and what it has used. Mutable."""

    def __init__(self, player: Player, number: int, control: TimeControl | None) -> None:
        self.player = player
        self.number = number
        self.control = control
        self.remaining = math.inf if control is None else control.base
        self.least_left = self.remaining
        self.seconds = 0.0
        self.longest = 0.0

    def ask(self, state: Any) -> int:
        """The player's action; raises _Forfeit if there is none in time."""
        clock = None
        if self.control is not None:
            clock = ClockReading(self.remaining, self.control.increment)
        shown = state
        if not getattr(self.player, "sees_everything", False):
            shown = veil(state, self.number, clock)
        failure: Exception | None = None
        answer: Any = None
        start = time.perf_counter()
        try:
            answer = self.player.step(shown)
        except Exception as error:
            failure = error
        used = time.perf_counter() - start
        self.seconds += used
        self.longest = max(self.longest, used)
        self.remaining -= used
        self.least_left = min(self.least_left, self.remaining)
        if self.remaining < 0.0:
            raise _Forfeit(records.BY_TIME, f"{-self.remaining:.3f} s over") from failure
        if failure is not None:
            reason = f"{type(failure).__name__}: {failure}"[:_LONGEST_REASON]
            raise _Forfeit(records.BY_ERROR, reason) from failure
        return self._checked(answer, state)

    def turn_ends(self) -> None:
        """Pays the increment: for moves, not for tries that an umpire refuses."""
        if self.control is not None:
            self.remaining += self.control.increment

    def _checked(self, answer: Any, state: Any) -> int:
        legal = state.legal_actions(self.number)
        if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
            raise _Forfeit(records.BY_ILLEGAL_ACTION, f"expected a number, got {answer!r}")
        if int(answer) not in legal:
            raise _Forfeit(records.BY_ILLEGAL_ACTION, f"expected one of {legal}, got {answer}")
        return int(answer)


def play_game(
    game: Any,
    players: Sequence[Player],
    chance_seed: Sequence[int] = (0,),
    control: TimeControl | None = None,
    with_reports: bool = False,
) -> GameRecord:
    """Plays one game.

    Args:
      game: a sequential two-player `pyspiel.Game`.
      players: who plays for player 0 and for player 1, at the start of a new game.
      chance_seed: the n-th outcome of chance depends on this and on n only, so that
        games with the same seed have the same deals.
      control: clocks; None for unlimited time.
      with_reports: keep what players say of each decision (their attribute `report`).
    """
    seats = [_Seat(player, number, control) for number, player in enumerate(players)]
    state = game.new_initial_state()
    actions: list[int] = []
    moves: list[str] = []
    reports: list[Any] = []
    chances = 0
    ending: dict[str, Any] = {}
    while not state.is_terminal():
        mover = int(state.current_player())
        if mover == CHANCE:
            action = _outcome(state, [*chance_seed, chances])
            chances += 1
        else:
            try:
                action = seats[mover].ask(state)
            except _Forfeit as forfeit:
                ending = {
                    "termination": forfeit.termination,
                    "loser": mover,
                    "reason": forfeit.reason,
                }
                break
            moves.append(state.action_to_string(mover, action))
            if with_reports:
                reports.append(_plain_report(seats[mover].player))
        actions.append(action)
        state.apply_action(action)
        if mover != CHANCE and state.current_player() != mover:
            seats[mover].turn_ends()
    if ending:
        returns = forfeited(game, ending["loser"])
    else:
        first, second = state.returns()
        returns = (float(first), float(second))
    return GameRecord(
        returns=returns,
        actions=tuple(actions),
        moves=tuple(moves),
        seconds=(seats[0].seconds, seats[1].seconds),
        longest=(seats[0].longest, seats[1].longest),
        least_left=None if control is None else (seats[0].least_left, seats[1].least_left),
        reports=tuple(reports),
        **ending,
    )


def forfeited(game: Any, loser: int) -> tuple[float, float]:
    """The payoffs of a game that `loser` has forfeited: the worst the game knows."""
    total = float(game.utility_sum() or 0.0)
    worst = float(game.min_utility())
    return (worst, total - worst) if loser == 0 else (total - worst, worst)


def _outcome(state: Any, seed: Sequence[int]) -> int:
    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
    rng = np.random.default_rng(seed)
    return int(rng.choice(outcomes, p=np.array(weights) / sum(weights)))


def _plain_report(player: Player) -> Any:
    report = getattr(player, "report", None)
    if dataclasses.is_dataclass(report) and not isinstance(report, type):
        return dataclasses.asdict(report)
    return report if report is None else str(report)
