"""Compiled passes over an old search tree; see `carry_over`."""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.algorithms.search.tree import ROOT_INFOSET
from klss_spiel.kernels import kernel

_ROOT_INFOSET = int(ROOT_INFOSET)


@kernel
def topmost(parent: Any, marked: Any, num_nodes: int) -> Any:
    """[N] the topmost marked node at or above each node; -1 if there is none."""
    top = np.full(num_nodes, -1, dtype=np.int64)
    for n in range(num_nodes):
        above = parent[n]
        if above >= 0 and top[above] >= 0:
            top[n] = top[above]
        elif marked[n]:
            top[n] = n
    return top


@kernel
def products_below(parent: Any, top: Any, factor: Any, num_nodes: int) -> Any:
    """[N] product of the factors ([N]) of the edges from a node's `top` ([N]) down to it."""
    product = np.ones(num_nodes)
    for n in range(num_nodes):
        if top[n] >= 0 and top[n] != n:
            product[n] = product[parent[n]] * factor[n]
    return product


@kernel
def gifts(player: Any, utility: Any, strategy: Any) -> Any:
    """[S] what a player has given away on the way to each sequence (Obscuro, C.2).

    The sum over the choices on the way of how much less the choice was worth than the
    infoset, in counterfactual values ([S], the player's own); the choice at node 0 is
    none of the game's.

    Args:
      player: `PlayerArrays`.
      utility: [S] counterfactual values.
      strategy: [S] behaviour probabilities.
    """
    infosets = player.infosets
    given = np.zeros(len(utility))
    for i in range(player.num_infosets):
        if i == _ROOT_INFOSET:
            continue
        first = infosets.first_sequence[i]
        last = first + infosets.num_actions[i]
        expected = 0.0
        for s in range(first, last):
            expected += strategy[s] * utility[s]
        for s in range(first, last):
            given[s] = given[infosets.parent_sequence[i]] + max(expected - utility[s], 0.0)
    return given
