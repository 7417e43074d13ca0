"""The rows of `olss_tables` in games that are a tree of nodes."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Mapping

from klss_spiel.algorithms.subgame.opponent_strategies import biased_strategies
from klss_spiel.algorithms.subgame.recipes import SubgameRecipe
from klss_spiel.algorithms.subgame.refine import Schedule, infosets_after_chance, refine
from klss_spiel.algorithms.subgame.solvers import SubgameSolver
from klss_spiel.games.poker.leduc_family import ACTIONS, parse_game
from klss_spiel.games.poker.rank_trees import poker_tree
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.progress import Progress
from klss_spiel.run import stopped_blueprints
from klss_spiel.run.stopped_blueprints import Blueprint
from klss_spiel.sequence_form import SequenceForm, sequence_form_from_tree
from klss_spiel.tree import PLAYERS, GameTree

# By what the probabilities of fold, call and raise are multiplied, for each number of
# opponent strategies.
BIASES: Mapping[int, tuple[float, ...]] = {1: (), 4: (5.0,), 7: (5.0, 20.0)}


@dataclasses.dataclass(frozen=True, eq=False)
class Setting:
    """A game with one blueprint.

    Attributes:
      name: of the game.
      tree: the game.
      form: its sequence form.
      blueprint: where it was stopped, and how it was made.
      seconds: that making it took.
      cpu_seconds: likewise, of the processor.
    """

    name: str
    tree: GameTree
    form: SequenceForm
    blueprint: Blueprint
    seconds: float
    cpu_seconds: float


@functools.lru_cache(maxsize=1)
def make_setting(name: str, method: str, target: float, seed: int) -> Setting:
    """The game of a name with a blueprint of exploitability `target` or a little less."""
    start, cpu_start = time.monotonic(), time.process_time()
    game = parse_game(name)
    tree, form = _game(name)
    blueprint = stopped_blueprints.make_blueprint(game, tree, form, method, target, seed)
    seconds, cpu_seconds = time.monotonic() - start, time.process_time() - cpu_start
    return Setting(name, tree, form, blueprint, seconds, cpu_seconds)


@functools.lru_cache(maxsize=1)
def _game(name: str) -> tuple[GameTree, SequenceForm]:
    tree = poker_tree(parse_game(name))
    return tree, sequence_form_from_tree(tree)


def refined(
    setting: Setting,
    recipe: SubgameRecipe,
    solver: SubgameSolver,
    num_strategies: int | None = None,
) -> BehaviorPolicy:
    """The blueprint with both players' sides refined after the community card.

    Args:
      setting: the game and the blueprint.
      recipe: the method.
      solver: of the subgames.
      num_strategies: a key of BIASES, for recipes that limit the opponent.
    """
    tree, blueprint = setting.tree, setting.blueprint.policy
    result = blueprint
    for player in PLAYERS:
        of_player = recipe
        if num_strategies is not None:
            strategies = opponent_strategies(blueprint, 1 - player, num_strategies)
            of_player = recipe(opponent_strategies=strategies)
        refinement = refine(
            blueprint,
            of_player,
            player=player,
            where=infosets_after_chance(tree, player),
            schedule=Schedule.SEPARATE,
            solver=solver,
            progress=Progress(f"{setting.name}: infosets of player {player} by {recipe.name}"),
        )
        result = result.replace(player, refinement.policy.probabilities[player])
    return result


def opponent_strategies(
    blueprint: BehaviorPolicy, opponent: int, count: int
) -> tuple[BehaviorPolicy, ...]:
    """The blueprint and its biased copies (OLSS, appendix C.2).

    Args:
      blueprint: strategies of both players.
      opponent: whose strategy is biased.
      count: a key of BIASES.
    """
    biased = [biased_strategies(blueprint, opponent, ACTIONS, factor) for factor in BIASES[count]]
    return (blueprint, *(policy for policies in biased for policy in policies[1:]))
