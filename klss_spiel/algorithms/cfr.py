"""Counterfactual regret minimisation on the sequence form.

One loop for full games, gadgets and depth-limited trees. An iteration needs no
interior histories: payoffs of all sequences are one product with the opponent's
realization plan, and only the few levels of a player's own infosets are passed
through, once bottom-up for values and once top-down for the new plan.

CFR (Zinkevich et al. 2007) is `minimizer=RM, averaging=UNIFORM`; CFR+ (Tammelin
2014) is `RM_PLUS, LINEAR`; PCFR+ (Farina, Kroer and Sandholm 2021) is `PRM_PLUS,
QUADRATIC`; DCFR (Brown and Sandholm 2019) is `DISCOUNTED_RM, QUADRATIC`.

Deviations: PCFR+ predicts each infoset's next instant regret by its last one
instead of re-evaluating the last payoffs under the new strategies below it.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from klss_spiel.algorithms.regret import RM_PLUS, RegretMinimizer
from klss_spiel.padded_form import (
    PaddedForm,
    PaddedPlayer,
    PaddedPlayers,
    blocks,
    pad_form,
    payoffs,
)
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, FloatArray

# Averaging: iteration t weighs t to this power.
UNIFORM = 0
LINEAR = 1
QUADRATIC = 2

# One array [I, A] for each decision block of a player.
Blocks = tuple[jax.Array, ...]

# Counts how often the loop was traced, that is, compiled: tests read it.
trace_count = 0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PlayerState:
    """What the loop keeps of one player.

    Attributes:
      regret: for each decision block, [I, A] the minimiser's cumulative regret.
      instant: for each block, [I, A] instant regret of the last iteration.
      strategy: for each block, [I, A] current behaviour probabilities.
      plan: [P] realization plan of `strategy`.
      average: [P] weighted sum of the plans played so far.
    """

    regret: Blocks
    instant: Blocks
    strategy: Blocks
    plan: jax.Array
    average: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CfrState:
    """Both players' states after `iteration` iterations."""

    iteration: jax.Array
    players: tuple[PlayerState, PlayerState]


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """Where CFR stands, in the sequence numbers of the form it solves.

    Attributes:
      padded: the form as it was solved.
      state: the state to resume from.
    """

    padded: PaddedForm
    state: CfrState

    @property
    def iterations(self) -> int:
        """How many iterations were run in all."""
        return int(self.state.iteration)

    @functools.cached_property
    def last(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] realization plan of the last iterate."""
        first, second = (self.padded.unpad(p, self.state.players[p].plan) for p in PLAYERS)
        return first, second

    @functools.cached_property
    def average(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] realization plan of the average strategy."""
        plans = []
        for p in PLAYERS:
            treeplex = self.padded.form.treeplexes[p]
            total = self.padded.unpad(p, self.state.players[p].average)
            plans.append(treeplex.realization_plan(treeplex.behavior(total)))
        return plans[0], plans[1]

    @functools.cached_property
    def average_behavior(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] behaviour of the average; uniform where it never plays to."""
        first, second = (
            self.padded.form.treeplexes[p].behavior(
                self.padded.unpad(p, self.state.players[p].average)
            )
            for p in PLAYERS
        )
        return first, second

    @functools.cached_property
    def last_behavior(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] behaviour probabilities of the last iterate."""
        first, second = (
            self.padded.unpad(p, _flatten(self.state.players[p].strategy)) for p in PLAYERS
        )
        return first, second


def solve(
    game: SequenceForm | PaddedForm,
    iterations: int,
    minimizer: RegretMinimizer = RM_PLUS,
    averaging: int = LINEAR,
    alternating: bool = True,
    start: CfrState | None = None,
    dtype: Any = None,
) -> Solution:
    """Runs CFR for a number of iterations.

    Args:
      game: the sequence form, or one already laid out by `pad_form`, which saves
        that work when the same game is solved again.
      iterations: how many more iterations to run.
      minimizer: the regret minimiser at every infoset.
      averaging: UNIFORM, LINEAR or QUADRATIC.
      alternating: player 1 answers player 0's newest strategy (as OpenSpiel's
        solvers do); otherwise both update against each other's last one.
      start: the state of an earlier solution of the same game to go on from.
      dtype: float32 or float64 for a `SequenceForm`; jax's default unless given.

    Returns:
      The solution; its `average` is the strategy with the guarantee.
    """
    if iterations < 0:
        raise ValueError(f"expected a number of iterations of at least 0, got {iterations}")
    padded = game if isinstance(game, PaddedForm) else pad_form(game, dtype)
    state = initial_state(padded) if start is None else start
    state = _run(padded.players, state, iterations, minimizer, averaging, alternating)
    return Solution(padded, state)


def iterate(
    game: SequenceForm | PaddedForm,
    iterations: int,
    chunk: int,
    **arguments: Any,
) -> Iterator[Solution]:
    """Like `solve`, but yields a solution after every `chunk` iterations."""
    solution = solve(game, 0, **arguments)
    arguments.pop("start", None)
    arguments.pop("dtype", None)
    while solution.iterations < iterations:
        step = min(chunk, iterations - solution.iterations)
        solution = solve(solution.padded, step, start=solution.state, **arguments)
        yield solution


def initial_state(padded: PaddedForm) -> CfrState:
    """No regrets, uniform strategies."""
    states = []
    for player in padded.players:
        zeros = tuple(jnp.zeros_like(block.mask) for block in blocks(player))
        uniform = tuple(block.uniform for block in blocks(player))
        plan = _realization_plan(player, uniform, padded.dtype)
        states.append(PlayerState(zeros, zeros, uniform, plan, jnp.zeros_like(plan)))
    return CfrState(jnp.zeros((), jnp.int32), (states[0], states[1]))


@functools.partial(jax.jit, static_argnames=("minimizer", "averaging", "alternating"))
def _run(
    players: PaddedPlayers,
    state: CfrState,
    iterations: jax.Array,
    minimizer: RegretMinimizer,
    averaging: int,
    alternating: bool,
) -> CfrState:
    global trace_count
    trace_count += 1

    def body(_: jax.Array, state: CfrState) -> CfrState:
        iteration = state.iteration + 1
        update = functools.partial(
            _update, iteration=iteration, minimizer=minimizer, averaging=averaging
        )
        first, second = state.players
        new_first = update(players[0], first, second.plan)
        new_second = update(players[1], second, new_first.plan if alternating else first.plan)
        return CfrState(iteration, (new_first, new_second))

    return jax.lax.fori_loop(0, iterations, body, state)


def _update(
    player: PaddedPlayer,
    state: PlayerState,
    opponent_plan: jax.Array,
    iteration: jax.Array,
    minimizer: RegretMinimizer,
    averaging: int,
) -> PlayerState:
    """One player's regrets, next strategy and plan against the opponent's plan."""
    weight = iteration.astype(state.plan.dtype) ** averaging
    average = state.average + weight * state.plan
    instant = _instant_regret(player, payoffs(player, opponent_plan), state.strategy)
    regret = tuple(
        minimizer.accumulate(old, now, iteration)
        for old, now in zip(state.regret, instant, strict=True)
    )
    strategy = tuple(
        _normalize(jnp.maximum(minimizer.scores(total, now), 0.0), block.uniform)
        for total, now, block in zip(regret, instant, blocks(player), strict=True)
    )
    plan = _realization_plan(player, strategy, state.plan.dtype)
    return PlayerState(regret, instant, strategy, plan, average)


def _instant_regret(player: PaddedPlayer, results: jax.Array, strategy: Blocks) -> Blocks:
    """For each block, [I, A] value of each action minus the strategy's value.

    Args:
      player: the treeplex.
      results: payoffs of sequences, as `payoffs` gives them.
      strategy: for each block, [I, A] behaviour probabilities.
    """
    regrets: list[jax.Array] = []
    remaining = list(strategy)
    below: jax.Array | None = None  # value of what follows each of the level's sequences
    for depth in reversed(range(len(player.levels))):
        level = player.levels[depth]
        before = 1 if depth == 0 else sum(b.mask.size for b in player.levels[depth - 1])
        above = jnp.zeros(before, results.dtype)
        stop = sum(block.mask.size for block in level)
        for block in reversed(level):
            values = results[block.payoff]
            if below is not None:
                values += below[stop - block.mask.size : stop].reshape(block.mask.shape)
            stop -= block.mask.size
            of_infosets = (values * remaining.pop()).sum(axis=1)
            above = above.at[block.parent].add(of_infosets)
            regrets.append((values - of_infosets[:, None]) * block.mask)
        below = above
    return tuple(reversed(regrets))


def _flatten(of_blocks: Blocks) -> jax.Array:
    """[P] the padded vector of block arrays, 1 for the empty sequence."""
    first = jnp.ones(1, of_blocks[0].dtype) if of_blocks else jnp.ones(1)
    return jnp.concatenate([first, *(block.reshape(-1) for block in of_blocks)])


def _normalize(scores: jax.Array, uniform: jax.Array) -> jax.Array:
    """[I, A] strategies proportional to non-negative scores, uniform where all are 0."""
    total = scores.sum(axis=1, keepdims=True)
    return jnp.where(total > 0.0, scores / jnp.where(total > 0.0, total, 1.0), uniform)


def _realization_plan(player: PaddedPlayer, strategy: Blocks, dtype: Any) -> jax.Array:
    """[P] product of probabilities along each sequence."""
    pieces = [jnp.ones(1, dtype)]
    remaining = iter(strategy)
    for level in player.levels:
        before = pieces[-1]
        parts = [(next(remaining) * before[block.parent][:, None]).reshape(-1) for block in level]
        pieces.append(jnp.concatenate(parts))
    return jnp.concatenate(pieces)
