"""The loops of `cutting_planes`: best answers, planes, and the small programs between.

Shapes: n plans of the player, R roots, F sequences of the forest, K infosets in it,
E payoff entries, C planes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.kernels import kernel
from klss_spiel.tree import EMPTY_SEQUENCE

# Of values, relative to the largest payoff of a plan.
_TOLERANCE = 1e-10
# Planes that are so near to each other, likewise relative, count as one: the simplex method
# has no good pivot between them.
_NEAR = 1e-9
# Roots whose planes one answer adds, worst margins first.
_ROOTS_PER_ANSWER = 3
_ZERO = 1e-10
# Pivots by the steepest column before Bland's rule, which cannot cycle, takes over.
_STEEPEST_PIVOTS = 200
_MOST_PIVOTS = 5000
# Whose upper bound a plane is.
_FIRST = 0
_SECOND = 1


@kernel
def best_mixture(
    plays: Any,
    num_roots: int,
    parent: Any,
    first: Any,
    num_actions: Any,
    root: Any,
    row: Any,
    column: Any,
    value: Any,
    means: Any,
    second: Any,
    second_weight: float,
    most_answers: int,
) -> Any:
    """[n] the best mixture of plans, and the number of answers it took.

    Maximises the least of `means` of margins, of all margins if there are none, plus a
    weight times the mean `second` of margins.

    Args:
      plays: [S, n] 1 where a plan plays a sequence.
      num_roots: R.
      parent: [K] of the forest's infosets; see `gadgets.MarginGame`.
      first: [K].
      num_actions: [K].
      root: [F].
      row: [E].
      column: [E].
      value: [E].
      means: [m, R] weights of the roots in each mean.
      second: [R] likewise.
      second_weight: of the second objective; 0 for none.
      most_answers: when to give up.
    """
    sequences, plans = plays.shape
    count_of_means = means.shape[0]
    picked = min(_ROOTS_PER_ANSWER, num_roots) if count_of_means == 0 else 1
    # Payoffs that do not depend on the plan are a sum for each sequence of the forest.
    fixed = np.zeros(root.shape[0])
    free = 0
    for e in range(row.shape[0]):
        if row[e] == EMPTY_SEQUENCE:
            fixed[column[e]] += value[e]
        else:
            free += 1
    rows = np.empty(free, dtype=np.int64)
    columns = np.empty(free, dtype=np.int64)
    values = np.empty(free)
    free = 0
    for e in range(row.shape[0]):
        if row[e] != EMPTY_SEQUENCE:
            rows[free], columns[free], values[free] = row[e], column[e], value[e]
            free += 1
    planes = np.empty((64, plans))
    bounds = np.empty(64, dtype=np.int64)
    count = 0
    mixture = np.full(plans, 1.0 / plans)
    best, best_value = mixture.copy(), -np.inf
    total = np.empty(root.shape[0])
    answer = np.empty(first.shape[0], dtype=np.int64)
    weight = np.empty(root.shape[0])
    # What a unit of each sequence earns against the answers at the picked roots or in the
    # worst mean, and last in the mean `second`.
    earned = np.empty((picked + 1, sequences))
    # Which of the picked roots a sequence that the answers lead to is under, or -1.
    place = np.empty(root.shape[0], dtype=np.int64)
    size = 0.0
    for number in range(most_answers):
        total[:] = fixed
        plan = np.dot(plays, mixture)
        for e in range(free):
            total[columns[e]] += values[e] * plan[rows[e]]
        _answer(parent, first, num_actions, total, answer)
        if planes.shape[0] < count + picked + 1:
            planes = _doubled(planes)
            longer = np.empty(planes.shape[0], dtype=np.int64)
            longer[:count] = bounds[:count]
            bounds = longer
        before = count
        least, worst = np.inf, 0
        if count_of_means == 0:
            least = np.min(total[:num_roots])
            place[:num_roots] = -1
            for k in range(picked):
                pick = np.argmin(total[:num_roots])
                total[pick] = np.inf  # Not again.
                place[pick] = k
            _fill_earned_at(rows, columns, values, fixed, num_roots, parent, answer, place, earned)
        else:
            for m in range(count_of_means):
                mean = np.dot(means[m], total[:num_roots])
                if mean < least:
                    least, worst = mean, m
            _fill_earned(
                rows, columns, values, fixed, parent, answer, means[worst], weight, earned[0]
            )
        for k in range(picked):
            _fill_plane(plays, earned[k], planes[count])
            bounds[count] = _FIRST
            count += _is_new(planes, bounds, count)
        reached = least
        if second_weight > 0.0:
            _fill_earned(
                rows, columns, values, fixed, parent, answer, second, weight, earned[picked]
            )
            _fill_plane(plays, earned[picked], planes[count])
            bounds[count] = _SECOND
            reached += second_weight * np.dot(mixture, planes[count])
            count += _is_new(planes, bounds, count)
        for c in range(before, count):
            size = max(size, np.max(np.abs(planes[c])))
        if reached > best_value:
            best, best_value = mixture.copy(), reached
        if count == before:
            return best, number + 1
        upper, mixture = _best_below(planes[:count], bounds[:count], second_weight)
        if upper - best_value <= _TOLERANCE * (1.0 + size):
            return best, number + 1
    return best, most_answers


@kernel
def _doubled(planes: Any) -> Any:
    longer = np.empty((2 * planes.shape[0], planes.shape[1]))
    longer[: planes.shape[0]] = planes
    return longer


@kernel
def _answer(parent: Any, first: Any, num_actions: Any, total: Any, answer: Any) -> None:
    """Fills the answers ([K]); adds what they leave the player to the sequences before ([F])."""
    for k in range(first.shape[0] - 1, -1, -1):
        least, smallest = first[k], total[first[k]]
        for f in range(first[k] + 1, first[k] + num_actions[k]):
            if total[f] < smallest:
                least, smallest = f, total[f]
        answer[k] = least
        total[parent[k]] += smallest


@kernel
def _fill_earned(
    rows: Any,
    columns: Any,
    values: Any,
    fixed: Any,
    parent: Any,
    answer: Any,
    at_root: Any,
    weight: Any,
    earned: Any,
) -> None:
    """Fills what a unit of each sequence ([S]) earns against the answers, roots weighted ([R]).

    `weight` ([F]) is overwritten: those of the roots, wherever the answers lead.
    """
    weight[:] = 0.0
    weight[: at_root.shape[0]] = at_root
    for k in range(answer.shape[0]):
        weight[answer[k]] = weight[parent[k]]
    earned[:] = 0.0
    # Entries of one row follow each other: their sum stays in a register.
    here, partial = np.int64(EMPTY_SEQUENCE), 0.0
    for e in range(rows.shape[0]):
        if rows[e] != here:
            earned[here] += partial
            here, partial = np.int64(rows[e]), 0.0
        partial += weight[columns[e]] * values[e]
    earned[here] += partial
    earned[EMPTY_SEQUENCE] = np.dot(weight, fixed)


@kernel
def _fill_earned_at(
    rows: Any,
    columns: Any,
    values: Any,
    fixed: Any,
    num_roots: int,
    parent: Any,
    answer: Any,
    place: Any,
    earned: Any,
) -> None:
    """`_fill_earned` at a few roots, each by itself.

    `place` ([F]) says which row of `earned` each root's payoffs go to, or -1; behind the
    roots it is overwritten.
    """
    place[num_roots:] = -1
    for k in range(answer.shape[0]):
        place[answer[k]] = place[parent[k]]
    earned[:] = 0.0
    for e in range(rows.shape[0]):
        if place[columns[e]] >= 0:
            earned[place[columns[e]], rows[e]] += values[e]
    for f in range(place.shape[0]):
        if place[f] >= 0:
            earned[place[f], EMPTY_SEQUENCE] += fixed[f]


@kernel
def _fill_plane(plays: Any, earned: Any, plane: Any) -> None:
    """Fills what each plan ([n]) earns."""
    plane[:] = 0.0
    for s in range(plays.shape[0]):
        for j in range(plays.shape[1]):
            plane[j] += plays[s, j] * earned[s]


@kernel
def _is_new(planes: Any, bounds: Any, number: int) -> Any:
    """Whether a plane is none of those before it."""
    near = _NEAR * (1.0 + np.max(np.abs(planes[number])))
    for c in range(number):
        alike = bounds[c] == bounds[number]
        if alike and np.max(np.abs(planes[c] - planes[number])) <= near:
            return False
    return True


@kernel
def _best_below(planes: Any, bounds: Any, second_weight: float) -> Any:
    """The greatest weighted sum of both objectives below all planes, and its mixture [n].

    The program, with t and s above their least coefficients so that no variable is
    negative and the origin is feasible:

        maximise t + w s  subject to  t <= plane p or s <= plane p,  sum p <= 1.
    """
    count, plans = planes.shape
    shift = np.zeros(2)
    for c in range(count):
        shift[bounds[c]] = min(shift[bounds[c]], np.min(planes[c]))
    shift -= 1.0
    width = plans + 2
    table = np.zeros((count + 2, width + 1))
    for c in range(count):
        for j in range(plans):
            table[c, j] = shift[bounds[c]] - planes[c, j]
        table[c, plans + bounds[c]] = 1.0
    table[count, :plans] = 1.0
    table[count, width] = 1.0
    objective = count + 1
    table[objective, plans + _FIRST] = -1.0
    if second_weight > 0.0:
        table[objective, plans + _SECOND] = -second_weight
    basis = np.full(count + 1, -1, dtype=np.int64)
    place = np.arange(width)  # Variable of each column; slack c is width + c.
    for c in range(count + 1):
        basis[c] = width + c
    for pivot in range(_MOST_PIVOTS):
        bland = pivot >= _STEEPEST_PIVOTS
        enter = -1
        for j in range(width):
            if table[objective, j] < -_ZERO:
                if enter < 0:
                    enter = j
                elif bland:
                    if place[j] < place[enter]:
                        enter = j
                elif table[objective, j] < table[objective, enter]:
                    enter = j
        if enter < 0:
            break
        leave = -1
        ratio = np.inf
        for c in range(count + 1):
            if table[c, enter] > _ZERO:
                here = table[c, width] / table[c, enter]
                better = here < ratio - 1e-15
                tie = not better and here <= ratio + 1e-15
                if tie and leave >= 0:
                    if bland:
                        better = basis[c] < basis[leave]
                    else:
                        better = table[c, enter] > table[leave, enter]
                if better:
                    leave, ratio = c, min(here, ratio)
        if leave < 0:
            break
        # Exchanges the two variables in the condensed table.
        by = table[leave, enter]
        for j in range(width + 1):
            if j != enter:
                table[leave, j] /= by
        for c in range(count + 2):
            if c != leave:
                factor = table[c, enter]
                if factor != 0.0:
                    for j in range(width + 1):
                        if j != enter:
                            table[c, j] -= factor * table[leave, j]
                    table[c, enter] = -factor / by
        table[leave, enter] = 1.0 / by
        basis[leave], place[enter] = place[enter], basis[leave]
    mixture = np.zeros(plans)
    for c in range(count + 1):
        if basis[c] < plans:
            mixture[basis[c]] = max(table[c, width], 0.0)
    mixture /= mixture.sum()
    value = table[objective, width] + shift[_FIRST]
    if second_weight > 0.0:
        value += second_weight * shift[_SECOND]
    return value, mixture
