"""Exact equilibria of sequence forms by linear programming on HiGHS.

The program of one player (Koller, Megiddo and von Stengel 1994; von Stengel 1996)
has a variable x[s] per own sequence and a variable v[J] per opponent infoset, the
player's payoff there against a best-responding opponent:

    maximise    sum_s U[s, 0] x[s] + sum of v[J] over the J that open the game
    subject to  v[J] <= sum_s U[s, t] x[s] + sum of v[K] over the K that follow t
                                                 for each opponent sequence t of J
                sum of x[s] over I's sequences = x[parent of I]       for each own I
                x[0] = 1,  x >= 0,
                x[s] >= bound[s] x[parent of s]      where the strategy is restricted

where U is the player's own payoff. The multipliers of the first family of rows are
the opponent's realization plan, so one program yields a whole equilibrium. Where
the opponent is restricted too, each of his bounds adds a column.

An equilibrium is rarely unique, and LP solvers return whichever optimal vertex they
meet first. `TieBreak` chooses among the optima by a second objective: complementary
slackness with one optimal dual solution describes the set of all optima exactly, so
columns with a reduced cost are fixed, rows with a multiplier are made tight, and the
second objective is maximised from there, without loss in the first.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
from absl import logging

from klss_spiel.arrays import FloatArray
from klss_spiel.linear_model import LinearModel, build_model
from klss_spiel.openspiel import sequence_form_of
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, GameTree

FEASIBILITY_TOLERANCE = 1e-9
# Behaviour probabilities below this are noise of the solver.
ZERO_PROBABILITY = 1e-8
# Multipliers above this are taken to be positive; the first objective can lose this
# much times the change of a variable.
ZERO_DUAL = 1e-10
# Infosets whose whole (unscaled) mass is below this are not reached at all.
_ZERO_MASS = 1e-12

_PRIMAL_SIMPLEX = 4
_CHOOSE_SIMPLEX = 0


class Method(enum.Enum):
    """How HiGHS solves a program."""

    SIMPLEX = "simplex"
    INTERIOR_POINT = "ipm"


@dataclasses.dataclass(frozen=True, eq=False)
class TieBreak:
    """A second objective, maximised among the optimal solutions of the first.

    Attributes:
      plan_weights: [S] weight of each own sequence's x, or None for zero.
      value_weights: [I of the opponent] weight, not negative, of the player's payoff
        at each opponent infoset, or None for zero. In a gadget game in which the
        opponent chooses where to enter, these are the weights of the margins.
    """

    plan_weights: FloatArray | None = None
    value_weights: FloatArray | None = None

    @classmethod
    def random(cls, treeplex: Treeplex, rng: np.random.Generator) -> TieBreak:
        """A random direction over the player's sequences: picks a random optimal vertex."""
        return cls(plan_weights=rng.standard_normal(treeplex.num_sequences))


@dataclasses.dataclass(frozen=True, eq=False)
class LinearSolution:
    """An optimal strategy of one player.

    Attributes:
      value: the player's own payoff against a best-responding opponent.
      plan: [S] realization plan.
      behavior: [S] behaviour probabilities of `plan`.
      opponent: the opponent's treeplex.
      opponent_duals: [S of the opponent] an optimal plan of the opponent (of the first
        objective; a tie-break does not move it), up to rounding.
      opponent_lower_bounds: [S of the opponent] the bounds it was found under.
      opponent_infoset_values: [I of the opponent] the player's payoff at each opponent
        infoset, weighted with the probability that chance and the player play there.
        Exact where the opponent's optimal play arrives and where `TieBreak` gives a
        positive weight, a lower bound elsewhere.
      iterations: pivots (or interior-point steps) of all runs together.
      player: whose strategy it is.
      tree: the game, if it is a whole one.
    """

    value: float
    plan: FloatArray
    behavior: FloatArray
    opponent: Treeplex
    opponent_duals: FloatArray
    opponent_lower_bounds: FloatArray | None
    opponent_infoset_values: FloatArray
    iterations: int
    player: int
    tree: GameTree | None

    def __repr__(self) -> str:
        name = self.tree.name if self.tree is not None else "a part of a game"
        return f"<LinearSolution of {name}: value {self.value:.9g} to player {self.player}>"

    # Computed on demand: subgame solving makes thousands of solves and never asks.
    @functools.cached_property
    def opponent_behavior(self) -> FloatArray:
        """[S of the opponent] behaviour probabilities of an optimal plan."""
        return clean_behavior(self.opponent, self.opponent_duals, self.opponent_lower_bounds, None)

    @functools.cached_property
    def opponent_plan(self) -> FloatArray:
        """[S of the opponent] realization plan of `opponent_behavior`."""
        return self.opponent.realization_plan(self.opponent_behavior)

    @functools.cached_property
    def policy(self) -> BehaviorPolicy:
        """Both players' optimal strategies in a whole game."""
        if self.tree is None:
            raise ValueError("expected the solution of a whole game, got that of a part of one")
        pair = (self.behavior, self.opponent_behavior)
        return BehaviorPolicy(self.tree, pair if self.player == PLAYERS[0] else pair[::-1])


@dataclasses.dataclass(frozen=True, eq=False)
class Equilibrium:
    """Optimal strategies of both players.

    Attributes:
      value: player 0's payoff.
      plans: for each player, [S] realization plan.
      behaviors: for each player, [S] behaviour probabilities; with a tree's own
        sequence form they make a `BehaviorPolicy(tree, behaviors)`.
    """

    value: float
    plans: tuple[FloatArray, FloatArray]
    behaviors: tuple[FloatArray, FloatArray]


def floor_bounds(treeplex: Treeplex, epsilon: float) -> FloatArray:
    """[S] lower bounds epsilon / m at infosets with m actions (ZS21, section 6)."""
    _check_epsilon(epsilon)
    bounds: FloatArray = epsilon * treeplex.uniform()
    bounds[EMPTY_SEQUENCE] = 0.0
    return bounds


def action_bounds(
    tree: GameTree,
    player: int,
    action: int,
    epsilon: float,
    *,
    share: bool = False,
    opening: bool = False,
) -> FloatArray:
    """[S] lower bounds on one OpenSpiel action, at the infosets where it is legal.

    The biased blueprints of ZS21's Table 1 come out with `share=True`; the one of
    Kuhn poker bounds the opening bet alone.

    Args:
      tree: the game.
      player: who is restricted.
      action: the action to be played.
      epsilon: least probability of the action.
      share: at an infoset with m actions ask for epsilon / m, not epsilon.
      opening: bound only the player's first decision, not later ones.
    """
    _check_epsilon(epsilon)
    infosets = tree.infosets[player]
    chosen = infosets.sequence_action == action
    chosen[EMPTY_SEQUENCE] = False
    if opening:
        chosen[1:] &= infosets.parent_sequence[infosets.sequence_infoset[1:]] == EMPTY_SEQUENCE
    if not np.any(chosen):
        raise ValueError(f"action {action} is never legal for player {player} in {tree.name}")
    legal = infosets.num_actions[infosets.sequence_infoset] if share else 1
    return np.where(chosen, epsilon / np.maximum(legal, 1), 0.0)


def solve(
    game: SequenceForm | GameTree | Any,
    player: int = 0,
    *,
    method: Method = Method.SIMPLEX,
    lower_bounds: npt.ArrayLike | None = None,
    opponent_lower_bounds: npt.ArrayLike | None = None,
    tie_break: TieBreak | None = None,
    fallback: npt.ArrayLike | None = None,
    solver: LinearSolver | None = None,
) -> LinearSolution:
    """The player's optimal strategy against a best-responding opponent.

    Args:
      game: a sequence form; or a tree, a `pyspiel.Game` or a game string, whose sequence
        form is made first.
      player: whose strategy.
      method: simplex or interior point (with crossover to a vertex); ignored when a
        `solver` is given.
      lower_bounds: [S] least behaviour probability of each sequence; see
        `floor_bounds` and `action_bounds`. None means no restriction.
      opponent_lower_bounds: [S of the opponent] the same for the opponent.
      tie_break: how to choose among optimal strategies; None takes the first found,
        which is the same in every run of the same program.
      fallback: [S] behaviour at infosets that the plan does not reach; by default
        uniform above the lower bounds.
      solver: a solver to reuse, which saves setting one up for each of many programs.
    """
    return (solver or LinearSolver(method)).solve(
        sequence_form_of(game),
        player,
        lower_bounds=lower_bounds,
        opponent_lower_bounds=opponent_lower_bounds,
        tie_break=tie_break,
        fallback=fallback,
    )


def equilibrium(
    game: SequenceForm | GameTree | Any,
    *,
    method: Method = Method.SIMPLEX,
    lower_bounds: tuple[npt.ArrayLike | None, npt.ArrayLike | None] = (None, None),
    solver: LinearSolver | None = None,
) -> Equilibrium:
    """Optimal strategies of both players, each within `lower_bounds` ([S] or None).

    Player 0's program is solved; player 1's strategy is its dual solution. The game
    is given as in `solve`.
    """
    solution = solve(
        game,
        PLAYERS[0],
        method=method,
        lower_bounds=lower_bounds[0],
        opponent_lower_bounds=lower_bounds[1],
        solver=solver,
    )
    return Equilibrium(
        value=solution.value,
        plans=(solution.plan, solution.opponent_plan),
        behaviors=(solution.behavior, solution.opponent_behavior),
    )


class LinearSolver:
    """A HiGHS instance that solves one program after another.

    Mutable and not to be shared between threads. Programs leave no trace in it: the
    same program gives the same solution whatever was solved before.
    """

    def __init__(self, method: Method = Method.SIMPLEX) -> None:
        self.method = method
        self._highs = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("parallel", "off"),
            ("solver", method.value),
            ("primal_feasibility_tolerance", FEASIBILITY_TOLERANCE),
            ("dual_feasibility_tolerance", FEASIBILITY_TOLERANCE),
            # Payoffs of rare chance outcomes are small; none may be dropped.
            ("small_matrix_value", 1e-12),
        ):
            self._highs.setOptionValue(option, value)

    def solve(
        self,
        form: SequenceForm,
        player: int = 0,
        *,
        lower_bounds: npt.ArrayLike | None = None,
        opponent_lower_bounds: npt.ArrayLike | None = None,
        tie_break: TieBreak | None = None,
        fallback: npt.ArrayLike | None = None,
    ) -> LinearSolution:
        """See the function `solve`; takes sequence forms only."""
        if player not in PLAYERS:
            raise ValueError(f"expected player 0 or 1, got {player}")
        own, opponent = form.treeplexes[player], form.treeplexes[1 - player]
        lower_bounds = _checked_bounds(own, lower_bounds, "lower_bounds")
        opponent_lower_bounds = _checked_bounds(
            opponent, opponent_lower_bounds, "opponent_lower_bounds"
        )
        if fallback is not None:
            fallback = own.vector(fallback, "fallback")
        program = build_model(form, player, lower_bounds, opponent_lower_bounds)
        self._pass(program)
        iterations = self._run(program)
        solution = self._highs.getSolution()
        # The sum turns a negative zero into zero.
        value = 0.0 - program.scale * self._highs.getObjectiveValue()
        duals = np.array(solution.row_dual)
        columns = np.array(solution.col_value)
        if tie_break is not None:
            reduced_costs = np.array(solution.col_dual)
            try:
                iterations += self._break_tie(program, tie_break, reduced_costs, duals)
                columns = np.array(self._highs.getSolution().col_value)
            except RuntimeError as error:
                # Rounding can empty an optimal face that is thinner than the tolerance.
                logging.warning("kept the first optimum, ties are not broken: %s", error)

        behavior = clean_behavior(own, columns[: own.num_sequences], lower_bounds, fallback)
        opponent_duals = np.ones(opponent.num_sequences)
        # Of a minimisation, so the multiplier of an upper bound is not positive.
        opponent_duals[1:] = -duals[: opponent.num_sequences - 1]
        first_value = own.num_sequences
        return LinearSolution(
            value=value,
            plan=own.realization_plan(behavior),
            behavior=behavior,
            opponent=opponent,
            opponent_duals=opponent_duals,
            opponent_lower_bounds=opponent_lower_bounds,
            opponent_infoset_values=program.scale
            * columns[first_value : first_value + opponent.num_infosets],
            iterations=iterations,
            player=player,
            tree=form.tree,
        )

    def _pass(self, program: LinearModel) -> None:
        """Hands the program over, replacing the last one."""
        num_columns, num_rows = len(program.cost), len(program.row_lower)
        self._highs.passModel(
            num_columns,
            num_rows,
            len(program.index),
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            program.cost,
            program.column_lower,
            program.column_upper,
            program.row_lower,
            program.row_upper,
            program.start,
            program.index,
            program.value,
            np.zeros(num_columns, dtype=np.int32),
        )

    def _run(self, program: LinearModel) -> int:
        """Runs HiGHS to optimality; returns the iterations it took."""
        self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            # Presolve can leave residues above the tight tolerance; start over without.
            self._highs.clearSolver()
            self._highs.setOptionValue("presolve", "off")
            self._highs.run()
            self._highs.setOptionValue("presolve", "choose")
            status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(
                f"HiGHS found no optimum of a program of {len(program.cost)} columns and "
                f"{len(program.row_lower)} rows: {self._highs.modelStatusToString(status)}"
            )
        info = self._highs.getInfo()
        return int(max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0))

    def _break_tie(
        self,
        program: LinearModel,
        tie_break: TieBreak,
        reduced_costs: FloatArray,
        duals: FloatArray,
    ) -> int:
        """Maximises the second objective over the optimal face; returns the iterations."""
        cost = program.second_cost(tie_break.plan_weights, tie_break.value_weights)
        # Columns are bounded by zero below or free, rows by zero on one side.
        fixed = np.flatnonzero(np.abs(reduced_costs) > ZERO_DUAL).astype(np.int32)
        fixed = fixed[program.column_lower[fixed] == 0.0]
        tight = np.flatnonzero(np.abs(duals) > ZERO_DUAL).astype(np.int32)
        highs = self._highs
        highs.changeColsBounds(len(fixed), fixed, np.zeros(len(fixed)), np.zeros(len(fixed)))
        highs.changeRowsBounds(len(tight), tight, np.zeros(len(tight)), np.zeros(len(tight)))
        highs.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
        # The last basis is still primal feasible.
        highs.setOptionValue("solver", Method.SIMPLEX.value)
        highs.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX)
        try:
            return self._run(program)
        finally:
            highs.setOptionValue("simplex_strategy", _CHOOSE_SIMPLEX)
            highs.setOptionValue("solver", self.method.value)


def clean_behavior(
    treeplex: Treeplex,
    plan: FloatArray,
    lower_bounds: FloatArray | None = None,
    fallback: FloatArray | None = None,
) -> FloatArray:
    """[S] behaviour of a solver's plan, without its noise and exactly within the bounds.

    Args:
      treeplex: the player's strategies.
      plan: [S] realization plan up to the solver's tolerance.
      lower_bounds: [S] least behaviour probabilities, or None. What is played less
        than ZERO_PROBABILITY above its bound is set to the bound.
      fallback: [S] behaviour at infosets that the plan does not reach; by default
        uniform above the lower bounds.
    """
    floor = np.zeros(treeplex.num_sequences) if lower_bounds is None else lower_bounds
    slack = 1.0 - treeplex.infoset_sums(floor)
    behavior = np.ones(treeplex.num_sequences)
    if fallback is None:
        owned = treeplex.sequence_infoset[1:]
        fallback = behavior.copy()
        fallback[1:] = floor[1:] + slack[owned] * treeplex.uniform()[1:]
    reach = np.ones(treeplex.num_sequences)
    for level in treeplex.levels:
        sequences, owner = level.sequences, level.owner
        mass = np.maximum(plan[sequences], 0.0)
        total = np.add.reduceat(mass, level.starts)[owner]
        # What is played above the bounds, as a share of the infoset's mass.
        share = mass / np.maximum(total, _ZERO_MASS) - floor[sequences]
        share = np.where(share < ZERO_PROBABILITY, 0.0, share)
        shares = np.add.reduceat(share, level.starts)[owner]
        free = slack[level.infosets][owner]
        arrives = reach[level.parents][owner]
        reached = (total > _ZERO_MASS) & (arrives > 0.0) & ((shares > 0.0) | (free <= 0.0))
        played = floor[sequences] + free * share / np.where(shares > 0.0, shares, 1.0)
        behavior[sequences] = np.where(reached, played, fallback[sequences])
        reach[sequences] = behavior[sequences] * arrives
    return behavior


def _check_epsilon(epsilon: float) -> None:
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"expected 0 <= epsilon <= 1, got {epsilon}")


def _checked_bounds(
    treeplex: Treeplex, bounds: npt.ArrayLike | None, name: str
) -> FloatArray | None:
    if bounds is None:
        return None
    bounds = treeplex.vector(bounds, name)
    if not np.all(bounds >= 0.0):
        raise ValueError(f"expected {name} that are not negative")
    sums = treeplex.infoset_sums(bounds)
    if np.any(sums > 1.0 + FEASIBILITY_TOLERANCE):
        raise ValueError(f"{name} sum to {sums.max()} at an infoset, expected at most 1")
    return bounds
