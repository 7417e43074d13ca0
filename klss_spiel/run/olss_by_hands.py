"""The rows of `olss_tables` in games that are a public tree times hands, board by board."""

from __future__ import annotations

import dataclasses
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
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.board_samples import BoardSample, Estimate, draw_boards, estimated
from klss_spiel.games.poker.hand_sizes import HandSize, hand_size
from klss_spiel.games.poker.leduc_family import ACTIONS, parse_game
from klss_spiel.npz_files import load_arrays
from klss_spiel.progress import Progress
from klss_spiel.public_game import PublicGame
from klss_spiel.run.blueprint_states import SavedArrays
from klss_spiel.run.hand_blueprints import Behaviors, HandSetting, state_file
from klss_spiel.tree import PLAYERS

# Measured on one core: what CFR does at a sequence of an order-1 subgame, and what it
# takes to lay such a subgame out.
_SECONDS_PER_SEQUENCE = 10e-9
_SECONDS_PER_SUBGAME_SEQUENCE = 0.5e-6
# What it takes to lay one out and to solve it by cutting planes, which need more answers
# where the opponent is limited to strategies.
_SECONDS_PER_EXACT_SEQUENCE = 0.2e-6
_SECONDS_PER_LIMITED_SEQUENCE = 0.6e-6
# Of both players after the board with one pair of hands, rounded up.
_SEQUENCES_PER_PAIR = 7


def estimated_minutes(columns: Mapping[str, Any]) -> float | None:
    """What a row of `olss_tables` takes to refine both players on one core, about.

    Returns:
      Minutes; None if nobody knows, for linear programs of whole closures.
    """
    size, recipe = hand_size(parse_game(columns["game"])), parse_recipe(columns["recipe"])
    minutes = _minutes_of_all(size, recipe, columns["iterations"], columns["opponent_strategies"])
    if minutes is None or columns["boards"] is None:
        return minutes
    return minutes * int(columns["boards"]) / size.boards


def _minutes_of_all(
    size: HandSize, recipe: SubgameRecipe, iterations: int | None, num_strategies: int | None
) -> float | None:
    """With all boards; `iterations` is None for exact solutions."""
    if iterations is None and not has_few_plans(recipe):
        return None
    if recipe.order == COMMON_KNOWLEDGE:
        assert iterations is not None
        return 2 * iterations * size.iteration_seconds / 60.0
    per_board = size.closures // size.boards
    of_subgames = per_board * size.pairs**2 / size.boards * _SEQUENCES_PER_PAIR
    if iterations is None:
        limited = num_strategies is not None
        each = _SECONDS_PER_LIMITED_SEQUENCE if limited else _SECONDS_PER_EXACT_SEQUENCE
        return 2 * of_subgames * each / 60.0
    of_subgames *= num_strategies or 1
    per_sequence = iterations * _SECONDS_PER_SEQUENCE + _SECONDS_PER_SUBGAME_SEQUENCE
    return 2 * of_subgames * per_sequence / 60.0


def check_time(columns: Mapping[str, Any], minutes: float) -> None:
    """Refuses a row of `olss_tables` that takes too long.

    Raises:
      ValueError: it does, with the estimate.
    """
    steps = columns["iterations"]
    estimate = estimated_minutes(columns)
    if estimate is not None and estimate > minutes:
        how = "exactly" if steps is None else f"with {steps} iterations"
        raise ValueError(
            f"{columns['recipe']} in {columns['game']} takes about {estimate:,.0f} minutes on a "
            f"core {how}; expected at most {minutes:g} (--max_minutes), a sample of --boards, "
            "fewer --iterations or recipes of common knowledge: unsafe, maxmargin, resolve"
        )


def check_boards(columns: Mapping[str, Any]) -> None:
    """Refuses a sample that is larger than the game or too small to say how sure it is."""
    game = parse_game(columns["game"])
    most = hand_size(game).boards
    # Flops have 4, 12 or 24 copies, single cards all the same number; `draw_boards` wants two
    # boards of each kind.
    least = 2 if game.board_cards == 1 else 6
    if columns["boards"] is not None and not least <= columns["boards"] <= most:
        raise ValueError(
            f"expected a sample of {least} to {most} boards in {columns['game']}, got "
            f"{columns['boards']}"
        )


def log_estimate(columns: Mapping[str, Any]) -> None:
    """Says what a row of `olss_tables` will need before it is begun."""
    size = hand_size(parse_game(columns["game"]))
    minutes = "an unknown number of minutes by linear programming"
    estimate = estimated_minutes(columns)
    if estimate is not None:
        minutes = f"about {estimate:.1f} minutes on a core"
    logging.info(
        "%s by %s: %d hands, %d of %d boards, %d sequences, %.1f GB, %s",
        *(columns["game"], columns["recipe"], size.hands, columns["boards"] or size.boards),
        *(size.boards, size.sequences, size.gigabytes, minutes),
    )


@dataclasses.dataclass(frozen=True)
class Refined:
    """How good a refined blueprint is.

    Attributes:
      nash_conv: its exploitability; if only some boards were refined an estimate of what
        it would be if all had been.
      boards: how many were refined.
      seconds: that took, in whatever processes.
      cpu_seconds: likewise, of the processor.
    """

    nash_conv: Estimate
    boards: int
    seconds: float
    cpu_seconds: float


def refined(
    setting: HandSetting,
    recipe: SubgameRecipe,
    solver: SubgameSolver,
    factors: Sequence[float] | None,
    boards: int | None = None,
    seed: int = 0,
    folder: str | None = None,
) -> Refined:
    """The exploitability of the blueprint with both players' sides refined after the board.

    Args:
      setting: the game and the blueprint.
      recipe: the method.
      solver: of the subgames.
      factors: by what fold, call and raise are multiplied in the strategies that a recipe
        limits the opponent to, besides the blueprint; None for other recipes.
      boards: refine so many boards, drawn at random; None for all.
      seed: of the draw.
      folder: where it is kept how far this is, to go on from; None for nowhere.
    """
    whole = setting.boards
    sample = draw_boards(whole.probabilities, whole.count if boards is None else boards, seed)
    saved = None
    if folder is not None:
        what = (setting.nash_conv, setting.iterations, recipe, solver, factors)
        saved = SavedArrays(state_file(folder, setting.name, *what))
    work = _Work(setting, recipe, solver, factors, saved)
    done = work.at(sample.boards)
    seconds, cpu_seconds = done.seconds.sum(axis=0).tolist()
    estimate = _exploitability(setting, sample, done.answers)
    return Refined(estimate, len(sample.boards), seconds, cpu_seconds)


def _exploitability(
    setting: HandSetting, sample: BoardSample, answers: tuple[FloatArray, FloatArray]
) -> Estimate:
    """Of both players, from the answers ([n, P]) to what was refined."""

    def value_of(responder: int) -> Any:
        return lambda total: setting.boards.response_value(responder, total, setting.behaviors)

    if len(sample.boards) == setting.boards.count:
        # The blueprint's answers are then not asked for.
        totals = [np.zeros(answers[p].shape[1]) for p in PLAYERS]
        return estimated(sample, totals, answers, [value_of(p) for p in PLAYERS])
    before = setting.answers
    return estimated(
        sample,
        [before[p].sum(axis=0) for p in PLAYERS],
        [answers[p] - before[p][sample.boards] for p in PLAYERS],
        [value_of(p) for p in PLAYERS],
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Done:
    """Refined boards.

    Attributes:
      answers: for each responder, [n, P] the answers to what was refined.
      seconds: [n, 2] that each took, and of the processor.
    """

    answers: tuple[FloatArray, FloatArray]
    seconds: FloatArray


class _Work:
    """Boards refined one after another, some of them by a process before. Mutable."""

    def __init__(
        self,
        setting: HandSetting,
        recipe: SubgameRecipe,
        solver: SubgameSolver,
        factors: Sequence[float] | None,
        saved: SavedArrays | None,
    ) -> None:
        self._setting, self._recipe, self._solver = setting, recipe, solver
        self._factors, self._saved = factors, saved
        # For each board that is done, the answers of both responders and the seconds.
        self._done: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
        if saved is not None and saved.path.exists():
            names = ("boards", "answers0", "answers1", "seconds")
            data = load_arrays(saved.path, names, "refined boards")
            rows = zip(*(data[name] for name in names[1:]), strict=True)
            self._done = dict(zip(data["boards"].tolist(), rows, strict=True))

    def at(self, boards: IntArray) -> _Done:
        """What was refined behind some boards."""
        wanted = boards.tolist()
        missing = [board for board in wanted if board not in self._done]
        if len(missing) < len(wanted):
            logging.info("%d of %d boards are there", len(wanted) - len(missing), len(wanted))
        progress = Progress(f"{self._setting.name}: boards by {self._recipe.name}", len(missing))
        for number, board in enumerate(missing, start=1):
            start, cpu_start = time.monotonic(), time.process_time()
            answers = self._refine(board)
            taken = np.array([time.monotonic() - start, time.process_time() - cpu_start])
            self._done[board] = (*answers, taken)
            progress.update(number)
            if self._saved is not None and (self._saved.is_due or number == len(missing)):
                self._save(self._saved)
        first, second, seconds = self._columns(wanted)
        return _Done((first, second), seconds)

    def _columns(self, boards: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        first, second, seconds = zip(*(self._done[board] for board in boards), strict=True)
        return np.array(first), np.array(second), np.array(seconds)

    def _refine(self, board: int) -> tuple[FloatArray, FloatArray]:
        boards = self._setting.boards
        game = boards.game_at(board)
        behaviors = boards.behaviors_at(board, self._setting.behaviors)
        answers = []
        for responder in PLAYERS:
            player = 1 - responder
            strategies = None
            if self._factors is not None:
                strategies = opponent_behaviors(game, behaviors, responder, self._factors)
            behavior = refine_by_hands(
                game,
                behaviors,
                self._recipe,
                player=player,
                solver=self._solver,
                opponent_behaviors=strategies,
            )
            answers.append(boards.answer(game, behavior, responder))
        return answers[0], answers[1]

    def _save(self, saved: SavedArrays) -> None:
        boards = list(self._done)
        first, second, seconds = self._columns(boards)
        arrays = {"answers0": first, "answers1": second, "seconds": seconds}
        saved.save({"boards": np.array(boards), **arrays})


def opponent_behaviors(
    game: PublicGame, behaviors: Behaviors, opponent: int, factors: Sequence[float]
) -> list[FloatArray]:
    """The blueprint and its biased copies (OLSS, appendix C.2)."""
    treeplex = game.form.treeplexes[opponent]
    actions = game.sequence_actions[opponent]
    biased = [
        biased_behavior(treeplex, behaviors[opponent], actions == action, factor)
        for factor in factors
        for action in ACTIONS
    ]
    return [behaviors[opponent], *biased]


def has_few_plans(recipe: SubgameRecipe) -> bool:
    """Whether a method's subgames are those of one hand: see `cutting_planes`."""
    return recipe.order == 1


def has_subgames(recipe: SubgameRecipe) -> bool:
    """Whether a method's subgames can be built by hands."""
    return recipe.gadget != Gadget.PLAYING and not recipe.reach
