"""A value function of a border, asked by a search whose leaves lie at or above it.

A value function, such as a network, knows the infosets of one border, given both players'
ranges there; a search wants a payoff at every leaf. Between the leaves and the border the
game is solved along with the tree (`leaf_games.rest_until`); at the border the function is
asked (`AskedBorder`).

What it answers are counterfactual values of infosets. A tree needs payoffs w of histories h
that add up to those,

    sum over h in J_0 of chance(h) r_1(h) w(h) = v_0(J_0)
    sum over h in J_1 of chance(h) r_0(h) w(h) = -v_1(J_1)

for all infosets J_0 and J_1 of a public state. They exist where ranges times values sum to
zero in everything that infosets connect. Optimal values do; a network with the correction
`zero_sum` does in each public state as a whole, so that nothing fits to the bit where a state
falls apart (a coarser partition than common knowledge, ranges of zero). Of all that fit best
`HistoryValues` takes the smallest. Which ones does not matter to CFR: strategies are updated
by the sums only.

Letters: those of `border`; M border nodes that are asked about, a border infosets of a
player there, n leaves.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from klss_spiel.algorithms.values.border import Border
from klss_spiel.arrays import FloatArray, IntArray, sum_at
from klss_spiel.search_game import ValueFunction
from klss_spiel.tree import PLAYERS

Pair = tuple[FloatArray, FloatArray]

_NO_LEAF = -1
# Relative size below which a direction of ranges counts as none.
_NEGLIGIBLE = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Stops:
    """Nodes at which a forest ends without a payoff.

    Attributes:
      sequence: for each player, [M] the forest's last own sequence.
      leaf: [M] the leaf above.
      chance: [M] chance's probability from the leaf on.
    """

    sequence: tuple[IntArray, IntArray]
    leaf: IntArray
    chance: FloatArray


def complete_states(
    border: Border,
    leaf: IntArray,
    nodes: IntArray,
    roots: tuple[IntArray, IntArray],
    weight: FloatArray,
) -> IntArray:
    """[M] the border nodes (0 to B - 1) in public states that a value function can answer for.

    All of a public state has to lie at or below leaves, with chance's probability and no
    other, and each of its infosets below one root.

    Args:
      border: the border.
      leaf: [N] the leaf at or above each node; see `leaf_games.leaves_above`.
      nodes: [n] the leaves' nodes.
      roots: for each player, [n] root of each leaf.
      weight: [n] probability of what neither player chooses any more.
    """
    above = leaf[border.nodes]
    known = above != _NO_LEAF
    known &= np.isclose(weight, border.tree.chance_reach[nodes], rtol=1e-9, atol=0.0)[above]
    for p in PLAYERS:
        infoset = border.node_infoset[p]
        _, first = np.unique(infoset, return_index=True)
        root = roots[p][above]
        known &= root == root[first][infoset]
    incomplete = np.zeros(border.num_public_states, dtype=np.bool_)
    incomplete[border.public_state[~known]] = True
    return np.flatnonzero(~incomplete[border.public_state])


@dataclasses.dataclass(frozen=True, eq=False)
class AskedBorder:
    """Public states of a border below leaves, and the value function that knows them.

    Attributes:
      border: the border.
      values: from ranges to counterfactual values.
      nodes: [M] the border nodes (0 to B - 1), whole public states.
      stops: where they are in the forest below the leaves.
    """

    border: Border
    values: ValueFunction
    nodes: IntArray
    stops: Stops

    @functools.cached_property
    def infosets(self) -> tuple[IntArray, IntArray]:
        """For each player, [a] the border infosets that are asked about."""
        first, second = (np.unique(self.border.node_infoset[p, self.nodes]) for p in PLAYERS)
        return first, second

    @functools.cached_property
    def sequence(self) -> tuple[IntArray, IntArray]:
        """For each player, [a] the forest's sequence that leads to each of them."""
        found = []
        for p in PLAYERS:
            _, first = np.unique(self.border.node_infoset[p, self.nodes], return_index=True)
            found.append(self.stops.sequence[p][first])
        return found[0], found[1]

    @functools.cached_property
    def history_values(self) -> HistoryValues:
        """From ranges and values to payoffs at the border nodes."""
        return HistoryValues(self.border, self.nodes)

    def values_from(self, root: tuple[IntArray, IntArray], at_roots: Pair) -> ValueFunction:
        """The value function of the a infosets for plans that are 1 at the roots.

        Args:
          root: for each player, [S] the root above each sequence of the forest.
          at_roots: for each player, [b] range of each root.
        """
        scale = [at_roots[p][root[p][self.sequence[p]]] for p in PLAYERS]

        def values(ranges: tuple[Any, Any]) -> tuple[Any, Any]:
            answer = self._answer([scale[p] * ranges[p] for p in PLAYERS])[1]
            return answer[0][self.infosets[0]], answer[1][self.infosets[1]]

        return values

    def payoffs(
        self, root: tuple[IntArray, IntArray], at_roots: Pair, plans: Pair, count: int
    ) -> FloatArray:
        """[n] what is paid at and below the border nodes of each leaf, to player 0.

        Args:
          root: as in `values_from`.
          at_roots: as in `values_from`.
          plans: for each player, [S] plan below the roots, 1 there.
          count: number of leaves.
        """
        scale = [at_roots[p][root[p][self.sequence[p]]] for p in PLAYERS]
        asked, answer = self._answer([scale[p] * plans[p][self.sequence[p]] for p in PLAYERS])
        pays = self.stops.chance * self.history_values(asked, answer)
        for p in PLAYERS:
            pays = pays * plans[p][self.stops.sequence[p]]
        return sum_at(self.stops.leaf, pays, count)

    def _answer(self, reach: list[FloatArray]) -> tuple[Pair, Pair]:
        """Ranges ([b_0], [b_1]) of the whole border, 0 where nobody asks, and their values."""
        ranges = []
        for p in PLAYERS:
            of_player = np.zeros(self.border.sizes[p])
            of_player[self.infosets[p]] = reach[p]
            ranges.append(of_player)
        asked = ranges[0], ranges[1]
        first, second = self.values(asked)
        answer = np.asarray(first, np.float64), np.asarray(second, np.float64)
        self.border.check_values(answer)
        return asked, answer


class HistoryValues:
    """Payoffs of histories that add up to values of infosets; see the module."""

    def __init__(self, border: Border, nodes: IntArray) -> None:
        """Prepares the equations.

        Args:
          border: the border.
          nodes: [M] border nodes (0 to B - 1), whole public states.
        """
        self._chance = border.chance_reach[nodes]
        self._infoset = border.node_infoset[:, nodes]
        state = border.public_state[nodes]
        self._states = []
        for number in np.unique(state):
            here = np.flatnonzero(state == number)
            first, second = (
                np.unique(self._infoset[p, here], return_inverse=True) for p in PLAYERS
            )
            lines = np.stack([first[1], len(first[0]) + second[1]])
            self._states.append((here, lines, (first[0], second[0])))

    def __call__(self, ranges: Pair, values: Pair) -> FloatArray:
        """[M] payoffs to player 0: the smallest of those that fit best.

        Where nothing fits exactly, errors count in proportion to the lines' size.

        Args:
          ranges: for each player, [J].
          values: for each player, [J] counterfactual values.
        """
        weights = np.stack([self._chance * ranges[1 - p][self._infoset[1 - p]] for p in PLAYERS])
        pays = np.zeros(len(self._chance))
        for here, lines, infosets in self._states:
            wanted = np.concatenate([values[0][infosets[0]], -values[1][infosets[1]]])
            equations = np.zeros((len(wanted), len(here)))
            equations[lines, np.arange(len(here))] = weights[:, here]
            size = np.sqrt((equations * equations).sum(axis=1))
            size[size == 0.0] = 1.0  # nobody comes there: the value is zero, too
            pays[here] = np.linalg.lstsq(
                equations / size[:, None], wanted / size, rcond=_NEGLIGIBLE
            )[0]
        return pays
