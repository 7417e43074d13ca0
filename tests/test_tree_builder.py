"""Trees built by hand, what they cost, and what cannot be written to."""

import dataclasses
import pickle
import tracemalloc

import numpy as np
import pyspiel
import pytest

from klss_spiel.openspiel import tree_from_game
from klss_spiel.tree import (
    CHANCE,
    NO_ACTION,
    NO_PARENT,
    PLAYERS,
    TERMINAL,
)
from klss_spiel.tree_builder import TreeBuilder
from klss_spiel.tree_checks import check_tree

GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=random)"


def test_a_tree_can_be_built_by_hand_in_any_order_of_parents_before_children():
    # Player 0 names a bit, player 1 guesses blindly: depth first and breadth first.
    def add(builder, parent, action, player, told, **more):
        actions = (0, 1) if player in PLAYERS else ()
        return builder.add_node(parent, action, player, told, actions, **more)

    def leaves(builder, node, bit):
        for guess in (0, 1):
            add(builder, node, guess, TERMINAL, ("end", "end"), utility=1.0 if guess == bit else -1)

    deep, broad = TreeBuilder("bit"), TreeBuilder("bit")
    root = add(deep, NO_PARENT, NO_ACTION, 0, ("start", "start"))
    for bit in (0, 1):
        leaves(deep, add(deep, root, bit, 1, ("named", "guess")), bit)
    root = add(broad, NO_PARENT, NO_ACTION, 0, ("start", "start"))
    middle = [add(broad, root, bit, 1, ("named", "guess")) for bit in (0, 1)]
    for bit in (0, 1):
        leaves(broad, middle[bit], bit)
    assert len(deep) == len(broad) == 7
    one, two = deep.build(), broad.build()
    for tree in (one, two):
        check_tree(tree)
        assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2]
        assert tree.utility.tolist() == [0, 0, 0, 1, -1, -1, 1]
        assert [len(infosets.decisions) for infosets in tree.infosets] == [1, 1]
        assert tree.infoset[1].tolist()[1:3] == [tree.infoset[1, 1]] * 2


def test_an_empty_builder_is_refused():
    with pytest.raises(ValueError, match="at least a root"):
        TreeBuilder("nothing").build()


def _arrays(data):
    values = [getattr(data, field.name) for field in dataclasses.fields(data)]
    return [value for value in values if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("how", ["made", "pickled"])
def test_arrays_of_a_tree_cannot_be_written_to(how):
    original = tree_from_game("kuhn_poker")
    assert len(original.terminals)  # Computed once and kept; not part of a pickle.
    tree = {"made": original, "pickled": pickle.loads(pickle.dumps(original))}[how]
    derived = [tree.terminals, tree.num_children, tree.first_child, tree.chance_reach]
    arrays = [*_arrays(tree), *derived]
    for infosets in tree.infosets:
        arrays += [*_arrays(infosets), infosets.decisions]
    assert len(arrays) == 8 + 4 + 2 * (6 + 1)
    for values in arrays:
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0


@pytest.mark.parametrize(
    ("name", "bytes_per_node"), [("liars_dice(dice_sides=4)", 105), (GOOFSPIEL, 160)]
)
def test_building_a_tree_needs_little_memory(name, bytes_per_node):
    game = pyspiel.load_game(name)
    tree_from_game("kuhn_poker")  # Imports and caches are not the tree's.
    tracemalloc.start()
    try:
        tree = tree_from_game(game, from_states=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"{name}: {peak / tree.num_nodes:.0f} bytes per node of {tree.num_nodes}")
    assert peak / tree.num_nodes < bytes_per_node


class _SameHash(str):
    """Information states that hash alike, as two of many millions may."""

    __slots__ = ()

    def __hash__(self):
        return 7


def test_information_states_with_one_hash_are_refused():
    builder = TreeBuilder("unlucky")
    root = builder.add_node(NO_PARENT, NO_ACTION, CHANCE, ("start", "start"))
    for outcome in (0, 1):
        told = _SameHash(f"card {outcome}")
        node = builder.add_node(root, outcome, 0, (told, "dealt"), [0], chance=0.5)
        builder.add_node(node, 0, TERMINAL, ("end", "end"))
    with pytest.raises(ValueError, match="'card 0' and 'card 1' of unlucky have the same hash"):
        builder.build()
