"""What OLSS-II does to exploitability, exactly, on a Mahjong small enough to be listed.

python -m klss_spiel.run.mahjong_exact [--game=...] [--output=exact.jsonl]

The blueprint is CFR+ stopped early. Each player refines it at the first own decisions by the
exact recipe `OLSS_2` (margins of equation 11 without R, as in the paper's Mahjong), each by
itself, with opponent sets {R}, {blueprint} and both; R plays every legal action alike. The
method is unsafe: exploitability may rise, most of all where only R is reckoned with.
Exploitability is the sum over both players (OpenSpiel's nash_conv), in fan.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from absl import flags

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.run import job_flags, output

SMALL: Final = (
    "python_two_player_mahjong(ranks=3,honours=1,copies=3,sets=1,flowers=0,wall_limit=3,"
    "forced_hu=True,ting=False,kongs=False)"
)
OPPONENT_SETS: Final = ("none", "R", "blueprint", "R+blueprint")


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compute.

    Attributes:
      game: OpenSpiel's string of a small variant.
      iterations: of CFR+ for the blueprint.
      opponent_sets: out of OPPONENT_SETS.
    """

    game: str
    iterations: int
    opponent_sets: tuple[str, ...] = OPPONENT_SETS


def make_jobs(config: Config) -> list[Job]:
    """One job for all rows, which share the tree."""
    columns = {
        "game": config.game,
        "iterations": config.iterations,
        "opponent_sets": ",".join(config.opponent_sets),
    }
    return [job_from_columns(exact_rows, columns, config.opponent_sets)]


def exact_rows(columns: Mapping[str, Any], opponent_sets: tuple[str, ...]) -> list[dict[str, Any]]:
    """A row per opponent set."""
    import numpy as np

    from klss_spiel import openspiel
    from klss_spiel.algorithms import cfr
    from klss_spiel.algorithms.subgame.recipes import OLSS_2
    from klss_spiel.algorithms.subgame.refine import Schedule, refine
    from klss_spiel.best_response import nash_conv
    from klss_spiel.policy import BehaviorPolicy
    from klss_spiel.sequence_form import sequence_form_from_tree
    from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS

    tree = openspiel.tree_from_game(columns["game"])
    form = sequence_form_from_tree(tree)
    solution = cfr.solve(form, columns["iterations"])
    blueprint = BehaviorPolicy(tree, solution.average_behavior)
    strategies = {"R": BehaviorPolicy.uniform(tree), "blueprint": blueprint}
    before = nash_conv(blueprint, form)
    rows = []
    for names in opponent_sets:
        start = time.perf_counter()
        policy, solved = blueprint, 0
        for player in PLAYERS if names != "none" else ():
            recipe = OLSS_2(tuple(strategies[name] for name in names.split("+")), gift_scale=0.0)
            infosets = tree.infosets[player]
            first = infosets.parent_sequence[infosets.decisions] == EMPTY_SEQUENCE
            where = np.asarray(infosets.decisions)[first]
            refinement = refine(
                blueprint, recipe, player=player, where=where, schedule=Schedule.SEPARATE
            )
            policy = policy.replace(player, refinement.policy.probabilities[player])
            solved += len(refinement.solved)
        after = nash_conv(policy, form)
        rows.append(
            {
                "opponents": names,
                "nodes": tree.num_nodes,
                "subgames": solved,
                "exploitability": after,
                "change": after - before,
                "seconds": time.perf_counter() - start,
            }
        )
    return rows


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Rows of the table; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), setup=output.use_double_precision, **how)


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws exploitability after each set of opponents."""
    title = "exploitability of both players together"
    figures.bars(rows, "opponents", ("exploitability",), title, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    job_flags.define_flags()
    job_flags.define_plot_flag("exploitability by opponents")
    flags.DEFINE_string("game", SMALL, "OpenSpiel's string of a small variant.")
    flags.DEFINE_integer("iterations", 20, "Of CFR+ for the blueprint.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, computes, prints."""
    values = flags.FLAGS
    config = Config(values.game, values.iterations)
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(
        make_jobs(config), setup=output.use_double_precision, progress="tables"
    ) as rows:
        shown = ("opponents", "nodes", "subgames", "exploitability", "change", "seconds")
        output.emit(rows, values.json, output.format_table(rows, shown))
        if values.plot:
            plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
