"""Who knows what: the infoset hypergraph, knowledge of finite order, common knowledge.

Vertices of the hypergraph are nodes of a game, hyperedges are infosets of either
player (ZS21, definition 1); two nodes are at distance 1 when some player cannot
tell them apart. Two ways of counting occur, one apart from each other:

    order k    S^k, the nodes at distance at most k - 1 from S (ZS21, definition
               2), so S^1 = S. From an infoset I of player p, I^1 = I, I^2 is the
               union of the other player's infosets that meet I (what the opponent
               may think if the truth lies in I), I^3 the union of p's infosets
               that meet I^2, and so on: hyperedges of the player whose infosets
               already make up the set add nothing, so walking along infosets of
               both players gives the alternation by itself.
    radius r   the ball of all nodes at distance at most r, so that S^k is the
               ball of radius k - 1 around S.

Order or radius `COMMON_KNOWLEDGE` (infinity) is the connected component. The
components over all nodes are the common-knowledge public states; they form a
tree (Kovarik, Seitz & Lisy 2021, definition 2 and footnote 2).

Which nodes and infosets take part is a `Convention`: `ALL_NODES` is what subgame
solving needs, `DECISION_NODES` is what ZS21's Table 2 counts.

Letters for shapes, besides those of `klss_spiel.tree`:

    C  cells: classes of vertices that share both hyperedges; in a ball of radius
       1 or more they come all or none, so balls are computed on cells
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from klss_spiel.arrays import (
    BoolArray,
    IntArray,
    LongArray,
    connected_labels,
    first_places,
    number_by_appearance,
)
from klss_spiel.tree import NO_PARENT, PLAYERS, GameTree

COMMON_KNOWLEDGE = math.inf
NO_EDGE = -1
NO_COMPONENT = -1


@dataclasses.dataclass(frozen=True)
class Convention:
    """Which nodes and infosets make up the hypergraph.

    Attributes:
      decision_nodes_only: leave out chance and terminal nodes.
      only_while_to_move: at a node below which player i never moves again, i's
        infoset is no hyperedge: what i knows there no longer matters to i.
    """

    decision_nodes_only: bool = False
    only_while_to_move: bool = False


ALL_NODES = Convention()
DECISION_NODES = Convention(decision_nodes_only=True, only_while_to_move=True)


@dataclasses.dataclass(frozen=True, eq=False)
class InfosetHypergraph:
    """The infoset hypergraph of a game, or of some of its nodes.

    Attributes:
      vertex: [N] whether a node takes part.
      edge: [2, N] the infoset of each player that is a hyperedge at each vertex,
        NO_EDGE where there is none.
      num_edges: number of infosets of each player, hyperedges or not.
    """

    vertex: BoolArray
    edge: IntArray
    num_edges: tuple[int, int]

    @functools.cached_property
    def cells(self) -> Cells:
        """The cells of the hypergraph, ordered by component."""
        return _cells(self)

    @functools.cached_property
    def component(self) -> IntArray:
        """[N] connected component of each vertex, by first node; NO_COMPONENT elsewhere."""
        component = np.full(len(self.vertex), NO_COMPONENT, dtype=np.int32)
        nodes = np.flatnonzero(self.vertex)
        edge0, edge1 = _complete_edges(self, nodes)
        component[nodes], _ = number_by_appearance(connected_labels(edge0, edge1))
        return component

    @property
    def num_components(self) -> int:
        """Number of connected components."""
        return int(self.component.max(initial=NO_COMPONENT)) + 1


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """Vertices that share both hyperedges, lumped together.

    Every cell lies in exactly one hyperedge of each player; where the hypergraph
    has none, an inert one stands in (see `_complete_edges`).

    Attributes:
      of_node: [N] cell of each vertex, -1 elsewhere.
      size: [C] number of vertices.
      component: [C] component, ascending.
      edge: two arrays [C], each cell's hyperedge of each player, numbered in order
        of appearance.
      original_edge: for each player, the infoset of each such number; at or above
        the number of infosets for an inert hyperedge.
    """

    of_node: IntArray
    size: LongArray
    component: IntArray
    edge: tuple[IntArray, IntArray]
    original_edge: tuple[IntArray, IntArray]


def infoset_hypergraph(
    tree: GameTree, convention: Convention = ALL_NODES, nodes: BoolArray | None = None
) -> InfosetHypergraph:
    """The hypergraph of the infosets of both players.

    Args:
      tree: the game.
      convention: which nodes and infosets take part.
      nodes: [N] leave out all other nodes as well, e.g. to look at one depth.
    """
    num_edges = (tree.infosets[0].num_infosets, tree.infosets[1].num_infosets)
    vertex = np.ones(tree.num_nodes, dtype=np.bool_) if nodes is None else nodes.copy()
    if vertex.shape != (tree.num_nodes,):
        raise ValueError(f"expected nodes of shape ({tree.num_nodes},), got {vertex.shape}")
    if nodes is None and convention == ALL_NODES:
        return InfosetHypergraph(vertex, tree.infoset, num_edges)
    if convention.decision_nodes_only:
        vertex &= tree.player >= 0
    edge = np.where(vertex, tree.infoset, NO_EDGE).astype(np.int32)
    if convention.only_while_to_move:
        for p in PLAYERS:
            edge[p, ~tree.any_below(tree.player == p)] = NO_EDGE
    return InfosetHypergraph(vertex, edge, num_edges)


def _check_step(what: str, value: float, least: int) -> None:
    if not (value >= least and (value == COMMON_KNOWLEDGE or float(value).is_integer())):
        raise ValueError(
            f"expected {what} of {least}, {least + 1}, ... or COMMON_KNOWLEDGE, got {value}"
        )


def ball(graph: InfosetHypergraph, nodes: BoolArray, radius: float) -> BoolArray:
    """[N] the vertices at distance at most `radius` from the marked `nodes` ([N])."""
    _check_step("a radius", radius, 0)
    if np.any(nodes & ~graph.vertex):
        raise ValueError("expected a set of vertices, got nodes that are not in the hypergraph")
    if radius == COMMON_KNOWLEDGE:
        inside = np.zeros(graph.num_components + 1, dtype=np.bool_)
        inside[graph.component[nodes]] = True
        return inside[graph.component]
    reached = nodes.copy()
    for _ in range(int(radius)):
        grown = reached.copy()
        for p in PLAYERS:
            # One slot more, so that NO_EDGE finds it at the end.
            touched = np.zeros(graph.num_edges[p] + 1, dtype=np.bool_)
            touched[graph.edge[p][reached]] = True
            touched[NO_EDGE] = False
            grown |= touched[graph.edge[p]]
        if np.array_equal(grown, reached):
            break
        reached = grown
    return reached


def knowledge_set(tree: GameTree, nodes: BoolArray, k: float) -> BoolArray:
    """[N] the order-k knowledge set S^k of the marked nodes S ([N]) (ZS21, definition 2).

    Args:
      tree: the game.
      nodes: [N] the set S, e.g. `tree.infoset[player] == infoset`.
      k: 1, 2, ... or COMMON_KNOWLEDGE. S^1 is S itself.
    """
    _check_step("an order k", k, 1)
    return ball(infoset_hypergraph(tree), nodes, k - 1)


def common_knowledge_closure(tree: GameTree, nodes: BoolArray) -> BoolArray:
    """[N] the smallest superset of `nodes` that is common knowledge: S^infinity."""
    return knowledge_set(tree, nodes, COMMON_KNOWLEDGE)


def _complete_edges(graph: InfosetHypergraph, nodes: LongArray) -> tuple[LongArray, LongArray]:
    """Hyperedges at the given vertices, with inert ones where the hypergraph has none.

    A vertex without a hyperedge of player i gets one that stands for "in the
    other player's hyperedge e, none of i's": it lies within e and so changes no
    distance. A vertex without any hyperedge gets one of its own.
    """
    edges = []
    for p in PLAYERS:
        own = graph.edge[p, nodes].astype(np.int64)
        other = graph.edge[1 - p, nodes].astype(np.int64)
        missing = own == NO_EDGE
        own[missing] = graph.num_edges[p] + other[missing]
        alone = missing & (other == NO_EDGE)
        own[alone] = sum(graph.num_edges) + nodes[alone]
        edges.append(own)
    return edges[0], edges[1]


def _cells(graph: InfosetHypergraph) -> Cells:
    nodes = np.flatnonzero(graph.vertex)
    edge0, edge1 = _complete_edges(graph, nodes)
    component = graph.component[nodes]
    order = np.lexsort((edge1, edge0, component))
    edge0, edge1, component = edge0[order], edge1[order], component[order]
    is_first = np.ones(len(nodes), dtype=np.bool_)
    is_first[1:] = (edge0[1:] != edge0[:-1]) | (edge1[1:] != edge1[:-1])
    first = np.flatnonzero(is_first)
    of_node = np.full(len(graph.vertex), -1, dtype=np.int32)
    of_node[nodes[order]] = np.cumsum(is_first) - 1
    number0, original0 = number_by_appearance(edge0[first])
    number1, original1 = number_by_appearance(edge1[first])
    return Cells(
        of_node=of_node,
        size=np.diff(np.append(first, len(nodes))),
        component=component[first],
        edge=(number0, number1),
        original_edge=(original0, original1),
    )


def runs(values: LongArray | IntArray) -> tuple[LongArray, LongArray]:
    """First positions of the runs of equal values, and the run of each position."""
    is_first = np.ones(len(values), dtype=np.bool_)
    is_first[1:] = values[1:] != values[:-1]
    return np.flatnonzero(is_first), np.cumsum(is_first) - 1


@dataclasses.dataclass(frozen=True, eq=False)
class PublicStates:
    """The common-knowledge public states, a partition of the nodes that forms a tree.

    Attributes:
      of_node: [N] public state of each node; numbered by first node, so parents
        come before children.
      parent: [P] the public state before; NO_PARENT at the root.
    """

    of_node: IntArray
    parent: IntArray

    @property
    def num_states(self) -> int:
        """P."""
        return len(self.parent)


def public_states(tree: GameTree) -> PublicStates:
    """The finest public tree: components of the hypergraph over all nodes.

    A player who noticed nothing is in the same infoset before and after, so a
    public state may hold nodes of several depths, a node and its child included.
    """
    state = infoset_hypergraph(tree).component
    # The first node of a state is one of its shallowest, so its parent lies outside,
    # and by perfect recall all nodes enter the state from the same one.
    above = tree.parent[first_places(state)]
    parent = np.where(above == NO_PARENT, NO_PARENT, state[above])
    return PublicStates(of_node=state, parent=parent.astype(np.int32))


@dataclasses.dataclass(frozen=True, eq=False)
class InfosetGraph:
    """A graph on the infosets of one player.

    Attributes:
      start: [I + 1] the neighbours of infoset i are
        neighbor[start[i]:start[i + 1]], in ascending order, i not among them.
      neighbor: [E] neighbours; every edge is stored in both directions.
    """

    start: LongArray
    neighbor: IntArray

    def neighbors(self, infoset: int) -> IntArray:
        """The infosets joined to `infoset`."""
        return self.neighbor[self.start[infoset] : self.start[infoset + 1]]


def infoset_graph(tree: GameTree, player: int, among: BoolArray | None = None) -> InfosetGraph:
    """The graph G' (ZS21, section 4.2): infosets that share an infoset of the opponent.

    Args:
      tree: the game.
      player: whose infosets are the vertices.
      among: [I] the infosets to consider, by default those where `player` moves.
        Others have no neighbours.
    """
    infosets = tree.infosets[player]
    if among is None:
        among = infosets.num_actions > 0
    if among.shape != (infosets.num_infosets,):
        raise ValueError(f"expected among of shape ({infosets.num_infosets},), got {among.shape}")
    nodes = np.flatnonzero(among[tree.infoset[player]])
    # Distinct (opponent's infoset, own infoset), grouped by the former.
    key = tree.infoset[1 - player, nodes].astype(np.int64) * infosets.num_infosets
    key = np.unique(key + tree.infoset[player, nodes])
    start, group = runs(key // infosets.num_infosets)
    own = key % infosets.num_infosets
    size = np.diff(np.append(start, len(key)))
    # All ordered pairs within each group.
    left = np.repeat(own, size[group])
    step = np.arange(len(left)) - np.repeat(np.cumsum(size[group]) - size[group], size[group])
    right = own[np.repeat(start[group], size[group]) + step]
    pairs = np.unique(left[left != right] * infosets.num_infosets + right[left != right])
    begin = np.searchsorted(pairs, np.arange(infosets.num_infosets + 1) * infosets.num_infosets)
    return InfosetGraph(begin, (pairs % infosets.num_infosets).astype(np.int32))
