"""Blueprints of a chosen exploitability: CFR stopped as soon as it gets there."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyspiel
from absl import logging

from klss_spiel.algorithms.cfr_solution import Solution
from klss_spiel.best_response import nash_conv
from klss_spiel.games.poker.leduc_family import CARDS, PokerGame
from klss_spiel.openspiel import infoset_states, load_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.progress import Progress
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, GameTree

if TYPE_CHECKING:
    from klss_spiel.run.blueprint_states import SavedArrays

MCCFR = "mccfr"
CFR = "cfr"
METHODS = (MCCFR, CFR)

_FIRST_CHECK = 1000
# Between two looks at exploitability the number of iterations grows by the factor that
# is still missing, as if exploitability fell like 1 / n, but within these bounds.
_LEAST_GROWTH = 1.02
_GREATEST_GROWTH = 2.0
# A look at a game with more sequences of one player than this takes as long as
# several iterations; the first is taken after so many.
_MANY_SEQUENCES = 10_000_000
_FIRST_CHECK_IF_LARGE = 10
# Iterations of such a game between two looks at the clock.
_BETWEEN_SAVES = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Blueprint:
    """An approximate equilibrium.

    Attributes:
      policy: strategies of both players.
      nash_conv: its exploitability, summed over both.
      iterations: it took.
    """

    policy: BehaviorPolicy
    nash_conv: float
    iterations: int


def default_method(game: PokerGame) -> str:
    """MCCFR where OpenSpiel knows the tree, CFR elsewhere."""
    return MCCFR if game.kind == CARDS else CFR


def check_method(game: PokerGame, method: str) -> None:
    """Raises ValueError if blueprints of the game cannot be made like that."""
    if method not in METHODS:
        raise ValueError(f"expected a blueprint by {' or '.join(METHODS)}, got {method!r}")
    if method == MCCFR and game.kind != CARDS:
        raise ValueError(
            f"the tree of {game.name} deals {game.kind}, which OpenSpiel's MCCFR does not know; "
            f"expected a blueprint by {CFR}"
        )


def make_blueprint(
    game: PokerGame, tree: GameTree, form: SequenceForm, method: str, target: float, seed: int
) -> Blueprint:
    """A blueprint whose exploitability is `target` or a little less.

    Args:
      game: the game.
      tree: its tree.
      form: its sequence form.
      method: MCCFR, OpenSpiel's with external sampling, or CFR, ours (the average
        of all iterations; knows no seed).
      target: nash_conv to stop at.
      seed: of MCCFR.
    """
    check_method(game, method)
    if method == MCCFR:
        return _by_sampling(game, tree, form, target, seed)
    return _by_cfr(tree, form, target)


def _by_sampling(
    game: PokerGame, tree: GameTree, form: SequenceForm, target: float, seed: int
) -> Blueprint:
    loaded = load_game(game.game_string)
    solver = pyspiel.ExternalSamplingMCCFRSolver(loaded, seed)
    states = list(infoset_states(tree, loaded))
    progress = Progress(f"MCCFR iterations of {game.name}, seed {seed}")
    iterations, next_check = 0, _FIRST_CHECK
    while True:
        while iterations < next_check:
            solver.run_iteration()
            iterations += 1
        average = solver.average_policy()
        probabilities = [np.ones(infosets.num_sequences) for infosets in tree.infosets]
        for player, infoset, state in states:
            infosets = tree.infosets[player]
            row = average.action_probabilities(state)
            probabilities[player][infosets.sequences(infoset)] = [
                row.get(action, 0.0) for action in infosets.actions(infoset).tolist()
            ]
        policy = BehaviorPolicy(tree, (probabilities[0], probabilities[1]))
        reached = nash_conv(policy, form)
        progress.update(iterations)
        logging.debug("MCCFR: nash_conv %.4f after %d iterations", reached, iterations)
        if reached <= target:
            return Blueprint(policy, reached, iterations)
        growth = min(max(reached / target, _LEAST_GROWTH), _GREATEST_GROWTH)
        next_check = int(iterations * growth)


def _by_cfr(tree: GameTree, form: SequenceForm, target: float) -> Blueprint:
    solution, reached = stopped_cfr(form, tree.name, target)
    policy = BehaviorPolicy(tree, solution.average_behavior)
    return Blueprint(policy, reached, solution.iterations)


def stopped_cfr(
    form: SequenceForm, name: str, target: float, state: SavedArrays | None = None
) -> tuple[Solution, float]:
    """CFR's average of all iterations as soon as its nash_conv, also returned, is `target`.

    Games that fill the memory are solved in single precision and looked at rarely.

    Args:
      form: the game.
      name: of the game, to report progress with.
      target: nash_conv to stop at.
      state: where to save how far this is, every few minutes and at the end, and to go on
        from; None for nowhere.
    """
    # Compiled loops take a while to import.
    from klss_spiel.algorithms import cfr, regret
    from klss_spiel.algorithms.cfr_compiled import compile_form
    from klss_spiel.run import blueprint_states

    is_large = form.treeplexes[0].num_sequences > _MANY_SEQUENCES
    prepared = compile_form(form, np.float32 if is_large else np.float64)
    solution: cfr.Solution | None = None
    progress = Progress(f"CFR iterations of {name}")
    goal = _FIRST_CHECK_IF_LARGE if is_large else 1
    if state is not None:
        solution = blueprint_states.restored_solution(state, prepared)
        if solution is not None:
            logging.info("%s: goes on after %d iterations", name, solution.iterations)
            goal = solution.iterations
    while True:
        done = 0 if solution is None else solution.iterations
        while done < goal or solution is None:
            steps = min(goal - done, _BETWEEN_SAVES) if is_large else goal - done
            solution = cfr.solve(
                prepared, steps, regret.RM, cfr.UNIFORM, start=solution, use_up_start=True
            )
            done = solution.iterations
            progress.update(done)
            if state is not None and state.is_due:
                blueprint_states.save_solution(state, solution, prepared)
        reached = _nash_conv(form, solution)
        logging.log(
            logging.INFO if is_large else logging.DEBUG,
            "%s: nash_conv %.4f after %d iterations",
            *(name, reached, done),
        )
        if reached <= target:
            if state is not None:
                blueprint_states.save_solution(state, solution, prepared)
            return solution, reached
        growth = _LEAST_GROWTH
        if is_large:
            growth = min(max(reached / target, _LEAST_GROWTH), _GREATEST_GROWTH)
        goal = done + max(1, int(done * (growth - 1.0)))


def _nash_conv(form: SequenceForm, solution: Solution) -> float:
    """Of the average, one player after the other."""
    from klss_spiel.treeplex_kernels import best_response_value

    total = 0.0
    for p in PLAYERS:
        # A sum of realization plans is one, but for its scale.
        plan = solution.average_sum_of(p)
        plan /= plan[EMPTY_SEQUENCE]
        gradient = form.gradient(1 - p, plan)
        del plan
        total += best_response_value(form.treeplexes[1 - p], gradient)
    return total
