"""The infosets of a player in depth-first order.

Everything below an infoset is one slice of that order, which is what makes parts
of a large game cheap to find. Shapes as in `klss_spiel.tree`.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from klss_spiel.arrays import IntArray, LongArray, ranges
from klss_spiel.tree import NO_INFOSET, GameTree


@dataclasses.dataclass(frozen=True, eq=False)
class InfosetOrder:
    """The infosets of one player in depth-first order, and the nodes sorted by it.

    Attributes:
      position: [I] place of each infoset in the order.
      end: [I] one past the place of the last infoset at or below each one.
      depth: [I] number of infosets before each one.
      nodes: [N] nodes sorted by the position of their infoset.
      start: [I + 1] the nodes of the infoset at position i are
        nodes[start[i]:start[i + 1]].
    """

    position: LongArray
    end: LongArray
    depth: LongArray
    nodes: IntArray
    start: LongArray

    def nodes_of(self, infosets: IntArray) -> IntArray:
        """The nodes in the given infosets."""
        place = self.position[infosets]
        return self.nodes[ranges(self.start[place], self.start[place + 1])]

    def nodes_below(self, infosets: IntArray) -> IntArray:
        """The nodes in or below the given infosets, none of which is below another."""
        first, last = self.start[self.position[infosets]], self.start[self.end[infosets]]
        if len(infosets) == 1:
            return self.nodes[int(first[0]) : int(last[0])]
        return self.nodes[ranges(first, last)]

    def topmost(self, infosets: IntArray) -> IntArray:
        """The distinct infosets that are not below another of them, in order of position."""
        position = np.unique(self.position[infosets])
        inverse = self.at_position[position]
        # Intervals are nested or disjoint, so the furthest end so far tells.
        reach = np.maximum.accumulate(self.end[inverse])
        top = np.ones(len(position), dtype=np.bool_)
        top[1:] = position[1:] >= reach[:-1]
        return inverse[top]

    @functools.cached_property
    def at_position(self) -> IntArray:
        """[I] the infoset at each position."""
        inverse = np.empty(len(self.position), dtype=np.int32)
        inverse[self.position] = np.arange(len(self.position), dtype=np.int32)
        return inverse


def infoset_order(tree: GameTree, player: int) -> InfosetOrder:
    """Sorts the infosets of a player depth first, and the nodes by them."""
    infosets = tree.infosets[player]
    parent = infosets.parent.astype(np.int64)
    count = infosets.num_infosets
    depth = np.zeros(count, dtype=np.int64)
    levels = [np.flatnonzero(parent == NO_INFOSET)]
    # Infosets come after their parents, so one sorted pass per level finds the next.
    by_parent = np.argsort(parent, kind="stable")
    sorted_parent = parent[by_parent]
    while True:
        left = np.searchsorted(sorted_parent, levels[-1], side="left")
        right = np.searchsorted(sorted_parent, levels[-1], side="right")
        children = by_parent[ranges(left, right)]
        if not len(children):
            break
        depth[children] = len(levels)
        levels.append(children)
    size = np.ones(count, dtype=np.int64)
    for level in reversed(levels[1:]):
        np.add.at(size, parent[level], size[level])
    position = np.zeros(count, dtype=np.int64)
    for number, level in enumerate(levels):
        # Within a level, siblings are adjacent: each starts where the last ended.
        before = np.cumsum(size[level]) - size[level]
        if number == 0:
            position[level] = before
            continue
        above = parent[level]
        is_first = np.ones(len(level), dtype=np.bool_)
        is_first[1:] = above[1:] != above[:-1]
        group_start = before[is_first][np.cumsum(is_first) - 1]
        position[level] = position[above] + 1 + before - group_start
    key = position[tree.infoset[player]]
    nodes = np.argsort(key, kind="stable").astype(np.int32)
    start = np.searchsorted(key[nodes], np.arange(count + 1))
    return InfosetOrder(position, position + size, depth, nodes, start)
