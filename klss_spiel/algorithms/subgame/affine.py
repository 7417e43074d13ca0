"""Affine equilibria (ZS21, section 4.3).

An affine equilibrium is an affine combination of equilibrium strategies, and so a
best response to every equilibrium strategy of the opponent (proposition 8): only an
opponent who leaves equilibrium can exploit it. Nested 1-KLSS from an exact
equilibrium yields one (theorem 9).
"""

from __future__ import annotations

from klss_spiel.linear_program import LinearSolver, TieBreak
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import SequenceForm, sequence_form_from_tree
from klss_spiel.tree import PLAYERS, GameTree


def affine_equilibrium_gap(
    tree: GameTree,
    policy: BehaviorPolicy,
    player: int = 0,
    *,
    form: SequenceForm | None = None,
) -> float:
    """How far a strategy is from a best response to every equilibrium of the opponent.

    The largest difference, over the opponent's equilibrium strategies y*, between the
    value of the game and what `player`'s strategy gets against y*. The equilibrium
    strategies are the optima of the opponent's linear program; among them, the one that
    does best against the strategy is found as a second objective.

    Args:
      tree: the game.
      policy: strategies of both players; only `player`'s counts.
      player: whose strategy is judged.
      form: the sequence form of `tree`, if it is at hand.
    """
    if policy.tree is not tree:
        raise ValueError(f"expected a policy of the tree of {tree.name}, got one of another tree")
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    form = form or sequence_form_from_tree(tree)
    opponent = 1 - player
    payoff = form.gradient(opponent, policy.realization_plans[player])
    worst = LinearSolver().solve(form, opponent, tie_break=TieBreak(plan_weights=payoff))
    return float(payoff @ worst.plan) - worst.value
