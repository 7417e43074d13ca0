"""The template of `subgame` as functions of arrays, however those were found.

Letters as in `subgame` and `regions`: R roots, F sequences of the opponent's forest,
n opponent strategies; D and N how often the region is entered at a root and how often
the root is reached at all.
"""

from __future__ import annotations

import numpy as np

from klss_spiel.algorithms.subgame.gadgets import (
    MarginGame,
    maxmargin_form,
    reaching_form,
    resolve_form,
    unsafe_form,
)
from klss_spiel.algorithms.subgame.recipes import Gadget, RootWeights, SubgameRecipe
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.sequence_form import SequenceForm


def folded_bonus(
    outside: FloatArray, forest_root: IntArray, reach: FloatArray, root_values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The template's bonus [F] and off [R] of `Margin.FOLDED`.

    Args:
      outside: [F] what the blueprint gets outside the region.
      forest_root: [F] the root of each sequence.
      reach: [R] D.
      root_values: [R] V.
    """
    return outside / reach[forest_root], -root_values / reach


def safe_gift_bonus(
    gift_scale: float,
    inside: FloatArray,
    outside: FloatArray,
    forest_root: IntArray,
    reach: FloatArray,
    total_reach: FloatArray,
    root_values: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The same of `Margin.SAFE_GIFT` (OLSS, equation 7).

    Args:
      gift_scale: eta.
      inside: [F] what the blueprint gets inside the region.
      outside: as in `folded_bonus`.
      forest_root: as in `folded_bonus`.
      reach: as in `folded_bonus`.
      total_reach: [R] N.
      root_values: as in `folded_bonus`.
    """
    scale = gift_scale / total_reach
    gift = scale[forest_root]
    bonus = gift * outside + (gift - 1.0 / reach[forest_root]) * inside
    return bonus, -scale * root_values


def only_rounding(rest: FloatArray, size: FloatArray) -> FloatArray:
    """`rest`, a difference of numbers as large as `size`, with rounding made 0."""
    rest[np.abs(rest) <= 1e-14 * size] = 0.0
    return rest


def weights_of_roots(
    recipe: SubgameRecipe, reach: FloatArray, opponent_reach: FloatArray
) -> FloatArray:
    """[R] the weight of each root's margin in the objective.

    Args:
      recipe: the method.
      reach: [R] D.
      opponent_reach: [R] probability that the opponent's blueprint plays to each root.
    """
    uniform = np.full(len(reach), 1.0 / len(reach))
    if recipe.gadget == Gadget.MAXMARGIN:
        return np.ones(len(reach))
    if recipe.gadget == Gadget.UNSAFE:
        played = reach * opponent_reach
        # A blueprint that never comes here says nothing about how it would.
        return _normalized(played if np.any(played > 0.0) else reach)
    if recipe.root_weights == RootWeights.REACH:
        return _normalized(reach)
    if recipe.root_weights == RootWeights.UNIFORM or not np.any(opponent_reach > 0.0):
        return uniform
    mixed: FloatArray = 0.5 * (_normalized(opponent_reach) + uniform)
    return mixed


def distinct_weights(masses: FloatArray) -> FloatArray:
    """[n', R] how likely each root is once a strategy has reached the player's infoset.

    Strategies that cannot reach it are left out, and so are those that lead to the
    same probabilities as an earlier one.

    Args:
      masses: [n, R] probability that chance and each strategy lead to each root.
    """
    total = masses.sum(axis=1)
    weights = masses[total > 0.0] / total[total > 0.0, np.newaxis]
    rounded = [row.tobytes() for row in np.round(weights, 12) + 0.0]
    distinct: FloatArray = weights[[rounded.index(row) for row in dict.fromkeys(rounded)]]
    return distinct


def _normalized(weights: FloatArray) -> FloatArray:
    normalized: FloatArray = weights / weights.sum()
    return normalized


def gadget_form(recipe: SubgameRecipe, game: MarginGame, weights: FloatArray) -> SequenceForm:
    """The margins under the recipe's gadget.

    Args:
      recipe: the method.
      game: the margins.
      weights: [R] or [n, R] of the roots.
    """
    if game.num_roots == 0:
        return unsafe_form(game, weights)  # No gadget: nobody has anything to choose.
    if recipe.gadget in (Gadget.MAXMARGIN, Gadget.PLAYING):
        return maxmargin_form(game)
    if recipe.gadget == Gadget.RESOLVE:
        return resolve_form(game, weights)
    if recipe.gadget == Gadget.UNSAFE:
        return unsafe_form(game, weights)
    return reaching_form(game, weights)
