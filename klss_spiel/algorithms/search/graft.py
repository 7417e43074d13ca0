"""Moving subtrees of one search tree below the roots of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.algorithms.search import carry_over_kernels
from klss_spiel.algorithms.search import cfr_kernels as search_kernels
from klss_spiel.algorithms.search.arrays import grown
from klss_spiel.algorithms.search.tree import PENDING, UNEXPANDED, SearchTree
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, LongArray
from klss_spiel.tree import CHANCE, EMPTY_SEQUENCE, NO_INFOSET, PLAYERS, TERMINAL

# What an infoset's sequences keep; averages and bonuses belong to one search only.
_KEPT_COLUMNS = ("action", "regret", "instant", "value", "picks", "sum", "squares")

Behaviors = tuple[FloatArray, FloatArray]


def graft(
    tree: SearchTree,
    source: SearchTree,
    behaviors: Behaviors,
    roots: LongArray,
    group: LongArray,
    past: BoolArray,
) -> None:
    """Copies everything below some nodes of an old tree, with regrets.

    Args:
      tree: a tree of roots only, the first of which stand for `roots`.
      source: the old tree.
      behaviors: for each player, [S] the strategies to go on with.
      roots: [r] nodes of the old tree, none below another.
      group: [r] the root infoset of the new tree each belongs to.
      past: [I] the searching player's infosets in the old tree at which he has decided
        already; in the new one chance plays his behaviour there.
    """
    m = tree.num_roots
    marked = np.zeros(source.num_nodes, dtype=np.bool_)
    marked[roots] = True
    top = carry_over_kernels.topmost(source.nodes.parent, marked, source.num_nodes)
    rank = np.full(source.num_nodes, -1, dtype=np.int64)
    rank[roots] = np.arange(len(roots))
    below = np.flatnonzero((top >= 0) & ~marked)
    number = np.full(source.num_nodes + 1, UNEXPANDED, dtype=np.int64)
    number[roots] = 1 + m + np.arange(len(roots))
    number[below] = tree.num_nodes + np.arange(len(below))
    # Old rows and new rows of the same nodes, parents before children.
    rows = np.concatenate([roots, below])
    root_of = rank[top[rows]]
    is_past = _at_past_infosets(source, past)
    factor = _past_factors(source, is_past, behaviors[tree.player])

    free = ~is_past[rows]
    sequence_maps = _copy_infosets(tree, source, behaviors, rows[free], group[root_of[free]])
    tree.add_nodes(len(below))
    nodes, before = tree.nodes, source.nodes
    new = number[rows]
    lower, old_lower = new[len(roots) :], below
    lower_root = root_of[len(roots) :]
    nodes.parent[lower] = number[before.parent[old_lower]]
    scale = nodes.weight[new[: len(roots)]] / before.weight[roots]
    product = carry_over_kernels.products_below(before.parent, top, factor, source.num_nodes)
    nodes.weight[lower] = before.weight[old_lower] * scale[lower_root] * product[old_lower]
    nodes.depth[lower] = before.depth[old_lower] - before.depth[roots][lower_root]
    for name in ("action", "player", "infoset_ids"):
        getattr(nodes, name)[lower] = getattr(before, name)[old_lower]
    nodes.chance[lower] = before.chance[old_lower] * factor[old_lower]
    nodes.player[new[is_past[rows]]] = CHANCE
    for name in ("num_children", "value", "evaluation", "forcing"):
        getattr(nodes, name)[new] = getattr(before, name)[rows]
    tree.positions[lower] = source.positions[old_lower]
    expanded = before.first_child[rows] >= 0
    nodes.first_child[new] = np.where(
        expanded, number[np.where(expanded, before.first_child[rows], -1)], UNEXPANDED
    )
    tops = {tree.player: np.zeros(len(rows), dtype=np.int32), tree.opponent: 1 + group[root_of]}
    for p in PLAYERS:
        mapped = sequence_maps[p].sequence[before.sequence[rows, p]]
        nodes.sequence[new, p] = np.where(mapped == EMPTY_SEQUENCE, tops[p], mapped)
        movers = expanded & (before.player[rows] == p) & free
        nodes.infoset[new[movers]] = sequence_maps[p].infoset[before.infoset[rows[movers]]]
    _copy_families(tree, source, number, top)
    tree.past_strategies.update(_past_strategies(source, past, behaviors[tree.player]))
    unfinished = nodes.player[: tree.num_nodes] != TERMINAL
    unfinished &= nodes.first_child[: tree.num_nodes] == UNEXPANDED
    # What the player would have done otherwise is of no interest any more.
    nodes.first_child[np.flatnonzero(unfinished & (nodes.weight[: tree.num_nodes] == 0.0))] = (
        PENDING
    )
    tree.num_leaves = int(np.sum(unfinished & (nodes.weight[: tree.num_nodes] > 0.0)))
    for rows_of_player in tree.players:
        search_kernels.plan_from_strategy(rows_of_player)


def _at_past_infosets(source: SearchTree, past: BoolArray) -> BoolArray:
    """[N] whether a node is expanded and a past decision of the searching player."""
    nodes, count = source.nodes, source.num_nodes
    at_past: BoolArray = (nodes.player[:count] == source.player) & (nodes.first_child[:count] >= 0)
    movers = np.flatnonzero(at_past)
    at_past[movers] = past[nodes.infoset[movers]]
    return at_past


def _past_factors(source: SearchTree, is_past: BoolArray, behavior: FloatArray) -> FloatArray:
    """[N] probability of the edge to each node if it is a past decision's, else 1."""
    factor = np.ones(source.num_nodes)
    parent = source.nodes.parent[: source.num_nodes]
    children = np.flatnonzero((parent >= 0) & is_past[parent])
    factor[children] = behavior[source.nodes.sequence[children, source.player]]
    return factor


def _past_strategies(
    source: SearchTree, past: BoolArray, behavior: FloatArray
) -> dict[int, FloatArray]:
    """What was played at past infosets, by their identifiers."""
    infosets = source.infosets[source.player]
    strategies = dict(source.past_strategies)
    for infoset in np.flatnonzero(past).tolist():
        first = int(infosets.first_sequence[infoset])
        own = behavior[first : first + int(infosets.num_actions[infoset])]
        strategies[int(infosets.infoset_ids[infoset])] = own.copy()
    return strategies


class _Numbers:
    """New numbers of a player's old infosets and sequences; 0 for sequences left behind."""

    def __init__(self, num_infosets: int, num_sequences: int) -> None:
        self.infoset: IntArray = np.full(num_infosets, NO_INFOSET, dtype=np.int32)
        self.sequence: IntArray = np.full(num_sequences, EMPTY_SEQUENCE, dtype=np.int32)


def _copy_infosets(
    tree: SearchTree, source: SearchTree, behaviors: Behaviors, rows: LongArray, group: LongArray
) -> tuple[_Numbers, _Numbers]:
    """Copies the infosets of the expanded nodes among `rows` (in root infosets `group`)."""
    first, second = (_copy_infosets_of(tree, source, p, behaviors[p], rows, group) for p in PLAYERS)
    return first, second


def _copy_infosets_of(
    tree: SearchTree,
    source: SearchTree,
    p: int,
    behavior: FloatArray,
    rows: LongArray,
    group: LongArray,
) -> _Numbers:
    numbers = _Numbers(source.num_infosets[p], source.num_sequences[p])
    nodes = source.nodes
    movers = (nodes.player[rows] == p) & (nodes.first_child[rows] >= 0)
    group_of = np.zeros(source.num_infosets[p], dtype=np.int32)
    group_of[nodes.infoset[rows[movers]]] = group[movers]
    chosen = np.unique(nodes.infoset[rows[movers]])
    start, first = tree.num_infosets[p], tree.num_sequences[p]
    count = source.infosets[p].num_actions[chosen]
    offset = np.cumsum(count) - count
    old_sequences = (
        np.repeat(source.infosets[p].first_sequence[chosen] - offset, count)
        + np.arange(int(count.sum()))
    ).astype(np.int64)
    numbers.infoset[chosen] = start + np.arange(len(chosen))
    numbers.sequence[old_sequences] = first + np.arange(len(old_sequences))

    tree.infosets[p] = infosets = grown(tree.infosets[p], start + len(chosen))
    tree.sequences[p] = sequences = grown(tree.sequences[p], first + len(old_sequences))
    tree.num_infosets[p] += len(chosen)
    tree.num_sequences[p] += len(old_sequences)
    new = slice(start, start + len(chosen))
    own = slice(first, first + len(old_sequences))
    parent = numbers.sequence[source.infosets[p].parent_sequence[chosen]]
    top = 1 + group_of[chosen] if p == tree.opponent else np.zeros_like(parent)
    infosets.parent_sequence[new] = np.where(parent == EMPTY_SEQUENCE, top, parent)
    infosets.first_sequence[new] = first + offset
    infosets.num_actions[new] = count
    infosets.infoset_ids[new] = source.infosets[p].infoset_ids[chosen]
    infosets.reach[new] = 0.0
    infosets.visits[new] = source.infosets[p].visits[chosen]
    infosets.visited[new] = False
    infosets.frozen[new] = False
    for name, column in sequences._asdict().items():
        kept = name in _KEPT_COLUMNS
        column[own] = getattr(source.sequences[p], name)[old_sequences] if kept else 0
    sequences.infoset[own] = numbers.infoset[source.sequences[p].infoset[old_sequences]]
    sequences.strategy[own] = behavior[old_sequences]
    tree.index[p].add(start, new.stop, infosets.infoset_ids)
    return numbers


def _copy_families(tree: SearchTree, source: SearchTree, number: LongArray, top: Any) -> None:
    before = source.families
    kept = np.flatnonzero(top[before.node[: source.num_families]] >= 0)
    start = tree.num_families
    tree.families = families = grown(tree.families, start + len(kept))
    tree.num_families += len(kept)
    new = slice(start, tree.num_families)
    node = number[before.node[kept]]
    families.node[new] = node
    families.player[new] = tree.nodes.player[node]
    families.first_child[new] = tree.nodes.first_child[node]
    families.num_children[new] = before.num_children[kept]
    families.infoset[new] = tree.nodes.infoset[node]
    families.sequence[new] = tree.nodes.sequence[node]
    families.weight[new] = tree.nodes.weight[node]


def freeze(tree: SearchTree, own_id: int) -> None:
    """Fixes the searching player's strategy at infosets that do not descend from his own.

    Leaves that are not below the own infoset are taken out of the tree's growth.

    Args:
      tree: a tree that has just been grafted.
      own_id: identifier of the searching player's infoset.
    """
    player = tree.player
    infosets, sequences = tree.infosets[player], tree.sequences[player]
    own = tree.infoset_of(player, own_id)
    free = np.zeros(tree.num_infosets[player], dtype=np.bool_)
    for i in range(tree.num_infosets[player]):
        parent = int(infosets.parent_sequence[i])
        follows = parent != EMPTY_SEQUENCE and free[sequences.infoset[parent]]
        free[i] = i == own or follows
    infosets.frozen[: len(free)] = ~free
    nodes, count = tree.nodes, tree.num_nodes
    at_own = nodes.infoset_ids[:count, player] == np.uint64(own_id)
    at_own &= nodes.player[:count] == player
    top = carry_over_kernels.topmost(nodes.parent, at_own, count)
    closed = (top < 0) & (nodes.first_child[:count] == UNEXPANDED)
    closed &= nodes.player[:count] != TERMINAL
    nodes.first_child[np.flatnonzero(closed)] = PENDING
    tree.num_leaves -= int(np.sum(closed))
