"""Affine equilibria (ZS21, section 4.3).

An affine equilibrium is an affine combination of equilibrium strategies, and so a
best response to every equilibrium strategy of the opponent (proposition 8): only an
opponent who leaves equilibrium can exploit it. Nested 1-KLSS from an exact
equilibrium yields one (theorem 9).
"""

from __future__ import annotations

from klss_spiel.best_response import form_of_policy
from klss_spiel.linear_program import LinearSolver, TieBreak
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import PLAYERS


def affine_equilibrium_gap(
    policy: BehaviorPolicy, player: int = 0, *, form: SequenceForm | None = None
) -> float:
    """How far a strategy is from a best response to every equilibrium of the opponent.

    The largest difference, over the opponent's equilibrium strategies y*, between the
    value of the game and what `player`'s strategy gets against y*. The equilibrium
    strategies are the optima of the opponent's linear program; among them, the one that
    does best against the strategy is found as a second objective.

    Args:
      policy: strategies of both players; only `player`'s counts.
      player: whose strategy is judged.
      form: the sequence form of the policy's game, if it is at hand.
    """
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    form = form_of_policy(policy, form)
    opponent = 1 - player
    payoff = form.gradient(opponent, policy.realization_plans[player])
    worst = LinearSolver().solve(form, opponent, tie_break=TieBreak(plan_weights=payoff))
    return float(payoff @ worst.plan) - worst.value
