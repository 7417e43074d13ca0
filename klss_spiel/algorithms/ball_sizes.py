"""Sizes of knowledge sets around all nodes or infosets at once, and diameters."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.knowledge import Cells, InfosetHypergraph, runs
from klss_spiel.arrays import IntArray, LongArray
from klss_spiel.progress import Progress

_WORD_BITS = 64
_CELLS_PER_BLOCK = 1 << 14


@dataclasses.dataclass(frozen=True, eq=False)
class BallSizes:
    """How many nodes lie near each node, or near each infoset.

    Attributes:
      size: [R + 1, X] number of vertices within radius r of node or infoset x; 0
        where x takes no part.
      closure: [X] size of the whole component.
      eccentricity: [X] largest distance from x to a vertex connected to it; no more
        than R if the computation was told to stop there.
    """

    size: LongArray
    closure: LongArray
    eccentricity: LongArray

    @property
    def diameter(self) -> int:
        """The largest distance met."""
        return int(self.eccentricity.max(initial=0))


def node_ball_sizes(
    graph: InfosetHypergraph, max_radius: int, find_eccentricity: bool = True
) -> BallSizes:
    """Sizes of the balls around every vertex, and the diameter of the hypergraph.

    Args:
      graph: the hypergraph.
      max_radius: R, the largest finite radius wanted.
      find_eccentricity: go on beyond R to find the largest distance.
    """
    cells = graph.cells
    every_cell = np.arange(len(cells.size))
    gained, eccentricity = _sweep(cells, every_cell, max_radius, find_eccentricity)
    size = np.zeros((max_radius + 1, len(graph.vertex)), dtype=np.int64)
    nodes = np.flatnonzero(graph.vertex)
    size[:, nodes] = np.cumsum(gained, axis=0)[:, cells.of_node[nodes]]
    # Within a cell distinct nodes are at distance 1, which cells cannot show.
    size[0, nodes] = 1
    closure = np.zeros(len(graph.vertex), dtype=np.int64)
    closure[nodes] = np.bincount(graph.component[nodes])[graph.component[nodes]]
    node_eccentricity = np.zeros(len(graph.vertex), dtype=np.int64)
    cell = cells.of_node[nodes]
    node_eccentricity[nodes] = np.maximum(eccentricity[cell], cells.size[cell] > 1)
    return BallSizes(size, closure, node_eccentricity)


def infoset_ball_sizes(
    graph: InfosetHypergraph, player: int, max_radius: int, find_eccentricity: bool = True
) -> BallSizes:
    """Sizes of the balls around every infoset of a player: |I^k| has radius k - 1."""
    cells = graph.cells
    original = cells.original_edge[player]
    gained, eccentricity = _sweep(cells, cells.edge[player], max_radius, find_eccentricity)
    component_of_source = np.empty(len(original), dtype=np.int64)
    component_of_source[cells.edge[player]] = cells.component
    component_size = np.bincount(cells.component, weights=cells.size).astype(np.int64)
    size = np.zeros((max_radius + 1, graph.num_edges[player]), dtype=np.int64)
    closure = np.zeros(graph.num_edges[player], dtype=np.int64)
    real = original < graph.num_edges[player]
    size[:, original[real]] = np.cumsum(gained, axis=0)[:, real]
    closure[original[real]] = component_size[component_of_source[real]]
    infoset_eccentricity = np.zeros(graph.num_edges[player], dtype=np.int64)
    infoset_eccentricity[original[real]] = eccentricity[real]
    return BallSizes(size, closure, infoset_eccentricity)


def _sweep(
    cells: Cells, source: IntArray, max_radius: int, find_eccentricity: bool
) -> tuple[LongArray, LongArray]:
    """Breadth-first search from many sources at once.

    A bit per source travels along the hyperedges, 64 sources in a machine word.
    Sources of different components cannot meet, so a bit stands for one source
    in every component: one pass serves 64 sources of each.

    Args:
      cells: where to search.
      source: [C] the source each cell starts in. Sources are numbered from 0 in the
        order of their components.
      max_radius: R.
      find_eccentricity: go on beyond R until nothing changes.

    Returns:
      [R + 1, X] number of vertices at distance exactly r from each source, and [X]
      the largest distance met from each source.
    """
    num_sources = int(source.max(initial=-1)) + 1
    gained = np.zeros((max_radius + 1, num_sources), dtype=np.int64)
    component_of_source = np.empty(num_sources, dtype=np.int64)
    component_of_source[source] = cells.component
    sources_per_component = np.bincount(component_of_source)
    first_source = np.cumsum(sources_per_component) - sources_per_component
    # Which source of its component each cell starts in.
    rank = source - first_source[cells.component]
    by_edge1 = np.argsort(cells.edge[1], kind="stable")
    num_passes = -(-int(sources_per_component.max(initial=0)) // _WORD_BITS)
    progress = Progress("measuring knowledge", num_passes)
    eccentricity = np.zeros(num_sources, dtype=np.int64)
    for turn in range(num_passes):
        first_rank = turn * _WORD_BITS
        alive = sources_per_component[cells.component] > first_rank
        live = np.flatnonzero(alive)
        position = np.cumsum(alive) - 1
        live_by_edge1 = by_edge1[alive[by_edge1]]
        start0, group0 = runs(cells.edge[0][live])
        start1, sorted_group1 = runs(cells.edge[1][live_by_edge1])
        order1 = position[live_by_edge1]
        group1 = np.empty_like(sorted_group1)
        group1[order1] = sorted_group1

        bit = rank[live] - first_rank
        starts = (bit >= 0) & (bit < _WORD_BITS)
        mask = np.zeros(len(live), dtype=np.uint64)
        mask[starts] = np.left_shift(np.uint64(1), bit[starts].astype(np.uint64))
        first_of_cell = first_source[cells.component[live]] + first_rank
        component_start, _ = runs(cells.component[live])
        new = mask
        radius = 0
        while True:
            if radius <= max_radius:
                _add_bits(gained[radius], new, first_of_cell, cells.size[live])
            moved = np.bitwise_or.reduceat(new, component_start)
            row, bit = _set_bits(moved)
            eccentricity[first_of_cell[component_start[row]] + bit] = radius
            if radius == max_radius and not find_eccentricity:
                break
            grown0 = np.bitwise_or.reduceat(mask, start0)[group0]
            grown1 = np.bitwise_or.reduceat(mask[order1], start1)[group1]
            new = (grown0 | grown1) & ~mask
            if not new.any():
                break
            radius += 1
            mask = mask | new
        progress.update(turn + 1)
    return gained, eccentricity


def _add_bits(
    total: LongArray, mask: npt.NDArray[np.uint64], first: LongArray, weight: LongArray
) -> None:
    """Adds weight[c] to total[first[c] + b] for every bit b of mask[c]."""
    rows = np.flatnonzero(mask)
    for begin in range(0, len(rows), _CELLS_PER_BLOCK):
        block = rows[begin : begin + _CELLS_PER_BLOCK]
        row, bit = _set_bits(mask[block])
        np.add.at(total, first[block][row] + bit, weight[block][row])


def _set_bits(mask: npt.NDArray[np.uint64]) -> tuple[LongArray, LongArray]:
    """Row and bit number of every bit that is set."""
    words = np.ascontiguousarray(mask.astype("<u8")).view(np.uint8).reshape(-1, 8)
    row, bit = np.nonzero(np.unpackbits(words, axis=1, bitorder="little"))
    return row, bit
