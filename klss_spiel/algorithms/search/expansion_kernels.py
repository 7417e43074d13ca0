"""Compiled walks down a search tree that choose leaves to expand; see `expansion`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from klss_spiel.algorithms.search.tree import PENDING, UNEXPANDED
from klss_spiel.kernels import kernel
from klss_spiel.tree import CHANCE, TERMINAL

# One sample of -1 and one of 1 before any other, so that no spread is 0.
PRIOR_SAMPLES = 2.0
PRIOR_SQUARES = 2.0

# Numba freezes globals; plain integers keep the comparisons cheap.
_CHANCE = int(CHANCE)
_TERMINAL = int(TERMINAL)
_UNEXPANDED = int(UNEXPANDED)
_PENDING = int(PENDING)


@kernel
def _random(state: Any) -> Any:
    """A number in [0, 1) from a 64-bit splitmix generator whose state is `state[0]`."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


class Walks(NamedTuple):
    """How to walk.

    Attributes:
      first_explorer: who explores in the first walk; the players take turns.
      two_sided: both players explore in every walk (GT-CFR).
      constant: weight of exploration, C in Obscuro C.4.
      old_nodes: number of nodes at the last iteration of CFR; families added since
        are not entered.
    """

    first_explorer: int
    two_sided: bool
    constant: float
    old_nodes: int


@kernel
def choose_leaves(walks: Walks, state: Any, nodes: Any, players: Any, chosen: Any) -> int:
    """Walks down from node 0 and collects leaves to expand (Obscuro, Figure 12).

    Args:
      walks: how.
      state: [1] state of the random numbers.
      nodes: `NodeArrays`; chosen leaves become PENDING.
      players: a pair of `PlayerArrays`.
      chosen: [number of walks] receives the leaves.

    Returns:
      How many leaves were chosen.
    """
    found = 0
    for attempt in range(len(chosen)):
        explorer = (walks.first_explorer + attempt) % 2
        node = 0
        while True:
            first = nodes.first_child[node]
            if first == _UNEXPANDED and nodes.player[node] != _TERMINAL:
                nodes.first_child[node] = _PENDING
                chosen[found] = node
                found += 1
                break
            if first < 0 or first >= walks.old_nodes:
                break
            mover = nodes.player[node]
            count = nodes.num_children[node]
            if mover == _CHANCE:
                pick = _sample(nodes.chance[first : first + count], state)
            else:
                explores = walks.two_sided or explorer == mover
                rows, infoset = players[mover], nodes.infoset[node]
                pick = _choose(rows.infosets, rows.sequences, infoset, explores,
                               walks.constant, state)  # fmt: skip
            if pick < 0:
                break
            node = first + pick
    return found


@kernel
def _choose(
    infosets: Any, sequences: Any, infoset: int, explores: bool, constant: float, state: Any
) -> int:
    """An action of a player on a walk; -1 if the strategy plays none."""
    first = infosets.first_sequence[infoset]
    count = infosets.num_actions[infoset]
    strategy = sequences.strategy[first : first + count]
    infosets.visits[infoset] += 1.0  # N(I) counts every visit, whoever explores
    if not explores:
        return _sample(strategy, state)
    if _random(state) < 0.5:
        # Any action of the support, all alike.
        size = 0
        for a in range(count):
            if strategy[a] > 0.0:
                size += 1
        left = int(_random(state) * size)
        pick = 0
        for a in range(count):
            if strategy[a] > 0.0:
                if left == 0:
                    pick = a
                    break
                left -= 1
    else:
        pick = _upper_confidence(infosets, sequences, infoset, constant)
    picked = first + pick
    value = sequences.value[picked]
    sequences.picks[picked] += 1.0
    sequences.sum[picked] += value
    sequences.squares[picked] += value * value
    return pick


@kernel
def _upper_confidence(infosets: Any, sequences: Any, infoset: int, constant: float) -> int:
    """The action with the largest Q-bar of Obscuro, C.4; the first of equals."""
    first = infosets.first_sequence[infoset]
    root = np.sqrt(infosets.visits[infoset])
    best, pick = -np.inf, 0
    for a in range(infosets.num_actions[infoset]):
        s = first + a
        samples = sequences.picks[s] + PRIOR_SAMPLES
        mean = sequences.sum[s] / samples
        variance = (sequences.squares[s] + PRIOR_SQUARES) / samples - mean * mean
        spread = np.sqrt(variance)
        bound = sequences.value[s] + constant * spread * root / (1.0 + sequences.picks[s])
        if bound > best:
            best, pick = bound, a
    return pick


@kernel
def _sample(weights: Any, state: Any) -> int:
    """An index with probability proportional to its weight; -1 if all are 0."""
    total = 0.0
    for a in range(len(weights)):
        total += weights[a]
    if total <= 0.0:
        return -1
    left = _random(state) * total
    pick = -1
    for a in range(len(weights)):
        if weights[a] > 0.0:
            pick = a
            left -= weights[a]
            if left < 0.0:
                break
    return pick
