"""Distances between nodes in the infoset hypergraph: how deep knowledge has to be nested.

If the shortest path from the truth to another node has length d, then "it is not that
node" is known by everyone to be known by everyone ... d - 1 times, and no deeper (Obscuro,
E.1). Nodes without a path are told apart by common knowledge.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.algorithms.ball_sizes import infoset_ball_sizes
from klss_spiel.algorithms.knowledge import NO_EDGE, InfosetHypergraph
from klss_spiel.arrays import IntArray, LongArray
from klss_spiel.tree import PLAYERS

UNREACHED = -1


@dataclasses.dataclass(frozen=True)
class KnowledgePath:
    """A shortest path between two nodes.

    Attributes:
      nodes: from the first to the last.
      players: for each step who cannot tell its two nodes apart.
    """

    nodes: tuple[int, ...]
    players: tuple[int, ...]

    @property
    def length(self) -> int:
        """Number of steps: the distance."""
        return len(self.players)


def distances(graph: InfosetHypergraph, source: int) -> IntArray:
    """[N] distance of each vertex from the node `source`; UNREACHED where there is no path."""
    if not graph.vertex[source]:
        raise ValueError(f"expected a vertex of the hypergraph, got node {source}")
    distance = np.full(len(graph.vertex), UNREACHED, dtype=np.int32)
    distance[source] = 0
    entered = [np.zeros(count + 1, dtype=np.bool_) for count in graph.num_edges]
    frontier = np.array([source])
    while len(frontier):
        reached = np.zeros(len(graph.vertex), dtype=np.bool_)
        for p in PLAYERS:
            edges = np.unique(graph.edge[p, frontier])
            edges = edges[(edges != NO_EDGE) & ~entered[p][edges]]
            entered[p][edges] = True
            new = np.zeros(graph.num_edges[p] + 1, dtype=np.bool_)
            new[edges] = True  # the last place is that of NO_EDGE
            reached |= new[graph.edge[p]]
        step = int(distance[frontier[0]]) + 1
        frontier = np.flatnonzero(reached & (distance == UNREACHED))
        distance[frontier] = step
    return distance


def shortest_path(graph: InfosetHypergraph, first: int, last: int) -> KnowledgePath | None:
    """A shortest path, at every step to the lowest node number; None if there is none."""
    if not graph.vertex[last]:
        raise ValueError(f"expected a vertex of the hypergraph, got node {last}")
    remaining = distances(graph, last)
    if remaining[first] == UNREACHED:
        return None
    nodes, players = [first], []
    while nodes[-1] != last:
        here = nodes[-1]
        nearer = np.flatnonzero(remaining == remaining[here] - 1)
        steps = []
        for p in PLAYERS:
            edge = graph.edge[p, here]
            joined = nearer[graph.edge[p, nearer] == edge] if edge != NO_EDGE else nearer[:0]
            steps += [(int(joined[0]), p)] if len(joined) else []
        node, player = min(steps)
        nodes.append(node)
        players.append(player)
    return KnowledgePath(tuple(nodes), tuple(players))


def farthest_pair(graph: InfosetHypergraph) -> KnowledgePath:
    """A shortest path between two connected nodes that are as far apart as any.

    A path from a node leaves through one of its two infosets, so the node's largest
    distance is at most one more than the smaller of theirs. Those are found for all
    infosets at once; then nodes are searched from in the order of this bound until no
    bound is left above what was found.
    """
    nodes = np.flatnonzero(graph.vertex)
    if not len(nodes):
        raise ValueError("expected a hypergraph with vertices, got an empty one")
    bound = np.full(len(nodes), np.iinfo(np.int64).max)
    for p in PLAYERS:
        farthest: LongArray = infoset_ball_sizes(graph, p, 0).eccentricity
        edge = graph.edge[p, nodes]
        inside = edge != NO_EDGE
        bound[inside] = np.minimum(bound[inside], 1 + farthest[edge[inside]])
    # With one hyperedge a node can leave through that one only; with none it is alone.
    bound[bound == np.iinfo(np.int64).max] = 0
    order = np.argsort(-bound, kind="stable")
    best, pair = 0, (int(nodes[0]), int(nodes[0]))
    for place in order:
        if bound[place] <= best:
            break
        found = distances(graph, int(nodes[place]))
        if int(found.max()) > best:
            best, pair = int(found.max()), (int(nodes[place]), int(np.argmax(found)))
    path = shortest_path(graph, *pair)
    assert path is not None
    return path
