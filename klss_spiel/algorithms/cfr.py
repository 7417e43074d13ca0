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
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.padded_form import (
    PaddedForm,
    PaddedPlayer,
    PaddedPlayers,
    blocks,
    pad_form,
    payoffs,
)
from klss_spiel.algorithms.regret import RM_PLUS, RegretMinimizer
from klss_spiel.arrays import FloatArray
from klss_spiel.openspiel import sequence_form_of
from klss_spiel.sequence_form import SequenceForm, Treeplex, join_forms
from klss_spiel.tree import PLAYERS, GameTree

# Averaging: iteration t weighs t to this power.
UNIFORM = 0
LINEAR = 1
QUADRATIC = 2

# One array [A, I] for each decision block of a player.
Blocks = tuple[jax.Array, ...]

# Counts how often the loop was traced, that is, compiled: tests read it.
trace_count = 0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _PlayerState:
    """What the loop keeps of one player.

    Attributes:
      regret: for each decision block, [A, I] the minimiser's cumulative regret.
      strategy: for each block, [A, I] current behaviour probabilities.
      plan: [P] realization plan of `strategy`.
      average: [P] weighted sum of the plans played so far.
    """

    regret: Blocks
    strategy: Blocks
    plan: jax.Array
    average: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _State:
    """Both players' states after `iteration` iterations."""

    iteration: jax.Array
    players: tuple[_PlayerState, _PlayerState]


@dataclasses.dataclass(frozen=True, eq=False)
class PlayerSolution:
    """Where one player stands; all vectors [S] over the form's sequences.

    Attributes:
      treeplex: the player's strategies.
      regret: the minimiser's cumulative regrets.
      last_behavior: behaviour probabilities of the last iterate.
      last: realization plan of the last iterate.
      average_sum: weighted sum of the plans played so far.
    """

    treeplex: Treeplex
    regret: FloatArray
    last_behavior: FloatArray
    last: FloatArray
    average_sum: FloatArray

    @functools.cached_property
    def average_behavior(self) -> FloatArray:
        """[S] behaviour of the average strategy; uniform where it never plays to."""
        return self.treeplex.behavior(self.average_sum)

    @functools.cached_property
    def average(self) -> FloatArray:
        """[S] realization plan of the average strategy."""
        return self.treeplex.realization_plan(self.average_behavior)


class Solution:
    """Where CFR stands after `iterations` iterations; `solve` can go on from it.

    `average` is the strategy pair that converges to an equilibrium, `last` the
    current one; both are realization plans.

    Attributes:
      iterations: how many were run in all.
    """

    def __init__(
        self,
        iterations: int,
        players: tuple[PlayerSolution, PlayerSolution] | None = None,
        state: tuple[PaddedForm, _State] | None = None,
    ) -> None:
        self.iterations = iterations
        # Read off the loop's state when somebody asks: resuming needs only the state.
        self._players = players
        self._state = state

    @functools.cached_property
    def players(self) -> tuple[PlayerSolution, PlayerSolution]:
        """Where each player stands."""
        if self._players is not None:
            return self._players
        assert self._state is not None
        return _to_players(*self._state)

    def state_on(self, padded: PaddedForm) -> _State:
        """The loop's state on a padded form of the same game."""
        if self._state is not None and self._state[0] is padded:
            return self._state[1]
        return _to_state(padded, self)

    @property
    def average(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] realization plan of the average strategy."""
        return self.players[0].average, self.players[1].average

    @property
    def average_behavior(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] behaviour of the average strategy."""
        return self.players[0].average_behavior, self.players[1].average_behavior

    @property
    def last(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] realization plan of the last iterate."""
        return self.players[0].last, self.players[1].last

    @property
    def last_behavior(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] behaviour of the last iterate."""
        return self.players[0].last_behavior, self.players[1].last_behavior

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything needed to go on from here, as npz."""
        arrays = {
            f"{field}{p}": getattr(self.players[p], field) for p in PLAYERS for field in _VECTORS
        }
        with open(path, "wb") as file:
            np.savez_compressed(file, iterations=np.array(self.iterations), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], form: SequenceForm) -> Solution:
        """Reads a solution of `form` written by `save`."""
        players = []
        with np.load(path, allow_pickle=False) as data:
            for p in PLAYERS:
                treeplex = form.treeplexes[p]
                vectors = {field: data[f"{field}{p}"] for field in _VECTORS}
                if vectors["regret"].shape != (treeplex.num_sequences,):
                    raise ValueError(
                        f"expected {treeplex.num_sequences} sequences of player {p}, got "
                        f"{len(vectors['regret'])} in {path}: another game's solution"
                    )
                players.append(PlayerSolution(treeplex, **vectors))
            return cls(int(data["iterations"]), (players[0], players[1]))


_VECTORS = ("regret", "last_behavior", "last", "average_sum")


def solve(
    game: SequenceForm | PaddedForm | GameTree | Any,
    iterations: int,
    minimizer: RegretMinimizer = RM_PLUS,
    averaging: int = LINEAR,
    alternating: bool = True,
    start: Solution | None = None,
    dtype: npt.DTypeLike | None = None,
) -> Solution:
    """Runs CFR for a number of iterations.

    Args:
      game: the sequence form, or a tree or a game or its name to make one of, or one
        already laid out by `pad_form`, which saves that work when the same game is
        solved again.
      iterations: how many more iterations to run.
      minimizer: the regret minimiser at every infoset.
      averaging: UNIFORM, LINEAR or QUADRATIC.
      alternating: player 1 answers player 0's newest strategy (as OpenSpiel's
        solvers do); otherwise both update against each other's last one.
      start: an earlier solution of the same game to go on from.
      dtype: float32 or float64 for a `SequenceForm`; jax's default unless given.

    Returns:
      The solution; its `average` is the strategy with the guarantee.
    """
    if iterations < 0:
        raise ValueError(f"expected a number of iterations of at least 0, got {iterations}")
    padded = game if isinstance(game, PaddedForm) else pad_form(sequence_form_of(game), dtype)
    state = _initial_state(padded) if start is None else start.state_on(padded)
    state = _run(padded.players, state, iterations, minimizer, averaging, alternating)
    return Solution(int(state.iteration), state=(padded, state))


def iterate(
    game: SequenceForm | PaddedForm | GameTree | Any, iterations: int, chunk: int, **arguments: Any
) -> Iterator[Solution]:
    """Yields a solution after every `chunk` iterations, up to `iterations` more.

    Takes the keyword arguments of `solve`.
    """
    dtype = arguments.pop("dtype", None)
    solution = arguments.pop("start", None)
    padded = game if isinstance(game, PaddedForm) else pad_form(sequence_form_of(game), dtype)
    for done in range(0, iterations, chunk):
        step = min(chunk, iterations - done)
        solution = solve(padded, step, start=solution, **arguments)
        yield solution


def solve_batch(forms: Sequence[SequenceForm], iterations: int, **arguments: Any) -> list[Solution]:
    """Solves many small games in one call, with the same results as one by one.

    The games are laid side by side in one block-diagonal form, which on a CPU
    beats mapping over padded games. Takes the keyword arguments of `solve`
    except `start`.
    """
    if not forms:
        return []
    union, sequences = join_forms(forms)
    joint = solve(union, iterations, **arguments)
    solutions = []
    for i, form in enumerate(forms):
        players = tuple(
            PlayerSolution(
                form.treeplexes[p],
                **{field: getattr(joint.players[p], field)[sequences[p][i]] for field in _VECTORS},
            )
            for p in PLAYERS
        )
        solutions.append(Solution(iterations, (players[0], players[1])))
    return solutions


def _initial_state(padded: PaddedForm) -> _State:
    """No regrets, uniform strategies."""
    states = []
    for player in padded.players:
        zeros = tuple(jnp.zeros_like(block.mask) for block in blocks(player))
        uniform = tuple(block.uniform for block in blocks(player))
        plan = _realization_plan(player, uniform, padded.dtype)
        states.append(_PlayerState(zeros, uniform, plan, jnp.zeros_like(plan)))
    return _State(jnp.zeros((), jnp.int32), (states[0], states[1]))


def _to_state(padded: PaddedForm, solution: Solution) -> _State:
    """The loop's state of a solution of the same game."""
    states = []
    for p in PLAYERS:
        of_player = solution.players[p]
        regret, strategy, plan, average = (
            padded.pad(p, getattr(of_player, field)) for field in _VECTORS
        )
        player = padded.players[p]
        states.append(
            _PlayerState(
                regret=_split(player, regret),
                strategy=_split(player, strategy),
                plan=plan,
                average=average,
            )
        )
    return _State(jnp.asarray(solution.iterations, jnp.int32), (states[0], states[1]))


def _to_players(padded: PaddedForm, state: _State) -> tuple[PlayerSolution, PlayerSolution]:
    """The loop's state in the numbers of the form's sequences."""
    players = []
    for p in PLAYERS:
        of_player = state.players[p]
        players.append(
            PlayerSolution(
                treeplex=padded.form.treeplexes[p],
                regret=padded.unpad(p, _join(of_player.regret, 0.0)),
                last_behavior=padded.unpad(p, _join(of_player.strategy, 1.0)),
                last=padded.unpad(p, np.asarray(of_player.plan)),
                average_sum=padded.unpad(p, np.asarray(of_player.average)),
            )
        )
    return players[0], players[1]


def _split(player: PaddedPlayer, padded: jax.Array) -> Blocks:
    """The block arrays of a padded vector ([P])."""
    arrays = []
    start = 1
    for block in blocks(player):
        arrays.append(padded[start : start + block.mask.size].reshape(block.mask.shape))
        start += block.mask.size
    return tuple(arrays)


def _join(of_blocks: Blocks, of_empty: float) -> FloatArray:
    """[P] the padded vector of block arrays; `of_empty` for the empty sequence."""
    return np.concatenate([[of_empty], *(np.asarray(block).reshape(-1) for block in of_blocks)])


@functools.partial(jax.jit, static_argnames=("minimizer", "averaging", "alternating"))
def _run(
    players: PaddedPlayers,
    state: _State,
    iterations: jax.Array,
    minimizer: RegretMinimizer,
    averaging: int,
    alternating: bool,
) -> _State:
    global trace_count
    trace_count += 1

    def body(_: jax.Array, state: _State) -> _State:
        iteration = state.iteration + 1
        update = functools.partial(
            _update, iteration=iteration, minimizer=minimizer, averaging=averaging
        )
        first, second = state.players
        new_first = update(players[0], first, second.plan)
        new_second = update(players[1], second, new_first.plan if alternating else first.plan)
        return _State(iteration, (new_first, new_second))

    after: _State = jax.lax.fori_loop(0, iterations, body, state)
    return after


def _update(
    player: PaddedPlayer,
    state: _PlayerState,
    opponent_plan: jax.Array,
    iteration: jax.Array,
    minimizer: RegretMinimizer,
    averaging: int,
) -> _PlayerState:
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
    return _PlayerState(regret, strategy, plan, average)


def _instant_regret(player: PaddedPlayer, results: jax.Array, strategy: Blocks) -> Blocks:
    """For each block, [A, I] value of each action minus the strategy's value.

    Args:
      player: the treeplex.
      results: payoffs of sequences, as `payoffs` gives them.
      strategy: for each block, [A, I] behaviour probabilities.
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
            of_infosets = (values * remaining.pop()).sum(axis=0)
            above = above.at[block.parent].add(of_infosets)
            regrets.append((values - of_infosets) * block.mask)
        below = above
    return tuple(reversed(regrets))


def _normalize(scores: jax.Array, uniform: jax.Array) -> jax.Array:
    """[A, I] strategies proportional to non-negative scores, uniform where all are 0."""
    total = scores.sum(axis=0)
    return jnp.where(total > 0.0, scores / jnp.where(total > 0.0, total, 1.0), uniform)


def _realization_plan(player: PaddedPlayer, strategy: Blocks, dtype: Any) -> jax.Array:
    """[P] product of probabilities along each sequence."""
    pieces = [jnp.ones(1, dtype)]
    remaining = iter(strategy)
    for level in player.levels:
        before = pieces[-1]
        parts = [(next(remaining) * before[block.parent]).reshape(-1) for block in level]
        pieces.append(jnp.concatenate(parts))
    return jnp.concatenate(pieces)
