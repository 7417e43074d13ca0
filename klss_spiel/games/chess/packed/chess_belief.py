"""The belief of a searching player of dark chess or Kriegspiel.

While it fits into its limit the belief is exact: every position that fits what the player
has been told. Past the limit it is a weighted sample, and says so. A sample is

    filtered    by everything the player is told, as an exact set is;
    weighted    every history since the last exact set that fits counts alike, so that a
                position's weight is an estimate of how many of them end there;
    renewed     when few positions are left: first by enumerating anew from the last exact
                set, which makes the belief exact again, if sets a few times the limit
                suffice on the way; else by following the samples of some steps ago, and
                of ever more steps ago, once more with other random choices.

Where time is short (`allow`) a set that could not be followed in it becomes a sample before
its limit, and renewing ends when the time is over; should nothing be left by then, it may take
as long again. How long a position takes is measured as the game goes on.

With a prior of the opponent's moves exact sets are weighted, too, and histories count by
how likely they are.

Should no position be left by all that, everything since the last exact set is followed
again with ever larger samples, up to a bound on their size. If none of them lives, the
belief is empty and not complete, and stays so. An exact set that is empty is an error:
nothing fits what the player was told.

Random choices depend on the number of steps and attempts only.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess.packed.collected_positions import joined, thinned

# Sets that enumeration may need on the way to a belief within its limit, in limits, and
# in positions whatever the limit.
_DETOUR: Final = 4
_DETOUR_POSITIONS: Final = 8_000_000
# Positions that are found before a sample is chosen among them, in samples.
_SURPLUS: Final = 4
# Part of a full sample below which a belief is renewed.
_FEW: Final = 8
# Positions that are remembered of the sample of every step.
_REMEMBERED: Final = 2048
# Steps back from which a sample is renewed while some positions are left.
_STEPS_BACK: Final = (2, 4, 8)
# How often the sample of a belief that has died out is doubled, and how many positions may
# be found on the way, surplus included: a few hundred megabytes.
_DOUBLINGS: Final = 12
_LAST_RESORT_POSITIONS: Final = 1 << 23
# Seconds that following a position takes and how many times as many there are then, before
# that has been measured, and how many have to be followed at once for a measurement.
_FIRST_PACE: Final = 4e-7
_FIRST_GROWTH: Final = 2.0
_MEASURED_POSITIONS: Final = 1 << 16
# Positions that a sample may have however short the time.
_LEAST_SAMPLE: Final = 4096
_SALT: Final = 0x9E3779B97F4A7C15


@dataclasses.dataclass(frozen=True)
class BeliefLimits:
    """How large beliefs may become.

    Attributes:
        exact: most positions of an exact belief.
        sample: most positions of a sample.
        sampling: past the limit go on with a sample; else that is an error.
    """

    exact: int
    sample: int
    sampling: bool = True

    def __post_init__(self) -> None:
        if self.exact < 1 or self.sample < 1:
            least = min(self.exact, self.sample)
            raise ValueError(f"expected a belief_limit of 1 or more positions, got {least}")


class Told(Protocol):
    """What a player has been told up to a step."""

    @property
    def steps(self) -> int:
        """How many steps there were."""

    def since(self, steps: int) -> Sequence[Any]:
        """What was told after so many steps up to this one, in order."""


class BelievableGame(Protocol):
    """What a belief needs to know of a game of chess."""

    name: str
    limits: BeliefLimits

    def read(self, player: int, information_state: str) -> Any:
        """A `Told`."""

    def first_held(self, player: int) -> Any:
        """A `collected_positions.HeldPositions`: the start of the game."""

    def follow(self, held: Any, told: Any, limit: int, salt: int) -> Any:
        """What is held one step later; a sample if it is more than the limit."""

    def rows(self, held: Any, told: Any) -> U64Array:
        """The positions as a search holds them; `told` is None before the first step."""


class ChessBelief:
    """Positions that fit a player's information state. Mutable."""

    def __init__(self, game: BelievableGame, player: int, held: Any = None) -> None:
        """Starts with what is held at the start of the game, `first_held` unless given."""
        self._game = game
        self._player = player
        self._told: Any = None
        self._held = game.first_held(player) if held is None else held
        # What is held as rows, once somebody has asked for them.
        self._rows: U64Array | None = None
        # The last exact set and its step, and parts of the samples of every later step.
        self._exact, self._exact_steps = self._held, 0
        self._samples: list[tuple[int, Any]] = []
        # Estimated size of the first set that did not fit.
        self._overflow = math.inf
        # How many were left when the belief was last renewed; 0 if it has died out for good.
        self._renewed_at = math.inf
        self._now: Callable[[], float] = time.monotonic
        self._allowed = self._deadline = math.inf
        self._pace = _FIRST_PACE
        self._growth = _FIRST_GROWTH

    def allow(self, seconds: float | None, now: Callable[[], float]) -> None:
        """Says how long `advance` may take from now on; None for any time."""
        self._now = now
        self._allowed = math.inf if seconds is None else seconds
        self._deadline = now() + self._allowed

    @property
    def _affordable(self) -> float:
        """Positions that can be followed in the time that is left."""
        return max(0.0, self._deadline - self._now()) / self._pace

    def _follow(self, held: Any, told: Any, limit: int, salt: int) -> Any:
        """`BelievableGame.follow`, measured if there is a deadline."""
        if self._deadline == math.inf:
            return self._game.follow(held, told, limit, salt)
        start = self._now()
        after = self._game.follow(held, told, limit, salt)
        thinning = held.fraction / after.fraction if after.fraction else 1.0
        found = len(after.positions) * thinning  # those thinned out included
        followed = max(len(held.positions), found)
        if followed >= _MEASURED_POSITIONS:
            self._pace = max((self._now() - start) / followed, 0.5 * self._pace)
            self._growth = max(followed / len(held.positions), 0.5 * self._growth)
        return after

    @property
    def complete(self) -> bool:
        """Whether no consistent position is missing."""
        return bool(self._held.complete)

    @property
    def positions(self) -> U64Array:
        """[n, words] the positions."""
        if self._rows is None:
            self._rows = self._game.rows(self._held, self._told)
        return self._rows

    @property
    def weights(self) -> FloatArray | None:
        """[n] how likely the positions are, in any unit; None while all are alike.

        Without a prior that is how much each position of a sample stands for.
        """
        weights: FloatArray | None = self._held.weights
        return weights

    def advance(self, action: int | None, information_state: str) -> None:
        """Moves on to what the player is told now; the own action is in it.

        Raises:
            ValueError: certainly no position fits, or too many do and sampling is off.
        """
        del action
        steps = 0 if self._told is None else self._told.steps
        steps_to_go = self._game.read(self._player, information_state).since(steps)
        for done, told in enumerate(steps_to_go):
            self._hurry(len(steps_to_go) - done)
            self._step(told)
        self._renew(self._game.limits.sample // _FEW)

    def copy(self) -> ChessBelief:
        """A belief that can be advanced on its own."""
        other = copy.copy(self)
        other._samples = list(self._samples)
        return other

    def _hurry(self, steps_left: int) -> None:
        """Makes a sample of a set that cannot be followed through so many steps in time."""
        affordable = self._affordable / (steps_left * self._growth)
        if len(self._held.positions) <= max(affordable, _LEAST_SAMPLE):
            return
        limits = self._game.limits
        if not limits.sampling:
            return
        size = min(limits.sample, max(int(affordable), _LEAST_SAMPLE))
        if self._held.complete:
            self._overflow = len(self._held.positions)
        steps = 0 if self._told is None else self._told.steps
        self._held = thinned(self._held, size, _salt(steps, 0))
        self._rows = None

    def _step(self, told: Any) -> None:
        limits, held = self._game.limits, self._held
        limit = limits.exact if held.complete else _SURPLUS * limits.sample
        after = self._follow(held, told, limit, _salt(told.steps, 0))
        if held.complete and not after.complete:
            if not limits.sampling:
                raise ValueError(
                    f"more than {limit} positions of {self._game.name} fit what player "
                    f"{self._player} was told; raise belief_limit or allow sample_belief (of "
                    "SearchBot or search_game)"
                )
            self._overflow = len(after.positions) / after.fraction
        self._told = told
        self._hold(after)
        self._renew(0)

    def _hold(self, held: Any) -> None:
        """Takes over what is held at the present step."""
        steps = self._told.steps
        self._rows = None
        if held.complete:
            if not len(held.positions):
                raise ValueError(
                    f"no position of {self._game.name} fits what player {self._player} was told"
                )
            self._held = held
            self._exact, self._exact_steps = held, steps
            self._samples = []
            self._renewed_at = math.inf
            return
        self._held = thinned(held, self._game.limits.sample, _salt(steps, 0))
        part = thinned(self._held, _REMEMBERED, _salt(steps, 1))
        self._samples = [*(old for old in self._samples if old[0] < steps), (steps, part)]

    def _renew(self, few: int) -> None:
        """Renews a sample of at most `few` positions, unless that has just been tried."""
        left = len(self._held.positions)
        if self.complete or left > few:
            return
        if self._renewed_at == 0 or 2 * left > self._renewed_at:
            return
        exact = self._enumerated()
        self._hold(self._followed_again(few) if exact is None else exact)
        self._renewed_at = len(self._held.positions)

    def _enumerated(self) -> Any:
        """The exact set by way of larger ones; None if they would be too large."""
        limits = self._game.limits
        most = min(_DETOUR * limits.exact, max(limits.exact, _DETOUR_POSITIONS))
        if self._affordable < most:
            most = int(self._affordable)
        if self._overflow > most:
            return None
        held, work = self._exact, 0
        for told in self._told.since(self._exact_steps):
            work += len(held.positions)
            held = self._follow(held, told, max(most, 1), 0)
            if not held.complete or work > 2 * most or self._late:
                return None
        return held if len(held.positions) <= limits.exact else None

    @property
    def _late(self) -> bool:
        """Whether the time is over."""
        return self._now() > self._deadline

    def _followed_again(self, few: int) -> Any:
        """The sample and what follows from earlier ones with other random choices.

        An empty sample if even the largest that are affordable die out.
        """
        size = self._game.limits.sample
        found = self._held
        for attempt, back in enumerate(_STEPS_BACK, start=1):
            if back >= len(self._samples) or (len(found.positions) and self._late):
                break
            steps, sample = self._samples[-1 - back]
            found = joined(found, self._follow_all(sample, steps, size, attempt))
            if len(found.positions) > few:
                return found
        if len(found.positions):
            return found
        start = self._now()
        longest = max(0.0, self._deadline - start) + self._allowed
        # Ever earlier samples, and then ever larger ones from the last exact set.
        largest = min(size << _DOUBLINGS, max(size, _LAST_RESORT_POSITIONS // _SURPLUS))
        for attempt in itertools.count(len(_STEPS_BACK) + 1):
            back = 1 << attempt
            if back < len(self._samples):
                steps, sample = self._samples[-1 - back]
            elif 2 * size <= largest:
                steps, sample, size = self._exact_steps, self._exact, 2 * size
            else:
                break
            found = self._follow_all(sample, steps, size, attempt)
            if len(found.positions) or found.complete or self._now() - start > longest:
                break
        return found

    def _follow_all(self, held: Any, steps: int, size: int, attempt: int) -> Any:
        """What is held now if that was held after so many steps."""
        for told in self._told.since(steps):
            salt = _salt(told.steps, 1 + attempt)
            # One that has died out goes on, too: whose turn it is belongs to what is held.
            held = self._follow(held, told, _SURPLUS * size, salt)
            if not held.complete:
                held = thinned(held, size, salt)
        return held


def _salt(steps: int, attempt: int) -> int:
    """A number without pattern for every step and attempt."""
    return (1 + steps + (attempt << 32)) * _SALT % 2**64
