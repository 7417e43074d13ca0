"""Distances in the infoset hypergraph against plain breadth-first search."""

import collections

import numpy as np
import pytest

from klss_spiel.algorithms.knowledge import DECISION_NODES, infoset_hypergraph
from klss_spiel.algorithms.knowledge_paths import (
    UNREACHED,
    distances,
    farthest_pair,
    shortest_path,
)
from klss_spiel.openspiel import tree_from_game


def _graph(game, depth):
    tree = tree_from_game(game)
    nodes = np.zeros(tree.num_nodes, dtype=np.bool_)
    nodes[tree.level_start[depth] : tree.level_start[depth + 1]] = True
    return infoset_hypergraph(tree, nodes=nodes)


def _plain_distances(graph, source):
    """Breadth-first search by sets of Python."""
    members = collections.defaultdict(list)
    for player in (0, 1):
        for node in np.flatnonzero(graph.vertex).tolist():
            members[player, int(graph.edge[player, node])].append(node)
    found = {source: 0}
    queue = collections.deque([source])
    while queue:
        node = queue.popleft()
        for player in (0, 1):
            edge = int(graph.edge[player, node])
            for other in members[player, edge] if edge >= 0 else ():
                if other not in found:
                    found[other] = found[node] + 1
                    queue.append(other)
    return found


@pytest.mark.parametrize(
    ("game", "depth"),
    [("python_dark_chess(board=minimal4x3,horizon=4)", 3), ("kuhn_poker", 2)],
)
def test_distances_and_the_farthest_pair_equal_plain_search(game, depth):
    graph = _graph(game, depth)
    nodes = np.flatnonzero(graph.vertex).tolist()
    farthest = 0
    for source in nodes:
        plain = _plain_distances(graph, source)
        farthest = max(farthest, *plain.values())
        found = distances(graph, source)
        assert {n: int(found[n]) for n in nodes if found[n] != UNREACHED} == plain
    path = farthest_pair(graph)
    assert path.length == farthest > 1


def test_a_path_goes_along_infosets_and_is_as_short_as_the_distance():
    graph = _graph("python_dark_chess(board=minimal4x3,horizon=4)", 4)
    source = int(np.flatnonzero(graph.vertex)[0])
    found = distances(graph, source)
    goal = int(np.argmax(found))
    path = shortest_path(graph, source, goal)
    assert (path.nodes[0], path.nodes[-1], path.length) == (source, goal, found[goal])
    for player, before, after in zip(path.players, path.nodes, path.nodes[1:], strict=False):
        assert graph.edge[player, before] == graph.edge[player, after] >= 0


def test_nodes_told_apart_by_common_knowledge_have_no_path():
    graph = _graph("python_dark_chess(board=minimal4x3,horizon=4)", 4)
    nodes = np.flatnonzero(graph.vertex)
    other = nodes[graph.component[nodes] != graph.component[nodes[0]]][0]
    assert shortest_path(graph, int(nodes[0]), int(other)) is None
    assert shortest_path(graph, int(nodes[0]), int(nodes[0])).length == 0


def test_nodes_outside_the_hypergraph_are_refused():
    tree = tree_from_game("kuhn_poker")
    graph = infoset_hypergraph(tree, DECISION_NODES)
    terminal = int(tree.terminals[0])
    with pytest.raises(ValueError, match="expected a vertex"):
        distances(graph, terminal)
    with pytest.raises(ValueError, match="expected a vertex"):
        shortest_path(graph, 1, terminal)
