"""The jax engine of CFR: vectorised over all infosets of a level, compiled by XLA.

Suits accelerators and long runs on large games with dense payoffs; a new shape of
game costs seconds to compile. Importing this module imports jax.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.cfr_solution import (
    VECTORS,
    Method,
    PlayerSolution,
    PlayerSolutions,
)
from klss_spiel.algorithms.padded_form import (
    PaddedForm,
    PaddedPlayer,
    PaddedPlayers,
    blocks,
    pad_form,
    payoffs,
)
from klss_spiel.algorithms.regret import Prediction
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.search_game import ValueFunction
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import PLAYERS

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


_State = tuple[_PlayerState, _PlayerState]


@dataclasses.dataclass(frozen=True)
class JaxForm:
    """A padded form with the jax loop on it: see `cfr_solution.PreparedForm`.

    Attributes:
      padded: the layout; two wrappers of one layout are equal.
    """

    padded: PaddedForm

    @property
    def form(self) -> SequenceForm:
        """The sequence form itself."""
        return self.padded.form

    def initial_state(self) -> _State:
        """No regrets, uniform strategies."""
        states = []
        for player in self.padded.players:
            zeros = tuple(jnp.zeros_like(block.mask) for block in blocks(player))
            uniform = tuple(block.uniform for block in blocks(player))
            plan = _realization_plan(player, uniform, self.padded.dtype)
            states.append(_PlayerState(zeros, uniform, plan, jnp.zeros_like(plan)))
        return states[0], states[1]

    def state_of(self, players: PlayerSolutions) -> _State:
        """The state of a solution of the same game."""
        states = []
        for p in PLAYERS:
            regret, strategy, plan, average = (
                self.padded.pad(p, getattr(players[p], field)) for field in VECTORS
            )
            player = self.padded.players[p]
            states.append(
                _PlayerState(
                    regret=_split(player, regret),
                    strategy=_split(player, strategy),
                    plan=plan,
                    average=average,
                )
            )
        return states[0], states[1]

    def players_of(self, state: _State) -> PlayerSolutions:
        """A state in the numbers of the form's sequences."""
        padded, players = self.padded, []
        for p in PLAYERS:
            players.append(
                PlayerSolution(
                    treeplex=padded.form.treeplexes[p],
                    regret=padded.unpad(p, _join(state[p].regret, 0.0)),
                    last_behavior=padded.unpad(p, _join(state[p].strategy, 1.0)),
                    last=padded.unpad(p, np.asarray(state[p].plan)),
                    average_sum=padded.unpad(p, np.asarray(state[p].average)),
                )
            )
        return players[0], players[1]

    def average_of(self, state: _State, player: int) -> FloatArray:
        """See `cfr_solution.PreparedForm`."""
        return self.padded.unpad(player, np.asarray(state[player].average))

    def run(
        self, state: _State, iteration: int, count: int, method: Method, owned: bool = False
    ) -> _State:
        """See `cfr_solution.PreparedForm`."""
        del owned  # Arrays of jax's cannot be overwritten.
        after: _State = _run(self.padded.players, state, iteration, count, method)
        # Otherwise calls would pile up that nobody can interrupt.
        after[1].plan.block_until_ready()
        return after

    def run_trunk(
        self,
        state: _State,
        iteration: int,
        count: int,
        method: Method,
        border: tuple[IntArray, IntArray],
        values: ValueFunction,
    ) -> _State:
        """`run` for a trunk, in one compiled loop; `values` is a pytree of jax arrays.

        Arguments as of `cfr_compiled.CompiledForm.run_trunk`.
        """
        first, second = (jnp.asarray(self.padded.position[p][border[p]]) for p in PLAYERS)
        try:
            after: _State = jax.block_until_ready(  # type: ignore[no-untyped-call]
                _run_trunk(
                    self.padded.players, state, iteration, count, method, (first, second), values
                )
            )
        except (TypeError, jax.errors.JAXTypeError) as error:
            raise ValueError(
                f"expected a value function that runs inside jit (a pytree of jax arrays), got "
                f"{type(values).__name__}; the compiled engine takes any"
            ) from error
        for p in PLAYERS:
            if not np.all(np.isfinite(np.asarray(after[p].plan))):
                raise ValueError(f"the value function made player {p}'s strategy NaN or infinite")
        return after


def prepare(form: SequenceForm, dtype: npt.DTypeLike | None = None) -> JaxForm:
    """Lays out a sequence form for the jax engine; `dtype` as in `pad_form`."""
    return JaxForm(pad_form(form, dtype))


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


@functools.partial(jax.jit, static_argnames=("method",))
def _run(
    players: PaddedPlayers,
    state: _State,
    iteration: jax.Array,
    count: jax.Array,
    method: Method,
) -> _State:
    global trace_count
    trace_count += 1

    def body(before: jax.Array, state: _State) -> _State:
        first, second = state
        number = before + 1
        new_first = _update(players[0], first, second.plan, number, method)
        answered = new_first.plan if method.alternating else first.plan
        return new_first, _update(players[1], second, answered, number, method)

    after: _State = jax.lax.fori_loop(iteration, iteration + count, body, state)
    return after


@functools.partial(jax.jit, static_argnames=("method",))
def _run_trunk(
    players: PaddedPlayers,
    state: _State,
    iteration: jax.Array,
    count: jax.Array,
    method: Method,
    border: tuple[jax.Array, jax.Array],
    values: ValueFunction,
) -> _State:
    def bonus(plans: tuple[jax.Array, jax.Array], player: int) -> jax.Array:
        found = values((plans[0][border[0]], plans[1][border[1]]))[player]
        zeros = jnp.zeros_like(plans[player])
        return zeros.at[border[player]].add(found.astype(zeros.dtype))

    def body(before: jax.Array, state: _State) -> _State:
        first, second = state
        number = before + 1
        plans = (first.plan, second.plan)
        new_first = _update(players[0], first, second.plan, number, method, bonus(plans, 0))
        if method.alternating:
            plans = (new_first.plan, second.plan)
        return new_first, _update(players[1], second, plans[0], number, method, bonus(plans, 1))

    after: _State = jax.lax.fori_loop(iteration, iteration + count, body, state)
    return after


def _update(
    player: PaddedPlayer,
    state: _PlayerState,
    opponent_plan: jax.Array,
    iteration: jax.Array,
    method: Method,
    bonus: jax.Array | None = None,
) -> _PlayerState:
    """One player's regrets, next strategy and plan against the opponent's plan.

    `bonus` ([P]) is what sequences pay besides the entries of the payoff matrix.
    """
    weight = iteration.astype(state.plan.dtype) ** method.averaging
    average = state.average + weight * state.plan
    results = payoffs(player, opponent_plan)
    extra = None if bonus is None else _split(player, bonus)
    regret, strategy = _improve(player, state, results, iteration, method, extra)
    plan = _realization_plan(player, strategy, state.plan.dtype)
    return _PlayerState(regret, strategy, plan, average)


def _improve(
    player: PaddedPlayer,
    state: _PlayerState,
    results: jax.Array,
    iteration: jax.Array,
    method: Method,
    bonus: Blocks | None = None,
) -> tuple[Blocks, Blocks]:
    """New regrets and strategies, bottom-up: for each block two arrays [A, I].

    Args:
      player: the treeplex.
      state: regrets and strategies so far.
      results: payoffs of sequences, as `payoffs` gives them.
      iteration: its number.
      method: which CFR is run.
      bonus: for each block, [A, I] further payoffs.
    """
    minimizer = method.minimizer
    reevaluated = minimizer.prediction is Prediction.REEVALUATED
    regrets: list[jax.Array] = []
    strategies: list[jax.Array] = []
    remaining = list(zip(state.regret, state.strategy, strict=True))
    further = list(bonus or ())
    # Values of what follows each of the level's sequences, under the strategies that
    # were played and under the next ones.
    below: jax.Array | None = None
    below_next: jax.Array | None = None
    for depth in reversed(range(len(player.levels))):
        level = player.levels[depth]
        before = 1 if depth == 0 else sum(b.mask.size for b in player.levels[depth - 1])
        above = jnp.zeros(before, results.dtype)
        above_next = above
        stop = sum(block.mask.size for block in level)
        for block in reversed(level):
            start = stop - block.mask.size
            old_regret, old_strategy = remaining.pop()
            direct = results[block.payoff]
            if further:
                direct = direct + further.pop()
            values = _add_below(direct, below, start, stop)
            of_infosets = (values * old_strategy).sum(axis=0)
            above = above.at[block.parent].add(of_infosets)
            instant = (values - of_infosets) * block.mask
            regret = minimizer.accumulate(old_regret, instant, iteration)
            predicted = instant
            if reevaluated:
                next_values = _add_below(direct, below_next, start, stop)
                reference = (next_values * old_strategy).sum(axis=0)
                predicted = (next_values - reference) * block.mask
            scores = jnp.maximum(minimizer.scores(regret, predicted), 0.0)
            strategy = _normalize(scores, block.uniform)
            if reevaluated:
                of_infosets = (next_values * strategy).sum(axis=0)
                above_next = above_next.at[block.parent].add(of_infosets)
            regrets.append(regret)
            strategies.append(strategy)
            stop = start
        below, below_next = above, above_next
    return tuple(reversed(regrets)), tuple(reversed(strategies))


def _add_below(direct: jax.Array, below: jax.Array | None, start: int, stop: int) -> jax.Array:
    """[A, I] payoffs of a block's sequences with the values of what follows them."""
    return direct if below is None else direct + below[start:stop].reshape(direct.shape)


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
