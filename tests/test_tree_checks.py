"""Corrupted trees are caught by `check_tree`."""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.tree import (
    CHANCE,
    PLAYERS,
    ROOT,
    GameTree,
)
from klss_spiel.tree_checks import check_tree
from tests.helpers.games import tree_of


def edited(array: np.ndarray, index, value) -> np.ndarray:
    array = array.copy()
    array[index] = value
    return array


def with_infosets(tree: GameTree, player: int, **changes) -> GameTree:
    tables = list(tree.infosets)
    tables[player] = dataclasses.replace(tables[player], **changes)
    return dataclasses.replace(tree, infosets=tuple(tables))


def first(condition) -> int:
    return int(np.flatnonzero(condition)[0])


def corruptions(tree: GameTree):
    """(what was done, corrupted tree, expected message)."""
    dealt = first(tree.parent == ROOT)
    decision = first(tree.player == 0)
    child = int(tree.first_child[decision])
    leaf = int(tree.terminals[0])
    label = tree.infosets[0].labels
    two = tree.infosets[0].decisions[:2]
    change = functools.partial(dataclasses.replace, tree)
    yield "sum", change(chance=edited(tree.chance, dealt, 0.9)), "sum to"
    yield "nan", change(chance=edited(tree.chance, dealt, np.nan)), "sum to"
    negative = edited(edited(tree.chance, dealt, -tree.chance[dealt]), dealt + 1, 1.0)
    yield "negative", change(chance=negative), "zero or less"
    yield "move", change(chance=edited(tree.chance, child, 0.5)), "other than 1"
    yield "payoff", change(utility=edited(tree.utility, leaf, np.inf)), "finite"
    yield "inner payoff", change(utility=edited(tree.utility, ROOT, 1.0)), "not terminal"
    yield "order", change(parent=edited(tree.parent, 1, 2)), "breadth-first"
    yield "parent", change(parent=edited(tree.parent, -1, 1)), "breadth-first"
    yield "root", change(parent=edited(tree.parent, ROOT, 0)), "breadth-first"
    yield "levels", change(level_start=edited(tree.level_start, 2, 6)), "breadth-first"
    yield "short", change(level_start=tree.level_start[:-1]), "breadth-first"
    yield "terminal", change(player=edited(tree.player, leaf, CHANCE)), "terminal node"
    yield "turn", change(player=edited(tree.player, decision, 1)), "whose turn"
    yield "action", change(action=edited(tree.action, child, 7)), "different actions"
    one = two[0]
    fewer = edited(tree.infosets[0].num_actions, one, tree.infosets[0].num_actions[one] - 1)
    yield "fewer", with_infosets(tree, 0, num_actions=fewer), "different numbers of actions"
    same = tuple(label[two[1]] if i == two[0] else text for i, text in enumerate(label))
    yield "label", with_infosets(tree, 0, labels=same), "perfect recall"
    other = next(
        node
        for node in np.flatnonzero(tree.player == 0)
        if tree.sequence[0, node] != tree.sequence[0, decision]
        and tree.num_children[node] == tree.num_children[decision]
    )
    merged = edited(tree.infoset, (0, other), tree.infoset[0, decision])
    yield "merged", change(infoset=merged), "(perfect recall|different actions)"
    sequence = edited(tree.sequence, (1, dealt), tree.sequence[1, dealt] + 1)
    yield "sequence", change(sequence=sequence), "different own actions"
    late = int(tree.infoset[1, leaf])
    before = edited(tree.infosets[1].parent, late, tree.infosets[1].num_infosets - 1)
    yield "before", with_infosets(tree, 1, parent=before), "from different ones"


def test_every_kind_of_corruption_is_caught():
    tree = tree_of("kuhn_poker")
    check_tree(tree)
    for what, corrupted, message in corruptions(tree):
        with pytest.raises(ValueError, match=message):
            check_tree(corrupted)
            pytest.fail(f"a tree with a wrong {what} passed")


@given(st.sampled_from(["kuhn_poker", "matrix_rps", "python_toy_game"]), st.data())
def test_two_infosets_of_a_player_cannot_be_swapped_at_single_nodes(name, data):
    # Perfect recall in the large: give one node another node's infoset, and it shows,
    # unless the two nodes differ in nothing the player did and met before.
    tree = tree_of(name)
    p = data.draw(st.sampled_from(PLAYERS))
    node = data.draw(st.integers(0, tree.num_nodes - 1))
    other = data.draw(st.integers(0, tree.num_nodes - 1))
    infosets = tree.infosets[p]
    a, b = tree.infoset[p, node], tree.infoset[p, other]
    swapped = dataclasses.replace(tree, infoset=edited(tree.infoset, (p, node), b))
    if a == b:
        check_tree(swapped)
    elif (
        infosets.num_actions[a] != infosets.num_actions[b]
        or infosets.parent_sequence[a] != infosets.parent_sequence[b]
    ):
        with pytest.raises(ValueError, match=r"infoset|whose turn|recall"):
            check_tree(swapped)
