"""The compiled engine of CFR: sequence forms stored by rows for `cfr_kernels`.

An infoset with one action offers no choice: its sequence is played whenever the
one before it is. Such sequences share one number in the compiled loop, which in
games like liar's dice halves the infosets.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms import cfr_kernels, regret_kernels
from klss_spiel.algorithms.cfr_kernels import PlayerRows, PlayerVectors
from klss_spiel.algorithms.cfr_solution import (
    Method,
    PlayerSolution,
    PlayerSolutions,
    checked_values,
)
from klss_spiel.algorithms.regret import Prediction
from klss_spiel.arrays import FloatArray, IntArray, ranges, sum_at
from klss_spiel.search_game import ValueFunction
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import NO_INFOSET, PLAYERS

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


@dataclasses.dataclass(frozen=True, eq=False)
class Choices:
    """A treeplex without its forced moves; C numbers of sequences that are choices.

    Attributes:
      number: [S] the number that each sequence has in the compiled loop.
      sequence: [C] the sequence that each number was made from.
      first: [I + 1] first number of each infoset with a choice, then C.
      parent: [I] the number each such infoset follows.
    """

    number: IntArray
    sequence: IntArray
    first: IntArray
    parent: IntArray

    @functools.cached_property
    def is_identity(self) -> bool:
        """Whether every sequence has its own number."""
        return self.number is self.sequence or np.array_equal(
            self.number, np.arange(len(self.sequence))
        )


@dataclasses.dataclass(frozen=True, eq=False)
class CompiledForm:
    """A sequence form ready for the compiled loop: see `cfr_solution.PreparedForm`.

    Attributes:
      form: the sequence form itself.
      choices: for each player, the numbers used in the loop.
      rows: for each player, what the loop reads.
      dtype: floating-point type of payoffs and vectors; sums are float64.
    """

    form: SequenceForm
    choices: tuple[Choices, Choices]
    rows: tuple[PlayerRows, PlayerRows]
    dtype: np.dtype[Any]

    def initial_state(self) -> tuple[PlayerVectors, PlayerVectors]:
        """No regrets, uniform strategies."""
        states = []
        for rows in self.rows:
            strategy = np.ones(len(rows.start) - 1, dtype=self.dtype)
            cfr_kernels.fill_uniform(rows, strategy)
            zeros = np.zeros_like(strategy)
            states.append(_vectors(zeros, strategy, _plan(rows, strategy), zeros.copy()))
        return states[0], states[1]

    def state_with(
        self, kept: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]]
    ) -> tuple[PlayerVectors, PlayerVectors]:
        """The state whose regrets, strategies and averages were kept of each player.

        Raises:
          ValueError: they are of another game or precision.
        """
        states = []
        for p, (rows, (regret, strategy, average)) in enumerate(zip(self.rows, kept, strict=True)):
            expected = len(rows.start) - 1
            for vector in (regret, strategy, average):
                if vector.shape != (expected,) or vector.dtype != self.dtype:
                    raise ValueError(
                        f"expected {expected} numbers of {self.dtype} for player {p}, got "
                        f"{vector.size} of {vector.dtype}: another game's state"
                    )
            states.append(_vectors(regret, strategy, _plan(rows, strategy), average))
        return states[0], states[1]

    def state_of(self, players: PlayerSolutions) -> tuple[PlayerVectors, PlayerVectors]:
        """The state of a solution of the same game."""
        states = []
        for player, choices in zip(players, self.choices, strict=True):
            states.append(
                _vectors(
                    *(
                        vector[choices.sequence].astype(self.dtype)
                        for vector in (
                            player.regret,
                            player.last_behavior,
                            player.last,
                            player.average_sum,
                        )
                    )
                )
            )
        return states[0], states[1]

    def players_of(self, state: tuple[PlayerVectors, PlayerVectors]) -> PlayerSolutions:
        """A state in the numbers of the form's sequences."""
        players = []
        for p in PLAYERS:
            treeplex, choices, vectors = self.form.treeplexes[p], self.choices[p], state[p]
            chosen = choices.sequence
            regret = np.zeros(treeplex.num_sequences)
            regret[chosen] = vectors.regret
            behavior = np.ones(treeplex.num_sequences)
            behavior[chosen] = vectors.strategy
            players.append(
                PlayerSolution(
                    treeplex=treeplex,
                    regret=regret,
                    last_behavior=behavior,
                    last=vectors.plan[choices.number].astype(np.float64),
                    average_sum=vectors.average[choices.number].astype(np.float64),
                )
            )
        return players[0], players[1]

    def average_of(self, state: tuple[PlayerVectors, PlayerVectors], player: int) -> FloatArray:
        """See `cfr_solution.PreparedForm`."""
        average = state[player].average
        if not self.choices[player].is_identity:
            average = average[self.choices[player].number]
        as_float64: FloatArray = average.astype(np.float64)
        return as_float64

    def run(
        self,
        state: tuple[PlayerVectors, PlayerVectors],
        iteration: int,
        count: int,
        method: Method,
        owned: bool = False,
    ) -> tuple[PlayerVectors, PlayerVectors]:
        """See `cfr_solution.PreparedForm`."""
        first, second = state if owned else _copied(state)
        if self.form.operator is not None:
            self._run_by_players((first, second), iteration, count, method, self._add_computed)
            return first, second
        cfr_kernels.iterate(
            count,
            iteration,
            regret_kernels.rule(method.minimizer),
            method.averaging,
            *self.rows,
            first,
            second,
            first.plan if method.alternating else first.plan.copy(),
            *_predicted(method, (first, second)),
        )
        return first, second

    def run_trunk(
        self,
        state: tuple[PlayerVectors, PlayerVectors],
        iteration: int,
        count: int,
        method: Method,
        border: tuple[IntArray, IntArray],
        values: ValueFunction,
    ) -> tuple[PlayerVectors, PlayerVectors]:
        """`run` for a trunk: reaching a border infoset pays what `values` says.

        Args:
          state: as in `run`.
          iteration: as in `run`.
          count: as in `run`.
          method: as in `run`.
          border: for each player, [b] the sequence that leads to each border infoset.
          values: from ranges to counterfactual values.
        """
        numbers = [self.choices[p].number[border[p]] for p in PLAYERS]
        found: tuple[FloatArray, FloatArray] | None = None

        def add(p: int, plans: Sequence[Any], bonus: Any) -> None:
            nonlocal found
            if found is None or p == PLAYERS[0] or method.alternating:
                first, second = (plans[q][numbers[q]].astype(np.float64) for q in PLAYERS)
                found = checked_values(values((first, second)), border)
            bonus += sum_at(numbers[p], found[p], len(bonus))
            if self.form.operator is not None:
                self._add_computed(p, plans, bonus)

        vectors = _copied(state)
        self._run_by_players(vectors, iteration, count, method, add)
        return vectors

    def _run_by_players(
        self,
        vectors: tuple[PlayerVectors, PlayerVectors],
        iteration: int,
        count: int,
        method: Method,
        add: Callable[[int, Sequence[Any], Any], None],
    ) -> None:
        """`run` in place, with payoffs besides the entries.

        `add(player, plans, bonus)` adds those of a player to `bonus`, given both plans.
        """
        rule = regret_kernels.rule(method.minimizer)
        predicted = _predicted(method, vectors)
        for number in range(iteration + 1, iteration + count + 1):
            answered = vectors[0].plan if method.alternating else vectors[0].plan.copy()
            for p in PLAYERS:
                plans = (answered, vectors[1].plan)
                vectors[p].bonus[:] = 0.0
                add(p, plans, vectors[p].bonus)
                cfr_kernels.update_player(
                    number,
                    rule,
                    method.averaging,
                    self.rows[p],
                    vectors[p],
                    plans[1 - p],
                    predicted[p],
                )

    def _add_computed(self, player: int, plans: Sequence[Any], bonus: Any) -> None:
        """Adds the operator's payoffs, which know the form's numbers of sequences."""
        operator = self.form.operator
        assert operator is not None
        own, other = self.choices[player], self.choices[1 - player]
        plan = plans[1 - player]
        if not other.is_identity:
            plan = plan[other.number]
        if own.is_identity:
            operator.add_gradient(player, plan, bonus)
            return
        gradient = np.zeros(len(own.number))
        operator.add_gradient(player, plan, gradient)
        bonus += sum_at(own.number, gradient, len(bonus))


def _vectors(regret: Any, strategy: Any, plan: Any, average: Any) -> PlayerVectors:
    return PlayerVectors(
        regret=regret,
        strategy=strategy,
        plan=plan,
        average=average,
        values=np.zeros_like(plan),
        bonus=np.zeros_like(plan),
    )


def _plan(rows: PlayerRows, strategy: npt.NDArray[Any]) -> npt.NDArray[Any]:
    plan = np.ones_like(strategy)
    cfr_kernels.fill_plan(rows, strategy, plan)
    return plan


def _copied(
    state: tuple[PlayerVectors, PlayerVectors],
) -> tuple[PlayerVectors, PlayerVectors]:
    first, second = (PlayerVectors(*(vector.copy() for vector in v)) for v in state)
    return first, second


def _predicted(method: Method, vectors: Sequence[PlayerVectors]) -> list[FloatArray | None]:
    """For each player, what the kernels re-evaluate predictions in: see `cfr_kernels.iterate`."""
    reevaluated = method.minimizer.prediction is Prediction.REEVALUATED
    return [np.zeros_like(v.plan) if reevaluated else None for v in vectors]


def compile_form(form: SequenceForm, dtype: npt.DTypeLike = np.float64) -> CompiledForm:
    """Lays out a sequence form for the compiled engine.

    Args:
      form: the game.
      dtype: float32 or float64.
    """
    chosen = np.dtype(dtype)
    if chosen not in _DTYPES:
        raise ValueError(f"expected float32 or float64, got {chosen}")
    choices = _choices(form.treeplexes[0]), _choices(form.treeplexes[1])
    row, column = choices[0].number[form.row], choices[1].number[form.column]
    rows = (
        _rows(choices[0], row, column, form.value, chosen),
        _rows(choices[1], column, row, -form.value, chosen),
    )
    return CompiledForm(form, choices, rows, chosen)


def _choices(treeplex: Treeplex) -> Choices:
    """Leaves out infosets with one action; roots come first."""
    is_forced = treeplex.num_actions == 1
    if not np.any(is_forced) and _owns_in_order(treeplex):
        return _all_choices(treeplex)
    stands_for = np.arange(treeplex.num_sequences)
    stands_for[treeplex.first_sequence[is_forced]] = treeplex.parent_sequence[is_forced]
    while True:  # a forced move may follow another
        before = stands_for
        stands_for = stands_for[stands_for]
        if np.array_equal(before, stands_for):
            break
    infosets = np.flatnonzero(~is_forced)
    begin = treeplex.first_sequence[infosets]
    roots = np.flatnonzero(treeplex.sequence_infoset == NO_INFOSET)
    sequence = np.concatenate([roots, ranges(begin, begin + treeplex.num_actions[infosets])])
    own = np.zeros(treeplex.num_sequences, dtype=np.int64)
    own[sequence] = np.arange(len(sequence))
    number = own[stands_for]
    ends = len(roots) + np.cumsum(treeplex.num_actions[infosets])
    return Choices(
        number=number,
        sequence=sequence,
        first=np.concatenate([[len(roots)], ends]).astype(np.uint32),
        parent=number[treeplex.parent_sequence[infosets]].astype(np.uint32),
    )


def _owns_in_order(treeplex: Treeplex) -> bool:
    """Whether infosets own one sequence after another, and all but the empty one."""
    after = np.cumsum(treeplex.num_actions, dtype=np.int32) + 1
    first = after - treeplex.num_actions
    last = int(after[-1]) if len(after) else 1
    return treeplex.num_sequences == last and np.array_equal(treeplex.first_sequence, first)


def _all_choices(treeplex: Treeplex) -> Choices:
    """`_choices` where nothing is forced and infosets own their sequences in order."""
    count = treeplex.num_sequences
    number = np.arange(count, dtype=np.int32)
    return Choices(
        number=number,
        sequence=number,
        first=np.append(treeplex.first_sequence, count).astype(np.uint32),
        parent=treeplex.parent_sequence.astype(np.uint32),
    )


def _rows(
    choices: Choices,
    target: IntArray,
    source: IntArray,
    value: FloatArray,
    dtype: np.dtype[Any],
) -> PlayerRows:
    """Sorts payoff entries by the sequence that earns them.

    Args:
      choices: the player's numbers.
      target: [E] own number of each entry.
      source: [E] the opponent's number.
      value: [E] own payoff.
      dtype: of the payoffs.
    """
    # A form's entries are sorted by row and column: a stable sort keeps what it can.
    order = np.argsort(target, kind="stable")
    counts = np.bincount(target, minlength=len(choices.sequence))
    return PlayerRows(
        first=choices.first,
        parent=choices.parent,
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
        source=source[order].astype(np.uint32),
        value=value[order].astype(dtype),
    )
