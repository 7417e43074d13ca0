"""OLSS-II: pUCT over own moves against models that an adversary picks.

OLSS paper, section 5.2 (equation 11 without R) and appendix D.2 (equation 30, table 5). In
every simulation the opponent picks a model j, the player an own move a; both see only what
they would: the player's statistics are not split by j. The opponent minimises the margin
v_1(new strategy, j) - v_1(blueprint, j); the latter, b_j = sum_a sigma(a) Q_j(a), matters as
soon as there are two models. After the first own move everybody plays by strategy: the
player by the blueprint, the opponent by model j.

Left open by the paper, decided here: a move never tried counts as the mean of all
simulations; an own win inside a simulation ends it with its points (`Settings.allow_win`;
off, it is played on, as the paper says that only discards are played); simulations run in
batches, and moves chosen for a batch count as visited at once. Not in the paper: a search can
end once its move is certain (`Settings.until_decided`), which spares simulations that could
not change it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.olss_search.choice_kernels import choose_batch, sample_columns
from klss_spiel.algorithms.olss_search.model_game import (
    EnvironmentModel,
    ModelGame,
    normalised,
)
from klss_spiel.arrays import BoolArray, FloatArray, LongArray
from klss_spiel.search_game import Blueprint


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to search.

    Attributes:
        simulations: number of simulations.
        steps: moves of both players per simulation, an even number; then the blueprint's
            value.
        exploration: c of equation 30, in units of the game.
        allow_win: whether an own win ends a simulation.
        batch: simulations side by side.
        until_decided: whether a search ends once no other move can be visited most any more.
            The move is that of all simulations; values are of fewer.
    """

    simulations: int = 1000
    steps: int = 8
    exploration: float = 20.0
    allow_win: bool = True
    batch: int = 125
    until_decided: bool = False

    def __post_init__(self) -> None:
        if self.simulations < 1 or self.batch < 1:
            raise ValueError(
                f"expected at least one simulation and a batch of at least one, got "
                f"{self.simulations} and {self.batch}"
            )
        if self.steps < 2 or self.steps % 2:
            raise ValueError(f"expected an even number of steps from 2 on, got {self.steps}")


# Appendix D, table 5: evaluation time 1000, rollout steps 8, c = 20, gamma = 1.
OLSS_II: Final = Settings()
LITERAL: Final = dataclasses.replace(OLSS_II, allow_win=False)


@dataclasses.dataclass(frozen=True, eq=False)
class SearchReport:
    """What a search found. Letters: k own moves, j models.

    Attributes:
        action: the move visited most (of several such, the likelier in the blueprint).
        actions: [k] own moves.
        prior: [k] the blueprint's probabilities.
        visits: [j, k] simulations.
        values: [j, k] their mean returns, NaN without any.
        baseline: [j] b_j, what the blueprint is worth against each model; NaN if a move of
            the blueprint was never tried against it.
    """

    action: int
    actions: LongArray
    prior: FloatArray
    visits: LongArray
    values: FloatArray
    baseline: FloatArray

    @property
    def margins(self) -> FloatArray:
        """[j] v_1(visits, j) - b_j; what the opponent minimises."""
        total = np.nansum(self.visits * self.values, axis=1)
        number = self.visits.sum(axis=1)
        mean = np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0)
        found: FloatArray = mean - self.baseline
        return found


class _Statistics:
    """Visits and returns by model and move. Mutable."""

    def __init__(self, prior: FloatArray, num_models: int, exploration: float) -> None:
        self.prior = prior
        self.exploration = exploration
        self.visits = np.zeros((num_models, len(prior)), np.int64)  # chosen
        self.done = np.zeros((num_models, len(prior)), np.int64)  # and simulated
        self.total = np.zeros((num_models, len(prior)))

    def values(self) -> FloatArray:
        """[j, k] mean returns, NaN without any."""
        shape = self.total.shape
        means: FloatArray = np.divide(
            self.total, self.done, out=np.full(shape, np.nan), where=self.done > 0
        )
        return means

    def choose(self, number: int) -> tuple[LongArray, LongArray]:
        """Models and moves of the next simulations, which count as visited from now on."""
        models, moves = np.zeros(number, np.int64), np.zeros(number, np.int64)
        choose_batch(
            self.prior, self.visits, self.done, self.total, self.exploration, models, moves
        )
        return models, moves

    def is_decided(self, left: int) -> bool:
        """Whether the move visited most stays that, whatever so many simulations choose."""
        most = np.sort(self.visits.sum(axis=0))[::-1]
        return len(most) < 2 or bool(most[0] - most[1] > left)

    def report(self, actions: LongArray) -> SearchReport:
        """What was found for these own moves ([k])."""
        values = self.values()
        best = np.lexsort((self.prior, self.visits.sum(axis=0)))[-1]
        missing = (np.isnan(values) & (self.prior > 0)).any(axis=1)
        worth = (np.nan_to_num(values) * self.prior).sum(axis=1)
        return SearchReport(
            action=int(actions[best]),
            actions=actions,
            prior=self.prior,
            visits=self.visits,
            values=values,
            baseline=np.where(missing, np.nan, worth),
        )


def search(
    game: ModelGame,
    blueprint: Blueprint,
    models: Sequence[EnvironmentModel],
    settings: Settings,
    rng: np.random.Generator,
) -> SearchReport:
    """Searches the one root of a game; see `search_all`."""
    if game.num_roots != 1:
        raise ValueError(f"expected one infoset to search, got {game.num_roots}")
    return search_all(game, blueprint, models, settings, rng)[0]


def search_all(
    game: ModelGame,
    blueprint: Blueprint,
    models: Sequence[EnvironmentModel],
    settings: Settings,
    rng: np.random.Generator,
) -> list[SearchReport]:
    """Searches every root, all at once; they share nothing but the batches of networks.

    Args:
        game: the infosets and what may follow.
        blueprint: prior, play after the first move, and value at the end.
        models: what the opponent may pick from.
        settings: how much, for each root.
        rng: of all chances.
    """
    if not models:
        raise ValueError("expected at least one environment model, got none")
    roots = np.arange(game.num_roots)
    actions = [game.root_actions(root) for root in range(game.num_roots)]
    probabilities, _ = blueprint.evaluate(*game.views(game.start(roots)))
    statistics = [
        _Statistics(
            normalised(np.asarray(found, np.float64)[None, own])[0],
            len(models),
            settings.exploration,
        )
        for own, found in zip(actions, probabilities, strict=True)
    ]
    left = settings.simulations
    while left > 0 and len(roots):
        number = min(left, settings.batch)
        left -= number
        chosen = [statistics[root].choose(number) for root in roots]
        returns = simulate(
            game,
            blueprint,
            models,
            settings,
            np.repeat(roots, number),
            np.concatenate([model for model, _ in chosen]),
            np.concatenate(
                [actions[root][move] for root, (_, move) in zip(roots, chosen, strict=True)]
            ),
            rng,
        ).reshape(-1, number)
        for root, (model, move), found in zip(roots, chosen, returns, strict=True):
            np.add.at(statistics[root].done, (model, move), 1)
            np.add.at(statistics[root].total, (model, move), found)
        if settings.until_decided:
            roots = roots[[not statistics[root].is_decided(left) for root in roots]]
    return [one.report(own) for one, own in zip(statistics, actions, strict=True)]


def simulate(
    game: ModelGame,
    blueprint: Blueprint,
    models: Sequence[EnvironmentModel],
    settings: Settings,
    roots: LongArray,
    model: LongArray,
    first: LongArray,
    rng: np.random.Generator,
) -> FloatArray:
    """[n] returns of simulations with given roots, models and first own moves ([n] each)."""
    states = game.start(roots)
    returns = np.zeros(len(first))
    going = np.arange(len(first))  # simulations that are not over
    chosen = first
    rounds = settings.steps // 2
    for turn in range(rounds):
        game.own_move(states, chosen)
        if turn == 0:
            answers = _first_answers(game, models, states, roots, model, first)
        else:
            answers = _mixture(game, models, states, model[going])
        moves, possible = _sampled(answers, rng)
        states, going = states[possible], going[possible]
        game.opponent_move(states, moves)
        draws, possible = _sampled(game.unseen(states), rng)
        states, going = states[possible], going[possible]
        game.draw(states, draws)
        if settings.allow_win:
            points = game.wins(states)
            won = ~np.isnan(points)
            returns[going[won]] = points[won]
            states, going = states[~won], going[~won]
        if not len(going):
            return returns
        probabilities, values = blueprint.evaluate(*game.views(states))
        if turn < rounds - 1:
            chosen, _ = _sampled(np.asarray(probabilities), rng)
    returns[going] = values
    return returns


def _first_answers(
    game: ModelGame,
    models: Sequence[EnvironmentModel],
    states: np.ndarray,
    roots: LongArray,
    model: LongArray,
    first: LongArray,
) -> FloatArray:
    """[n, m] what models do after first moves; equal simulations are still in equal states."""
    numbers = (roots * len(models) + model) * (first.max() + 1) + first
    _, which, back = np.unique(numbers, return_index=True, return_inverse=True)
    return _mixture(game, models, states[which], model[which])[back]


def _mixture(
    game: ModelGame, models: Sequence[EnvironmentModel], states: np.ndarray, model: LongArray
) -> FloatArray:
    """[n, m] what each state's model does."""
    if len(models) == 1:
        return models[0].probabilities(game, states)
    found = np.zeros((len(states), game.num_moves))
    for number, one in enumerate(models):
        mine = model == number
        if mine.any():
            found[mine] = one.probabilities(game, states[mine])
    return found


def _sampled(weights: npt.NDArray[Any], rng: np.random.Generator) -> tuple[LongArray, BoolArray]:
    """A column of each row that has any weight, and which rows those are."""
    columns = np.empty(len(weights), np.int64)
    sample_columns(weights, rng.random(len(weights)), columns)
    possible: BoolArray = columns >= 0
    return columns[possible], possible
