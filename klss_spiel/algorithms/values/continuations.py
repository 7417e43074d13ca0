"""Multi-valued states: depth-limited solving with continuation strategies.

Brown, Sandholm and Amos 2018, "Depth-Limited Solving for Imperfect-Information
Games" (and section 5.4 of "Value Functions for Depth-Limited Solving"): the own play
below the border is fixed to a blueprint, and at each of his border infosets the opponent
chooses one of a few continuations. Instead of a value a border node thus has one value for
each continuation, and the game that is left is a small one:

    own treeplex        the trunk
    opponent's treeplex the trunk, and below it one infoset with K actions per border
                        infoset J
    payoff of (own sequence at h, continuation k at J) = chance(h) v(h; blueprint, k)

for all border nodes h. With all pure continuations this is the game with the own bottoms
fixed; with K = 1 both players' bottoms are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from klss_spiel.algorithms.values.border import NO_SEQUENCE, Border
from klss_spiel.algorithms.values.optimal import history_values
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.best_response import best_response
from klss_spiel.linear_program import LinearSolver
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import (
    SequenceForm,
    Treeplex,
    make_sequence_form,
    sequence_form_from_tree,
)
from klss_spiel.tree import PLAYERS


@dataclasses.dataclass(frozen=True, eq=False)
class MultiValuedStates:
    """A trunk whose border nodes have one value per continuation of the opponent.

    Attributes:
      border: the border.
      player: who solves; the opponent chooses continuations.
      blueprint: [S of the bottoms] the player's behaviour below the border.
      continuations: each [S of the opponent's bottoms], a behaviour below the border.
      form: the game that is left.
    """

    border: Border
    player: int
    blueprint: FloatArray
    continuations: tuple[FloatArray, ...]
    form: SequenceForm


@dataclasses.dataclass(frozen=True, eq=False)
class DepthLimitedSolution:
    """The solving player's trunk strategy.

    Attributes:
      states: what was solved.
      value: the player's own payoff if the opponent had only the continuations.
      trunk: [S of the trunk] behaviour probabilities.
    """

    states: MultiValuedStates
    value: float
    trunk: FloatArray

    def strategy(self) -> FloatArray:
        """[S of the tree] the player's behaviour: the trunk, then the blueprint."""
        border, player = self.states.border, self.states.player
        behaviors = [
            [part.form.treeplexes[p].uniform() for p in PLAYERS]
            for part in (border.trunk_part, border.bottom_part)
        ]
        behaviors[0][player] = self.trunk
        behaviors[1][player] = self.states.blueprint
        trunk, bottoms = behaviors
        joined = border.join((trunk[0], trunk[1]), (bottoms[0], bottoms[1]))
        return joined.probabilities[player]


def multi_valued_states(
    border: Border, player: int, blueprint: FloatArray, continuations: Sequence[FloatArray]
) -> MultiValuedStates:
    """Prepares depth-limited solving with given continuations.

    Args:
      border: the border.
      player: who solves.
      blueprint: [S of the bottoms] how the player goes on below the border.
      continuations: at least one, each [S of the opponent's bottoms].
    """
    if not continuations:
        raise ValueError("expected at least one continuation of the opponent, got none")
    other = 1 - player
    for p, behavior in ((player, blueprint), *((other, c) for c in continuations)):
        size = border.bottom_part.form.treeplexes[p].num_sequences
        if behavior.shape != (size,):
            raise ValueError(
                f"expected {size} probabilities of player {p} below the border, got an array of "
                f"shape {behavior.shape}"
            )
    count = len(continuations)
    treeplex, first = with_choices(
        border.trunk_part.form.treeplexes[other], border.trunk_sequence[other], count
    )
    entries = border.trunk_part.form
    rows, columns, values = [entries.row], [entries.column], [entries.value]
    own = border.trunk_sequence[player][border.node_infoset[player]]
    for k, continuation in enumerate(continuations):
        pair = (blueprint, continuation) if player == 0 else (continuation, blueprint)
        chosen = first[border.node_infoset[other]] + k
        rows.append(own if player == 0 else chosen)
        columns.append(chosen if player == 0 else own)
        values.append(border.chance_reach * history_values(border, pair))
    pair_of_trees = [border.trunk_part.form.treeplexes[player], treeplex]
    form = make_sequence_form(
        (pair_of_trees[player], pair_of_trees[1 - player]),
        np.concatenate(rows),
        np.concatenate(columns),
        np.concatenate(values),
    )
    return MultiValuedStates(border, player, blueprint, tuple(continuations), form)


def solve_depth_limited(
    states: MultiValuedStates, solver: LinearSolver | None = None
) -> DepthLimitedSolution:
    """The player's optimal trunk strategy in the game that is left, by linear programming."""
    solution = (solver or LinearSolver()).solve(states.form, states.player)
    return DepthLimitedSolution(states, solution.value, solution.behavior)


def self_generated(
    border: Border, player: int, blueprint: BehaviorPolicy, count: int
) -> tuple[FloatArray, ...]:
    """Continuations of the opponent found by playing against them.

    Starts from the blueprint's own; then, again and again, the trunk is solved and the
    opponent's best response to trunk and blueprint gives the next continuation.

    Args:
      border: the border.
      player: who solves.
      blueprint: strategies of both players.
      count: number of continuations, at least 1.
    """
    if count < 1:
        raise ValueError(f"expected a number of continuations of at least 1, got {count}")
    other = 1 - player
    form = sequence_form_from_tree(border.tree)
    bottoms = border.bottoms_of(blueprint)
    continuations = [bottoms[other]]
    solver = LinearSolver()
    while len(continuations) < count:
        states = multi_valued_states(border, player, bottoms[player], continuations)
        strategy = solve_depth_limited(states, solver).strategy()
        plan = form.treeplexes[player].realization_plan(strategy)
        answer = best_response(form.treeplexes[other], form.gradient(other, plan)).behavior
        continuations.append(border.bottoms_of(blueprint.replace(other, answer))[other])
    return tuple(continuations)


def biased(
    border: Border,
    player: int,
    blueprint: BehaviorPolicy,
    actions: Sequence[int],
    factor: float = 10.0,
) -> tuple[FloatArray, ...]:
    """The opponent's blueprint, and the same with one action at a time made more likely.

    Args:
      border: the border.
      player: who solves.
      blueprint: strategies of both players.
      actions: OpenSpiel actions (in poker fold, call, raise) to prefer in turn.
      factor: what their probabilities are multiplied with before normalising.
    """
    other = 1 - player
    plain = border.bottoms_of(blueprint)[other]
    return (plain, *(_prefer(border, other, plain, action, factor) for action in actions))


def pure_continuations(border: Border, player: int, limit: int = 4096) -> tuple[FloatArray, ...]:
    """All pure continuations of the opponent below one border infoset at a time.

    A continuation's choices at different border infosets are independent, so it takes only
    as many as the border infoset with the most.

    Raises:
      ValueError: there are more than `limit`.
    """
    other = 1 - player
    treeplex = border.bottom_part.form.treeplexes[other]
    decisions: list[list[int]] = [[] for _ in range(border.sizes[other])]
    for i in range(border.sizes[other], treeplex.num_infosets):
        decisions[border.bottom_root[other][treeplex.first_sequence[i]]].append(i)
    counts = [
        int(np.prod([int(treeplex.num_actions[i]) for i in below], dtype=object))
        for below in decisions
    ]
    if max(counts) > limit:
        raise ValueError(
            f"expected at most {limit} pure continuations, got {max(counts)} at a border infoset"
        )
    found = []
    for number in range(max(counts)):
        behavior = np.zeros(treeplex.num_sequences)
        behavior[: 1 + border.sizes[other]] = 1.0
        for below in decisions:
            rest = number
            for i in below:
                rest, chosen = divmod(rest, int(treeplex.num_actions[i]))
                behavior[treeplex.first_sequence[i] + chosen] = 1.0
        found.append(behavior)
    return tuple(found)


def with_choices(trunk: Treeplex, parents: IntArray, count: int) -> tuple[Treeplex, IntArray]:
    """A treeplex with one more infoset of `count` actions after each of some sequences.

    Returns:
      The treeplex, and the first sequence of each new infoset.
    """
    first = trunk.num_sequences + count * np.arange(len(parents))
    treeplex = Treeplex(
        parent_sequence=np.concatenate([trunk.parent_sequence, parents]).astype(np.int32),
        first_sequence=np.concatenate([trunk.first_sequence, first]).astype(np.int32),
        num_actions=np.concatenate([trunk.num_actions, np.full(len(parents), count)]).astype(
            np.int32
        ),
        num_sequences=trunk.num_sequences + count * len(parents),
    )
    return treeplex, first.astype(np.int32)


def _prefer(
    border: Border,
    player: int,
    behavior: FloatArray,
    action: int,
    factor: float,
) -> FloatArray:
    """A behaviour below the border with one action's probabilities multiplied."""
    treeplex = border.bottom_part.form.treeplexes[player]
    back = border.bottom_part.sequences[player]
    actions = border.tree.infosets[player].sequence_action[back]
    boosted = (back != NO_SEQUENCE) & (actions == action)
    if not np.any(boosted):
        raise ValueError(f"action {action} is never legal for player {player} below the border")
    weights = behavior * np.where(boosted, factor, 1.0)
    sums = treeplex.infoset_sums(weights)
    weights[1:] /= sums[treeplex.sequence_infoset[1:]]
    weights[0] = 1.0
    return weights
