"""Subgames of a public tree times hands: the margins of `subgame`, found by vectors.

Right after public cards everything but hands is common knowledge. The region of order 1
of a hand has this hand alone, the common-knowledge closure has all; the roots are the
opponent's hands. Both are built from a few vectors over hands per closure instead of
nodes, as `MarginGame`s whose payoffs are entries (order 1) or an operator (common
knowledge), so that gadgets and solvers are those of every other game.

Not here: gifts on the way (`reach`), other orders, OLSS-II.

Shapes: H hands of the closure's stage, R roots, F sequences of the opponent's forest,
T outcomes, S sequences of a player; "local" sequences are those of `local_spots`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.algorithms.subgame.gadgets import MarginGame
from klss_spiel.algorithms.subgame.local_spots import AT_ROOT, HandLayout, LocalSpots, hand_layout
from klss_spiel.algorithms.subgame.margin_template import (
    distinct_weights,
    folded_bonus,
    gadget_form,
    only_rounding,
    safe_gift_bonus,
    weights_of_roots,
)
from klss_spiel.algorithms.subgame.recipes import Gadget, Margin, SubgameRecipe
from klss_spiel.arrays import BoolArray, FloatArray, IntArray, ranges, sum_at
from klss_spiel.hand_payoffs import HandPairs, HandPayoffs
from klss_spiel.public_game import Closure, PublicGame
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS
from klss_spiel.treeplex_kernels import realization_plan


@dataclasses.dataclass(frozen=True, eq=False)
class PublicSubgame:
    """A subgame ready to be solved: see `solvers.SolvableSubgame`.

    Attributes:
      recipe: the method.
      game: the margins.
      root_reach: [R] D of each root.
      root_weights: [R] or [n, R] what the gadget weighs margins with.
      blueprint: [S local] the blueprint's behaviour.
      sequences: [S local] the game's number of each sequence; 0 is the empty one.
      is_reached: [S local] whether the blueprint comes here with the sequence's hand.
      infoset: the player's infoset in his treeplex that the subgame is of.
    """

    recipe: SubgameRecipe
    game: MarginGame
    root_reach: FloatArray
    root_weights: FloatArray
    blueprint: FloatArray
    sequences: IntArray
    is_reached: BoolArray
    infoset: int

    @functools.cached_property
    def form(self) -> SequenceForm:
        """The sequence form with the recipe's gadget at the root."""
        return gadget_form(self.recipe, self.game, self.root_weights)

    @property
    def player(self) -> int:
        """Whose strategy is refined."""
        return self.game.player

    def margins(self, behavior: FloatArray) -> FloatArray:
        """[R] margins of the roots when the player plays `behavior` ([S local])."""
        return self.game.margins(self.game.treeplex.realization_plan(behavior))


class PublicSubgameBuilder:
    """Builds the subgames of one player around one blueprint.

    Attributes:
      game: the game.
      player: whose strategy is refined.
      behavior: [S] his behaviour probabilities.
    """

    def __init__(
        self,
        game: PublicGame,
        behaviors: tuple[FloatArray, FloatArray],
        player: int,
        opponent_behaviors: Sequence[FloatArray] | None = None,
    ) -> None:
        """Takes the blueprint.

        Args:
          game: the game.
          behaviors: the blueprint of both players.
          player: whose strategy is refined.
          opponent_behaviors: each [S of the opponent], strategies that OLSS-I limits him
            to; None means the blueprint alone.
        """
        self.game = game
        self.player = player
        self.opponent = 1 - player
        self.behavior = behaviors[player]
        plans = game.plans(behaviors)
        self._plan, self._opponent_plan = plans[player], plans[self.opponent]
        self._strategy_plans = [self._opponent_plan]
        if opponent_behaviors:
            treeplex = game.form.treeplexes[self.opponent]
            self._strategy_plans = [
                realization_plan(treeplex, behavior) for behavior in opponent_behaviors
            ]
        self._last_pairs: HandPairs | None = None
        self._last_matrices: tuple[FloatArray, FloatArray]

    def build(self, closure: Closure, recipe: SubgameRecipe) -> list[PublicSubgame]:
        """The subgames at a closure: one, or one for each hand at order 1.

        Hands and roots that the blueprint never comes to are left out.
        """
        _check(recipe)
        here = _Here(self, closure)
        if recipe.order == COMMON_KNOWLEDGE:
            subgame = here.common(recipe)
            return [] if subgame is None else [subgame]
        hands = np.flatnonzero(here.own_reach > 0.0).tolist()
        found = (here.of_hand(recipe, hand) for hand in hands)
        return [subgame for subgame in found if subgame is not None]

    def matrices(self, pairs: HandPairs) -> tuple[FloatArray, FloatArray]:
        """[H, H] twice, as `HandPairs.matrices`; those asked for last are kept.

        Closures of one board, which follow each other, share their pairs.
        """
        if self._last_pairs is not pairs:
            self._last_pairs, self._last_matrices = pairs, pairs.matrices()
        return self._last_matrices


def _check(recipe: SubgameRecipe) -> None:
    if recipe.order not in (1, COMMON_KNOWLEDGE):
        raise ValueError(f"expected order 1 or common knowledge by hands, got {recipe.order}")
    if recipe.reach or recipe.gadget == Gadget.PLAYING or recipe.margin == Margin.CUT:
        raise ValueError(f"{recipe.name} needs a tree of nodes; by hands there is no such subgame")
    if recipe.merge_transpositions or recipe.opponent_strategies is not None:
        raise ValueError(f"{recipe.name} has options that need a tree of nodes")


class _Here:
    """What all subgames at one closure share: the blueprint's vectors over hands."""

    def __init__(self, builder: PublicSubgameBuilder, closure: Closure) -> None:
        game, me, other = builder.game, builder.player, builder.opponent
        self.me, self.other = me, other
        self.builder, self.closure = builder, closure
        self.pairs = closure.outcomes.pairs
        hands = self.hands = self.pairs.num_hands
        self.own = LocalSpots.of(game, closure, me)
        self.theirs = LocalSpots.of(game, closure, other)
        self.treeplex = self.own.treeplex(hands)
        self.hand_treeplex = self.own.treeplex(1)
        self.own_reach = builder._plan[game.entry_sequences(closure, me)]
        entry = game.entry_sequences(closure, other)
        self.opponent_reach = builder._opponent_plan[entry]
        self.strategy_reach = np.stack([plan[entry] for plan in builder._strategy_plans])
        # D and N of common knowledge: chance and the player.
        self.reach = self.pairs.meet(self.own_reach[np.newaxis])[0]
        local = builder.behavior[closure.begin[me] : closure.end[me]]
        self.blueprint = np.concatenate([[1.0], local])
        self.plan = self.treeplex.realization_plan(self.blueprint)
        ones = np.ones(hands)
        gradient = np.zeros(hands + self.theirs.total * hands)
        self._operator(self.own_reach, ones).add_gradient(other, self.plan, gradient)
        # [F] the player's payoffs at the opponent's sequences, and [R] V.
        self.direct = -gradient
        self.root_values = self._least(self.direct)
        first_spot = next(k for k in closure.spots if game.spots[k].player == me)
        self.first_sequence = game.spots[first_spot].first_sequence
        self.first_actions = game.spots[first_spot].num_sequences
        self._hand_layouts: dict[int, HandLayout] = {}
        # Where own and opponent's sequences stand at each outcome: spot and action.
        self.own_end = self._ends(me, self.own)
        self.their_end = self._ends(other, self.theirs)

    def _ends(self, player: int, spots: LocalSpots) -> tuple[IntArray, IntArray]:
        """[T] spot and action of a player's sequence at each outcome."""
        local = self.closure.outcomes.start[player] - self.closure.begin[player]
        spot = np.searchsorted(spots.shift * self.hands, local, side="right") - 1
        return spot, local - spots.shift[spot] * self.hands

    def _operator(self, own_scale: FloatArray, their_scale: FloatArray) -> HandPayoffs:
        """Payoffs between local sequences of the player and of the forest with H roots."""
        ends = self.closure.outcomes
        own = ends.start[self.me] - self.closure.begin[self.me] + 1
        theirs = ends.start[self.other] - self.closure.begin[self.other] + self.hands
        own_scale, their_scale = own_scale[np.newaxis], their_scale[np.newaxis]
        mine_first = self.me == PLAYERS[0]
        return HandPayoffs(
            (
                dataclasses.replace(
                    ends,
                    start=(own, theirs) if mine_first else (theirs, own),
                    scale=(own_scale, their_scale) if mine_first else (their_scale, own_scale),
                ),
            )
        )

    def _least(self, direct: FloatArray) -> FloatArray:
        """[H] the player's payoff at each root when the opponent best-responds."""
        hands, spots = self.hands, self.theirs
        totals = direct.copy()
        for k in range(len(spots.num_actions) - 1, -1, -1):
            begin = hands + spots.shift[k] * hands
            count = int(spots.num_actions[k])
            least = totals[begin : begin + count * hands].reshape(hands, count).min(axis=1)
            if spots.parent[k] == AT_ROOT:
                totals[:hands] += least
            else:
                above = hands + spots.shift[spots.parent[k]] * hands + spots.parent_action[k]
                step = int(spots.num_actions[spots.parent[k]])
                totals[above : above + step * hands : step] += least
        return totals[:hands]

    def common(self, recipe: SubgameRecipe) -> PublicSubgame | None:
        """The subgame of the whole closure."""
        usable = self.reach > 0.0
        if not np.any(usable):
            return None
        reach = np.where(usable, self.reach, 1.0)
        parent, first, num_actions, root = self.theirs.forest(self.hands)
        nothing = np.zeros(len(root))
        bonus, offset = folded_bonus(nothing, root, reach, self.root_values)
        column = np.arange(self.hands)
        operator = self._operator(self.own_reach, 1.0 / reach)
        game = MarginGame(
            player=self.me,
            treeplex=self.treeplex,
            num_roots=self.hands,
            parent=parent,
            first=first,
            num_actions=num_actions,
            root=root,
            row=np.zeros(self.hands, dtype=np.int64),
            column=column,
            value=bonus[: self.hands] + offset,
            operator=operator,
        )
        if not np.all(usable):
            game = _without_roots(game, usable)
        weights = weights_of_roots(recipe, self.reach[usable], self.opponent_reach[usable])
        sequences = np.arange(self.closure.begin[self.me] - 1, self.closure.end[self.me])
        sequences[0] = EMPTY_SEQUENCE
        reached = np.concatenate([[True], self.own_reach[self.own.hand_of(self.hands)] > 0.0])
        return PublicSubgame(
            recipe=recipe,
            game=game,
            root_reach=self.reach[usable],
            root_weights=weights,
            blueprint=self.blueprint,
            sequences=sequences,
            is_reached=reached,
            infoset=self._infoset(0),
        )

    def _infoset(self, hand: int) -> int:
        """The first infoset of a hand in the player's treeplex."""
        sequence = self.first_sequence + hand * self.first_actions
        treeplex = self.builder.game.form.treeplexes[self.me]
        return int(np.searchsorted(treeplex.first_sequence, sequence))

    def _hand_layout(self, roots: int) -> HandLayout:
        """What subgames of one hand with so many roots share."""
        if roots not in self._hand_layouts:
            ends = (self.own_end, self.their_end)
            self._hand_layouts[roots] = hand_layout(self.own, self.theirs, ends, roots)
        return self._hand_layouts[roots]

    def of_hand(self, recipe: SubgameRecipe, hand: int) -> PublicSubgame | None:
        """The order-1 subgame of one hand."""
        matrices = self.builder.matrices(self.pairs)
        probability, order = (matrix[hand] for matrix in matrices)
        usable = probability > 0.0
        masses = probability * self.strategy_reach
        if recipe.gadget == Gadget.REACHING:
            usable &= np.any(masses > 0.0, axis=0)
        roots = np.flatnonzero(usable)
        if not len(roots):
            return None
        count = len(roots)
        reach = probability[roots] * self.own_reach[hand]
        layout = self._hand_layout(count)
        root, column = layout.root, layout.column
        # [T, R] payoffs of the hand at each outcome against each root.
        ends = self.closure.outcomes
        sign = 1.0 if self.me == PLAYERS[0] else -1.0
        folds = ends.num_folds
        payoff = np.concatenate(
            [
                sign * ends.stake[:folds, np.newaxis] * probability[roots],
                ends.stake[folds:, np.newaxis] * order[roots],
            ]
        )
        payoff *= self.own_reach[hand]
        own_spot, own_action = self.own_end
        at_hand = np.full_like(own_spot, hand)
        at_hand = 1 + self.own.sequence(own_spot, at_hand, own_action, self.hands)
        played = payoff * self.plan[at_hand][:, np.newaxis]
        inside = sum_at(column, played.reshape(-1), len(root))
        direct = np.concatenate([np.zeros(count), self._direct_of(roots)])
        outside = only_rounding(direct - inside, np.abs(inside) + np.abs(direct))
        values = self.root_values[roots]
        if recipe.margin == Margin.FOLDED:
            bonus, offset = folded_bonus(outside, root, reach, values)
        else:
            bonus, offset = safe_gift_bonus(
                recipe.gift_scale, inside, outside, root, reach, self.reach[roots], values
            )
        bonus[:count] += offset
        paid = np.flatnonzero(bonus)
        game = MarginGame(
            player=self.me,
            treeplex=self.hand_treeplex,
            num_roots=count,
            parent=layout.parent,
            first=layout.first,
            num_actions=layout.num_actions,
            root=root,
            row=np.concatenate([layout.row, np.full(len(paid), EMPTY_SEQUENCE)]),
            column=np.concatenate([column, paid]),
            value=np.concatenate([(payoff / reach).reshape(-1), bonus[paid]]),
        )
        if recipe.gadget == Gadget.REACHING:
            weights = distinct_weights(masses[:, roots])
        else:
            weights = weights_of_roots(recipe, reach, self.opponent_reach[roots])
        begin = self.own.shift * self.hands + hand * self.own.num_actions
        local = ranges(begin, begin + self.own.num_actions)
        sequences = np.concatenate([[EMPTY_SEQUENCE], self.closure.begin[self.me] + local])
        return PublicSubgame(
            recipe=recipe,
            game=game,
            root_reach=reach,
            root_weights=weights,
            blueprint=np.concatenate([[1.0], self.blueprint[1 + local]]),
            sequences=sequences,
            is_reached=np.ones(len(sequences), dtype=np.bool_),
            infoset=self._infoset(hand),
        )

    def _direct_of(self, roots: IntArray) -> FloatArray:
        """`direct` below some roots, in the order of a forest with those roots alone."""
        hands = self.hands
        parts = []
        for k, count in enumerate(self.theirs.num_actions):
            begin = hands + self.theirs.shift[k] * hands
            of_spot = self.direct[begin : begin + count * hands].reshape(hands, count)
            parts.append(of_spot[roots].reshape(-1))
        return np.concatenate(parts)


def _without_roots(game: MarginGame, usable: BoolArray) -> MarginGame:
    """A game whose payoffs are entries, with some of its roots ([R]) only."""
    assert game.operator is not None
    first, second, value = game.operator.entries()
    row, column = (first, second) if game.player == PLAYERS[0] else (second, first)
    row = np.concatenate([game.row, row])
    column = np.concatenate([game.column, column])
    own_value = value if game.player == PLAYERS[0] else -value
    values = np.concatenate([game.value, own_value])
    number = np.cumsum(usable[game.root]) - 1
    kept = usable[game.root[column]]
    infosets = usable[game.root[game.first]]
    return MarginGame(
        player=game.player,
        treeplex=game.treeplex,
        num_roots=int(usable.sum()),
        parent=number[game.parent[infosets]],
        first=number[game.first[infosets]],
        num_actions=game.num_actions[infosets],
        root=number[game.root[usable[game.root]]],
        row=row[kept],
        column=number[column[kept]],
        value=values[kept],
    )
