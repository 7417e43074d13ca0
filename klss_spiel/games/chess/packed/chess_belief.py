"""The belief of a searching player of dark chess or Kriegspiel.

While it fits into its limit the belief is exact: every position that fits what the player
has been told. Past the limit it is a weighted sample, and says so. A sample is

    filtered    by everything the player is told, as an exact set is;
    weighted    every history since the last exact set that fits counts alike, so that a
                position's weight is an estimate of how many of them end there;
    renewed     when few positions are left: first by enumerating anew from the last exact
                set, which makes the belief exact again, if sets a few times the limit
                suffice on the way; else by following the samples of some steps ago and,
                if very few are left, of ever more steps ago, and the last exact set once
                more. Now it is known what was told later, so positions that fit it better
                are kept before others (`BelievableGame.foresight`), and stand for less.

Where time is short (`allow`) a set that could not be followed in it becomes a sample before
its limit, samples are followed again only in sizes that there is time for, and renewing ends
when the time is over; should nothing be left by then, there may be more time, and the next step
tries again. How long a position takes is measured as the game goes on.

With a prior of the opponent's moves exact sets are weighted, too, and histories count by
how likely they are.

Should no position be left by all that, samples of ever more steps ago and the last exact set
are followed again in ever larger sizes, up to a bound: what takes less work first. If none of
them lives, it is guessed where the opponent's pieces stood some steps ago (`guesses`), and what
fits all that was told since is kept. The belief says that it is `guessed` until it is exact
again. If nothing fits even so, it is empty and not complete, and stays so unless it was for want
of time. An exact set that is empty is an error: nothing fits what the player was told.

Random choices depend on the number of steps and attempts only.
"""

from __future__ import annotations

import bisect
import copy
import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess.packed.believable_game import BelievableGame
from klss_spiel.games.chess.packed.collected_positions import emptied, joined, strided, thinned

# Sets that enumeration may need on the way to a belief within its limit, in limits, and
# in positions whatever the limit.
_DETOUR: Final = 4
_DETOUR_POSITIONS: Final = 8_000_000
# Positions that are found before a sample is chosen among them, in samples; and where it is
# known which of them fit what was told later.
_SURPLUS: Final = 4
_SURPLUS_AHEAD: Final = 16
# Part of a full sample below which a belief is renewed.
_FEW: Final = 8
# Part of a full sample that long ways are followed with first.
_SMALL: Final = 4
# Positions that are remembered of the sample of every step.
_REMEMBERED: Final = 2048
# Steps back from which a sample is renewed while some positions are left.
_STEPS_BACK: Final = (2, 4, 8, 16, 32, 64)
# Steps back from which even the least sample is followed.
_SHORT_WAY: Final = 8
# Steps back beyond which samples are followed in small sizes, because it takes seconds, and part
# of those below which a belief is renewed that have to be left for it.
_LONG_WAY: Final = 16
_VERY_FEW: Final = 8
# Part of the time left that enumerating may take while some positions are left, part that
# samples may be followed again for if none is, and how long following a position through an
# own move takes, in those of the opponent.
_ENUMERATING: Final = 0.5
_RESORTING: Final = 0.5
_OWN_MOVE: Final = 0.25
# How often the sample of a belief that has died out is doubled, and how many positions may
# be found on the way, surplus included: a few hundred megabytes.
_DOUBLINGS: Final = 12
_LAST_RESORT_POSITIONS: Final = 1 << 23
# Seconds that following a position takes and how many times as many there are then, before
# that has been measured, and how many have to be followed at once for a measurement.
_FIRST_PACE: Final = 4e-7
_FIRST_GROWTH: Final = 2.0
# Seconds that foresight takes for a position, at least, and the part of the time that choosing
# where to begin may take.
_FIRST_CHOOSING: Final = 3e-7
_CHOOSING: Final = 0.25
# How many times as many positions an exact set may well have after a move of the opponent.
_USUAL_GROWTH: Final = 8.0
_MEASURED_POSITIONS: Final = 1 << 16
# Positions that a sample may have however short the time.
_LEAST_SAMPLE: Final = 4096
_MOST_POSITIONS: Final = 1 << 40
# Positions times steps that may be followed again before it is guessed, in samples and at least.
_RESORTED: Final = 32
_RESORTED_POSITIONS: Final = 1 << 20
# Steps back where it is guessed, guesses in samples the first time and again, and part of a
# sample that is enough.
_GUESSED_BACK: Final = (24, 12, 6, 3, 1)
_GUESSES: Final = (8, 64)
_ENOUGH: Final = 64
_MOST_ATTEMPTS: Final = 256
_SALT: Final = 0x9E3779B97F4A7C15


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
        # Estimated size of the first set that did not fit; infinite if enumerating is too long.
        self._overflow = math.inf
        # How often nothing was left by samples of some steps ago; others are drawn every time.
        self._rescues = 0
        # How many were left when the belief was last renewed, infinite if it has recovered since;
        # 0 if it has died out for good.
        self._renewed_at = math.inf
        # Whether some positions come from guesses.
        self._guessed = False
        self._now: Callable[[], float] = time.monotonic
        # When `advance` should be done, and when it has to be if nothing is left.
        self._deadline = self._last = math.inf
        self._pace = _FIRST_PACE
        self._growth = _FIRST_GROWTH
        # Seconds that foresight takes for a position.
        self._choosing = 0.0

    def allow(self, seconds: float | None, now: Callable[[], float], longest: float = 0.0) -> None:
        """Says how long `advance` may take from now on; None for any time.

        If no position were left of that, it may take up to `longest` seconds in all.
        """
        self._now = now
        start = now()
        self._deadline = start + (math.inf if seconds is None else seconds)
        self._last = max(self._deadline, start + longest)

    def _sustainable(self, steps: int, deadline: float) -> int:
        """Size of a sample that can be followed through so many steps by then."""
        # Of two steps one is an own move.
        moves = max(1.0, 0.5 * steps)
        pace = (1.0 + _OWN_MOVE) * self._pace + self._choosing
        size = (deadline - self._now()) / (pace * self._growth * moves)
        return int(min(max(size, _LEAST_SAMPLE), _MOST_POSITIONS))

    def _follow(self, held: Any, told: Any, limit: int, salt: int) -> Any:
        """`BelievableGame.follow`; moves of the opponent are measured if there is a deadline."""
        if self._deadline == math.inf or held.side == held.viewer:
            return self._game.follow(held, told, limit, salt)
        start = self._now()
        after = self._game.follow(held, told, limit, salt)
        thinning = held.fraction / after.fraction if after.fraction else 1.0
        found = len(after.positions) * thinning  # those thinned out included
        followed = max(len(held.positions), found)
        if followed >= _MEASURED_POSITIONS:
            # What is thinned out costs less than what is kept: that cannot show a faster pace.
            slowest = 0.5 * self._pace if thinning == 1.0 else self._pace
            self._pace = max((self._now() - start) / followed, slowest)
        if len(held.positions) >= _MEASURED_POSITIONS // 4:
            self._growth = max(followed / len(held.positions), self._growth)
        return after

    @property
    def complete(self) -> bool:
        """Whether no consistent position is missing."""
        return bool(self._held.complete)

    @property
    def guessed(self) -> bool:
        """Whether positions may not fit what was told long ago."""
        return self._guessed

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
        few = self._game.limits.sample // _FEW
        if len(self._held.positions) > few:
            self._renewed_at = math.inf  # it has recovered
        self._renew(few)

    def copy(self) -> ChessBelief:
        """A belief that can be advanced on its own."""
        other = copy.copy(self)
        other._samples = list(self._samples)
        return other

    def _hurry(self, steps_left: int) -> None:
        """Makes a sample of a set that cannot be followed through so many steps in time."""
        sustainable = self._sustainable(steps_left, self._deadline)
        limits = self._game.limits
        if len(self._held.positions) <= sustainable or not limits.sampling:
            return
        if self._held.complete:
            self._overflow = len(self._held.positions)
        steps = 0 if self._told is None else self._told.steps
        self._held = thinned(self._held, min(limits.sample, sustainable), _salt(steps, 0))
        self._rows = None

    def _step(self, told: Any) -> None:
        limits, held = self._game.limits, self._held
        limit = limits.exact if held.complete else _SURPLUS * limits.sample
        self._growth *= 0.5  # unless it is still so: samples that die tell nothing of larger ones
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
        if self._deadline == math.inf:
            self._renew(0)  # else once for all steps, when the last one is done

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
            self._guessed = False
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
        start = self._now()
        exact = self._enumerated(start + _ENUMERATING * (self._deadline - start))
        self._hold(self._followed_again(few) if exact is None else exact)
        left = len(self._held.positions)
        # Nothing has been found in the time there was: that may be tried again.
        self._renewed_at = left if left or self._deadline == math.inf else math.inf

    def _enumerated(self, until: float) -> Any:
        """The exact set by way of larger ones; None if that takes too long or they are too large.

        What has been found when the time is over is where the next attempt begins.
        """
        limits = self._game.limits
        most = min(_DETOUR * limits.exact, max(limits.exact, _DETOUR_POSITIONS))
        if self._overflow > most:
            return None
        work = 0
        held, steps = self._exact, self._exact_steps
        for told in self._told.since(self._exact_steps):
            work += len(held.positions)
            if work > 2 * most:
                self._overflow = math.inf  # it will not be less another time
                return None
            growth = max(self._growth, _USUAL_GROWTH)
            if held.side == held.viewer:
                growth = _OWN_MOVE
            if self._pace * growth * len(held.positions) > until - self._now():
                self._exact, self._exact_steps = held, steps
                self._samples = [sample for sample in self._samples if sample[0] > steps]
                return None
            held, steps = self._follow(held, told, most, 0), told.steps
            if not held.complete:
                self._overflow = len(held.positions) / held.fraction
                return None
        return held if len(held.positions) <= limits.exact else None

    def _followed_again(self, few: int) -> Any:
        """The sample and what follows from earlier ones with other random choices.

        An empty sample if even the largest that are affordable die out.
        """
        found = self._held
        until = self._deadline if len(found.positions) else self._last
        backs = [back for back in _STEPS_BACK if back < len(self._samples)]
        full, small = self._game.limits.sample, self._small
        starts = [
            (*self._samples[-1 - back], full if back <= _LONG_WAY else small) for back in backs
        ]
        starts.append((self._exact_steps, self._exact, small))
        for attempt, (steps, sample, size) in enumerate(starts, start=1):
            back = self._told.steps - steps
            sustainable = self._sustainable(back, self._deadline)
            too_long = back > _SHORT_WAY and sustainable <= _LEAST_SAMPLE
            too_long |= back > _LONG_WAY and len(found.positions) > few // _VERY_FEW
            if self._now() > self._deadline or too_long:
                break
            followed = self._follow_all(sample, steps, min(size, sustainable), attempt, until)
            found = joined(found, followed)
            if len(found.positions) > few:
                return found
        if len(found.positions):
            return found
        timed = self._last < math.inf
        if timed and self._now() + self._pace * self._estimated_work < self._last:
            exact = self._enumerated(self._last)
            if exact is not None:
                return exact
        self._rescues += 1
        until = self._now() + _RESORTING * (self._last - self._now()) if timed else math.inf
        found = self._found_anew(until)
        if len(found.positions) or not timed:
            return found
        exact = self._enumerated(self._last)
        return found if exact is None else exact

    def _found_anew(self, until: float) -> Any:
        """A sample after all: by last resorts, by guesses before those that take long."""
        resorts = self._last_resorts()
        most = max(_RESORTED * self._game.limits.sample, _RESORTED_POSITIONS)
        work = list(itertools.accumulate(map(self._work, resorts)))
        # Once it had to be guessed, the way from before that is too hard to find.
        first = 0 if self._guessed else bisect.bisect_right(work, most)
        found = self._first_living(resorts[:first], 0, until)
        if len(found.positions) or found.complete:
            return found
        guess = self._guess()
        if len(guess.positions):
            self._guessed = True
            return guess
        return self._first_living(resorts[first:], first, until)

    def _first_living(self, resorts: Sequence[Any], tried: int, until: float) -> Any:
        """What the first resort leads to of which something is left."""
        found = self._held
        for attempt, (steps, sample, size) in enumerate(
            resorts, start=_MOST_ATTEMPTS * self._rescues + tried
        ):
            sustainable = self._sustainable(self._told.steps - steps, until)
            if size > sustainable or self._now() > until:
                break
            found = self._follow_all(sample, steps, size, attempt, self._last)
            if len(found.positions) or found.complete:
                break
        return found

    @property
    def _small(self) -> int:
        """Size of samples for long ways: several small ones find more than one large one."""
        return max(1, self._game.limits.sample // _SMALL)

    @property
    def _estimated_work(self) -> float:
        """Positions of all exact sets since the last one, as far as samples tell."""
        samples = (sample for _, sample in self._samples if len(sample.positions))
        return float(sum(len(sample.positions) / sample.fraction for sample in samples))

    def _last_resorts(self) -> list[tuple[int, Any, int]]:
        """What a belief that has died out can be found by, the least work first.

        Returns:
            Steps, what was held after them, and the size of the samples to follow it with:
            ever earlier samples and the last exact set in ever larger sizes.
        """
        steps_back = range(_SHORT_WAY.bit_length(), len(self._samples).bit_length())
        starts = [self._samples[-1 - (1 << n)] for n in steps_back if 1 << n < len(self._samples)]
        starts.append((self._exact_steps, self._exact))
        size = self._game.limits.sample
        largest = min(size << _DOUBLINGS, max(size, _LAST_RESORT_POSITIONS // _SURPLUS_AHEAD))
        size = self._small if self._deadline == math.inf else min(size, _LEAST_SAMPLE)
        doublings = (largest // size).bit_length()
        resorts = [(*start, size << n) for n in range(doublings) for start in starts]
        return sorted(resorts, key=self._work)

    def _work(self, resort: tuple[int, Any, int]) -> int:
        """Positions times steps that a last resort takes."""
        steps, _, size = resort
        return int(self._told.steps - steps) * size

    def _guess(self) -> Any:
        """What fits of guesses at where the opponent's pieces stood some steps ago."""
        found = self._held
        # From where a turn began: of tries that were refused before, guesses would know nothing.
        begun = {told.steps for told in self._told.since(0) if self._game.is_move(told)}
        starts = [
            (steps, sample)
            for steps, sample in self._samples
            if sample.side == sample.viewer and len(sample.positions) and steps in begun
        ]
        tries = itertools.product(_GUESSES, _GUESSED_BACK)
        for attempt, (guesses, back) in enumerate(tries, start=_MOST_ATTEMPTS * _MOST_ATTEMPTS):
            before = [start for start in starts if start[0] <= self._told.steps - back]
            if not before or self._now() > self._last:
                continue
            steps, sample = before[-1]
            size = min(
                self._game.limits.sample, self._sustainable(self._told.steps - steps, self._last)
            )
            count = guesses * size
            if self._last < math.inf:  # making them takes about as long as choosing among them
                count = min(count, max(1, self._choosable(self._last)))
            guess = self._game.scattered(sample, count, _salt(steps, attempt))
            fitting = self._game.going_on(self._follow_all(guess, steps, size, attempt, self._last))
            if len(fitting.positions) > len(found.positions):
                found = fitting
            enough = size // _ENOUGH if guesses == _GUESSES[0] else 0
            if len(found.positions) > enough:
                break
        return found

    def _follow_all(self, held: Any, steps: int, size: int, attempt: int, until: float) -> Any:
        """What is held now if that was held after so many steps.

        Nothing if there are steps to go when the time is over.
        """
        later = self._told.since(steps)
        salt = _salt(steps, 1 + attempt)
        if until < math.inf:  # an exact set may have millions
            held = strided(held, max(size, self._choosable(until)), salt)
        held = self._thinned_ahead(held, later, size, salt)
        for done, told in enumerate(later, start=1):
            salt = _salt(told.steps, 1 + attempt)
            if self._now() > until:
                held = emptied(held)
            # One that has died out goes on, too: whose turn it is belongs to what is held.
            held = self._follow(held, told, _SURPLUS_AHEAD * size, salt)
            # Own moves and tries cost little and leave fewer: only then is it chosen.
            if not held.complete and held.side != held.viewer:
                held = self._thinned_ahead(held, later[done:], size, salt)
        return held

    def _choosable(self, until: float) -> int:
        """How many positions can be chosen among in a part of the time."""
        seconds = _CHOOSING * (until - self._now())
        return int(max(seconds, 0.0) / max(self._choosing, _FIRST_CHOOSING))

    def _thinned_ahead(self, held: Any, later: Sequence[Any], size: int, salt: int) -> Any:
        """At most `size` positions, those before others that fit what is told later."""
        found = len(held.positions)
        if found <= size:
            return held
        start = self._now()
        after = thinned(held, size, salt, self._game.foresight(held, later))
        if found >= _MEASURED_POSITIONS:
            self._choosing = max((self._now() - start) / found, 0.5 * self._choosing)
        return after


def _salt(steps: int, attempt: int) -> int:
    """A number without pattern for every step and attempt."""
    return (1 + steps + (attempt << 32)) * _SALT % 2**64
