"""Values of a strategy pair at histories, infosets and actions.

Notation of "Value Functions for Depth-Limited Solving", section 3.3 and appendix A:
v and q are values of histories and of actions there, V and Q those of infosets; with
subscript c they are counterfactual, that is, multiplied with the probability that
chance and the opponent play there. Infosets that hold a node and its child count
through their topmost nodes (the upper frontier, Remark 1).
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from klss_spiel.algorithms.values.ranges import noisy_reach
from klss_spiel.arrays import BoolArray, FloatArray, sum_at
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import treeplex_from_tree
from klss_spiel.tree import CHANCE, NO_PARENT, PLAYERS, GameTree


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyValues:
    """Values of a policy; both players' values are their own payoffs.

    Attributes:
      policy: the policy.
    """

    policy: BehaviorPolicy

    @functools.cached_property
    def _of_histories(self) -> FloatArray:
        """[N] player 0's expected payoff from each node on."""
        tree = self.policy.tree
        values = tree.utility.copy()
        edge = edge_probabilities(tree, self.policy)
        for depth in range(tree.max_depth, 0, -1):
            level = slice(int(tree.level_start[depth]), int(tree.level_start[depth + 1]))
            np.add.at(values, tree.parent[level], edge[level] * values[level])
        return values

    def history(self, player: int) -> FloatArray:
        """[N] v(h): expected payoff once a node is reached.

        The value q(h, a) of an action at h is that of the child it leads to.
        """
        return self._of_histories if player == 0 else -self._of_histories

    def counterfactual_history(self, player: int) -> FloatArray:
        """[N] v_c(h): v(h) times the reach of chance and the opponent."""
        reach = self.policy.tree.chance_reach * self.policy.reach(1 - player)
        values: FloatArray = reach * self.history(player)
        return values

    def counterfactual_infoset(self, player: int) -> FloatArray:
        """[I] V_c(I): sum of v_c(h) over the infoset (theorem 18, line 1')."""
        tree = self.policy.tree
        top = upper_frontier(tree, player)
        return sum_at(
            tree.infoset[player, top],
            self.counterfactual_history(player)[top],
            tree.infosets[player].num_infosets,
        )

    def infoset(self, player: int) -> FloatArray:
        """[I] V(I): expected payoff given the infoset, with limits where it is not reached."""
        tree = self.policy.tree
        top = upper_frontier(tree, player)
        terms = self._conditional(player)[top] * self.history(player)[top]
        return sum_at(tree.infoset[player, top], terms, tree.infosets[player].num_infosets)

    def counterfactual_action(self, player: int) -> FloatArray:
        """[S] Q_c(I, a) of each sequence; that of the empty one is the game's value."""
        return self._of_actions(player, self.counterfactual_history(player))

    def action(self, player: int) -> FloatArray:
        """[S] Q(I, a) of each sequence: expected payoff given the infoset and the action."""
        tree = self.policy.tree
        # A child inherits the conditional probability of its parent: the action is taken.
        share = np.ones(tree.num_nodes)
        share[1:] = self._conditional(player)[tree.parent[1:]]
        return self._of_actions(player, share * self.history(player))

    def _of_actions(self, player: int, of_nodes: FloatArray) -> FloatArray:
        """[S] sum over the nodes that the sequences' last actions lead to."""
        tree = self.policy.tree
        follows = np.zeros(tree.num_nodes, dtype=np.bool_)
        follows[1:] = tree.player[tree.parent[1:]] == player
        size = tree.infosets[player].num_sequences
        sums = sum_at(tree.sequence[player, follows], of_nodes[follows], size)
        sums[0] = self.history(player)[0]
        return sums

    def _conditional(self, player: int) -> FloatArray:
        """[N] probability of a node given the player's infoset (equation 4)."""
        tree, other = self.policy.tree, 1 - player
        treeplex = treeplex_from_tree(tree, other)
        coefficient, order = noisy_reach(treeplex, self.policy.probabilities[other])
        top = upper_frontier(tree, player)
        trembles = order[tree.sequence[other]]
        least = np.full(tree.infosets[player].num_infosets, np.iinfo(np.int32).max, dtype=np.int32)
        np.minimum.at(least, tree.infoset[player, top], trembles[top])
        weight = tree.chance_reach * coefficient[tree.sequence[other]]
        weight = np.where(top & (trembles == least[tree.infoset[player]]), weight, 0.0)
        totals = sum_at(tree.infoset[player], weight, tree.infosets[player].num_infosets)
        share: FloatArray = weight / totals[tree.infoset[player]]
        return share


def edge_probabilities(tree: GameTree, policy: BehaviorPolicy) -> FloatArray:
    """[N] probability of the move that leads to each node, from its parent."""
    edge = tree.chance.copy()
    mover = np.full(tree.num_nodes, CHANCE, dtype=np.int8)
    mover[1:] = tree.player[tree.parent[1:]]
    for p in PLAYERS:
        chosen = mover == p
        edge[chosen] = policy.probabilities[p][tree.sequence[p, chosen]]
    return edge


def upper_frontier(tree: GameTree, player: int) -> BoolArray:
    """[N] whether a node is a topmost one of the player's infoset."""
    top = np.ones(tree.num_nodes, dtype=np.bool_)
    below = tree.parent != NO_PARENT
    top[below] = tree.infoset[player, tree.parent[below]] != tree.infoset[player, below]
    return top
