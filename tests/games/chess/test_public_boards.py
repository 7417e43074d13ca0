"""Public states of the chess games by public observations."""

import numpy as np
import pyspiel
import pytest

from klss_spiel.openspiel import tree_from_game

DARK_CHESS = "python_dark_chess(board=minimal4x3,horizon=3)"
KRIEGSPIEL = "python_kriegspiel(board=minimal4x3,horizon=2,tries=possible)"


@pytest.mark.parametrize("name", [DARK_CHESS, KRIEGSPIEL])
def test_labels_are_sequences_of_public_observations(name):
    game = pyspiel.load_game(name)
    tree = tree_from_game(game)
    labels = game.public_partition(tree)
    expected = {}
    for node in range(tree.num_nodes):
        path, above = [], node
        while above:
            path.append(int(tree.action[above]))
            above = int(tree.parent[above])
        state, seen = game.new_initial_state(), []
        for action in reversed(path):
            plies = state.moment.course.plies
            state.apply_action(action)
            if state.moment.course.plies > plies:
                seen.append(state.moment.public_text())
        expected.setdefault(tuple(seen), set()).add(int(labels[node]))
    assert all(len(found) == 1 for found in expected.values())
    assert len(expected) == len(np.unique(labels))


def test_only_marked_nodes_are_labelled_and_planes_follow_them():
    game = pyspiel.load_game(DARK_CHESS)
    tree = tree_from_game(game)
    nodes = np.zeros(tree.num_nodes, dtype=bool)
    nodes[tree.level_start[2] : tree.level_start[3]] = True
    labels = game.public_partition(tree, nodes)
    assert np.all((labels >= 0) == nodes)
    planes = game.public_planes(tree, nodes)
    assert planes.shape[0] == nodes.sum() and planes.shape[2:] == (3, 4)
    distinct = {planes[i].tobytes() for i in range(len(planes))}
    assert len(distinct) == len(np.unique(labels[nodes]))
    nodes[1] = True
    with pytest.raises(ValueError, match="equally many plies"):
        game.public_planes(tree, nodes)
