"""The rows of `olss_tables` in games that are a public tree times hands."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.algorithms.subgame.opponent_strategies import biased_behavior
from klss_spiel.algorithms.subgame.public_refine import refine_by_hands
from klss_spiel.algorithms.subgame.recipes import Gadget, SubgameRecipe, parse_recipe
from klss_spiel.algorithms.subgame.solvers import SubgameSolver
from klss_spiel.arrays import FloatArray
from klss_spiel.games.poker.flop_holdem import flop_public_game
from klss_spiel.games.poker.hand_sizes import HandSize, hand_size
from klss_spiel.games.poker.leduc_family import ACTIONS, PokerGame, parse_game
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.npz_files import load_arrays
from klss_spiel.progress import Progress
from klss_spiel.public_game import PublicGame
from klss_spiel.run.blueprint_states import SavedArrays
from klss_spiel.run.stopped_blueprints import stopped_cfr
from klss_spiel.tree import PLAYERS
from klss_spiel.treeplex_kernels import behavior_of

# Measured on one core: what CFR does at a sequence of an order-1 subgame, and what it
# takes to lay such a subgame out.
_SECONDS_PER_SEQUENCE = 10e-9
_SECONDS_PER_SUBGAME_SEQUENCE = 0.5e-6
# What it takes to lay one out and to solve it by cutting planes.
_SECONDS_PER_EXACT_SEQUENCE = 0.5e-6
# Of both players after the board with one pair of hands, rounded up.
_SEQUENCES_PER_PAIR = 7

Behaviors = tuple[FloatArray, FloatArray]


@dataclasses.dataclass(frozen=True, eq=False)
class HandSetting:
    """A game with one blueprint.

    Attributes:
      game: the game.
      behaviors: the blueprint of both players.
      nash_conv: its exploitability, summed over both.
      iterations: it took.
      seconds: that making it took.
    """

    game: PublicGame
    behaviors: Behaviors
    nash_conv: float
    iterations: int
    seconds: float


@functools.lru_cache(maxsize=1)
def make_setting(name: str, target: float, folder: str | None = None) -> HandSetting:
    """The game of a name with a blueprint by CFR of exploitability `target` or less.

    Args:
      name: of the game.
      target: nash_conv to stop at.
      folder: where the blueprint's state is kept, to go on from; None for nowhere.
    """
    start = time.monotonic()
    game = public_game(parse_game(name))
    state = None if folder is None else SavedArrays(_state_file(folder, name, target))
    solution, reached = stopped_cfr(game.form, game.name, target, state)
    iterations = solution.iterations
    sums = solution.average_sum_of(0), solution.average_sum_of(1)
    del solution  # In games that fill the memory.
    first, second = (behavior_of(game.form.treeplexes[p], sums[p]) for p in PLAYERS)
    seconds = time.monotonic() - start
    return HandSetting(game, (first, second), reached, iterations, seconds)


def _state_file(folder: str, *what: object) -> pathlib.Path:
    """The file of something in the folder of states."""
    digest = hashlib.sha256(repr(what).encode()).hexdigest()[:8]
    return pathlib.Path(folder) / f"{what[0]}_{digest}.npz"


def public_game(game: PokerGame) -> PublicGame:
    """A game of one community card, or of a flop."""
    return leduc_public_game(game) if game.board_cards == 1 else flop_public_game(game)


def estimated_minutes(
    size: HandSize, recipe: SubgameRecipe, iterations: int | None, num_strategies: int | None
) -> float | None:
    """What refining both players takes on one core, about.

    Args:
      size: of the game.
      recipe: the method.
      iterations: of CFR; None for exact solutions.
      num_strategies: of the opponent in OLSS-I.

    Returns:
      Minutes; None if nobody knows, for linear programs of whole closures.
    """
    if iterations is None and not has_few_plans(recipe):
        return None
    if recipe.order == COMMON_KNOWLEDGE:
        assert iterations is not None
        return 2 * iterations * size.iteration_seconds / 60.0
    per_board = size.closures // size.boards
    of_subgames = per_board * size.pairs**2 / size.boards * _SEQUENCES_PER_PAIR
    if iterations is None:
        return 2 * of_subgames * _SECONDS_PER_EXACT_SEQUENCE / 60.0
    of_subgames *= num_strategies or 1
    per_sequence = iterations * _SECONDS_PER_SEQUENCE + _SECONDS_PER_SUBGAME_SEQUENCE
    return 2 * of_subgames * per_sequence / 60.0


def check_time(columns: Mapping[str, Any], minutes: float) -> None:
    """Refuses a row of `olss_tables` that takes too long.

    Raises:
      ValueError: it does, with the estimate.
    """
    size, recipe = hand_size(parse_game(columns["game"])), parse_recipe(columns["recipe"])
    steps = columns["iterations"]
    estimate = estimated_minutes(size, recipe, steps, columns["opponent_strategies"])
    if estimate is not None and estimate > minutes:
        how = "exactly" if steps is None else f"with {steps} iterations"
        raise ValueError(
            f"{recipe.name} in {columns['game']} takes about {estimate:,.0f} minutes on a core "
            f"{how}; expected at most {minutes:g} (--max_minutes), fewer "
            "--iterations or recipes of common knowledge: unsafe, maxmargin, resolve"
        )


def log_estimate(columns: Mapping[str, Any]) -> None:
    """Says what a row of `olss_tables` will need before it is begun."""
    size, recipe = hand_size(parse_game(columns["game"])), parse_recipe(columns["recipe"])
    steps = columns["iterations"]
    minutes = "an unknown number of minutes by linear programming"
    estimate = estimated_minutes(size, recipe, steps, columns["opponent_strategies"])
    if estimate is not None:
        minutes = f"about {estimate:.1f} minutes on a core"
    logging.info(
        "%s by %s: %d hands, %d boards, %d sequences, %.1f GB, %s",
        *(columns["game"], recipe.name, size.hands, size.boards, size.sequences, size.gigabytes),
        minutes,
    )


def refined(
    setting: HandSetting,
    recipe: SubgameRecipe,
    solver: SubgameSolver,
    factors: Sequence[float] | None,
    folder: str | None = None,
) -> Behaviors:
    """The blueprint with both players' sides refined after the community card.

    Args:
      setting: the game and the blueprint.
      recipe: the method.
      solver: of the subgames.
      factors: by what fold, call and raise are multiplied in the strategies that a recipe
        limits the opponent to, besides the blueprint; None for other recipes.
      folder: where it is kept how far this is, to go on from; None for nowhere.
    """
    sides = []
    for player in PLAYERS:
        strategies = None
        if factors is not None:
            strategies = opponent_behaviors(setting, 1 - player, factors)
        progress = Progress(
            f"{setting.game.name}: closures of player {player} by {recipe.name}",
            len(setting.game.closures),
        )
        start, after = None, None
        if folder is not None:
            what = (setting.nash_conv, setting.iterations, recipe, solver, factors, player)
            saved = SavedArrays(_state_file(folder, setting.game.name.split()[0], *what))
            start, after = _restored_side(saved), functools.partial(_save_side, saved)
        sides.append(
            refine_by_hands(
                setting.game,
                setting.behaviors,
                recipe,
                player=player,
                solver=solver,
                opponent_behaviors=strategies,
                progress=progress,
                start=start,
                after=after,
            )
        )
        if folder is not None:
            _save_side(saved, len(setting.game.closures), sides[-1], always=True)
    return sides[0], sides[1]


def _save_side(
    saved: SavedArrays, closures: int, refined: FloatArray, always: bool = False
) -> None:
    if always or saved.is_due:
        saved.save({"closures": np.array(closures), "refined": refined})


def _restored_side(saved: SavedArrays) -> tuple[int, FloatArray] | None:
    if not saved.path.exists():
        return None
    data = load_arrays(saved.path, ("closures", "refined"), "a refined side")
    return int(data["closures"]), data["refined"]


def opponent_behaviors(
    setting: HandSetting, opponent: int, factors: Sequence[float]
) -> list[FloatArray]:
    """The blueprint and its biased copies (OLSS, appendix C.2)."""
    treeplex = setting.game.form.treeplexes[opponent]
    actions = setting.game.sequence_actions[opponent]
    behavior = setting.behaviors[opponent]
    biased = [
        biased_behavior(treeplex, behavior, actions == action, factor)
        for factor in factors
        for action in ACTIONS
    ]
    return [behavior, *biased]


def has_few_plans(recipe: SubgameRecipe) -> bool:
    """Whether a method's subgames are those of one hand: see `cutting_planes`."""
    return recipe.order == 1


def has_subgames(recipe: SubgameRecipe) -> bool:
    """Whether a method's subgames can be built by hands."""
    return recipe.gadget != Gadget.PLAYING and not recipe.reach
