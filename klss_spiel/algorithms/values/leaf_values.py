"""Value functions at the leaves of the growing-tree search.

    game = LeafValuedGame("leduc_poker")
    search_policy("leduc_poker", OBSCURO, Budget(nodes=300), searched=game)

A search asks before every iteration what its leaves are worth, given both players' ranges
there (`search.revaluation`). The answer comes from the game that is left below the leaves
(`leaf_games`), which is solved along with the tree by the compiled CFR engine: `updates`
of its strategies for each question, warm from question to question as `Bottoms` is, and
what its current strategies pay at each leaf is the value. A growth step changes the forest;
what was learned at a choice of the game is then taken over by the new forest's same choice,
and `first_updates` are made before the first answer.

This is for games small enough to be enumerated, whose public states are therefore known:
Kuhn and Leduc poker, small chess. With continuation strategies only their payoffs are taken
from the enumerated game, and what is solved at the leaves is as small as their number.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from klss_spiel.algorithms import cfr
from klss_spiel.algorithms.cfr_compiled import CompiledForm, compile_form
from klss_spiel.algorithms.cfr_kernels import PlayerVectors
from klss_spiel.algorithms.cfr_solution import Method
from klss_spiel.algorithms.regret import RM_PLUS
from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame
from klss_spiel.algorithms.search.policy import policy_of_search
from klss_spiel.algorithms.search.search import Search
from klss_spiel.algorithms.search.settings import Iterate
from klss_spiel.algorithms.values.border import Border
from klss_spiel.algorithms.values.bottoms import opposing_roots, weighted_form
from klss_spiel.algorithms.values.completion import decided_exploitability
from klss_spiel.algorithms.values.continuations import self_generated
from klss_spiel.algorithms.values.leaf_borders import AskedBorder, complete_states
from klss_spiel.algorithms.values.leaf_games import (
    LeafGame,
    Pair,
    choice_of_continuations,
    leaves_above,
    rest_of_game,
    rest_until,
)
from klss_spiel.algorithms.values.policy_values import PolicyValues
from klss_spiel.arrays import FloatArray, IntArray, sum_at
from klss_spiel.evaluators import zero_evaluator
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.search_game import (
    LeafEvaluator,
    LeafValues,
    Leaves,
    Positions,
    ValueFunction,
)
from klss_spiel.sequence_form import make_sequence_form
from klss_spiel.tree import EMPTY_SEQUENCE, NO_INFOSET, PLAYERS, ROOT, GameTree

# Larger games are refused: their forests would be built after every growth step.
MAX_NODES = 300_000

_METHOD = Method(RM_PLUS, cfr.LINEAR, True)
_UNKNOWN = -1.0


class Forests(Protocol):
    """What is left to play below leaves."""

    def forest(
        self, tree: GameTree, player: int, nodes: IntArray, roots: Pair, weight: FloatArray
    ) -> LeafGame:
        """The game below some nodes, for a search of a player.

        Args:
          tree: the game.
          player: who searches.
          nodes: [n] the leaves.
          roots: for each player, [n] root of each; see `leaf_games`.
          weight: [n] probability of what neither player chooses any more.
        """


@dataclasses.dataclass(frozen=True)
class RestOfGame:
    """Everything: values are those of (nearly) optimal play by both, given the ranges."""

    def forest(
        self, tree: GameTree, player: int, nodes: IntArray, roots: Pair, weight: FloatArray
    ) -> LeafGame:
        """See `Forests`."""
        del player, weight
        return rest_of_game(tree, nodes, roots)


@dataclasses.dataclass(frozen=True, eq=False)
class ValuedBorder:
    """The rest of the game down to a border, where a value function says what comes then.

    It can be a network. It is asked about a public state of the border of which all
    histories lie at or below leaves with chance's own probability: about all of them as long
    as a search from the start has not grown past the border. Elsewhere, which is to say below
    the border and in searches that start in the middle of a game from sampled positions, all
    the rest of the game is left.

    Attributes:
      border: a cut through the game.
      values: from ranges to counterfactual values there.
    """

    border: Border
    values: ValueFunction

    def forest(
        self, tree: GameTree, player: int, nodes: IntArray, roots: Pair, weight: FloatArray
    ) -> LeafGame:
        """See `Forests`."""
        del player
        border = self.border
        if border.tree is not tree:
            raise ValueError(
                f"expected a border of the tree of {tree.name} that is searched, got one of "
                f"another tree, of {border.tree.name}"
            )
        stops = complete_states(border, leaves_above(tree, nodes), nodes, roots, weight)
        game, ends = rest_until(tree, nodes, roots, border.nodes[stops])
        if not len(stops):
            return game
        return dataclasses.replace(game, asked=AskedBorder(border, self.values, stops, ends))


@dataclasses.dataclass(frozen=True, eq=False)
class Continuations:
    """The searching player goes on by a blueprint, the opponent by one of a few strategies.

    Attributes:
      blueprint: of the searching player.
      strategies: for each player as the opponent, strategies of the whole game to choose
        from at his leaf infosets, each [S of the tree].
    """

    blueprint: BehaviorPolicy
    strategies: tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]

    def __post_init__(self) -> None:
        for p in PLAYERS:
            if not self.strategies[p]:
                raise ValueError(f"expected at least one continuation of player {p}, got none")

    def forest(
        self, tree: GameTree, player: int, nodes: IntArray, roots: Pair, weight: FloatArray
    ) -> LeafGame:
        """See `Forests`."""
        del weight
        if self.blueprint.tree is not tree:
            raise ValueError(
                f"expected a blueprint on the tree of {tree.name} that is searched, got one of "
                f"another tree, of {self.blueprint.tree.name}"
            )
        values = [
            PolicyValues(self.blueprint.replace(1 - player, strategy)).history(0)[nodes]
            for strategy in self.strategies[1 - player]
        ]
        return choice_of_continuations(player, np.array(values), roots)


class ForestValues:
    """Leaf values of one search. Mutable: strategies at the leaves go on improving."""

    def __init__(self, game: LeafValuedGame, player: int) -> None:
        """Values for a new search.

        Args:
          game: the game, which says what is left at its leaves.
          player: who searches.
        """
        self._game, self._player = game, player
        self._done = 0
        self._below: _Solving | None = None
        # For each player, [S of the tree] what was learned below leaves of the past.
        sizes = [game.tree.infosets[p].num_sequences for p in PLAYERS]
        self._regret = [np.zeros(size) for size in sizes]
        self._strategy = [np.full(size, _UNKNOWN) for size in sizes]

    def start(self, leaves: Leaves) -> None:
        """See `LeafValues`."""
        if self._below is not None:
            self._remember(self._below)
        game = self._game
        numbered = [
            np.unique(leaves.infoset_ids[p], return_index=True, return_inverse=True)
            for p in PLAYERS
        ]
        roots = numbered[0][2].reshape(-1), numbered[1][2].reshape(-1)
        nodes = game.nodes_of(leaves.position)
        below = game.forests.forest(game.tree, self._player, nodes, roots, leaves.weight)
        weighted = leaves.weight[below.leaf] * below.payoff
        compiled = compile_form(make_sequence_form(below.treeplexes, *below.sequence, weighted))
        self._below = _Solving(
            game=below,
            compiled=compiled,
            opposing=opposing_roots(below.root, compiled),
            first=(numbered[0][1], numbered[1][1]),
            state=compiled.initial_state(),
            fresh=True,
        )
        self._recall(self._below)

    def values(self, reach: FloatArray) -> FloatArray:
        """See `LeafValues`."""
        below = self._below
        if below is None:
            raise ValueError("expected to be told the leaves before their ranges")
        ranges = reach[0, below.first[0]], reach[1, below.first[1]]
        form = weighted_form(below.compiled, below.opposing, ranges)
        count = self._game.first_updates if below.fresh else self._game.updates
        asked = below.game.asked
        if asked is None:
            below.state = form.run(below.state, self._done, count, _METHOD, owned=True)
        elif any(len(treeplex.num_actions) for treeplex in below.game.treeplexes):
            answers = asked.values_from(below.game.root, ranges)
            below.state = form.run_trunk(
                below.state, self._done, count, _METHOD, asked.sequence, answers
            )
        below.fresh = False
        self._done += count
        plans = [below.state[p].plan[below.compiled.choices[p].number] for p in PLAYERS]
        pays = below.game.payoff.copy()
        for p in PLAYERS:
            pays *= plans[p][below.game.sequence[p]]
        found = sum_at(below.game.leaf, pays, reach.shape[1])
        if asked is not None:
            found += asked.payoffs(below.game.root, ranges, (plans[0], plans[1]), reach.shape[1])
        return found / self._game.utility_scale

    def _remember(self, below: _Solving) -> None:
        for p in PLAYERS:
            origin = below.game.origin[p][below.compiled.choices[p].sequence]
            self._regret[p][origin] = below.state[p].regret
            self._strategy[p][origin] = below.state[p].strategy
            self._strategy[p][EMPTY_SEQUENCE] = _UNKNOWN

    def _recall(self, below: _Solving) -> None:
        """Starts the choices of a new forest as the tree's same choices were left."""
        for p in PLAYERS:
            chosen = below.compiled.choices[p].sequence
            origin = below.game.origin[p][chosen]
            known = self._strategy[p][origin] != _UNKNOWN
            vectors = below.state[p]
            vectors.regret[known] = self._regret[p][origin[known]]
            vectors.strategy[known] = self._strategy[p][origin[known]]
            behavior = np.ones(below.game.treeplexes[p].num_sequences)
            behavior[chosen] = vectors.strategy
            plan = below.game.treeplexes[p].realization_plan(behavior)
            vectors.plan[:] = plan[chosen]


@dataclasses.dataclass
class _Solving:
    """A forest and the strategies on it. Mutable.

    Attributes:
      game: the forest.
      compiled: laid out for the engine, with the leaves' weights.
      opposing: for each player, [E] the opponent's root of each payoff.
      first: for each player, [b] a leaf of each root.
      state: the engine's.
      fresh: nobody has asked for values yet.
    """

    game: LeafGame
    compiled: CompiledForm
    opposing: Pair
    first: Pair
    state: tuple[PlayerVectors, PlayerVectors]
    fresh: bool


class LeafValuedGame(OpenSpielSearchGame):
    """A small OpenSpiel game whose leaves are valued by what is left to play there.

    Attributes:
      tree: the whole game.
      forests: what is left at leaves.
      updates: of the strategies there for each iteration of the search.
      first_updates: for the first one after a growth step.
    """

    def __init__(
        self,
        game: Any,
        forests: Forests | None = None,
        updates: int = 5,
        first_updates: int = 20,
        evaluator: LeafEvaluator = zero_evaluator,
        tree: GameTree | None = None,
        max_nodes: int = MAX_NODES,
    ) -> None:
        """Makes a game searchable with values at its leaves.

        Args:
          game: a `pyspiel.Game` or a game string.
          forests: what is left at leaves; all of it by default.
          updates: see the class.
          first_updates: see the class.
          evaluator: what new leaves and sampled root positions are worth until they are
            asked about.
          tree: the game's tree, if it is at hand.
          max_nodes: refuse a larger game.

        Raises:
          ValueError: a game too large to know its public states, or a tree of another game.
        """
        if updates < 1 or first_updates < 1:
            raise ValueError(
                f"expected at least 1 update for each question, got {updates} and {first_updates}"
            )
        super().__init__(game, evaluator)
        if tree is None:
            try:
                tree = tree_from_game(self.game, max_nodes)
            except ValueError as error:
                raise ValueError(
                    f"value functions at leaves need a game whose public states are known; "
                    f"{self.game} cannot be enumerated: {error}"
                ) from error
        elif tree.name != str(self.game):
            raise ValueError(f"expected the tree of {self.game}, got that of {tree.name}")
        self.tree = tree
        self.forests: Forests = RestOfGame() if forests is None else forests
        self.updates = updates
        self.first_updates = first_updates
        self._nodes: dict[tuple[int, ...], int] = {(): ROOT}

    def leaf_values(self, player: int) -> LeafValues:
        """See `RangeValuedGame`."""
        return ForestValues(self, player)

    def nodes_of(self, positions: Positions) -> IntArray:
        """[n] the tree's nodes of some states."""
        return np.array([self._node(tuple(state.history())) for state in positions], np.int64)

    def _node(self, history: tuple[int, ...]) -> int:
        found = self._nodes.get(history)
        if found is None:
            parent = self._node(history[:-1])
            first = int(self.tree.first_child[parent])
            actions = self.tree.action[first : first + int(self.tree.num_children[parent])]
            found = first + int(np.flatnonzero(actions == history[-1])[0])
            self._nodes[history] = found
        return found


def continuations_from(border: Border, blueprint: BehaviorPolicy, count: int) -> Continuations:
    """Self-generated continuations of both players at a border, for any leaves above it.

    Above the border they play as the blueprint does.

    Args:
      border: where `continuations.self_generated` cuts the game.
      blueprint: strategies of both players.
      count: number of continuations of each player.
    """
    trunk = border.trunk_of(blueprint)
    strategies = []
    for p in PLAYERS:
        found = []
        for continuation in self_generated(border, 1 - p, blueprint, count):
            below = list(border.bottoms_of(blueprint))
            below[p] = continuation
            found.append(border.join(trunk, (below[0], below[1])).probabilities[p])
        strategies.append(tuple(found))
    return Continuations(blueprint, (strategies[0], strategies[1]))


def search_exploitability(search: Search, tree: GameTree) -> float:
    """What the average strategy of a search from the start has given away for good.

    It counts at the infosets of the searching player that the search has come to; see
    `completion.decided_exploitability`.

    Args:
      search: a search from the start of the game.
      tree: the whole game.
    """
    player = search.tree.player
    infosets = tree.infosets[player]
    decided = np.zeros(infosets.num_sequences, dtype=np.bool_)
    for label, infoset in infosets.index_of_label.items():
        identifiers = search.game.infosets(player, label)
        if any(search.tree.infoset_of(player, int(i)) != NO_INFOSET for i in identifiers):
            decided[infosets.sequences(infoset)] = True
    policy = policy_of_search(search, tree, Iterate.AVERAGE)
    return decided_exploitability(policy, player, decided)
