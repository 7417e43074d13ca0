"""Best responses and exploitability on the sequence form."""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import SequenceForm, Treeplex, sequence_form_from_tree
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS


@dataclasses.dataclass(frozen=True, eq=False)
class BestResponse:
    """A player's best response to a fixed strategy of the other.

    Values are counterfactual: weighted with the probability that chance and the
    opponent play to the infoset, assuming the player does (not divided by it).

    Attributes:
      value: the player's own expected payoff in the whole game.
      sequence_values: [S] value of playing each sequence's last action.
      infoset_values: [I] value of each decision infoset of the treeplex.
      behavior: [S] a pure best response; ties go to the first action.
    """

    value: float
    sequence_values: FloatArray
    infoset_values: FloatArray
    behavior: FloatArray


def best_response(treeplex: Treeplex, gradient: FloatArray) -> BestResponse:
    """The strategy of `treeplex` that maximises its product with `gradient` ([S])."""
    values = gradient.copy()
    infoset_values = np.zeros(treeplex.num_infosets)
    behavior = np.zeros(treeplex.num_sequences)
    behavior[EMPTY_SEQUENCE] = 1.0
    for level in reversed(treeplex.levels):
        of_actions = values[level.sequences]
        best = np.maximum.reduceat(of_actions, level.starts)
        is_best = np.flatnonzero(of_actions == best[level.owner])
        _, first = np.unique(level.owner[is_best], return_index=True)
        behavior[level.sequences[is_best[first]]] = 1.0
        infoset_values[level.infosets] = best
        np.add.at(values, level.parents, best)
    return BestResponse(float(values[EMPTY_SEQUENCE]), values, infoset_values, behavior)


def policy_values(treeplex: Treeplex, gradient: FloatArray, behavior: FloatArray) -> FloatArray:
    """[S] counterfactual value of each sequence when the player goes on with `behavior`."""
    values = gradient.copy()
    for level in reversed(treeplex.levels):
        terms = values[level.sequences] * behavior[level.sequences]
        np.add.at(values, level.parents, np.add.reduceat(terms, level.starts))
    return values


def best_response_to(form: SequenceForm, player: int, opponent_plan: FloatArray) -> BestResponse:
    """`player`'s best response to the other's realization plan ([S of the other])."""
    return best_response(form.treeplexes[player], form.gradient(player, opponent_plan))


def best_response_values(
    form: SequenceForm, plans: tuple[FloatArray, FloatArray]
) -> tuple[float, float]:
    """What each player can get at most against the other's realization plan."""
    return (
        _maximum(form.treeplexes[0], form.gradient(0, plans[1])),
        _maximum(form.treeplexes[1], form.gradient(1, plans[0])),
    )


def nash_conv(policy: BehaviorPolicy, form: SequenceForm | None = None) -> float:
    """Sum over the players of what each could gain by deviating alone.

    Args:
      policy: strategies of both players.
      form: the sequence form of `policy.tree`, if it is at hand.
    """
    form = form or sequence_form_from_tree(policy.tree)
    # The players' payoffs sum to zero, so what the policy itself pays cancels.
    return sum(best_response_values(form, policy.realization_plans))


def exploitability(policy: BehaviorPolicy, form: SequenceForm | None = None) -> float:
    """`nash_conv` divided by the number of players, as OpenSpiel defines it."""
    return nash_conv(policy, form) / len(PLAYERS)


def _maximum(treeplex: Treeplex, gradient: FloatArray) -> float:
    """The largest product of `gradient` ([S], overwritten) with a realization plan."""
    for level in reversed(treeplex.levels):
        best = np.maximum.reduceat(gradient[level.sequences], level.starts)
        np.add.at(gradient, level.parents, best)
    return float(gradient[EMPTY_SEQUENCE])
