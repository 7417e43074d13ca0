"""Blueprints of a chosen exploitability: CFR stopped as soon as it gets there."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyspiel
from absl import logging

from klss_spiel.algorithms.cfr_solution import Solution
from klss_spiel.best_response import best_response_value, nash_conv
from klss_spiel.games.poker.leduc_family import CARDS, PokerGame
from klss_spiel.openspiel import infoset_states, load_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.progress import Progress
from klss_spiel.sequence_form import SequenceForm
from klss_spiel.tree import PLAYERS, GameTree

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


def stopped_cfr(form: SequenceForm, name: str, target: float) -> tuple[Solution, float]:
    """CFR's average of all iterations as soon as its nash_conv, also returned, is `target`.

    Games that fill the memory are solved in single precision and looked at rarely.

    Args:
      form: the game.
      name: of the game, to report progress with.
      target: nash_conv to stop at.
    """
    # Compiled loops take a while to import.
    from klss_spiel.algorithms import cfr, regret

    is_large = form.treeplexes[0].num_sequences > _MANY_SEQUENCES
    prepared = cfr.prepare(form, dtype=np.float32 if is_large else None)
    solution: cfr.Solution | None = None
    progress = Progress(f"CFR iterations of {name}")
    steps = _FIRST_CHECK_IF_LARGE if is_large else 1
    while True:
        solution = cfr.solve(
            prepared, steps, regret.RM, cfr.UNIFORM, start=solution, use_up_start=True
        )
        reached = _nash_conv(form, solution)
        progress.update(solution.iterations)
        if reached <= target:
            return solution, reached
        growth = _LEAST_GROWTH
        if is_large:
            growth = min(max(reached / target, _LEAST_GROWTH), _GREATEST_GROWTH)
        steps = max(1, int(solution.iterations * (growth - 1.0)))


def _nash_conv(form: SequenceForm, solution: Solution) -> float:
    """Of the average, one player after the other."""
    total = 0.0
    for p in PLAYERS:
        treeplex = form.treeplexes[p]
        plan = treeplex.realization_plan(solution.average_behavior_of(p))
        gradient = form.gradient(1 - p, plan)
        del plan
        total += best_response_value(form.treeplexes[1 - p], gradient)
    return total
