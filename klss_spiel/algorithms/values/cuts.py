"""Where to cut a game, and whether a cut makes sense."""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.knowledge import infoset_hypergraph
from klss_spiel.algorithms.values.border import NOT_BELOW, Border
from klss_spiel.arrays import BoolArray, IntArray
from klss_spiel.tree import CHANCE, PLAYERS, TERMINAL, GameTree


def cut_at_depth(tree: GameTree, depth: int) -> BoolArray:
    """[N] the trunk of all nodes above a depth, so that the border lies at it."""
    if not 1 <= depth <= tree.max_depth:
        raise ValueError(
            f"expected a depth from 1 to {tree.max_depth} to cut {tree.name} at, got {depth}"
        )
    return np.asarray(np.arange(tree.num_nodes) < tree.level_start[depth])


def cut_after_turns(tree: GameTree, turns: int) -> BoolArray:
    """[N] the trunk of the first `turns` turns.

    A turn is a run of moves of one player; what chance does belongs to the turn before
    it. In Kriegspiel, where illegal tries make plies of different length, these are plies.
    """
    if turns < 1:
        raise ValueError(f"expected a number of turns of at least 1, got {turns}")
    mover = np.full(tree.num_nodes, CHANCE, dtype=np.int8)  # who moved last
    done = np.zeros(tree.num_nodes, dtype=np.int32)  # turns that are over before a node
    mover[0] = tree.player[0]
    for level in tree.levels(skip_root=True):
        above = tree.parent[level]
        here = tree.player[level]
        decides = here >= 0
        passes = decides & (mover[above] >= 0) & (here != mover[above])
        mover[level] = np.where(decides, here, mover[above])
        done[level] = done[above] + passes
    if done.max() < turns:
        raise ValueError(
            f"expected at most {done.max()} turns to cut {tree.name} after, got {turns}"
        )
    return np.asarray(done < turns)


def cut_after_rounds(tree: GameTree, rounds: int) -> BoolArray:
    """[N] the trunk of the first `rounds` rounds; the border nodes are chance's.

    A round ends where chance moves after a player has: in poker, where the next public
    card is about to be dealt.
    """
    if rounds < 1:
        raise ValueError(f"expected a number of rounds of at least 1, got {rounds}")
    played = np.zeros(tree.num_nodes, dtype=np.bool_)  # whether a player moved in this round
    done = np.zeros(tree.num_nodes, dtype=np.int32)
    for level in tree.levels(skip_root=True):
        above = tree.parent[level]
        moved = played[above] | (tree.player[above] >= 0)
        ends = moved & (tree.player[level] == CHANCE)
        played[level] = moved & ~ends
        done[level] = done[above] + ends
    if done.max() < rounds:
        raise ValueError(
            f"expected at most {done.max()} rounds to cut {tree.name} after, got {rounds}"
        )
    return np.asarray(done < rounds)


def make_border(tree: GameTree, cut: int | BoolArray, public: IntArray | None = None) -> Border:
    """Cuts a game.

    Args:
      tree: the game.
      cut: the depth of the border, or the trunk as a mask [N]; see `cut_at_depth`
        and `cut_after_turns`.
      public: [N] a label for each node; border nodes with the same label make up a
        public state. Must not tell more than both players know at the border. By
        default the finest such partition, common knowledge.

    Raises:
      ValueError: the cut is no trunk, splits a decision, or does not come between the
        infosets above and below it.
    """
    trunk = cut_at_depth(tree, cut) if isinstance(cut, int | np.integer) else np.asarray(cut)
    if trunk.shape != (tree.num_nodes,) or trunk.dtype != np.bool_:
        raise ValueError(
            f"expected a depth or a boolean mask of shape ({tree.num_nodes},) to cut {tree.name}, "
            f"got {trunk.dtype} of shape {trunk.shape}"
        )
    if not trunk[0]:
        raise ValueError("expected a trunk that contains the root of the game")
    above = tree.parent[1:]
    orphans = np.flatnonzero(trunk[1:] & ~trunk[above])
    if len(orphans):
        raise ValueError(
            f"expected a trunk that contains the parents of its nodes, got node {orphans[0] + 1} "
            f"without its parent {above[orphans[0]]}"
        )
    trunk = trunk.copy()
    nodes, root = _border_nodes(tree, trunk)
    if not len(nodes):
        raise ValueError(f"the cut leaves no border: all of {tree.name} lies in the trunk")
    _check_decisions(tree, trunk)
    infosets, node_infoset = [], np.empty((2, len(nodes)), dtype=np.int32)
    for p in PLAYERS:
        numbers, node_infoset[p] = _number_by_first(tree.infoset[p, nodes])
        infosets.append(numbers)
        _check_recall(tree, p, root, node_infoset[p], infosets[p])
    state = _public_states(tree, nodes, node_infoset, public)
    of_infosets = []
    for p in PLAYERS:
        of_infoset = np.empty(len(infosets[p]), dtype=np.int32)
        of_infoset[node_infoset[p]] = state
        of_infosets.append(of_infoset)
    return Border(
        tree=tree,
        trunk=trunk,
        nodes=nodes,
        root=root,
        infosets=(infosets[0], infosets[1]),
        node_infoset=node_infoset,
        public_state=state,
        infoset_public_state=(of_infosets[0], of_infosets[1]),
        num_public_states=int(state.max()) + 1,
    )


def _border_nodes(tree: GameTree, trunk: BoolArray) -> tuple[IntArray, IntArray]:
    """The border nodes, and the border node at or above each node."""
    first = ~trunk & (tree.player != TERMINAL)
    first[1:] &= trunk[tree.parent[1:]]
    nodes = np.flatnonzero(first).astype(np.int32)
    root = np.full(tree.num_nodes, NOT_BELOW, dtype=np.int32)
    root[nodes] = np.arange(len(nodes), dtype=np.int32)
    for level in tree.levels(skip_root=True):
        inherited = root[tree.parent[level]]
        root[level] = np.where(inherited == NOT_BELOW, root[level], inherited)
    return nodes, root


def _number_by_first(labels: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct labels in order of appearance, and the number of each one's place."""
    distinct, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return distinct[order].astype(np.int32), rank[inverse]


def _check_decisions(tree: GameTree, trunk: BoolArray) -> None:
    """No infoset may have a decision both above and below the border."""
    for p in PLAYERS:
        decides = tree.player == p
        inside = np.zeros(tree.infosets[p].num_infosets, dtype=np.bool_)
        inside[tree.infoset[p, decides & trunk]] = True
        split = np.flatnonzero(decides & ~trunk & inside[tree.infoset[p]])
        if len(split):
            infoset = tree.infoset[p, split[0]]
            raise ValueError(
                f"the cut splits a decision of player {p}: node {split[0]} lies below the border, "
                f"others of its infoset {tree.infosets[p].labels[infoset]!r} in the trunk"
            )


def _check_recall(
    tree: GameTree, player: int, root: IntArray, node_infoset: IntArray, infosets: IntArray
) -> None:
    """Every decision below must follow one border infoset."""
    nodes = np.flatnonzero((tree.player == player) & (root != NOT_BELOW))
    below = tree.infoset[player, nodes]
    above = node_infoset[root[nodes]]
    _, first, inverse = np.unique(below, return_index=True, return_inverse=True)
    mixed = np.flatnonzero(above != above[first][inverse])
    if len(mixed):
        bad = mixed[0]
        other = first[inverse[bad]]
        raise ValueError(
            f"player {player}'s infoset {tree.infosets[player].labels[below[bad]]!r} follows two "
            f"border infosets ({infosets[above[bad]]} and {infosets[above[other]]}): the cut comes "
            "earlier in some of its histories than in others"
        )


def _public_states(
    tree: GameTree, nodes: IntArray, node_infoset: IntArray, public: IntArray | None
) -> IntArray:
    """[B] the public state of each border node, checked."""
    if public is None:
        mask = np.zeros(tree.num_nodes, dtype=np.bool_)
        mask[nodes] = True
        return infoset_hypergraph(tree, nodes=mask).component[nodes]
    public = np.asarray(public)
    if public.shape != (tree.num_nodes,):
        raise ValueError(
            f"expected a public label for each of {tree.num_nodes} nodes of {tree.name}, got an "
            f"array of shape {public.shape}"
        )
    _, state = _number_by_first(public[nodes])
    for p in PLAYERS:
        _, first = np.unique(node_infoset[p], return_index=True)
        told = np.flatnonzero(state != state[first][node_infoset[p]])
        if len(told):
            raise ValueError(
                f"the public partition tells more than player {p} knows: it separates node "
                f"{nodes[told[0]]} from others of the same infoset"
            )
    return state
