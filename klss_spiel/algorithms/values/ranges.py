"""Ranges: how likely the players play to the infosets of a border.

The compact representation (definition 5 of "Value Functions for Depth-Limited
Solving") is one number per border infoset and player: the probability that the player
alone plays there. Proposition 4's other forms are computed from it.

Where a range is zero, conditional probabilities are limits of the strategy mixed with
a little of the uniform one (the paper's appendix A.1). The leading term of a reach
probability under that noise is `weight * noise ** order`, where `order` counts the
own actions of probability zero on the way: the *trembles* needed. The limits depend
on the orders, so ranges carry them.

Deviation: the paper's Remark 16 says that an infoset which the opponent does not play
to is treated as if everybody played uniformly. That is false when its histories need
different numbers of trembles: those that need more have limit 0.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from klss_spiel.algorithms.values.border import Border
from klss_spiel.arrays import FloatArray, IntArray, sum_at
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import Treeplex
from klss_spiel.tree import PLAYERS


@dataclasses.dataclass(frozen=True, eq=False)
class Ranges:
    """How both players play to a border.

    Attributes:
      border: the border.
      reach: for each player, [J] probability that the player alone plays to each
        border infoset; line (1) of proposition 4.
      order: for each player, [J] number of trembles: 0 where `reach` is positive.
      weight: for each player, [J] positive coefficient of the reach under noise;
        equal to `reach` where that is positive.
    """

    border: Border
    reach: tuple[FloatArray, FloatArray]
    order: tuple[IntArray, IntArray]
    weight: tuple[FloatArray, FloatArray]

    def __post_init__(self) -> None:
        self.border.check_values(self.reach, "ranges")
        for p in PLAYERS:
            if np.any(self.reach[p] < 0.0):
                raise ValueError(
                    f"expected ranges of at least 0, got {self.reach[p].min()} for player {p}"
                )
            if np.any((self.order[p] == 0) != (self.reach[p] > 0.0)):
                raise ValueError("expected no trembles exactly where the range is positive")

    @classmethod
    def of(cls, border: Border, reach: tuple[FloatArray, FloatArray]) -> Ranges:
        """Ranges that come without a strategy.

        Zeros count as one tremble, weighted with the reach of the uniform strategy.

        Args:
          border: the border.
          reach: for each player, [J] own reach probabilities (or multiples of them).
        """
        border.check_values(reach, "ranges")
        uniform = border.uniform_reach
        positive = [np.asarray(reach[p], dtype=np.float64) > 0.0 for p in PLAYERS]
        first, second = (np.where(positive[p], reach[p], uniform[p]) for p in PLAYERS)
        return cls(
            border,
            (np.asarray(reach[0], dtype=np.float64), np.asarray(reach[1], dtype=np.float64)),
            ((~positive[0]).astype(np.int32), (~positive[1]).astype(np.int32)),
            (first, second),
        )

    @property
    def fully_mixed(self) -> bool:
        """Whether every border infoset is played to."""
        return all(bool(np.all(self.reach[p] > 0.0)) for p in PLAYERS)

    def history_reach(self, player: int) -> FloatArray:
        """[B] probability that the player plays to each border node: line (2)."""
        reach: FloatArray = self.reach[player][self.border.node_infoset[player]]
        return reach

    def separated(self, player: int) -> tuple[FloatArray, FloatArray]:
        """[B] reach of the player and of chance at each border node: line (3)."""
        return self.history_reach(player), self.border.chance_reach

    @functools.cached_property
    def joint(self) -> FloatArray:
        """[B] probability that play comes to each border node: the joint range."""
        return self.border.chance_reach * self.history_reach(0) * self.history_reach(1)

    def counterfactual_reach(self, player: int) -> FloatArray:
        """[J] probability that chance and the other player play to each border infoset.

        Line (4), for the range of the other player.
        """
        terms = self.border.chance_reach * self.history_reach(1 - player)
        return sum_at(self.border.node_infoset[player], terms, self.border.sizes[player])

    def conditional(self, player: int) -> FloatArray:
        """[B] probability of each border node given the player's border infoset.

        Line (5), for the range of the other player; as limits where he does not play there.
        Multiplying the other player's range by a constant changes nothing, so the range
        cannot be read off this form, contrary to what one may take from the paper.
        """
        noisy, _ = self.leading_reach(player)
        totals = sum_at(self.border.node_infoset[player], noisy, self.border.sizes[player])
        share: FloatArray = noisy / totals[self.border.node_infoset[player]]
        return share

    def leading_reach(self, player: int) -> tuple[FloatArray, IntArray]:
        """How chance and the other player come to the player's border infosets, under noise.

        Returns:
          [B] the coefficient of each node's probability, 0 where it needs more trembles
          of the other player than another node of the player's infoset, and [J] the
          number of trembles to each of the player's border infosets.
        """
        border, other = self.border, 1 - player
        of_node = border.node_infoset[player]
        trembles = self.order[other][border.node_infoset[other]]
        least = np.full(border.sizes[player], np.iinfo(np.int32).max, dtype=np.int32)
        np.minimum.at(least, of_node, trembles)
        weight = border.chance_reach * self.weight[other][border.node_infoset[other]]
        return np.where(trembles == least[of_node], weight, 0.0), least


def reach_from_histories(border: Border, player: int, history_reach: FloatArray) -> FloatArray:
    """[J] line (1) of proposition 4 from line (2): own reach of infosets from nodes' ([B])."""
    if history_reach.shape != (len(border.nodes),):
        raise ValueError(
            f"expected the reach of {len(border.nodes)} border nodes, got an array of shape "
            f"{history_reach.shape}"
        )
    reach = np.zeros(border.sizes[player])
    reach[border.node_infoset[player]] = history_reach
    if not np.allclose(reach[border.node_infoset[player]], history_reach, rtol=1e-9, atol=0.0):
        raise ValueError(f"nodes of one infoset of player {player} have different own reach")
    return reach


def ranges(border: Border, policy: BehaviorPolicy) -> Ranges:
    """The ranges at a border when both players follow a policy."""
    return trunk_ranges(border, border.trunk_of(policy))


def trunk_ranges(border: Border, trunk: tuple[FloatArray, FloatArray]) -> Ranges:
    """The ranges of a trunk strategy.

    Args:
      border: the border.
      trunk: for each player, [S of the trunk] behaviour probabilities.
    """
    reach, order, weight = [], [], []
    for p in PLAYERS:
        treeplex = border.trunk_part.form.treeplexes[p]
        behavior = np.asarray(trunk[p], dtype=np.float64)
        if behavior.shape != (treeplex.num_sequences,):
            raise ValueError(
                f"expected {treeplex.num_sequences} probabilities of player {p} in the trunk, got "
                f"an array of shape {behavior.shape}"
            )
        coefficient, trembles = noisy_reach(treeplex, behavior)
        at_border = border.trunk_sequence[p]
        order.append(trembles[at_border])
        weight.append(coefficient[at_border])
        reach.append(np.where(trembles[at_border] == 0, coefficient[at_border], 0.0))
    return Ranges(border, (reach[0], reach[1]), (order[0], order[1]), (weight[0], weight[1]))


def noisy_reach(treeplex: Treeplex, behavior: FloatArray) -> tuple[FloatArray, IntArray]:
    """Leading term of the reach of each sequence when a little uniform noise is mixed in.

    Returns:
      [S] coefficients and [S] orders: (1 - noise) behavior + noise uniform plays
      a sequence with probability coefficient * noise ** order as noise vanishes.
    """
    positive = behavior > 0.0
    coefficient = treeplex.realization_plan(np.where(positive, behavior, treeplex.uniform()))
    order = np.zeros(treeplex.num_sequences, dtype=np.int32)
    for level in treeplex.levels:
        order[level.sequences] = order[level.parents][level.owner] + ~positive[level.sequences]
    return coefficient, order
