"""Whether a tree is what it should be: a finite game of perfect recall."""

from __future__ import annotations

import numpy as np

from klss_spiel.tree import (
    CHANCE,
    NO_PARENT,
    PLAYERS,
    ROOT,
    TERMINAL,
    GameTree,
    recall_error,
)


def check_tree(tree: GameTree, tolerance: float = 1e-9) -> None:
    """Raises ValueError unless `tree` is a game of perfect recall for both players.

    Verified: nodes are in breadth-first order, chance probabilities are positive
    and sum to one, payoffs are finite and only at terminals, the children of
    an infoset's nodes carry the infoset's actions, infosets and turns agree, no
    two decision infosets of a player share a label, and every player's infoset
    fixes his last own sequence and the infoset before it.
    """
    _check_order(tree)
    if not np.all(np.isfinite(tree.utility)):
        raise ValueError(f"{tree.name} has a payoff that is not a finite number")
    if np.any(tree.utility[tree.player != TERMINAL] != 0.0):
        raise ValueError(f"{tree.name} has a payoff at a node that is not terminal")
    after_chance = tree.player[tree.parent[1:]] == CHANCE
    chance_nodes, owner = np.unique(tree.parent[1:][after_chance], return_inverse=True)
    sums = np.bincount(owner, weights=tree.chance[1:][after_chance])
    # Written so that NaN is wrong, too.
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= tolerance))
    if len(wrong):
        raise ValueError(
            f"chance probabilities at node {chance_nodes[wrong[0]]} of {tree.name} sum to "
            f"{sums[wrong[0]]}, expected 1"
        )
    if np.any(tree.chance <= 0.0):
        raise ValueError(f"{tree.name} has a chance outcome of probability zero or less")
    if np.any((tree.chance[1:] != 1.0) & ~after_chance):
        raise ValueError(f"{tree.name} has a player's move with a probability other than 1")
    for p in PLAYERS:
        _check_player(tree, p)


def _check_order(tree: GameTree) -> None:
    parent = tree.parent[1:]
    starts = tree.level_start
    if (
        tree.parent[ROOT] != NO_PARENT
        or np.any(parent < ROOT)
        or np.any(parent >= np.arange(1, tree.num_nodes, dtype=np.int32))
        or np.any(parent[1:] < parent[:-1])
        or starts[0] != ROOT
        or starts[-1] != tree.num_nodes
        or any(
            parent[level.start - 1] < starts[depth] or parent[level.stop - 2] >= level.start
            for depth, level in enumerate(tree.levels(skip_root=True))
        )
    ):
        raise ValueError(f"the nodes of {tree.name} are not in breadth-first order")
    if np.any((tree.num_children == 0) != (tree.player == TERMINAL)):
        raise ValueError(f"{tree.name} has a terminal node with children or another without")


def _check_player(tree: GameTree, p: int) -> None:
    infosets = tree.infosets[p]
    infoset = tree.infoset[p]
    moves = tree.player == p
    decides = infosets.num_actions > 0
    if np.any(decides[infoset] != moves):
        raise ValueError(f"player {p} does not know whose turn it is in {tree.name}")
    if np.any((tree.num_children != infosets.num_actions[infoset]) & moves):
        raise ValueError(f"player {p} has different numbers of actions in one infoset")
    moved = moves[tree.parent[1:]]
    if np.any((infosets.sequence_action[tree.sequence[p, 1:]] != tree.action[1:]) & moved):
        raise ValueError(f"player {p} has different actions in one infoset of {tree.name}")
    if len(infosets.index_of_label) != len(infosets.decisions):
        seen: set[str] = set()
        for i in infosets.decisions:
            label = infosets.labels[i]
            if label in seen:
                raise ValueError(recall_error(tree.name, p, label))
            seen.add(label)
    if np.any(infosets.parent_sequence[infoset] != tree.sequence[p]):
        raise ValueError(
            f"{tree.name} is not of perfect recall: player {p} reaches one infoset by "
            "different own actions"
        )
    before = infoset[tree.parent[1:]]
    if np.any((before != infoset[1:]) & (before != infosets.parent[infoset[1:]])):
        raise ValueError(
            f"{tree.name} is not of perfect recall: player {p} reaches one infoset from "
            "different ones"
        )
