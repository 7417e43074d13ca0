"""Collecting packed positions without doubles, up to a limit, with weights if need be.

What a set of positions is filled by is a compiled step (`kernels.beliefs` for dark
chess, `kernels.heard_moves` for Kriegspiel); here is where it is given room, thinned when
there are too many, and where samples are made smaller or put together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess.packed.kernels import position_tables as kernels
from klss_spiel.games.chess.packed.kernels.bits import FULL, ONE
from klss_spiel.games.chess.packed.kernels.moves import MAX_MOVES
from klss_spiel.games.chess.packed.positions import Layout

DEFAULT_LIMIT: Final = 4_000_000

_SMALLEST_ROOM: Final = 8192
_GROWTH: Final = 4
# Every position is followed by at most this many, so a set with that much room goes on.
_SLACK: Final = 2 * MAX_MOVES
# Logarithm of the least factor by which a position is kept rather than another.
_LEAST_FAVOUR: Final = -40.0
NO_WEIGHTS: Final[FloatArray] = np.empty(0)

# Table, store and weights of a set, and (threshold, salt): `kernels.position_tables`.
Members = tuple[U64Array, U64Array, FloatArray]
Sieve = tuple[np.uint64, np.uint64]
# (first not yet added, members, count, sieve) -> (first not yet added, count)
Step = Callable[[int, Members, int, Sieve], tuple[int, int]]


class HeldPositions(Protocol):
    """What a player holds possible; a frozen dataclass."""

    @property
    def board(self) -> Layout:
        """Which board."""

    @property
    def viewer(self) -> int:
        """Colour of the player."""

    @property
    def side(self) -> int:
        """To move in all of them."""

    @property
    def positions(self) -> U64Array:
        """[n, 4] different packed positions."""

    @property
    def complete(self) -> bool:
        """Whether these are all."""

    @property
    def fraction(self) -> float:
        """Estimate of the part of all consistent positions that are here; 1 if complete."""

    @property
    def weights(self) -> FloatArray | None:
        """[n] how much each position of a sample stands for; None if all alike."""


Held = TypeVar("Held", bound=HeldPositions)


@dataclasses.dataclass(frozen=True, eq=False)
class Collection:
    """What a step has found.

    Attributes:
        positions: [n, 4] different positions.
        weights: [n], or None in a set without weights.
        fraction: which part of all that were found; 1 if none was left out.
    """

    positions: U64Array
    weights: FloatArray | None
    fraction: float


def collect(
    step: Step, total: int, guess: int, limit: int, weighted: bool = False, salt: int = 0
) -> Collection:
    """Runs a kernel that fills a set, giving it more room or thinning it when it is full.

    Large arrays are made here and not in the kernel because numpy asks the system for
    huge pages, without which the random accesses take twice as long.

    Args:
        step: adds positions until the set is full.
        total: how many positions the step goes through.
        guess: how many it may find.
        limit: most positions to keep.
        weighted: whether the step gives weights.
        salt: of the hashes by which a set is thinned.
    """
    room = min(max(guess, _SMALLEST_ROOM), limit) + _SLACK
    store, weights = _new_rows(room, weighted)
    table = np.zeros(_slots(room), dtype=np.uint64)
    start, count, threshold, seasoning = 0, 0, FULL, np.uint64(salt)
    while True:
        members = (table, store, weights)
        start, count = step(start, members, count, (threshold, seasoning))
        if start == total and count <= limit:
            found = weights[:count] if weighted else None
            return Collection(store[:count], found, float(threshold) / float(FULL))
        old, given = store, weights
        if count <= limit and room < limit + _SLACK:
            room = min(_GROWTH * room, limit + _SLACK)
            store, weights = _new_rows(room, weighted)
        else:
            threshold >>= ONE
        table = np.zeros(_slots(room), dtype=np.uint64)
        members = (table, store, weights)
        count = int(kernels.refill(old, given, members, count, (threshold, seasoning)))


def _new_rows(room: int, weighted: bool) -> tuple[U64Array, FloatArray]:
    return np.empty((room, 4), dtype=np.uint64), np.empty(room if weighted else 0)


def _slots(room: int) -> int:
    """Size of a table for so many positions: a power of two, a third free or more."""
    return 1 << (3 * room // 2).bit_length()


def collect_rows(
    positions: U64Array, weights: FloatArray | None, limit: int, salt: int = 0
) -> Collection:
    """Positions [n, 4] without doubles, in order of first appearance, weights added up."""
    words = np.ascontiguousarray(positions)
    given = NO_WEIGHTS if weights is None else np.ascontiguousarray(weights)

    def step(start: int, members: Members, count: int, sieve: Sieve) -> tuple[int, int]:
        reached, filled = kernels.insert_all(words, given, start, members, count, sieve)
        return int(reached), int(filled)

    return collect(step, len(words), len(words), limit, weights is not None, salt)


def distinct(positions: U64Array, limit: int = DEFAULT_LIMIT) -> tuple[U64Array, float]:
    """Positions [n, 4] without doubles, in order of first appearance.

    Returns:
        At most `limit` of them, and which fraction they are: 1 if all, else the part of
        the hash values below which a uniform sample was kept.
    """
    found = collect_rows(positions, None, limit)
    return found.positions, found.fraction


def replaced(held: Held, found: Collection, **changes: Any) -> Held:
    """What is held after a step has found a collection.

    A set that has to leave out something is a sample from then on: its weights start at 1,
    and their mean stays that.
    """
    weights = found.weights
    if weights is not None and len(weights):
        weights = weights / weights.mean()
    elif found.fraction < 1.0:
        weights = np.ones(len(found.positions))
    after: Held = dataclasses.replace(
        held,  # type: ignore[type-var]
        positions=found.positions,
        weights=weights,
        complete=held.complete and found.fraction == 1.0,
        fraction=held.fraction * found.fraction,
        **changes,
    )
    return after


def thinned(held: Held, size: int, salt: int, favour: FloatArray | None = None) -> Held:
    """At most `size` positions of a sample, heavy ones before light ones.

    Priority sampling (Duffield, Lund and Thorup 2007): those with the largest w / u are
    kept, u being random between 0 and 1; light ones then stand for those left out, such
    that the expected weight of every position stays what it was.

    Args:
        held: the sample.
        size: how many positions to keep.
        salt: which.
        favour: [n] logarithms of factors by which positions are kept as if they were
            heavier. The others then stand for more, so that expectations stay.
    """
    n = len(held.positions)
    if n <= size:
        return held
    weights = np.ones(n) if held.weights is None else held.weights
    factors = np.ones(n)
    if favour is not None:
        factors = np.exp(np.maximum(favour - favour.max(), _LEAST_FAVOUR))
    priority = weights * factors / (1.0 - np.random.default_rng(salt).random(n))
    order = np.argpartition(-priority, size)
    kept = np.sort(order[:size])
    stand_for = np.maximum(weights[kept], priority[order[size]] / factors[kept])
    found = Collection(held.positions[kept], stand_for, size / n)
    return replaced(held, found)


def strided(held: Held, size: int, salt: int) -> Held:
    """At most `size` positions of a large set, every k-th: the others take no time at all."""
    step = -(-len(held.positions) // size)
    if step <= 1:
        return held
    chosen = slice(salt % step, None, step)
    weights = None if held.weights is None else held.weights[chosen]
    # A view with gaps would be another type to compiled code, which is compiled for it anew.
    positions = np.ascontiguousarray(held.positions[chosen])
    return replaced(held, Collection(positions, weights, 1.0 / step))


def emptied(held: Held) -> Held:
    """A sample with nothing left of it."""
    nothing: Held = dataclasses.replace(
        held,  # type: ignore[type-var]
        positions=held.positions[:0],
        weights=None if held.weights is None else held.weights[:0],
        complete=False,
    )
    return nothing


def joined(one: Held, other: Held) -> Held:
    """Two samples of the same positions as one; each counts by its effective size."""
    if not len(one.positions) or not len(other.positions):
        return other if not len(one.positions) else one
    weights = np.concatenate([_shares(held) * effective_size(held) for held in (one, other)])
    positions = np.concatenate([one.positions, other.positions])
    found = collect_rows(positions, weights, len(positions))
    both = dataclasses.replace(
        one,  # type: ignore[type-var]
        positions=found.positions,
        weights=found.weights,
        fraction=min(1.0, one.fraction + other.fraction),
    )
    return both


def effective_size(held: HeldPositions) -> float:
    """How many equally weighted positions a sample is worth (Kish's formula)."""
    if held.weights is None or not len(held.weights):
        return float(len(held.positions))
    return float(held.weights.sum() ** 2 / (held.weights**2).sum())


def _shares(held: HeldPositions) -> FloatArray:
    n = len(held.positions)
    if held.weights is None:
        return np.full(n, 1.0 / n)
    shares: FloatArray = held.weights / held.weights.sum()
    return shares
