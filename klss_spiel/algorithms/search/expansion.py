"""Which leaves of a search tree to expand next, as values.

`ONE_SIDED` (Obscuro, C.4): walk down from node 0; one player explores, the other
plays the current strategy, and the roles alternate from walk to walk. The explorer
plays, half of the time, any action in the support of the current strategy, and else
the action with the largest upper bound

    u(I, a) + C * sigma(I, a) * sqrt(N(I)) / (1 + N(I, a)).

`TWO_SIDED`: both explore in every walk, as in GT-CFR (Schmid et al. 2023).

`ITERATIVE_DEEPENING` (ZS21, D.2 and D.3): all leaves that both players play to, and of
those only one of them plays to the most interesting child of each node, down to a
depth that grows by one each time. The strategies should be exact equilibria, because
the rule looks at their supports.

sigma is the empirical standard deviation of the values u(I, a) had when a was chosen,
with one prior sample of -1 and one of 1.

Where this deviates from the words of C.4, and why, is in docs/deviations.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.search import expansion_kernels as kernels
from klss_spiel.algorithms.search.tree import PENDING, UNEXPANDED, SearchTree
from klss_spiel.arrays import IntArray
from klss_spiel.tree import CHANCE, TERMINAL


class ExpansionState:
    """What expansion remembers from one time to the next. Mutable.

    Attributes:
      random: [1] state of the random numbers.
      explorer: who explores in the next walk.
      depth: limit of iterative deepening.
      solved_nodes: number of nodes at the last update of the strategies.
    """

    def __init__(self, seed: int, explorer: int) -> None:
        self.random: npt.NDArray[np.uint64] = np.array([seed % 2**64], dtype=np.uint64)
        self.explorer = explorer
        self.depth = 0
        self.solved_nodes = 0


@dataclasses.dataclass(frozen=True)
class Expansion:
    """A rule of growth.

    Attributes:
      name: for reports.
      choose: (tree, state, attempts, C) -> distinct leaves, now PENDING.
      in_rounds: one call chooses all leaves of a round, whatever the attempts.
    """

    name: str
    choose: Callable[[SearchTree, ExpansionState, int, float], IntArray]
    in_rounds: bool = False


def _walks(
    tree: SearchTree, state: ExpansionState, attempts: int, constant: float, two_sided: bool
) -> IntArray:
    chosen = np.empty(attempts, dtype=np.int32)
    walks = kernels.Walks(state.explorer, two_sided, constant, state.solved_nodes)
    found = kernels.choose_leaves(walks, state.random, tree.nodes, tree.players, chosen)
    state.explorer = (state.explorer + attempts) % 2
    return chosen[:found]


def _one_sided(tree: SearchTree, state: ExpansionState, attempts: int, constant: float) -> IntArray:
    return _walks(tree, state, attempts, constant, two_sided=False)


def _two_sided(tree: SearchTree, state: ExpansionState, attempts: int, constant: float) -> IntArray:
    return _walks(tree, state, attempts, constant, two_sided=True)


def _deepen(tree: SearchTree, state: ExpansionState, attempts: int, constant: float) -> IntArray:
    del attempts, constant
    nodes, count = tree.nodes, tree.num_nodes
    leaf = nodes.first_child[:count] == UNEXPANDED
    leaf &= (nodes.player[:count] != TERMINAL) & (nodes.weight[:count] > 0.0)
    candidates = np.flatnonzero(leaf).astype(np.int32)
    plays = [tree.sequences[p].plan[nodes.sequence[candidates, p]] > 0.0 for p in (0, 1)]
    both = plays[0] & plays[1]
    one = (plays[0] | plays[1]) & ~both
    if not np.any(both | one):
        return candidates[:0]
    shallow = one & (nodes.depth[candidates] <= state.depth)
    while not np.any(both | shallow):
        state.depth += 1
        shallow = one & (nodes.depth[candidates] <= state.depth)
    state.depth += 1
    chosen = np.concatenate([candidates[both], _most_interesting(tree, candidates[shallow])])
    chosen = np.sort(chosen)
    nodes.first_child[chosen] = PENDING
    return chosen


def _most_interesting(tree: SearchTree, leaves: IntArray) -> IntArray:
    """Of each node's leaves the forcing one with the best value for the mover.

    Forcing leaves come before all others (ZS21, D.2). Chance has no preferences: all
    its leaves count.
    """
    nodes = tree.nodes
    parent = nodes.parent[leaves]
    mover = nodes.player[parent]
    value = np.where(mover == 1, -1.0, 1.0) * nodes.evaluation[leaves]
    order = np.lexsort((leaves, -value, ~nodes.forcing[leaves], parent))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = parent[order[1:]] != parent[order[:-1]]
    keep = first | (mover[order] == CHANCE)
    interesting: IntArray = leaves[order[keep]]
    return interesting


ONE_SIDED = Expansion("one_sided", _one_sided)
TWO_SIDED = Expansion("two_sided", _two_sided)
ITERATIVE_DEEPENING = Expansion("iterative_deepening", _deepen, in_rounds=True)
EXPANSIONS = {rule.name: rule for rule in (ONE_SIDED, TWO_SIDED, ITERATIVE_DEEPENING)}
