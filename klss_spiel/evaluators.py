"""Values of unfinished positions by name: one list for the whole package.

    evaluator = make_evaluator("python_dark_chess", "resolver(handmade)")
    values = evaluator(positions)

A name or a specification (`klss_spiel.specification`) is made into an `Evaluator` for one
game. Evaluators compose: a maker that takes another one gets it as a specification and
calls `make_evaluator` itself. Games add theirs when they are registered, by makers that
import what is heavy only when they are called.

`zero` suits every position; `rollout` and `exact` look at OpenSpiel's states, so that a
search with one of them goes through the states.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.search_game import LeafEvaluator, Positions
from klss_spiel.specification import Registry, Specification, parse
from klss_spiel.tree import ROOT, TERMINAL, GameTree

# What an evaluator's positions are: anything, or OpenSpiel's states; else a game's name.
ANY: Final = "any"
STATES: Final = "states"


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluator:
    """A function on positions with a name; can be called like the function.

    Attributes:
      name: for reports.
      function: player 0's expected payoff between -1 and 1 at each position: [n] -> [n].
      positions: what it can look at: ANY, STATES, or the short name of a game that
        brings its own positions (`klss_spiel.search_game`).
    """

    name: str
    function: LeafEvaluator
    positions: str = ANY

    def __call__(self, positions: Positions) -> FloatArray:
        """[n] values of [n] positions."""
        return self.function(positions)


EVALUATORS: Final[Registry[Evaluator]] = Registry("evaluator")


def make_evaluator(game: Any, specification: str | Specification) -> Evaluator:
    """The evaluator of a game that a specification names.

    Args:
      game: a `pyspiel.Game` or a game string.
      specification: such as "zero" or "resolver(handmade)".

    Raises:
      ValueError: an unknown name, wrong arguments, or an evaluator of other games.
    """
    if isinstance(game, str):
        from klss_spiel.openspiel import load_game

        game = load_game(game)
    if isinstance(specification, str):
        specification = parse(specification)
    made = EVALUATORS.make(specification, game)
    return dataclasses.replace(made, name=str(specification))


def _zeros(positions: Positions) -> FloatArray:
    return np.zeros(len(positions))


# Every unfinished game is even: the lowest rung of evaluators.
zero_evaluator: Final = Evaluator("zero", _zeros)


@dataclasses.dataclass(frozen=True)
class _Rollouts:
    """What `rollout_evaluator` does; a value, so that it compares and pickles."""

    rollouts: int
    seed: int
    scale: float | None

    def __call__(self, positions: Positions) -> FloatArray:
        values = np.empty(len(positions))
        for i, state in enumerate(positions):
            game = state.get_game()
            largest = self.scale or largest_payoff(game)
            rng = np.random.default_rng([self.seed, *(a % 2**32 for a in state.history())])
            total = sum(_play_out(state.clone(), rng) for _ in range(self.rollouts))
            values[i] = np.clip((total / self.rollouts - payoff_offset(game)) / largest, -1.0, 1.0)
        return values


def _play_out(state: Any, rng: np.random.Generator) -> float:
    """Player 0's payoff after random play from a state, which is spent."""
    while not state.is_terminal():
        if state.is_chance_node():
            actions, weights = zip(*state.chance_outcomes(), strict=True)
            action = actions[rng.choice(len(actions), p=np.array(weights))]
        else:
            legal = state.legal_actions()
            action = legal[rng.integers(len(legal))]
        state.apply_action(action)
    return float(state.returns()[0])


def rollout_evaluator(rollouts: int = 1, seed: int = 0, scale: float | None = None) -> Evaluator:
    """Mean payoff of playing OpenSpiel states to the end at random.

    Args:
      rollouts: games per position.
      seed: a position's value depends on this and on its history, not on what else
        was evaluated before.
      scale: largest payoff; the game's own largest utility unless given.
    """
    return Evaluator("rollout", _Rollouts(rollouts, seed, scale), STATES)


def exact_evaluator(game: Any, max_nodes: int = 1_000_000) -> Evaluator:
    """Payoffs when both sides play an equilibrium of the whole game from here on.

    The game is enumerated and solved (linear program) before the first value. In a game
    of imperfect information a history's value depends on the equilibrium; it is that of
    one and the same equilibrium everywhere.

    Args:
      game: a `pyspiel.Game`.
      max_nodes: refuse a larger game.
    """

    @functools.cache
    def solved() -> tuple[GameTree, FloatArray]:
        from klss_spiel.openspiel import tree_from_game

        tree = tree_from_game(game, max_nodes=max_nodes)
        return tree, _equilibrium_values(tree) / largest_payoff(game)

    def evaluate(positions: Positions) -> FloatArray:
        tree, values = solved()
        return np.array([values[_node_of(tree, state.history())] for state in positions])

    return Evaluator("exact", evaluate, STATES)


def _equilibrium_values(tree: GameTree) -> FloatArray:
    """[N] player 0's expected payoff at every node under one equilibrium."""
    from klss_spiel.linear_program import equilibrium
    from klss_spiel.sequence_form import sequence_form_from_tree

    found = equilibrium(sequence_form_from_tree(tree))
    weight = tree.chance.copy()
    for p, behavior in enumerate(found.behaviors):
        moved = 1 + np.flatnonzero(tree.player[tree.parent[1:]] == p)
        weight[moved] = behavior[tree.sequence[p, moved]]
    values = np.where(tree.player == TERMINAL, tree.utility, 0.0)
    for level in reversed(list(tree.levels(skip_root=True))):
        np.add.at(values, tree.parent[level], weight[level] * values[level])
    return values


def _node_of(tree: GameTree, history: list[int]) -> int:
    node = ROOT
    for action in history:
        first = int(tree.first_child[node])
        children = tree.action[first : first + int(tree.num_children[node])]
        found = np.flatnonzero(children == action)
        if not len(found):
            raise ValueError(f"{tree.name} has no history {history}")
        node = first + int(found[0])
    return node


def payoff_offset(game: Any) -> float:
    """Half the constant sum of both players' payoffs."""
    total = game.utility_sum()
    return 0.0 if total is None else 0.5 * float(total)


def largest_payoff(game: Any) -> float:
    """The largest distance of a payoff from an even game; 1 if the game has none."""
    offset = payoff_offset(game)
    largest = max(game.max_utility() - offset, offset - game.min_utility())
    return float(largest) if largest > 0.0 else 1.0


def _make_zero(game: Any) -> Evaluator:
    del game
    return zero_evaluator


def _make_rollout(game: Any, rollouts: int = 1, seed: int = 0) -> Evaluator:
    del game
    return rollout_evaluator(rollouts, seed)


EVALUATORS.register("zero", _make_zero)
EVALUATORS.register("exact", exact_evaluator)
EVALUATORS.register("rollout", _make_rollout)
