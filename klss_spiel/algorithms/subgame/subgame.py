"""Subgames of all methods, built from one template.

Write x for the player's strategy inside the region, u for his payoff, p for
chance's probabilities; D(J) for the probability that chance and the blueprint
enter the region at root J, N(J) for that of reaching J at all, V(J) for the
blueprint's counterfactual value at J against a best response. Then, for every
method,

    M(J; x) = min over y of [ sum over leaves z of the region under J of
                                  (p(z) x(entry) / D(J)) u(z) x(z) y(z)
                              + sum over y's sequences q of bonus(q) y(q) ] + off(J)

    margin      bonus(q)                                             off(J)
    FOLDED      outside(q) / D                                       -V / D
    CUT         0                                                    -V' / D
    SAFE_GIFT   eta (outside(q) + inside(q)) / N  -  inside(q) / D   -eta V / N

where outside(q) and inside(q) are what the blueprint gets at q outside and inside
the region, and V' is V with the outside left out. The first family of terms is
the payoff matrix A of ZS21's appendix C, bonus and off are its B: bonus is paid
for the opponent's sequence whatever the player does. With the blueprint put back
every margin is 0. Gifts made on the way to J (`reach=True`) add g(J) N / D, or
g(J) where margins are divided by N.

FOLDED is ZS21's algorithm 12, with everything divided by D: its line 21 read
literally would subtract V / N. SAFE_GIFT is OLSS's equation 7.

Zero probabilities: roots with D = 0 (or N = 0) are dropped, and if none is left the
subgame is empty (`Subgame.is_empty`): whoever solves it keeps the blueprint. So is
kept what the player does after own moves that the blueprint never makes.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from klss_spiel.algorithms.subgame.blueprint_values import BlueprintValues
from klss_spiel.algorithms.subgame.gadgets import MarginGame
from klss_spiel.algorithms.subgame.margin_template import (
    folded_bonus,
    gadget_form,
    safe_gift_bonus,
    weights_of_roots,
)
from klss_spiel.algorithms.subgame.opponent_strategies import (
    playing_margins,
    reaching_weights,
    root_masses,
    strategy_plans,
)
from klss_spiel.algorithms.subgame.recipes import (
    Gadget,
    Margin,
    RootWeights,
    SubgameRecipe,
    recipe_from,
)
from klss_spiel.algorithms.subgame.regions import Region, RegionIndex
from klss_spiel.algorithms.subgame.transpositions import transposed_roots
from klss_spiel.arrays import BoolArray, FloatArray
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import EMPTY_SEQUENCE


@dataclasses.dataclass(frozen=True, eq=False)
class Subgame:
    """A subgame of one player at one infoset, ready to be solved.

    Attributes:
      recipe: the method.
      region: where the player's strategy may change.
      game: the margins.
      form: the sequence form with the recipe's gadget at the root. The refined
        player has his own number in it.
      root_reach: [R] D of each root.
      root_weights: [R] or [n, R] what the gadget weighs margins with; [R] ones for
        MAXMARGIN.
      blueprint: [S of the region] the blueprint's behaviour in it.
      is_reached: [S of the region] whether the blueprint plays to the part of the
        region that a sequence is in; elsewhere no strategy matters.
      opponent_reach: [R] probability that the opponent's blueprint plays to each root.
    """

    recipe: SubgameRecipe
    region: Region
    game: MarginGame
    form: SequenceForm
    root_reach: FloatArray
    root_weights: FloatArray
    blueprint: FloatArray
    is_reached: BoolArray
    opponent_reach: FloatArray

    @property
    def player(self) -> int:
        """Whose strategy is refined."""
        return self.game.player

    @property
    def infoset(self) -> int:
        """The infoset of the player it was built for."""
        return self.region.infoset

    @property
    def is_empty(self) -> bool:
        """Whether the blueprint never comes here, so that nothing is to be solved."""
        return self.game.num_roots == 0

    def margins(self, behavior: FloatArray) -> FloatArray:
        """[R] margins of the roots when the player plays `behavior` ([S of the region])."""
        return self.game.margins(self.region.treeplex.realization_plan(behavior))

    def with_gadget(
        self, gadget: Gadget, root_weights: RootWeights = RootWeights.UNIFORM
    ) -> Subgame:
        """The same margins under another gadget.

        ZS21's MaxmarginToResolve and ResolveToMaxmargin (algorithm 12, lines 29 to 43).
        """
        if gadget not in (Gadget.MAXMARGIN, Gadget.RESOLVE, Gadget.UNSAFE):
            raise ValueError(f"expected MAXMARGIN, RESOLVE or UNSAFE to change to, got {gadget}")
        if self.recipe.gadget == Gadget.PLAYING:
            raise ValueError("a subgame of OLSS-II has no opponent infosets to put a gadget on")
        recipe = self.recipe(gadget=gadget, root_weights=root_weights, opponent_strategies=None)
        weights = weights_of_roots(recipe, self.root_reach, self.opponent_reach)
        form = gadget_form(recipe, self.game, weights)
        return dataclasses.replace(self, recipe=recipe, form=form, root_weights=weights)

    def on_tree(self, behavior: FloatArray, probabilities: FloatArray) -> FloatArray:
        """[S of the tree] `probabilities` with the region's part replaced.

        Args:
          behavior: [S of the region] behaviour probabilities.
          probabilities: [S of the tree] what is played elsewhere.
        """
        replaced = probabilities.copy()
        replaced[self.region.sequences[1:]] = behavior[1:]
        return replaced


class SubgameBuilder:
    """Builds subgames of one player around one blueprint, each at a local cost.

    Attributes:
      index: the game and the player.
      values: the blueprint's tables. A nested refinement changes them between builds.
    """

    def __init__(self, blueprint: BehaviorPolicy, player: int = 0) -> None:
        if not isinstance(blueprint, BehaviorPolicy):
            raise ValueError(
                f"expected a BehaviorPolicy as the blueprint, got {type(blueprint).__name__}"
            )
        self.index = RegionIndex(blueprint.tree, player)
        self.values = BlueprintValues(self.index, blueprint)

    def build(
        self, infoset: int, recipe: SubgameRecipe, rng: np.random.Generator | None = None
    ) -> Subgame:
        """The subgame at an infoset of the player.

        Args:
          infoset: which one; the player need not move there, but must move below.
          recipe: the method.
          rng: picks which of several transpositions is kept; the first without it.
        """
        region = self.index.region(infoset, recipe.order)
        if recipe.merge_transpositions:
            drop = transposed_roots(self.index, region, rng)
            if np.any(drop):
                region = self.index.without_roots(region, drop)
        return self._subgame(recipe, region)

    def _subgame(self, recipe: SubgameRecipe, region: Region) -> Subgame:
        values, index = self.values, self.index
        reach = values.root_reach(region)
        usable = reach > 0.0
        plans = None
        if recipe.gadget in (Gadget.REACHING, Gadget.PLAYING):
            plans = strategy_plans(index, values, recipe)
            usable &= np.any(root_masses(index, region, plans) > 0.0, axis=0)
        if not np.all(usable) and np.any(usable):
            region = index.without_roots(region, ~usable)
            reach = values.root_reach(region)
        theirs = index.tree.infosets[index.opponent]
        opponent_reach = values.opponent_plan[theirs.parent_sequence[region.roots]]
        if not np.any(usable):
            game = _no_margins(index.player, region)
            weights = np.zeros(0)
        elif plans is None:
            game = self._margin_game(recipe, region, reach)
            weights = weights_of_roots(recipe, reach, opponent_reach)
        elif recipe.gadget == Gadget.REACHING:
            game = self._margin_game(recipe, region, reach)
            weights = reaching_weights(index, region, plans)
        else:
            game = playing_margins(index, values, region, plans, recipe)
            weights = np.ones(game.num_roots)
        return Subgame(
            recipe=recipe,
            region=region,
            game=game,
            form=gadget_form(recipe, game, weights),
            root_reach=reach,
            root_weights=weights,
            blueprint=values.behavior[region.sequences],
            is_reached=values.plan[region.entry] > 0.0,
            opponent_reach=opponent_reach,
        )

    def _margin_game(self, recipe: SubgameRecipe, region: Region, reach: FloatArray) -> MarginGame:
        """The template of this module's text."""
        values = self.values
        total_reach = values.reach[region.roots]
        leaf_root = region.forest_root[region.leaf_column]
        payoff = (
            self.index.payoff[region.leaves] * values.plan[region.leaf_sequence] / reach[leaf_root]
        )
        bonus, offset = self._bonus(recipe, region, reach, total_reach)
        bonus[: region.num_roots] += offset
        if recipe.reach:
            gifts = gifts_on_the_way(values, region)
            divisor = total_reach if recipe.margin == Margin.SAFE_GIFT else reach
            bonus[: region.num_roots] += gifts * total_reach / divisor
        paid = np.flatnonzero(bonus)
        theirs = self.index.tree.infosets[self.index.opponent]
        return MarginGame(
            player=self.index.player,
            treeplex=region.treeplex,
            num_roots=region.num_roots,
            parent=region.decision_parent,
            first=region.decision_first,
            num_actions=theirs.num_actions[region.decisions],
            root=region.forest_root,
            row=np.concatenate([region.leaf_row, np.full(len(paid), EMPTY_SEQUENCE)]),
            column=np.concatenate([region.leaf_column, paid]),
            value=np.concatenate([payoff, bonus[paid]]),
        )

    def _bonus(
        self,
        recipe: SubgameRecipe,
        region: Region,
        reach: FloatArray,
        total_reach: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """The template's bonus [F] and off [R]."""
        values = self.values
        root_values = values.value[region.roots]
        root = region.forest_root
        if recipe.margin == Margin.FOLDED:
            return folded_bonus(values.outside(region), root, reach, root_values)
        if recipe.margin == Margin.CUT:
            inside = _values_inside(values, region)
            return np.zeros(region.num_forest_sequences), -inside / reach
        return safe_gift_bonus(
            recipe.gift_scale,
            values.inside(region),
            values.outside(region),
            root,
            reach,
            total_reach,
            root_values,
        )


def build_subgame(
    blueprint: BehaviorPolicy,
    infoset: int | str,
    recipe: SubgameRecipe | str,
    player: int = 0,
) -> Subgame:
    """The subgame of one method at one infoset.

    For many subgames of one blueprint make a `SubgameBuilder` once.

    Args:
      blueprint: strategies of both players. The opponent's matters only to UNSAFE,
        to OLSS and to `RootWeights.OPPONENT`.
      infoset: an infoset of the player, or the information state string of one at
        which he moves.
      recipe: the method: a value of `recipes`, or its name, such as "1-klss".
      player: whose strategy is refined.
    """
    builder = SubgameBuilder(blueprint, player)
    if isinstance(infoset, str):
        labels = blueprint.tree.infosets[player].index_of_label
        if infoset not in labels:
            raise ValueError(f"player {player} of {blueprint.tree.name} has no infoset {infoset!r}")
        infoset = labels[infoset]
    return builder.build(infoset, recipe_from(recipe))


def gifts_on_the_way(values: BlueprintValues, region: Region) -> FloatArray:
    """[R] what the opponent has given away by his moves before each root.

    The sum over the moves I'a' before the root of what a best response loses by a' at
    I', per unit of reach (Brown and Sandholm 2017; ZS21, algorithm 12, line 22).
    """
    theirs = values.index.tree.infosets[values.index.opponent]
    gifts = np.zeros(region.num_roots)
    sequence = theirs.parent_sequence[region.roots]
    while np.any(sequence != EMPTY_SEQUENCE):
        moved = np.flatnonzero(sequence != EMPTY_SEQUENCE)
        infoset = theirs.sequence_infoset[sequence[moved]]
        loss = values.sequence_value[sequence[moved]] - values.value[infoset]
        came = values.reach[infoset]
        gifts[moved] += np.where(came > 0.0, loss / np.where(came > 0.0, came, 1.0), 0.0)
        sequence[moved] = theirs.parent_sequence[infoset]
    return gifts


def _values_inside(values: BlueprintValues, region: Region) -> FloatArray:
    """[R] the blueprint's value at each root against a best response, region only."""
    totals = values.inside(region)
    theirs = values.index.tree.infosets[values.index.opponent]
    # Parents come first, so backwards every infoset is complete when its turn comes.
    for k in range(len(region.decisions) - 1, -1, -1):
        first = region.decision_first[k]
        actions = totals[first : first + theirs.num_actions[region.decisions[k]]]
        totals[region.decision_parent[k]] += actions.min()
    return totals[: region.num_roots]


def _no_margins(player: int, region: Region) -> MarginGame:
    none = np.zeros(0, dtype=np.int32)
    return MarginGame(player, region.treeplex, 0, none, none, none, none, none, none, np.zeros(0))
