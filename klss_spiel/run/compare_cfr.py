"""Our regret minimisers beside OpenSpiel's CFR, CFR+ and MCCFR on any game.

    python -m klss_spiel.run.compare_cfr --game=leduc_poker --iterations=1000

Shows exact exploitability against iterations and against seconds. `PCFR+` is that of
its paper, with predictions re-evaluated under the next strategies; `PCFR+ cheap`
predicts each infoset's last regret. Without --game, four games are compared. Games written
in Python run through a cached tree on OpenSpiel's side, so that solvers are
compared and not state implementations.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags, logging

from klss_spiel import plot as figures
from klss_spiel.best_response import nash_conv
from klss_spiel.jobs import Job, compute_rows, key_of
from klss_spiel.openspiel import DEFAULT_MAX_NODES, load_game, tree_from_game, turn_based
from klss_spiel.run import contenders, job_flags, output
from klss_spiel.sequence_form import SequenceForm, sequence_form_from_tree
from klss_spiel.tree import GameTree

# Compared unless others are named.
GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "goofspiel(num_cards=4,imp_info=True,points_order=random,returns_type=win_loss)",
    "liars_dice(dice_sides=5)",
)


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compare.

    Attributes:
      games: game strings.
      iterations: of every solver.
      points: how many times on the way exploitability is measured.
      max_nodes: refuse larger games.
    """

    games: tuple[str, ...]
    iterations: int
    points: int = 10
    max_nodes: int = DEFAULT_MAX_NODES


def checkpoints(iterations: int, points: int) -> list[int]:
    """Iteration counts at which to measure, growing geometrically up to `iterations`."""
    growth = iterations ** (1.0 / max(1, points - 1))
    return sorted({min(iterations, max(1, round(growth**i))) for i in range(points)} | {iterations})


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """One row per game, solver and checkpoint; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), setup=output.use_double_precision, **how)


def make_jobs(config: Config) -> list[Job]:
    """A job for each curve: a game and a solver."""
    jobs = []
    for game in config.games:
        for solver in (contender.name for contender in contenders.COMPARED):
            columns = {"game": game, "solver": solver}
            extent = {"iterations": config.iterations, "points": config.points}
            key = key_of({**columns, **extent})
            jobs.append(Job(key, compute_curve, (game, solver, config), columns, group=game))
    return jobs


def compute_curve(name: str, solver_name: str, config: Config) -> list[dict[str, Any]]:
    """The rows of one solver on one game, without those columns."""
    game = turn_based(load_game(name))
    tree, form = _tree_and_form(name, config.max_nodes)
    contender = next(c for c in contenders.COMPARED if c.name == solver_name)
    solver = contender.start(game, tree)
    # Compiling is counted apart: once per game shape, not per iteration.
    start = time.perf_counter()
    contender.start(game, tree).advance(1)
    setup_seconds = time.perf_counter() - start
    done, seconds = 0, 0.0
    rows = []
    for target in checkpoints(config.iterations, config.points):
        start = time.perf_counter()
        solver.advance(target - done)
        seconds += time.perf_counter() - start
        done = target
        gap = nash_conv(solver.policy(), form)
        logging.info("%s, %d iterations: %.3g", contender.name, done, gap / 2.0)
        rows.append(
            {
                "iterations": done,
                "exploitability": gap / 2.0,
                "nash_conv": gap,
                "seconds": seconds,
                "setup_seconds": setup_seconds,
            }
        )
    return rows


@functools.lru_cache(maxsize=1)
def _tree_and_form(name: str, max_nodes: int) -> tuple[GameTree, SequenceForm]:
    tree = tree_from_game(turn_based(load_game(name)), max_nodes)
    return tree, sequence_form_from_tree(tree)


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws exploitability against iterations and seconds, one row of panels a game."""
    figures.exploitability_curves(
        rows, ("iterations", "seconds"), line="solver", floor=1e-16, path=path
    )


def define_flags() -> None:
    """Defines the flags of this binary."""
    output.define_flags()
    job_flags.define_flags(timed=True)
    flags.DEFINE_multi_string(
        "game", list(GAMES), "OpenSpiel game string; may be given several times."
    )
    flags.DEFINE_integer("iterations", 1000, "Iterations of every solver.", lower_bound=1)
    flags.DEFINE_integer("points", 10, "How many points a curve has.", lower_bound=1)
    flags.DEFINE_integer("max_nodes", DEFAULT_MAX_NODES, "Refuse larger games.", lower_bound=1)
    flags.DEFINE_string(
        "plot", None, "File (.svg, .pdf, .png) to draw the curves to; extra 'plot'."
    )


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, runs, prints."""
    values = flags.FLAGS
    config = Config(tuple(values.game), values.iterations, values.points, values.max_nodes)
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(config), setup=output.use_double_precision) as rows:
        output.emit(rows, values.json)
        if values.plot:
            plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
