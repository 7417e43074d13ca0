"""What a blueprint is worth to the opponent at each of his infosets.

The tables that subgames are made of, for one player's strategy x (ZS21, section 2):
x itself, the player's payoff when the opponent best-responds from an infoset on,
and how often chance and the player reach an infoset. Changing x inside a region
updates them at a cost that depends on the region alone, and can be undone; nested
subgame solving does so thousands of times.

Values are the player's own payoff, counterfactual (the opponent plays to the
infoset for certain) and not divided by the probability of reaching it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.algorithms.subgame.margin_template import only_rounding
from klss_spiel.algorithms.subgame.regions import Region, RegionIndex
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, ranges, sum_at
from klss_spiel.policy import BehaviorPolicy, check_same_game
from klss_spiel.tree import NO_INFOSET, NO_PARENT, GameTree


@dataclasses.dataclass(frozen=True, eq=False)
class Change:
    """Entries of the tables to be overwritten; `BlueprintValues.apply` takes one.

    Attributes:
      sequences: the player's sequences.
      behavior: their new behaviour probabilities.
      plan: their new realization plan.
      infosets: opponent infosets.
      values: their new values.
      reach: their new reach.
      opponent_sequences: opponent sequences.
      opponent_values: their new values.
    """

    sequences: IntArray
    behavior: FloatArray
    plan: FloatArray
    infosets: IntArray
    values: FloatArray
    reach: FloatArray
    opponent_sequences: IntArray
    opponent_values: FloatArray


class BlueprintValues:
    """The tables of one player's strategy. Mutable: see `apply`.

    Attributes:
      index: the game and the player.
      behavior: [S] the player's behaviour probabilities.
      plan: [S] realization plan: x.
      opponent_plan: [S of the opponent] the blueprint's strategy of the opponent: y.
      value: [I of the opponent] the player's payoff at each opponent infoset.
      sequence_value: [S of the opponent] the same after each opponent action.
      reach: [I of the opponent] probability that chance and the player reach it.
    """

    def __init__(self, index: RegionIndex, blueprint: BehaviorPolicy) -> None:
        check_same_game(index.tree, blueprint.tree, "the blueprint is of another game")
        tree, me, other = index.tree, index.player, index.opponent
        self.index = index
        self.behavior = blueprint.probabilities[me].copy()
        self.plan = blueprint.realization_plans[me].copy()
        self.opponent_plan = blueprint.realization_plans[other]
        infosets = tree.infosets[other]
        leaves = tree.terminals
        at_leaves = index.payoff[leaves] * self.plan[tree.sequence[me, leaves]]
        self.value = sum_at(tree.infoset[other, leaves], at_leaves, infosets.num_infosets)
        self.sequence_value = np.zeros(infosets.num_sequences)
        self._back_up()
        self._enters = entering_nodes(tree, other)
        nodes = np.flatnonzero(self._enters)
        self.reach = sum_at(
            tree.infoset[other, nodes],
            tree.chance_reach[nodes] * self.plan[tree.sequence[me, nodes]],
            infosets.num_infosets,
        )

    def _back_up(self) -> None:
        """Fills in the values of all infosets from those of terminal nodes."""
        infosets = self.index.tree.infosets[self.index.opponent]
        depth = self.index.other.depth
        order = np.argsort(depth, kind="stable").astype(np.int32)
        bounds = np.searchsorted(depth[order], np.arange(depth.max() + 2))
        moves = infosets.num_actions > 0
        for d in range(int(depth.max()), -1, -1):
            level = order[bounds[d] : bounds[d + 1]]
            deciding = level[moves[level]]
            if len(deciding):
                self.value[deciding] = self._least(deciding)
            if d == 0:
                break
            above = infosets.parent[level]
            after_move = moves[above]
            np.add.at(
                self.sequence_value,
                infosets.parent_sequence[level[after_move]],
                self.value[level[after_move]],
            )
            np.add.at(self.value, above[~after_move], self.value[level[~after_move]])

    def _least(self, decisions: IntArray) -> FloatArray:
        """What the opponent leaves to the player at decision infosets: the minimum."""
        infosets = self.index.tree.infosets[self.index.opponent]
        counts = infosets.num_actions[decisions].astype(np.int64)
        starts = np.cumsum(counts) - counts
        first = infosets.first_sequence[decisions]
        sequences = ranges(first, first + counts)
        least: FloatArray = np.minimum.reduceat(self.sequence_value[sequences], starts)
        return least

    def leaf_payoffs(self, region: Region) -> FloatArray:
        """[Z] payoff of each leaf times the probability of chance and the player."""
        leaves = region.leaves
        own = self.index.tree.sequence[self.index.player, leaves]
        payoffs: FloatArray = self.index.payoff[leaves] * self.plan[own]
        return payoffs

    def inside(self, region: Region) -> FloatArray:
        """[F] what each sequence of the opponent's forest gets at leaves of the region."""
        return sum_at(region.leaf_column, self.leaf_payoffs(region), region.num_forest_sequences)

    def root_reach(self, region: Region) -> FloatArray:
        """[R] probability that chance and the player enter the region at each root: D."""
        tree = self.index.tree
        weights = (
            tree.chance_reach[region.tops]
            * self.plan[tree.sequence[self.index.player, region.tops]]
        )
        return sum_at(region.top_root, weights, region.num_roots)

    def outside(self, region: Region) -> FloatArray:
        """[F] what each sequence of the opponent's forest gets outside the region.

        The player plays the blueprint there, and the opponent's best response at
        infosets that do not meet the region does not depend on what happens inside
        (ZS21, section 4, items 1 and 2), so everything at or below a sequence minus
        what is inside remains.
        """
        inside = self.inside(region)
        size = np.abs(inside)
        of_decisions = self.value[region.decisions]
        np.add.at(inside, region.decision_parent, of_decisions)
        np.add.at(size, region.decision_parent, np.abs(of_decisions))
        total = np.concatenate(
            [self.value[region.roots], self.sequence_value[region.forest_sequence]]
        )
        # Where nothing is outside, only rounding is left.
        return only_rounding(total - inside, size + np.abs(total))

    def change(self, region: Region, behavior: FloatArray, above: bool = False) -> Change:
        """What playing `behavior` inside a region would change.

        Args:
          region: the region.
          behavior: [S of the region] behaviour probabilities.
          above: whether opponent infosets above the region's roots are kept right
            too. Only gifts, and other regions, look there.
        """
        tree, me, other = self.index.tree, self.index.player, self.index.opponent
        theirs = tree.infosets[other]
        sequences = region.sequences[1:]
        entry = self.plan[region.entry[1:]]
        plan = entry * region.treeplex.realization_plan(behavior)[1:]

        touched = region.opponent_infosets
        before = self.apply(_only_plan(sequences, behavior[1:], plan))
        new_leaves = self.leaf_payoffs(region)
        new_reach = self.plan[tree.sequence[me, region.nodes]]
        self.apply(before)
        leaf_difference = new_leaves - self.leaf_payoffs(region)

        values = self.value[touched].copy()
        sequence_values = self.sequence_value[region.forest_sequence].copy()
        num_roots = region.num_roots
        in_forest = sum_at(region.leaf_column, leaf_difference, region.num_forest_sequences)
        decision_difference = np.zeros(len(region.decisions))
        depth = self.index.other.depth[region.decisions]
        counts = theirs.num_actions[region.decisions]
        for d in np.unique(depth)[::-1]:
            level = np.flatnonzero(depth == d)
            starts = np.cumsum(counts[level]) - counts[level]
            first = region.decision_first[level] - num_roots
            slots = ranges(first, first + counts[level])
            sequence_values[slots] += in_forest[slots + num_roots]
            least = np.minimum.reduceat(sequence_values[slots], starts)
            decision_difference[level] = least - self.value[region.decisions[level]]
            np.add.at(in_forest, region.decision_parent[level], decision_difference[level])

        # Infosets at which the opponent does not move pass differences up to the one above.
        current = np.concatenate([tree.infoset[other, region.leaves], region.decisions])
        difference = np.concatenate([leaf_difference, decision_difference])
        is_decision = theirs.num_actions > 0
        while len(current):
            slot = np.searchsorted(touched, current)
            np.add.at(values, slot, difference)
            next_up = theirs.parent[current]
            goes_on = (next_up != NO_INFOSET) & ~is_decision[next_up]
            slot = np.minimum(np.searchsorted(touched, next_up), len(touched) - 1)
            goes_on &= touched[slot] == next_up
            current, difference = next_up[goes_on], difference[goes_on]

        reach = self.reach[touched].copy()
        enters = self._enters[region.nodes]
        nodes = region.nodes[enters]
        moved = new_reach[enters] - self.plan[tree.sequence[me, nodes]]
        np.add.at(
            reach,
            np.searchsorted(touched, tree.infoset[other, nodes]),
            tree.chance_reach[nodes] * moved,
        )
        change = Change(
            sequences=sequences,
            behavior=behavior[1:],
            plan=plan,
            infosets=touched,
            values=values,
            reach=reach,
            opponent_sequences=region.forest_sequence,
            opponent_values=sequence_values,
        )
        if not above:
            return change
        at_roots = values[np.searchsorted(touched, region.roots)] - self.value[region.roots]
        return self._passed_above(change, region.roots, at_roots)

    def _passed_above(self, change: Change, infosets: IntArray, difference: FloatArray) -> Change:
        """Adds to a change what follows above infosets whose values differ."""
        theirs = self.index.tree.infosets[self.index.opponent]
        depth = self.index.other.depth
        new_values: dict[int, float] = {}
        new_sequence_values: dict[int, float] = {}
        waiting: dict[int, float] = {}
        for infoset, moved in zip(infosets.tolist(), difference.tolist(), strict=True):
            waiting[infoset] = waiting.get(infoset, 0.0) + moved
        while waiting:
            # Deepest first, so that all differences below an infoset have arrived.
            infoset = max(waiting, key=depth.__getitem__)
            moved = waiting.pop(infoset)
            above = int(theirs.parent[infoset])
            if above == NO_INFOSET or moved == 0.0:
                continue
            if theirs.num_actions[above] > 0:
                sequence = int(theirs.parent_sequence[infoset])
                old = new_sequence_values.get(sequence, self.sequence_value[sequence])
                new_sequence_values[sequence] = old + moved
                least = min(
                    new_sequence_values.get(s, self.sequence_value[s])
                    for s in range(*theirs.sequences(above).indices(theirs.num_sequences))
                )
                moved = least - new_values.get(above, self.value[above])
                new_values[above] = least
            else:
                new_values[above] = new_values.get(above, self.value[above]) + moved
            waiting[above] = waiting.get(above, 0.0) + moved
        extra = np.fromiter(new_values, dtype=np.int32, count=len(new_values))
        extra_sequences = np.fromiter(new_sequence_values, dtype=np.int32)
        return dataclasses.replace(
            change,
            infosets=np.concatenate([change.infosets, extra]),
            values=np.concatenate([change.values, list(new_values.values())]),
            reach=np.concatenate([change.reach, self.reach[extra]]),
            opponent_sequences=np.concatenate([change.opponent_sequences, extra_sequences]),
            opponent_values=np.concatenate(
                [change.opponent_values, list(new_sequence_values.values())]
            ),
        )

    def apply(self, change: Change) -> Change:
        """Overwrites entries; returns the change that takes it back."""
        back = dataclasses.replace(
            change,
            behavior=self.behavior[change.sequences],
            plan=self.plan[change.sequences],
            values=self.value[change.infosets],
            reach=self.reach[change.infosets],
            opponent_values=self.sequence_value[change.opponent_sequences],
        )
        self.behavior[change.sequences] = change.behavior
        self.plan[change.sequences] = change.plan
        self.value[change.infosets] = change.values
        self.reach[change.infosets] = change.reach
        self.sequence_value[change.opponent_sequences] = change.opponent_values
        return back


def entering_nodes(tree: GameTree, player: int) -> BoolArray:
    """[N] whether a node is the first of its path in the player's infoset."""
    infoset = tree.infoset[player]
    enters = np.ones(tree.num_nodes, dtype=np.bool_)
    below = tree.parent != NO_PARENT
    enters[below] = infoset[below] != infoset[tree.parent[below]]
    return enters


def _only_plan(sequences: IntArray, behavior: FloatArray, plan: FloatArray) -> Change:
    none, nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
    return Change(sequences, behavior, plan, none, nothing, nothing, none, nothing)
