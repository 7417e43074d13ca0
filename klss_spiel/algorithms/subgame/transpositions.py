"""Root nodes of a subgame that nothing in the future can tell apart (ZS21, section 4).

Two nodes of one infoset of the player are transpositions if the trees below them
are the same: the same moves, chances and payoffs, the same infosets of the player
(he cannot tell them apart now, and never will), and infosets of the opponent that
divide the nodes below in the same way. Their parts of the payoff matrix then differ
in the top row alone, and one of them may be dropped.

Deviations: observations are compared by the partitions they make, which is all that
the payoff matrix depends on. Roots entered at several nodes are never merged.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.subgame.regions import Region, RegionIndex
from klss_spiel.arrays import BoolArray, number_by_appearance, ranges


def transposed_roots(
    index: RegionIndex, region: Region, rng: np.random.Generator | None = None
) -> BoolArray:
    """[R] the roots to drop, one of each class of transpositions being kept.

    Args:
      index: the game.
      region: an order-1 region.
      rng: picks which one is kept; the first if it is None.
    """
    entries = np.bincount(region.top_root, minlength=region.num_roots)
    order = np.arange(len(region.tops)) if rng is None else rng.permutation(len(region.tops))
    drop = np.zeros(region.num_roots, dtype=np.bool_)
    seen: set[bytes] = set()
    for i in order:
        root = region.top_root[i]
        if entries[root] > 1:
            continue
        signature = _signature(index, int(region.tops[i]))
        drop[root] = signature in seen
        seen.add(signature)
    return drop


def _signature(index: RegionIndex, top: int) -> bytes:
    """A text that two nodes share just if they are transpositions."""
    tree = index.tree
    levels = [np.array([top])]
    while len(levels[-1]):
        first = tree.first_child[levels[-1]]
        levels.append(ranges(first, first + tree.num_children[levels[-1]]))
    nodes = np.concatenate(levels)
    infoset, _ = number_by_appearance(tree.infoset[index.opponent, nodes])
    action = tree.action[nodes].copy()
    chance = tree.chance[nodes].copy()
    action[0], chance[0] = 0, 1.0  # How the top was reached does not matter.
    return b"".join(
        part.tobytes()
        for part in (
            tree.player[nodes],
            tree.num_children[nodes],
            action,
            chance,
            tree.utility[nodes],
            tree.infoset[index.player, nodes],
            infoset,
        )
    )
