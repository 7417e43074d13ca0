"""Best responses and exploitability on the sequence form."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray
from klss_spiel.policy import BehaviorPolicy, check_same_game
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


def best_response(treeplex: Treeplex, gradient: npt.ArrayLike) -> BestResponse:
    """The strategy of `treeplex` that maximises its product with `gradient` ([S])."""
    values = treeplex.vector(gradient, "gradient").copy()
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


def policy_values(
    treeplex: Treeplex, gradient: npt.ArrayLike, behavior: npt.ArrayLike
) -> FloatArray:
    """[S] counterfactual value of each sequence when the player goes on with `behavior`."""
    values = treeplex.vector(gradient, "gradient").copy()
    behavior = treeplex.vector(behavior, "behavior")
    for level in reversed(treeplex.levels):
        terms = values[level.sequences] * behavior[level.sequences]
        np.add.at(values, level.parents, np.add.reduceat(terms, level.starts))
    return values


def best_response_to(form: SequenceForm, player: int, opponent_plan: npt.ArrayLike) -> BestResponse:
    """`player`'s best response to the other's realization plan ([S of the other])."""
    return best_response(form.treeplexes[player], form.gradient(player, opponent_plan))


def best_response_values(
    form: SequenceForm, plans: tuple[npt.ArrayLike, npt.ArrayLike]
) -> tuple[float, float]:
    """What each player can get at most against the other's realization plan."""
    return (
        best_response_value(form.treeplexes[0], form.gradient(0, plans[1])),
        best_response_value(form.treeplexes[1], form.gradient(1, plans[0])),
    )


def nash_conv(policy: BehaviorPolicy, form: SequenceForm | None = None) -> float:
    """Sum over the players of what each could gain by deviating alone.

    Args:
      policy: strategies of both players.
      form: the sequence form of the policy's game, if it is at hand.
    """
    form = form_of_policy(policy, form)
    # The players' payoffs sum to zero, so what the policy itself pays cancels.
    return sum(best_response_values(form, policy.realization_plans))


def exploitability(policy: BehaviorPolicy, form: SequenceForm | None = None) -> float:
    """`nash_conv` divided by the number of players, as OpenSpiel defines it."""
    return nash_conv(policy, form) / len(PLAYERS)


def loss_of_player(
    policy: BehaviorPolicy, player: int, game_value: float, form: SequenceForm | None = None
) -> float:
    """What one player's strategy can lose on the value of the game.

    ZS21 call this the exploitability of a strategy. The losses of both players sum to
    `nash_conv`.

    Args:
      policy: strategies of both players; only `player`'s counts.
      player: whose strategy is judged.
      game_value: player 0's value of the game, as `linear_program.solve` finds it.
      form: the sequence form of the policy's game, if it is at hand.
    """
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    form = form_of_policy(policy, form)
    opponent = 1 - player
    gradient = form.gradient(opponent, policy.realization_plans[player])
    own_value = game_value if player == PLAYERS[0] else -game_value
    return own_value + best_response_value(form.treeplexes[opponent], gradient)


def form_of_policy(policy: BehaviorPolicy, form: SequenceForm | None = None) -> SequenceForm:
    """The sequence form of a policy's game: the one given, if it is that, or a new one."""
    if not isinstance(policy, BehaviorPolicy):
        raise ValueError(f"expected a BehaviorPolicy, got {type(policy).__name__}")
    if form is None:
        return sequence_form_from_tree(policy.tree)
    if not isinstance(form, SequenceForm):
        raise ValueError(f"expected a SequenceForm or None, got {type(form).__name__}")
    if form.tree is None:
        raise ValueError(
            f"expected the sequence form of {policy.tree.name}, got one of no whole game"
        )
    check_same_game(policy.tree, form.tree, "the sequence form is of another game")
    return form


def best_response_value(treeplex: Treeplex, gradient: FloatArray) -> float:
    """The largest product of `gradient` ([S], overwritten) with a realization plan."""
    for level in reversed(treeplex.levels):
        best = np.maximum.reduceat(gradient[level.sequences], level.starts)
        np.add.at(gradient, level.parents, best)
    return float(gradient[EMPTY_SEQUENCE])
