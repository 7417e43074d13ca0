"""Continual re-solving: playing on from a border with little to remember.

Moravcik et al. 2017 (DeepStack); Burch, Johanson and Bowling 2014. A game is cut by one
or more borders. The trunk is solved by CFR with a value function at the first border.
What is kept for the rest of the game is the player's own range there and, for every
border infoset of the opponent, an *alternate value*: the counterfactual value that the
opponent had there on average, each iteration weighing as much as in the average strategy.
Below the border the player re-solves a gadget game in which the opponent may decline to
enter at an infoset and take the alternate value; so the opponent gets no more than that,
as far as possible, and the whole strategy loses at most what a best response in the trunk
that is paid the alternate values would win. The gadgets are those of subgame solving with a
blueprint, whose values are replaced by these averages:

    RESOLVE    at each infoset the opponent takes the alternate value or enters
    MAXMARGIN  the opponent picks where to enter, and is paid what exceeds the alternate value
               there (Moravcik et al. 2016)

With another border below, the gadget game is itself a trunk and the same goes on.

With exact values the alternate values can be met: the average of the continuations in all
iterations does, since the maximum of an average is at most the average of maxima.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.values.border import NO_SEQUENCE, NOT_BELOW, Border
from klss_spiel.algorithms.values.bottoms import sequences_to
from klss_spiel.algorithms.values.depth_limited import solve_trunk
from klss_spiel.algorithms.values.optimal import bottom_sequences
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, sum_at
from klss_spiel.best_response import best_response
from klss_spiel.linear_program import LinearSolver
from klss_spiel.search_game import ValueFunction
from klss_spiel.sequence_form import (
    SequenceForm,
    Treeplex,
    make_sequence_form,
    treeplex_from_tree,
)
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, TERMINAL

MakeValues = Callable[[Border], ValueFunction]


class Gadget(enum.Enum):
    """What the opponent may choose where a re-solved game begins."""

    RESOLVE = "resolve"
    MAXMARGIN = "maxmargin"


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """What continual re-solving remembers at a border.

    Attributes:
      border: the border.
      player: who re-solves.
      own_range: [b] the player's own reach of each own border infoset.
      alternate: [b of the opponent] the opponent's average counterfactual values.
    """

    border: Border
    player: int
    own_range: FloatArray
    alternate: FloatArray


class AveragedValues:
    """A value function that keeps the average of its answers as CFR averages. Mutable.

    In an alternating iteration the question before player 0's update is the one whose
    ranges enter both players' averages; the other is not counted.
    """

    def __init__(self, values: ValueFunction, averaging: int, alternating: bool) -> None:
        """Wraps a value function; `averaging` and `alternating` as in `cfr.solve`."""
        self._values = values
        self._averaging = averaging
        self._questions_each = 2 if alternating else 1
        self._asked = 0
        self._total = 0.0
        self._sums: list[Any] = [0.0, 0.0]

    def __call__(self, ranges: tuple[Any, Any]) -> tuple[Any, Any]:
        """The wrapped function's values."""
        found = self._values(ranges)
        if self._asked % self._questions_each == 0:
            weight = float(1 + self._asked // self._questions_each) ** self._averaging
            self._total += weight
            for p in PLAYERS:
                self._sums[p] = self._sums[p] + weight * np.asarray(found[p], np.float64)
        self._asked += 1
        return found

    def average(self, player: int) -> FloatArray:
        """[b] the player's average values so far."""
        if not self._total:
            raise ValueError("expected a value function that was asked, got one that was not")
        return np.asarray(self._sums[player] / self._total)


@dataclasses.dataclass(frozen=True, eq=False)
class Solved:
    """A player's strategy between two borders.

    Attributes:
      behavior: [S of the tree] the player's behaviour there; 1 elsewhere.
      decided: [S of the tree] for which sequences.
      carried: what goes on to the next border; None at the end of the game.
    """

    behavior: FloatArray
    decided: BoolArray
    carried: Carried | None


def solve_first(
    border: Border, player: int, values: ValueFunction, iterations: int, averaging: int = cfr.LINEAR
) -> Solved:
    """Solves the trunk and says what to carry below it.

    Args:
      border: the first border.
      player: who will re-solve.
      values: the value function there.
      iterations: of CFR.
      averaging: UNIFORM, LINEAR or QUADRATIC.
    """
    averaged = AveragedValues(values, averaging, alternating=True)
    solution = solve_trunk(border, averaged, iterations, averaging=averaging)
    behavior, decided = _spread(border, player, border.trunk_part.sequences[player])
    behavior[decided] = solution.average_behavior[player][1:]
    own_range = solution.average[player][border.trunk_sequence[player]]
    carried = Carried(border, player, own_range, averaged.average(1 - player))
    return Solved(behavior, decided, carried)


def solve_next(
    carried: Carried,
    gadget: Gadget = Gadget.RESOLVE,
    deeper: tuple[Border, ValueFunction] | None = None,
    iterations: int = 0,
    public_state: int | None = None,
    solver: LinearSolver | None = None,
) -> Solved:
    """Re-solves what lies below a border.

    Args:
      carried: what is remembered there.
      gadget: what the opponent may choose.
      deeper: the next border and the value function there, for CFR; None to solve to the end
        of the game, exactly, by linear programming.
      iterations: of CFR, if there is a next border.
      public_state: only this one is solved; None for all, which are independent.
      solver: a solver to reuse.
    """
    border, player = carried.border, carried.player
    game = _gadget_game(carried, gadget, None if deeper is None else deeper[0], public_state)
    if deeper is None:
        found = (solver or LinearSolver()).solve(game.form, player).behavior
        return _solved(border, player, found, game.own_states, None)
    below, values = deeper
    shifted = _GadgetValues(values, player, game.own_weight, game.entered)
    averaged = AveragedValues(shifted, cfr.LINEAR, alternating=True)
    solution = cfr.solve(
        game.form, iterations, border=game.deeper, values=averaged, averaging=cfr.LINEAR
    )
    own_range = solution.average[player][game.deeper[player]] * game.own_weight
    # Values of the opponent were passed on as they are; those of other public states are 0.
    next_carried = Carried(below, player, own_range, averaged.average(1 - player))
    return _solved(border, player, solution.average_behavior[player], game.own_states, next_carried)


def continual_resolving(
    borders: Sequence[Border],
    player: int,
    make_values: MakeValues,
    iterations: int,
    gadget: Gadget = Gadget.RESOLVE,
) -> FloatArray:
    """[S of the tree] what a player who re-solves at each border plays in the whole game.

    Args:
      borders: of one tree, each below the one before; at least one.
      player: who re-solves.
      make_values: makes the value function at a border.
      iterations: of CFR in each solve that ends at a border.
      gadget: of the re-solved games.
    """
    if not borders:
        raise ValueError("expected at least one border, got none")
    stages = [solve_first(borders[0], player, make_values(borders[0]), iterations)]
    for deeper in (*borders[1:], None):
        carried = stages[-1].carried
        assert carried is not None
        below = None if deeper is None else (deeper, make_values(deeper))
        stages.append(solve_next(carried, gadget, below, iterations))
    behavior = treeplex_from_tree(borders[0].tree, player).uniform()
    for stage in stages:
        behavior[stage.decided] = stage.behavior[stage.decided]
    return behavior


def opponent_values(carried: Carried, behavior: FloatArray) -> FloatArray:
    """[b of the opponent] what the opponent can get at most at each border infoset.

    Args:
      carried: own range at the border.
      behavior: [S of the tree] the player's behaviour.
    """
    border, player = carried.border, carried.player
    below = border.bottom_part.sequences[player]
    own = np.where(below == NO_SEQUENCE, 1.0, behavior[below])
    form = border.bottom_part.form
    plan = border.root_plan(player, own, carried.own_range)
    gradient = form.gradient(1 - player, plan)
    best = best_response(form.treeplexes[1 - player], gradient)
    values: FloatArray = best.infoset_values[: border.sizes[1 - player]]
    return values


def exploitability_bound(carried: Carried, trunk: FloatArray, game_value: float) -> float:
    """What a best response wins that plays the trunk and is paid the alternate values.

    Args:
      carried: what is remembered at the border.
      trunk: [S of the tree] the player's behaviour in the trunk.
      game_value: the player's own value of the game.
    """
    border, player, other = carried.border, carried.player, 1 - carried.player
    form = border.trunk_part.form
    own = form.treeplexes[player].realization_plan(trunk[border.trunk_part.sequences[player]])
    gradient = form.gradient(other, own)
    gradient += sum_at(border.trunk_sequence[other], carried.alternate, len(gradient))
    return best_response(form.treeplexes[other], gradient).value + game_value


@dataclasses.dataclass(frozen=True, eq=False)
class _GadgetGame:
    """A re-solved game.

    Attributes:
      form: the game; the player's payoffs are weighted with the own range.
      own_states: [b] which own border infosets are played from.
      deeper: for each player, [b of the next border] the sequence that leads there.
      own_weight: [b of the next border] the own range above each own infoset there.
      entered: [b of the next border] 1 where the opponent's infoset is in the game.
    """

    form: SequenceForm
    own_states: BoolArray
    deeper: tuple[IntArray, IntArray]
    own_weight: FloatArray
    entered: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class _GadgetValues:
    """Asks a value function with true ranges, answers in the gadget game's units."""

    values: ValueFunction
    player: int
    own_weight: FloatArray
    entered: FloatArray

    def __call__(self, ranges: tuple[Any, Any]) -> tuple[Any, Any]:
        scales = [self.entered, self.entered]
        scales[self.player] = self.own_weight
        first, second = (ranges[p] * scales[p] for p in PLAYERS)
        found = list(self.values((first, second)))
        found[self.player] = found[self.player] * self.own_weight
        return found[0], found[1]


def _gadget_game(
    carried: Carried, gadget: Gadget, deeper: Border | None, public_state: int | None
) -> _GadgetGame:
    border, player, other = carried.border, carried.player, 1 - carried.player
    tree = border.tree
    inside = np.ones(border.num_public_states, dtype=np.bool_)
    if public_state is not None:
        inside[:] = False
        inside[public_state] = True
    entered = inside[border.infoset_public_state[other]]
    treeplex, number, entries = _with_gadget(
        border.bottom_part.form.treeplexes[other], border.sizes[other], gadget
    )
    leaf = (tree.player == TERMINAL) & (border.root != NOT_BELOW)
    if deeper is not None:
        leaf &= deeper.root == NOT_BELOW
    leaves = np.flatnonzero(leaf)
    leaves = leaves[inside[border.public_state[border.root[leaves]]]]
    own = bottom_sequences(border, player, leaves)
    opposing = number[bottom_sequences(border, other, leaves)]
    weight = carried.own_range[border.node_infoset[player, border.root[leaves]]]
    payoff = tree.chance_reach[leaves] * tree.utility[leaves] * weight
    # Entries are player 0's payoffs; the opponent is paid the alternate value, or loses it.
    sign = 1.0 if other == 0 else -1.0
    alternate = sign * carried.alternate[entered] * (-1.0 if gadget is Gadget.MAXMARGIN else 1.0)
    offered = entries[entered]
    own = np.concatenate([own, np.full(len(offered), EMPTY_SEQUENCE)])
    opposing = np.concatenate([opposing, offered])
    payoff = np.concatenate([payoff, alternate])
    own_tree = border.bottom_part.form.treeplexes[player]
    if player == 0:
        form = make_sequence_form((own_tree, treeplex), own, opposing, payoff)
    else:
        form = make_sequence_form((treeplex, own_tree), opposing, own, payoff)
    own_states = inside[border.infoset_public_state[player]]
    if deeper is None:
        nothing = np.zeros(0, dtype=np.int32)
        return _GadgetGame(form, own_states, (nothing, nothing), np.zeros(0), np.zeros(0))
    places = [sequences_to(border, deeper, p) for p in PLAYERS]
    own_weight = carried.own_range[border.bottom_root[player][places[player]]]
    own_weight = own_weight * own_states[border.bottom_root[player][places[player]]]
    is_entered = entered[border.bottom_root[other][places[other]]].astype(np.float64)
    places[other] = number[places[other]]
    return _GadgetGame(form, own_states, (places[0], places[1]), own_weight, is_entered)


def _with_gadget(
    treeplex: Treeplex, num_roots: int, gadget: Gadget
) -> tuple[Treeplex, IntArray, IntArray]:
    """The opponent's bottoms after the gadget's choices.

    Returns:
      The treeplex, [S] the new number of each sequence, and [b] the sequences that are paid
      the alternate values: declining (RESOLVE) or entering (MAXMARGIN).
    """
    number = np.arange(treeplex.num_sequences, dtype=np.int32)
    roots = np.arange(num_roots, dtype=np.int32)
    if gadget is Gadget.MAXMARGIN:
        # One infoset whose actions are the roots; they are numbered from 1 on already.
        changed = Treeplex(
            parent_sequence=np.concatenate([[0], treeplex.parent_sequence[num_roots:]]),
            first_sequence=np.concatenate([[1], treeplex.first_sequence[num_roots:]]),
            num_actions=np.concatenate([[num_roots], treeplex.num_actions[num_roots:]]),
            num_sequences=treeplex.num_sequences,
        )
        return _as_int32(changed), number, 1 + roots
    # Root j becomes two actions, 1 + 2j to enter and 2 + 2j to decline.
    number[1 : 1 + num_roots] = 1 + 2 * roots
    number[1 + num_roots :] += num_roots
    first = np.concatenate([1 + 2 * roots, treeplex.first_sequence[num_roots:] + num_roots])
    actions = np.concatenate([np.full(num_roots, 2), treeplex.num_actions[num_roots:]])
    changed = Treeplex(
        parent_sequence=number[treeplex.parent_sequence],
        first_sequence=first,
        num_actions=actions,
        num_sequences=treeplex.num_sequences + num_roots,
    )
    return _as_int32(changed), number, 2 + 2 * roots


def _as_int32(treeplex: Treeplex) -> Treeplex:
    return Treeplex(
        parent_sequence=treeplex.parent_sequence.astype(np.int32),
        first_sequence=treeplex.first_sequence.astype(np.int32),
        num_actions=treeplex.num_actions.astype(np.int32),
        num_sequences=treeplex.num_sequences,
    )


def _spread(border: Border, player: int, sequences: IntArray) -> tuple[FloatArray, BoolArray]:
    """A behaviour of the whole game to fill in, and where: at some of its sequences."""
    size = border.tree.infosets[player].num_sequences
    decided = np.zeros(size, dtype=np.bool_)
    decided[sequences[sequences > EMPTY_SEQUENCE]] = True
    return np.ones(size), decided


def _solved(
    border: Border,
    player: int,
    found: FloatArray,
    own_states: BoolArray,
    carried: Carried | None,
) -> Solved:
    """Puts the behaviour between this border and the next into the tree's numbers."""
    back = border.bottom_part.sequences[player]
    root = border.bottom_root[player]
    inner = (back != NO_SEQUENCE) & own_states[root]
    if carried is not None:
        below = carried.border.bottom_part.own_sequence[player]
        inner &= below[back] == NO_SEQUENCE
    behavior, decided = _spread(border, player, back[inner])
    behavior[back[inner]] = found[inner]
    return Solved(behavior, decided, carried)
