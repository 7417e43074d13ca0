"""A player's linear program over a sequence form, as arrays for the solver.

`linear_program` states the program and solves it; here its matrix is laid out.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray, as_floats
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS


@dataclasses.dataclass(frozen=True, eq=False)
class LinearModel:
    """Minimise cost' c subject to bounds on columns c and on rows.

    Columns: x[s] per own sequence, v[J] per opponent infoset, then one multiplier per
    opponent bound. Rows: one per opponent sequence but the empty one, one per own
    infoset, one per own bound. The matrix is stored by columns. Payoffs are divided by
    `scale`.
    """

    cost: FloatArray
    column_lower: FloatArray
    column_upper: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    start: IntArray
    index: IntArray
    value: FloatArray
    scale: float
    num_own_sequences: int
    num_opponent_infosets: int
    num_opponent_bounds: int

    def second_cost(
        self, plan_weights: npt.ArrayLike | None, value_weights: npt.ArrayLike | None
    ) -> FloatArray:
        """[columns] what to minimise in order to maximise weighted x and v."""
        cost = np.zeros(len(self.cost))
        sequences = self.num_own_sequences
        if plan_weights is not None:
            cost[:sequences] = -as_floats(plan_weights, sequences, "plan_weights")
        if value_weights is not None:
            value_weights = as_floats(value_weights, self.num_opponent_infosets, "value_weights")
            if self.num_opponent_bounds:
                raise ValueError("value_weights cannot be used with opponent_lower_bounds")
            if not np.all(value_weights >= 0.0):
                raise ValueError("expected value_weights that are not negative")
            values = slice(sequences, sequences + self.num_opponent_infosets)
            cost[values] = -self.scale * value_weights
        # Only the direction matters; the solver's tolerances are absolute.
        largest = np.max(np.abs(cost))
        return cost / largest if largest > 0.0 else cost


def build_model(
    form: SequenceForm,
    player: int,
    lower_bounds: FloatArray | None,
    opponent_lower_bounds: FloatArray | None,
) -> LinearModel:
    """The player's program.

    Args:
      form: the game.
      player: who maximises.
      lower_bounds: [S] least behaviour probabilities of the player, or None.
      opponent_lower_bounds: [S of the opponent] those of the opponent, or None.
    """
    form = form.expanded()
    own, opponent = form.treeplexes[player], form.treeplexes[1 - player]
    entry_own, entry_opponent, payoff = form.row, form.column, form.value
    if player == PLAYERS[1]:
        entry_own, entry_opponent, payoff = form.column, form.row, -form.value
    scale = float(np.max(np.abs(payoff))) if len(payoff) else 1.0
    payoff = payoff / scale

    own_bounded, own_bounded_parent, own_bound = _restricted(own, lower_bounds)
    bounded, bounded_parent, bound = _restricted(opponent, opponent_lower_bounds)

    first_value = own.num_sequences
    first_multiplier = first_value + opponent.num_infosets
    num_columns = first_multiplier + len(bounded)
    first_flow = opponent.num_sequences - 1
    first_bound = first_flow + own.num_infosets
    num_rows = first_bound + len(own_bounded)

    cost = np.zeros(num_columns)
    opening = entry_opponent == EMPTY_SEQUENCE
    cost[entry_own[opening]] = -payoff[opening]
    opens = np.flatnonzero(opponent.parent_sequence == EMPTY_SEQUENCE)
    cost[first_value + opens] = -1.0
    at_root = np.flatnonzero(bounded_parent == EMPTY_SEQUENCE)
    cost[first_multiplier + at_root] = -bound[at_root]

    follows = np.flatnonzero(opponent.parent_sequence != EMPTY_SEQUENCE)
    below = np.flatnonzero(bounded_parent != EMPTY_SEQUENCE)
    own_infosets = np.arange(own.num_infosets)
    restrictions = np.arange(len(own_bounded))
    multipliers = np.arange(len(bounded))
    # Opponent sequence t owns row t - 1: v[J] - sum v[K] - sum U x + multipliers <= 0.
    blocks = (
        (entry_opponent[~opening] - 1, entry_own[~opening], -payoff[~opening]),
        (np.arange(first_flow), first_value + opponent.sequence_infoset[1:], 1.0),
        (opponent.parent_sequence[follows] - 1, first_value + follows, -1.0),
        (bounded - 1, first_multiplier + multipliers, 1.0),
        (bounded_parent[below] - 1, first_multiplier + below, -bound[below]),
        (first_flow + own.sequence_infoset[1:], np.arange(1, own.num_sequences), 1.0),
        (first_flow + own_infosets, own.parent_sequence, -1.0),
        (first_bound + restrictions, own_bounded, 1.0),
        (first_bound + restrictions, own_bounded_parent, -own_bound),
    )
    rows = np.concatenate([np.asarray(row) for row, _, _ in blocks])
    columns = np.concatenate([np.asarray(column) for _, column, _ in blocks])
    values = np.concatenate(
        [np.broadcast_to(np.asarray(value, dtype=float), len(row)) for row, _, value in blocks]
    )
    by_column = np.lexsort((rows, columns))
    start = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=num_columns))])

    column_lower = np.zeros(num_columns)
    column_lower[first_value:first_multiplier] = -np.inf
    column_upper = np.full(num_columns, np.inf)
    column_lower[EMPTY_SEQUENCE] = column_upper[EMPTY_SEQUENCE] = 1.0
    row_lower = np.zeros(num_rows)
    row_lower[:first_flow] = -np.inf
    row_upper = np.zeros(num_rows)
    row_upper[first_bound:] = np.inf
    return LinearModel(
        cost=cost,
        column_lower=column_lower,
        column_upper=column_upper,
        row_lower=row_lower,
        row_upper=row_upper,
        start=start.astype(np.int32),
        index=rows[by_column].astype(np.int32),
        value=values[by_column],
        scale=scale,
        num_own_sequences=own.num_sequences,
        num_opponent_infosets=opponent.num_infosets,
        num_opponent_bounds=len(bounded),
    )


def _restricted(
    treeplex: Treeplex, bounds: FloatArray | None
) -> tuple[IntArray, IntArray, FloatArray]:
    """The sequences with a positive bound, their parent sequences and the bounds."""
    if bounds is None:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
    sequences = (1 + np.flatnonzero(bounds[1:] > 0.0)).astype(np.int32)
    parents = treeplex.parent_sequence[treeplex.sequence_infoset[sequences]]
    return sequences, parents, bounds[sequences]
