"""Sets of packed positions without doubles, compiled: tables, weights, thinning.

`members` is a set being filled: (table, store, weights). The table is of open addressing;
an entry holds the upper half of a position's hash and one plus its place in `store`
([room, 4] positions). `weights` is [room], or [0] in a set without weights; where a
position is found again, its weights add up.

`sieve` is (threshold, salt): only positions whose hash with that salt is at most the
threshold are accepted. Sets that outgrow their limit are thinned by halving it: a uniform
sample that does not depend on the order in which positions are found, and another one
for every salt.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from klss_spiel.games.chess.packed.kernels.bits import ONE, ZERO, prefetch
from klss_spiel.games.chess.packed.kernels.observations import hash_words
from klss_spiel.kernels import kernel

# Positions added to a set together.
BATCH: Final = 256

_INDEX_BITS: Final = np.uint64(0xFFFFFFFF)
_TAG_BITS: Final = np.uint64(0xFFFFFFFF00000000)
_S3: Final = np.uint64(3)
_S5: Final = np.uint64(5)


@kernel
def insert_batch(members: Any, count: Any, batch: Any, heavy: Any, size: Any) -> Any:
    """Adds the new ones among `size` positions to a set; returns its new count.

    Memory latency is all that costs time here, so every access is announced one pass
    ahead.

    Args:
        members: the set; at least a third of its table is free.
        count: how many positions it has.
        batch: [BATCH or more, 5] positions and their hashes.
        heavy: their weights, or [0] if the set has none.
        size: how many of the batch to add.
    """
    table, store, weights = members
    last = np.uint64(len(table) - 1)
    weighted = len(weights) > 0
    for i in range(size):
        entry = table[batch[i, 4] & last]
        if entry & _TAG_BITS == batch[i, 4] & _TAG_BITS and entry != ZERO:
            prefetch(np.uint64(store.ctypes.data) + (((entry & _INDEX_BITS) - ONE) << _S5))
    for i in range(size):
        p0, p1, p2, p3 = batch[i, 0], batch[i, 1], batch[i, 2], batch[i, 3]
        slot = batch[i, 4] & last
        tag = batch[i, 4] & _TAG_BITS
        new = True
        while True:
            entry = table[slot]
            if entry == ZERO:
                break
            if entry & _TAG_BITS == tag:
                other = (entry & _INDEX_BITS) - ONE
                if (
                    store[other, 0] == p0
                    and store[other, 1] == p1
                    and store[other, 2] == p2
                    and store[other, 3] == p3
                ):
                    new = False
                    if weighted:
                        weights[other] += heavy[i]
                    break
            slot = (slot + ONE) & last
        if new:
            table[slot] = tag | (count + ONE)
            store[count, 0] = p0
            store[count, 1] = p1
            store[count, 2] = p2
            store[count, 3] = p3
            if weighted:
                weights[count] = heavy[i]
            count += ONE
    return count


@kernel
def passes(sieve: Any, p0: Any, p1: Any, p2: Any, p3: Any) -> Any:
    """Whether `put` would accept a position, to be asked before it is worth more work."""
    return hash_words(p0, p1, p2, p3, sieve[1]) <= sieve[0]


@kernel
def put(members: Any, sieve: Any, batch: Any, size: Any, p0: Any, p1: Any, p2: Any, p3: Any) -> Any:
    """Appends a position to a batch if the sieve accepts it; returns the new size.

    It starts loading the position's table entry.
    """
    hashed = hash_words(p0, p1, p2, p3, sieve[1])
    if hashed > sieve[0]:
        return size
    table = members[0]
    prefetch(np.uint64(table.ctypes.data) + ((hashed & np.uint64(len(table) - 1)) << _S3))
    batch[size, 0] = p0
    batch[size, 1] = p1
    batch[size, 2] = p2
    batch[size, 3] = p3
    batch[size, 4] = hashed
    return size + ONE


@kernel
def refill(old: Any, given: Any, members: Any, count: Any, sieve: Any) -> Any:
    """Moves the first `count` positions of `old` that pass a sieve into an empty set.

    Args:
        old: [n, 4] different positions.
        given: [n] their weights, or [0].
        members: the set; its arrays may be `old` and `given` themselves.
        count: how many of `old` there are.
        sieve: which to keep.

    Returns:
        The number of positions kept, in their old order.
    """
    table, store, weights = members
    last = np.uint64(len(table) - 1)
    kept = ZERO
    for i in range(count):
        p0, p1, p2, p3 = old[i, 0], old[i, 1], old[i, 2], old[i, 3]
        hashed = hash_words(p0, p1, p2, p3, sieve[1])
        if hashed > sieve[0]:
            continue
        slot = hashed & last
        while table[slot] != ZERO:  # all are different: no comparison
            slot = (slot + ONE) & last
        table[slot] = (hashed & _TAG_BITS) | (kept + ONE)
        store[kept, 0] = p0
        store[kept, 1] = p1
        store[kept, 2] = p2
        store[kept, 3] = p3
        if len(given):
            weights[kept] = given[i]
        kept += ONE
    return kept


@kernel
def insert_all(positions: Any, given: Any, start: Any, members: Any, count: Any, sieve: Any) -> Any:
    """Adds positions to a set until it is full.

    Args:
        positions: [n, 4] packed positions, not necessarily different.
        given: [n] their weights, or [0].
        start: first of them to add.
        members: the set.
        count: how many positions it has.
        sieve: which to accept.

    Returns:
        The first position not added (n if all are) and the new count.
    """
    room = len(members[1])
    batch = np.empty((BATCH, 5), dtype=np.uint64)
    heavy = np.empty(len(batch) if len(given) else 0, dtype=np.float64)
    size, filled = ZERO, np.uint64(count)
    for i in range(start, len(positions)):
        if size == BATCH:
            filled = insert_batch(members, filled, batch, heavy, size)
            size = ZERO
        if np.int64(filled + size) >= room:
            filled = insert_batch(members, filled, batch, heavy, size)
            return i, filled
        p0, p1, p2, p3 = positions[i, 0], positions[i, 1], positions[i, 2], positions[i, 3]
        before = size
        size = put(members, sieve, batch, size, p0, p1, p2, p3)
        if len(given) and size > before:
            heavy[before] = given[i]
    return len(positions), insert_batch(members, filled, batch, heavy, size)
