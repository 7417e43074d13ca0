"""Knowledge sets against breadth-first search on Python sets, and against the papers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.algorithms.ball_sizes import infoset_ball_sizes, node_ball_sizes
from klss_spiel.algorithms.knowledge import (
    ALL_NODES,
    COMMON_KNOWLEDGE,
    DECISION_NODES,
    NO_COMPONENT,
    NO_EDGE,
    Convention,
    InfosetHypergraph,
    ball,
    common_knowledge_closure,
    infoset_graph,
    infoset_hypergraph,
    knowledge_set,
    public_states,
)
from klss_spiel.openspiel import history_of, tree_from_game
from klss_spiel.tree import NO_PARENT, PLAYERS, TERMINAL

GAMES = [
    "kuhn_poker",
    "leduc_poker",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=cdh)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    "python_n_matching_pennies(n=9)",
    "python_klss_example",
]
SMALL_GAMES = [name for name in GAMES if name != "leduc_poker"]


def distances_by_sets(graph: InfosetHypergraph, start: set[int]) -> dict[int, int]:
    """Breadth-first search along hyperedges, one node at a time."""
    vertices = [int(node) for node in np.flatnonzero(graph.vertex)]
    distance = dict.fromkeys(start, 0)
    frontier = set(start)
    while frontier:
        found = {
            other
            for node in frontier
            for other in vertices
            for p in PLAYERS
            if graph.edge[p, node] != NO_EDGE and graph.edge[p, node] == graph.edge[p, other]
        } - set(distance)
        step = max(distance.values()) + 1
        distance.update(dict.fromkeys(found, step))
        frontier = found
    return distance


@st.composite
def hypergraphs(draw, max_nodes=24):
    num_nodes = draw(st.integers(1, max_nodes))
    num_edges = (draw(st.integers(1, 8)), draw(st.integers(1, 8)))
    edge = [
        draw(
            st.lists(st.integers(NO_EDGE, num_edges[p] - 1), min_size=num_nodes, max_size=num_nodes)
        )
        for p in PLAYERS
    ]
    vertex = np.array(draw(st.lists(st.booleans(), min_size=num_nodes, max_size=num_nodes)))
    edge = np.where(vertex, np.array(edge, dtype=np.int32), NO_EDGE).astype(np.int32)
    return InfosetHypergraph(vertex, edge, num_edges)


def check_against_sets(graph: InfosetHypergraph, max_radius: int) -> None:
    nodes = [int(node) for node in np.flatnonzero(graph.vertex)]
    sizes = node_ball_sizes(graph, max_radius)
    largest = 0
    for node in nodes:
        distance = distances_by_sets(graph, {node})
        largest = max(largest, *distance.values())
        assert sizes.eccentricity[node] == max(distance.values())
        assert sizes.closure[node] == len(distance)
        component = set(np.flatnonzero(graph.component == graph.component[node]).tolist())
        assert component == set(distance)
        single = np.zeros(len(graph.vertex), dtype=bool)
        single[node] = True
        for radius in range(max_radius + 1):
            expected = {other for other, d in distance.items() if d <= radius}
            assert set(np.flatnonzero(ball(graph, single, radius)).tolist()) == expected
            assert sizes.size[radius, node] == len(expected)
        reached = ball(graph, single, COMMON_KNOWLEDGE)
        assert set(np.flatnonzero(reached).tolist()) == set(distance)
    assert sizes.diameter == largest
    outside = ~graph.vertex
    assert not sizes.size[:, outside].any()
    assert not sizes.closure[outside].any()
    assert np.all(graph.component[outside] == NO_COMPONENT)
    for p in PLAYERS:
        around = infoset_ball_sizes(graph, p, max_radius)
        for infoset in range(graph.num_edges[p]):
            start = set(np.flatnonzero(graph.edge[p] == infoset).tolist())
            if not start:
                assert not around.size[:, infoset].any()
                continue
            distance = distances_by_sets(graph, start)
            for radius in range(max_radius + 1):
                expected_size = sum(d <= radius for d in distance.values())
                assert around.size[radius, infoset] == expected_size
            assert around.closure[infoset] == len(distance)
            assert around.eccentricity[infoset] == max(distance.values())


@settings(max_examples=100)
@given(hypergraphs())
def test_balls_of_random_hypergraphs_equal_those_of_plain_search(graph):
    check_against_sets(graph, 3)


def test_a_component_of_more_than_64_sources_is_swept_in_several_passes():
    # A path: node n lies in player 0's infoset n // 2 and player 1's (n + 1) // 2,
    # so distance is the difference of the numbers; beside it 70 lone nodes.
    path, alone = 150, 70
    number = np.arange(path)
    edge = np.full((2, path + alone), NO_EDGE, dtype=np.int32)
    edge[0, :path], edge[1, :path] = number // 2, (number + 1) // 2
    graph = InfosetHypergraph(np.ones(path + alone, dtype=bool), edge, (75, 76))
    sizes = node_ball_sizes(graph, 100)
    apart = np.abs(number[:, None] - number[None, :])
    for radius in (0, 1, 2, 50, 99, 100):
        assert np.array_equal(sizes.size[radius, :path], (apart <= radius).sum(1))
    assert np.array_equal(sizes.eccentricity[:path], apart.max(1))
    assert sizes.diameter == path - 1
    assert np.all(sizes.size[:, path:] == 1)
    assert graph.num_components == 1 + alone


def test_stopping_at_the_radius_bounds_eccentricity_and_keeps_sizes():
    graph = infoset_hypergraph(tree_from_game("python_n_matching_pennies(n=30)"), DECISION_NODES)
    whole = node_ball_sizes(graph, 4)
    stopped = node_ball_sizes(graph, 4, find_eccentricity=False)
    assert np.array_equal(whole.size, stopped.size)
    assert np.array_equal(whole.closure, stopped.closure)
    assert whole.diameter == 29
    assert stopped.diameter == 4
    around = infoset_ball_sizes(graph, 0, 4, find_eccentricity=False)
    assert np.array_equal(around.size, infoset_ball_sizes(graph, 0, 4).size)


@pytest.mark.parametrize("name", SMALL_GAMES)
@pytest.mark.parametrize("convention", [ALL_NODES, DECISION_NODES], ids=["all", "decisions"])
def test_balls_of_games_equal_those_of_plain_search(name, convention):
    tree = tree_from_game(name)
    graph = infoset_hypergraph(tree, convention)
    rng = np.random.default_rng(0)
    sizes = node_ball_sizes(graph, 3)
    vertices = np.flatnonzero(graph.vertex)
    for node in rng.choice(vertices, size=min(12, len(vertices)), replace=False):
        distance = distances_by_sets(graph, {int(node)})
        for radius in range(4):
            assert sizes.size[radius, node] == sum(d <= radius for d in distance.values())
        assert sizes.closure[node] == len(distance)
        assert sizes.eccentricity[node] == max(distance.values())


@pytest.mark.parametrize("name", GAMES)
def test_knowledge_of_an_infoset_alternates_between_the_players(name):
    # I^1 = I, then unions of infosets of the opponent, the player, the opponent ...
    tree = tree_from_game(name)
    rng = np.random.default_rng(1)
    for p in PLAYERS:
        decisions = tree.infosets[p].decisions
        for infoset in rng.choice(decisions, size=min(10, len(decisions)), replace=False):
            start = tree.infoset[p] == infoset
            reached = start.copy()
            assert np.array_equal(knowledge_set(tree, start, 1), start)
            for k in range(2, 7):
                knower = 1 - p if k % 2 == 0 else p
                reached = np.isin(tree.infoset[knower], tree.infoset[knower][reached])
                assert np.array_equal(knowledge_set(tree, start, k), reached)
            closure = knowledge_set(tree, start, COMMON_KNOWLEDGE)
            assert np.array_equal(closure, common_knowledge_closure(tree, start))
            assert np.array_equal(closure, knowledge_set(tree, start, tree.num_nodes))
            for q in PLAYERS:  # closed: no infoset sticks out
                inside = np.isin(tree.infoset[q], tree.infoset[q][closure])
                assert np.array_equal(inside, closure)


@given(st.data())
def test_knowledge_sets_grow_and_add_up(data):
    tree = tree_from_game("dark_hex(num_rows=2,num_cols=2,gameversion=adh)")
    marked = data.draw(st.sets(st.integers(0, tree.num_nodes - 1), min_size=1, max_size=4))
    nodes = np.zeros(tree.num_nodes, dtype=bool)
    nodes[list(marked)] = True
    j, k = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    first = knowledge_set(tree, nodes, j)
    # (S^j)^k = S^(j + k - 1), the union of the sets of the single nodes.
    assert np.array_equal(knowledge_set(tree, first, k), knowledge_set(tree, nodes, j + k - 1))
    union = np.zeros_like(nodes)
    for node in marked:
        single = np.zeros_like(nodes)
        single[node] = True
        union |= knowledge_set(tree, single, j)
    assert np.array_equal(union, first)


def test_pennies_are_known_to_order_k_within_k_numbers():
    # ZS21, section 4: no common knowledge after chance moves, yet I^k is of size Theta(k).
    n = 40
    tree = tree_from_game(f"python_n_matching_pennies(n={n})")
    first_moves = tree.player == 0
    graph = infoset_hypergraph(tree, nodes=first_moves)
    assert graph.num_components == 1
    number = np.array([history_of(tree, node)[0] for node in np.flatnonzero(first_moves)])
    start = tree.infoset[0] == tree.infoset[0, np.flatnonzero(first_moves)[n // 2]]
    possible = number[start[first_moves]]
    assert len(possible) == 2
    for k in range(1, 10):
        reached = number[knowledge_set(tree, start, k)[first_moves]]
        # Each order adds one number on either side.
        assert reached.min() == possible.min() - (k - 1)
        assert reached.max() == possible.max() + (k - 1)
        assert len(reached) == 2 + 2 * (k - 1)
    closure = common_knowledge_closure(tree, start)
    assert np.array_equal(closure[first_moves], np.ones(n, dtype=bool))


def test_closure_of_r1_in_appendix_c_leaves_out_the_fifth_outcome():
    # ZS21, Figure 1: outcomes 1 to 4 hang together, nobody confuses the fifth with them.
    tree = tree_from_game("python_klss_example")
    first_moves = np.flatnonzero(tree.player == 0)
    outcome = {history_of(tree, int(node))[0]: int(node) for node in first_moves}
    r1 = tree.infoset[0] == tree.infoset[0, outcome[min(outcome)]]

    def outcomes(nodes):
        return sorted(history_of(tree, int(node))[0] for node in first_moves if nodes[node])

    one, two, three, four, fifth = sorted(outcome)
    assert outcomes(r1) == [one, two]
    assert outcomes(knowledge_set(tree, r1, 2)) == [one, two, three]
    assert outcomes(knowledge_set(tree, r1, 3)) == [one, two, three, four]
    assert outcomes(common_knowledge_closure(tree, r1)) == [one, two, three, four]
    assert fifth not in outcomes(knowledge_set(tree, r1, 10))


def test_leduc_after_the_board_card_has_4_hands_per_infoset_and_20_in_common():
    tree = tree_from_game("leduc_poker")
    graph = infoset_hypergraph(tree)
    after_board = [
        node
        for node in np.flatnonzero(tree.player >= 0)
        if sum(tree.player[ancestor] == -1 for ancestor in ancestors(tree, node)) == 3
    ]
    nodes = np.zeros(tree.num_nodes, dtype=bool)
    nodes[after_board] = True
    assert np.all(node_ball_sizes(graph, 0).closure[nodes] == 20)
    for p in PLAYERS:
        infosets = np.unique(tree.infoset[p, nodes & (tree.player == p)])
        sizes = infoset_ball_sizes(graph, p, 0)
        assert np.all(sizes.size[0, infosets] == 4)
        assert np.all(sizes.closure[infosets] == 20)


def ancestors(tree, node):
    while tree.parent[node] != NO_PARENT:
        node = int(tree.parent[node])
        yield node


def test_perfect_information_makes_every_node_common_knowledge():
    tree = tree_from_game("nim(pile_sizes=1;2;3)")
    sizes = node_ball_sizes(infoset_hypergraph(tree), 2)
    assert np.all(sizes.closure == 1)
    assert sizes.diameter == 0
    assert public_states(tree).num_states == tree.num_nodes
    for p in PLAYERS:
        assert len(infoset_graph(tree, p).neighbor) == 0


@pytest.mark.parametrize("name", GAMES)
def test_public_states_form_a_tree_and_are_closed_under_both_infosets(name):
    tree = tree_from_game(name)
    states = public_states(tree)
    state = states.of_node
    for p in PLAYERS:
        first = np.zeros(tree.infosets[p].num_infosets, dtype=np.int64)
        first[tree.infoset[p]] = state
        assert np.array_equal(first[tree.infoset[p]], state)
    # Every step either stays in the public state or enters a child of it.
    above = state[tree.parent[1:]]
    assert np.all((above == state[1:]) | (above == states.parent[state[1:]]))
    assert np.all(states.parent[1:] < np.arange(1, states.num_states))
    assert states.parent[0] == NO_PARENT
    # Finest: within a state all nodes are connected, one at a time.
    for number in range(0, states.num_states, max(1, states.num_states // 5)):
        members = set(np.flatnonzero(state == number).tolist())
        assert set(distances_by_sets(infoset_hypergraph(tree), {min(members)})) == members


@pytest.mark.parametrize("name", GAMES)
def test_infoset_graph_joins_infosets_that_share_one_of_the_opponent(name):
    tree = tree_from_game(name)
    for p in PLAYERS:
        graph = infoset_graph(tree, p)
        nodes = np.flatnonzero(tree.player == p)
        expected = set()
        by_opponent: dict[int, set[int]] = {}
        for node in nodes:
            group = by_opponent.setdefault(int(tree.infoset[1 - p, node]), set())
            group.add(int(tree.infoset[p, node]))
        for group in by_opponent.values():
            expected |= set(itertools.permutations(group, 2))
        found = [
            (i, int(j)) for i in range(tree.infosets[p].num_infosets) for j in graph.neighbors(i)
        ]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert len(graph.start) == tree.infosets[p].num_infosets + 1


def test_infoset_graph_of_pennies_is_a_path():
    tree = tree_from_game("python_n_matching_pennies(n=20)")
    degrees = np.diff(infoset_graph(tree, 0).start)[tree.infosets[0].decisions]
    assert sorted(degrees.tolist()) == [1, 1] + [2] * (len(degrees) - 2)


def test_infoset_graph_can_be_narrowed():
    tree = tree_from_game("kuhn_poker")
    among = np.zeros(tree.infosets[0].num_infosets, dtype=bool)
    chosen = tree.infosets[0].decisions[:2]
    among[chosen] = True
    graph = infoset_graph(tree, 0, among)
    assert graph.neighbors(int(chosen[0])).tolist() == [int(chosen[1])]
    assert len(graph.neighbor) == 2


def test_conventions_leave_out_what_they_say():
    tree = tree_from_game("kuhn_poker")
    everything = infoset_hypergraph(tree)
    assert everything.vertex.all()
    assert np.array_equal(everything.edge, tree.infoset)
    decisions = infoset_hypergraph(tree, Convention(decision_nodes_only=True))
    assert np.array_equal(decisions.vertex, tree.player >= 0)
    assert np.all(decisions.edge[:, decisions.vertex] == tree.infoset[:, decisions.vertex])
    still = infoset_hypergraph(tree, DECISION_NODES)
    for node in np.flatnonzero(tree.player >= 0):
        below = tree.descendants(np.arange(tree.num_nodes) == node)
        for p in PLAYERS:
            decides = np.any(below & (tree.player == p))
            assert (still.edge[p, node] != NO_EDGE) == decides
    terminals = infoset_hypergraph(tree, nodes=tree.player == TERMINAL)
    assert terminals.vertex.sum() == len(tree.terminals)


def test_bad_input_is_refused():
    tree = tree_from_game("kuhn_poker")
    nodes = np.zeros(tree.num_nodes, dtype=bool)
    nodes[0] = True
    for k in (0, -1, 1.5, math.nan):
        with pytest.raises(ValueError, match="expected"):
            knowledge_set(tree, nodes, k)
    with pytest.raises(ValueError, match="shape"):
        infoset_hypergraph(tree, nodes=np.ones(3, dtype=bool))
    with pytest.raises(ValueError, match="not in the hypergraph"):
        ball(infoset_hypergraph(tree, DECISION_NODES), nodes, 1)
    with pytest.raises(ValueError, match="shape"):
        infoset_graph(tree, 0, np.ones(2, dtype=bool))
