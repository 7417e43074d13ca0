"""Compiled growth of a search tree: families of new nodes; see `tree`."""

from __future__ import annotations

from typing import Any, Final

from klss_spiel.algorithms.search.infoset_index import find, insert
from klss_spiel.kernels import kernel
from klss_spiel.tree import NO_INFOSET

# What `attach` finds; else it is all well.
WELL: Final = 0
OTHER_SEQUENCE: Final = 1  # an infoset is reached by different own actions
OTHER_ACTIONS: Final = 2  # an infoset has different legal actions

_NO_INFOSET = int(NO_INFOSET)
_WELL = int(WELL)
_OTHER_SEQUENCE = int(OTHER_SEQUENCE)
_OTHER_ACTIONS = int(OTHER_ACTIONS)


@kernel
def attach(
    leaves: Any,
    count: Any,
    start: int,
    best_child: bool,
    nodes: Any,
    families: Any,
    num_families: int,
    players: Any,
    tables: Any,
    used: Any,
) -> Any:
    """Makes families of leaves and their children, and infosets where there are none.

    Args:
      leaves: [n] nodes.
      count: [n] number of children of each.
      start: the first child of the first leaf; all others follow.
      best_child: see `SearchTree.expand`.
      nodes: `NodeArrays`, in which children have everything but their mover's sequence.
      families: `FamilyArrays` with room for n more.
      num_families: rows of it in use.
      players: a pair of `PlayerArrays` with room for n infosets and all children.
      tables: a pair of tables of `InfosetIndex` with room for n infosets.
      used: [2, 2] rows of infosets and of sequences in use, by player; changes.

    Returns:
      WELL and 0, or what is wrong and the number of the leaf where it is.
    """
    for i in range(len(leaves)):
        leaf = leaves[i]
        mover = nodes.player[leaf]
        last = start + count[i]
        infoset = _NO_INFOSET
        if mover == 0 or mover == 1:
            infosets, sequences = players[mover].infosets, players[mover].sequences
            identifier = nodes.infoset_ids[leaf, mover]
            parent = nodes.sequence[leaf, mover]
            infoset = find(tables[mover], infosets.infoset_ids, identifier)
            if infoset == _NO_INFOSET:
                infoset = used[mover, 0]
                first = used[mover, 1]
                _add_infoset(infosets, sequences, infoset, first, parent, nodes, start, last)
                infosets.infoset_ids[infoset] = identifier
                insert(tables[mover], infosets.infoset_ids, infoset)
                used[mover, 0] += 1
                used[mover, 1] += last - start
                _start_strategy(sequences, first, parent, nodes, start, last, mover, best_child)
            else:
                if infosets.parent_sequence[infoset] != parent:
                    return _OTHER_SEQUENCE, i
                first = infosets.first_sequence[infoset]
                if infosets.num_actions[infoset] != last - start:
                    return _OTHER_ACTIONS, i
                for k in range(last - start):
                    if sequences.action[first + k] != nodes.action[start + k]:
                        return _OTHER_ACTIONS, i
            for k in range(last - start):
                nodes.sequence[start + k, mover] = first + k
        family = num_families + i
        families.node[family] = leaf
        families.player[family] = mover
        families.first_child[family] = start
        families.num_children[family] = last - start
        families.infoset[family] = infoset
        families.sequence[family, 0] = nodes.sequence[leaf, 0]
        families.sequence[family, 1] = nodes.sequence[leaf, 1]
        families.weight[family] = nodes.weight[leaf]
        nodes.first_child[leaf] = start
        nodes.num_children[leaf] = last - start
        nodes.infoset[leaf] = infoset
        nodes.value[leaf] = 0.0
        start = last
    return _WELL, 0


@kernel
def _add_infoset(
    infosets: Any,
    sequences: Any,
    infoset: int,
    first: int,
    parent: int,
    nodes: Any,
    start: int,
    last: int,
) -> None:
    infosets.parent_sequence[infoset] = parent
    infosets.first_sequence[infoset] = first
    infosets.num_actions[infoset] = last - start
    infosets.reach[infoset] = 0.0
    infosets.visits[infoset] = 0.0
    infosets.visited[infoset] = False
    infosets.frozen[infoset] = False
    for k in range(last - start):
        s = first + k
        sequences.infoset[s] = infoset
        sequences.action[s] = nodes.action[start + k]
        sequences.regret[s] = 0.0
        sequences.instant[s] = 0.0
        sequences.average[s] = 0.0
        sequences.bonus[s] = 0.0
        sequences.utility[s] = 0.0
        sequences.picks[s] = 0.0
        sequences.sum[s] = 0.0
        sequences.squares[s] = 0.0
        sequences.last_absent[s] = 0


@kernel
def _start_strategy(
    sequences: Any,
    first: int,
    parent: int,
    nodes: Any,
    start: int,
    last: int,
    mover: int,
    best_child: bool,
) -> None:
    """Values of the children, and play that is uniform over the best of them or over all.

    Evaluations that are all alike say nothing: then play starts uniform in both ways.
    """
    sign = 1.0 if mover == 0 else -1.0
    best = sign * nodes.value[start]
    for k in range(last - start):
        value = sign * nodes.value[start + k]
        sequences.value[first + k] = value
        best = max(best, value)
    played = 0
    for k in range(last - start):
        if not best_child or sequences.value[first + k] == best:
            played += 1
    reach = sequences.plan[parent]
    for k in range(last - start):
        plays = not best_child or sequences.value[first + k] == best
        sequences.strategy[first + k] = 1.0 / played if plays else 0.0
        sequences.plan[first + k] = reach * sequences.strategy[first + k]
