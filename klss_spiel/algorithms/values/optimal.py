"""Exact optimal values at a border, by linear programming, for any ranges.

What is wanted is an element of CROS, the strategies below the border that are
compatible with the ranges and optimal at every border infoset, also at those that
nobody plays to (definition 6 of "Value Functions for Depth-Limited Solving"), and the
values it has (definition 8).

With fully mixed ranges every equilibrium of the bottoms is one (lemma 7). Where ranges
are zero, optimality at an infoset means optimality in the limit of vanishing noise
(`ranges`). There only the histories with the fewest trembles of the opponent matter to
an infoset's owner, and a history may matter to one player and not to the other. Let a
history's level be the number of both players' trembles to it and an infoset's level
the least one of its histories: a history matters to exactly those of its two infosets
that share its level. So CROS is found level by level: the infosets of one level play a
zero-sum game with positive weights on the histories of that level, against opponents
of lower levels whose strategies are fixed already. Every level is one ordinary
equilibrium program.

(One program with a second objective for the zero ranges is not enough where histories
need different numbers of trembles: it answers those of two trembles as much as those of
one. With a single own decision in the trunk, as in Kuhn poker or chess cut after two
plies, that cannot happen; in Leduc poker after the first round it can, and values then
differ by up to a tenth.)
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.algorithms.values.border import NOT_BELOW, Border
from klss_spiel.algorithms.values.policy_values import PolicyValues
from klss_spiel.algorithms.values.ranges import Ranges
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, sum_at
from klss_spiel.best_response import best_response
from klss_spiel.linear_program import LinearSolver, TieBreak
from klss_spiel.sequence_form import SequenceForm, make_sequence_form
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS


@dataclasses.dataclass(frozen=True, eq=False)
class OptimalValues:
    """Values of one optimal continuation.

    Attributes:
      ranges: the ranges it is optimal for.
      counterfactual: for each player, [J] counterfactual value of each border infoset
        (weighted with the reach of chance and the opponent).
      expected: for each player, [J] expected value given the border infoset; as a
        limit where the opponent does not play there.
      behaviors: for each player, [S of the bottoms] the behaviour of the continuation.
    """

    ranges: Ranges
    counterfactual: tuple[FloatArray, FloatArray]
    expected: tuple[FloatArray, FloatArray]
    behaviors: tuple[FloatArray, FloatArray]

    @property
    def value(self) -> float:
        """Player 0's payoff from the border on: sum of range times value."""
        return float(self.ranges.reach[0] @ self.counterfactual[0])

    def imbalance(self) -> FloatArray:
        """[P] sum of range times value over both players; 0 for optimal values.

        This is proposition 9's condition in numbers: the continuation is an equilibrium
        of each bottom exactly if what both players can get there sums to zero.
        """
        border = self.ranges.border
        sums = np.zeros(border.num_public_states)
        for p in PLAYERS:
            terms = self.ranges.reach[p] * self.counterfactual[p]
            sums += sum_at(border.infoset_public_state[p], terms, border.num_public_states)
        return sums


def optimal_values(
    border: Border, ranges: Ranges, solver: LinearSolver | None = None
) -> OptimalValues:
    """Optimal values at a border for any ranges, and a continuation that has them.

    Args:
      border: the border.
      ranges: how the players come there; zeros are welcome.
      solver: a solver to reuse.
    """
    _check_border(border, ranges)
    solver = solver or LinearSolver()
    levels = _levels(ranges)
    behaviors = [border.bottom_part.form.treeplexes[p].uniform() for p in PLAYERS]
    fixed = [np.zeros(border.sizes[p], dtype=np.bool_) for p in PLAYERS]
    for level in np.unique(np.concatenate(levels.of_infoset)):
        form = _level_form(border, ranges, levels, int(level), behaviors, fixed)
        for p in PLAYERS:
            solution = solver.solve(form, p)
            here = levels.of_infoset[p] == level
            chosen = _below(border, p, here)
            behaviors[p][chosen] = solution.behavior[chosen]
        for p in PLAYERS:
            fixed[p] |= levels.of_infoset[p] == level
    return values_against(border, ranges, (behaviors[0], behaviors[1]))


def values_against(
    border: Border, ranges: Ranges, behaviors: tuple[FloatArray, FloatArray]
) -> OptimalValues:
    """What each player can get at the border against the other's behaviour below it.

    The counterfactual best response values, which are optimal values if the behaviours
    are optimal.

    Args:
      border: the border.
      ranges: how the players come there.
      behaviors: for each player, [S of the bottoms] behaviour probabilities.
    """
    _check_border(border, ranges)
    counterfactual, expected = [], []
    for p in PLAYERS:
        other = 1 - p
        counterfactual.append(
            _best_values(border, p, border.root_plan(other, behaviors[other], ranges.reach[other]))
        )
        coefficients, trembles = ranges.leading_reach(p)
        totals = sum_at(border.node_infoset[p], coefficients, border.sizes[p])
        of_player = np.zeros(border.sizes[p])
        for least in np.unique(trembles):
            root = np.where(ranges.order[other] == least, ranges.weight[other], 0.0)
            root /= root.max(initial=np.finfo(np.float64).tiny)
            values = _best_values(border, p, border.root_plan(other, behaviors[other], root))
            scale = np.max(ranges.weight[other][ranges.order[other] == least])
            here = trembles == least
            of_player[here] = values[here] * (scale / totals[here])
        expected.append(of_player)
    return OptimalValues(
        ranges, (counterfactual[0], counterfactual[1]), (expected[0], expected[1]), behaviors
    )


def root_regret(
    border: Border, ranges: Ranges, behaviors: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """For each player, [J] what better play from a border infoset on would gain there.

    In expected value, with limits at infosets that are not played to: zero everywhere
    exactly if the behaviours are in CROS (definition 6).
    """
    best = values_against(border, ranges, behaviors).expected
    gains = []
    for p in PLAYERS:
        coefficients, _ = ranges.leading_reach(p)
        totals = sum_at(border.node_infoset[p], coefficients, border.sizes[p])
        of_node = history_values(border, behaviors) * (1.0 if p == 0 else -1.0)
        own = sum_at(border.node_infoset[p], coefficients * of_node, border.sizes[p]) / totals
        gains.append(best[p] - own)
    return gains[0], gains[1]


def history_values(border: Border, behaviors: tuple[FloatArray, FloatArray]) -> FloatArray:
    """[B] player 0's expected payoff from each border node on.

    Args:
      border: the border.
      behaviors: for each player, [S of the bottoms] behaviour probabilities.
    """
    uniform = tuple(border.trunk_part.form.treeplexes[p].uniform() for p in PLAYERS)
    policy = border.join((uniform[0], uniform[1]), behaviors)
    values: FloatArray = PolicyValues(policy).history(0)[border.nodes]
    return values


def infoset_interval(
    border: Border, ranges: Ranges, player: int, infoset: int, solver: LinearSolver | None = None
) -> tuple[float, float]:
    """The least and the largest optimal expected value of a border infoset.

    The infoset's value depends on the opponent's strategy alone (proposition 11), whose
    optima are the optimal face of his program; so both ends are linear programs.

    Raises:
      ValueError: the infoset's game is played against infosets of fewer trembles, where
        the set of values need not be convex and is no interval (proposition 10 fails
        at zero ranges).
    """
    _check_border(border, ranges)
    solver = solver or LinearSolver()
    levels = _levels(ranges)
    form = _free_level_form(border, ranges, levels, player, infoset)
    other = 1 - player
    own_weight = np.zeros(form.treeplexes[player].num_infosets)
    own_weight[infoset] = 1.0
    coefficients, _ = ranges.leading_reach(player)
    total = coefficients[border.node_infoset[player] == infoset].sum()
    scale = _normalized_weights(border, ranges)
    opponents = border.node_infoset[other][
        (border.node_infoset[player] == infoset) & (coefficients > 0.0)
    ]
    # What one unit of the opponent's normalized weight stands for.
    unit = ranges.weight[other][opponents[0]] / scale[other][opponents[0]]
    own_unit = scale[player][infoset]

    def value_at(tie_break: TieBreak) -> float:
        solution = solver.solve(form, other, tie_break=tie_break)
        # The opponent's payoff; the sum turns a negative zero into zero.
        return float(0.0 - solution.opponent_infoset_values[infoset] * unit / (own_unit * total))

    # The total is constant on the optimal face, so little here is much elsewhere.
    elsewhere = np.zeros_like(own_weight)
    roots = np.flatnonzero(form.treeplexes[player].parent_sequence == EMPTY_SEQUENCE)
    elsewhere[roots] = 1.0
    elsewhere[infoset] = 0.0
    own, opposing, payoff = form.entries(other)
    outside = sum_at(
        own[opposing == EMPTY_SEQUENCE],
        payoff[opposing == EMPTY_SEQUENCE],
        form.treeplexes[other].num_sequences,
    )
    least = value_at(TieBreak(value_weights=own_weight))
    most = value_at(TieBreak(plan_weights=outside, value_weights=elsewhere))
    return min(least, most), max(least, most)


def history_interval(
    border: Border,
    ranges: Ranges,
    node: int,
    rng: np.random.Generator,
    starts: int = 8,
    solver: LinearSolver | None = None,
) -> tuple[float, float]:
    """Least and largest value found of a border node (0 to B - 1) for player 0.

    A history's value is bilinear in the two players' optimal continuations. Its extremes
    are searched by improving one player's continuation at a time from random optimal
    ones; each step is a linear program. Exact where only one player has a choice, an
    inner estimate otherwise. For nodes that both players play to.
    """
    _check_border(border, ranges)
    levels = _levels(ranges)
    if levels.of_node[node]:
        raise ValueError(
            f"expected a border node that both players play to, got node {node} with range 0"
        )
    solver = solver or LinearSolver()
    form = _level_form(border, ranges, levels, 0, _uniform(border), _nothing_fixed(border))
    tree, treeplexes = border.tree, form.treeplexes
    below = np.flatnonzero((border.root == node) & (tree.num_children == 0))
    sequences = [bottom_sequences(border, p, below) for p in PLAYERS]
    payoff = (tree.chance_reach[below] / border.chance_reach[node]) * tree.utility[below]
    found = []
    for sign in (1.0, -1.0):
        best = -np.inf
        for _ in range(starts):
            plans = [
                solver.solve(form, p, tie_break=TieBreak.random(treeplexes[p], rng)).plan
                for p in PLAYERS
            ]
            value = -np.inf
            while True:
                for p in PLAYERS:
                    terms = sign * payoff * plans[1 - p][sequences[1 - p]]
                    weights = sum_at(sequences[p], terms, treeplexes[p].num_sequences)
                    plans[p] = solver.solve(form, p, tie_break=TieBreak(weights)).plan
                better = sign * float(payoff @ (plans[0][sequences[0]] * plans[1][sequences[1]]))
                if better <= value + 1e-9:
                    break
                value = better
            best = max(best, value)
        found.append(sign * best)
    return found[1], found[0]


@dataclasses.dataclass(frozen=True, eq=False)
class _Levels:
    """Trembles to histories and to infosets: [B], and for each player [J]."""

    of_node: IntArray
    of_infoset: tuple[IntArray, IntArray]


def _levels(ranges: Ranges) -> _Levels:
    border = ranges.border
    of_node = np.zeros(len(border.nodes), dtype=np.int32)
    for p in PLAYERS:
        of_node += ranges.order[p][border.node_infoset[p]]
    of_infoset = []
    for p in PLAYERS:
        least = np.full(border.sizes[p], np.iinfo(np.int32).max, dtype=np.int32)
        np.minimum.at(least, border.node_infoset[p], of_node)
        of_infoset.append(least)
    return _Levels(of_node, (of_infoset[0], of_infoset[1]))


def _normalized_weights(border: Border, ranges: Ranges) -> tuple[FloatArray, FloatArray]:
    """For each player, [J] weights whose maximum is 1 in each public state and order.

    A common factor of all infosets that matter to one infoset changes nothing there,
    and the solver's tolerances are absolute.
    """
    scaled = []
    for p in PLAYERS:
        group = ranges.order[p] * border.num_public_states + border.infoset_public_state[p]
        largest = np.zeros(int(group.max()) + 1)
        np.maximum.at(largest, group, ranges.weight[p])
        scaled.append(ranges.weight[p] / largest[group])
    return scaled[0], scaled[1]


def _level_form(
    border: Border,
    ranges: Ranges,
    levels: _Levels,
    level: int,
    behaviors: list[FloatArray],
    fixed: list[BoolArray],
) -> SequenceForm:
    """The game of one level: infosets of lower levels follow their fixed behaviours."""
    form = border.bottom_part.form
    weights = _normalized_weights(border, ranges)
    sequences = [form.row, form.column]
    value = form.value.copy()
    entry_level = np.zeros(form.num_entries, dtype=np.int32)
    places = []
    is_fixed = []
    for p in PLAYERS:
        root = border.bottom_root[p][sequences[p]]
        entry_level += ranges.order[p][root]
        value *= weights[p][root]
        plan = border.root_plan(p, behaviors[p], np.ones(border.sizes[p]))
        value *= np.where(fixed[p][root], plan[sequences[p]], 1.0)
        places.append(np.where(fixed[p][root], EMPTY_SEQUENCE, sequences[p]))
        is_fixed.append(fixed[p][root])
    keep = (entry_level == level) & ~(is_fixed[0] & is_fixed[1])
    return make_sequence_form(form.treeplexes, places[0][keep], places[1][keep], value[keep])


def _free_level_form(
    border: Border, ranges: Ranges, levels: _Levels, player: int, infoset: int
) -> SequenceForm:
    """The level game of an infoset, if it is played against nobody who is fixed."""
    level = int(levels.of_infoset[player][infoset])
    same_state = border.public_state == border.infoset_public_state[player][infoset]
    at_level = same_state & (levels.of_node == level)
    for p in PLAYERS:
        if np.any(levels.of_infoset[p][border.node_infoset[p][at_level]] < level):
            raise ValueError(
                f"expected ranges under which infoset {infoset} of player {player} meets only "
                "infosets of as many trembles: its optimal values need not form an interval"
            )
    fixed = [levels.of_infoset[p] < level for p in PLAYERS]
    return _level_form(border, ranges, levels, level, _uniform(border), fixed)


def _uniform(border: Border) -> list[FloatArray]:
    return [border.bottom_part.form.treeplexes[p].uniform() for p in PLAYERS]


def _nothing_fixed(border: Border) -> list[BoolArray]:
    return [np.zeros(border.sizes[p], dtype=np.bool_) for p in PLAYERS]


def _below(border: Border, player: int, infosets: BoolArray) -> IntArray:
    """The sequences below the marked border infosets ([J])."""
    root = border.bottom_root[player]
    inside = (root != NOT_BELOW) & infosets[root]
    return np.flatnonzero(inside).astype(np.int32)


def bottom_sequences(border: Border, player: int, nodes: IntArray) -> IntArray:
    """The player's sequence in the bottoms at some nodes below the border."""
    inner = border.bottom_part.own_sequence[player][border.tree.sequence[player, nodes]]
    outer = 1 + border.node_infoset[player, border.root[nodes]]
    return np.asarray(np.where(inner == NOT_BELOW, outer, inner))


def _best_values(border: Border, player: int, opponent_plan: FloatArray) -> FloatArray:
    """[J] the player's best value at each border infoset against a plan of the opponent."""
    form = border.bottom_part.form
    best = best_response(form.treeplexes[player], form.gradient(player, opponent_plan))
    values: FloatArray = best.infoset_values[: border.sizes[player]]
    return values


def _check_border(border: Border, ranges: Ranges) -> None:
    if ranges.border is not border:
        raise ValueError(f"expected ranges at this border {border}, got some of {ranges.border}")
