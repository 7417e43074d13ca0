"""OLSS-II on a Mahjong small enough to be listed: what it does, and what sampling finds.

python -m klss_spiel.run.mahjong_exact [--game=...] [--output=exact.jsonl]
python -m klss_spiel.run.mahjong_exact --table=margins

Table exploitability: the blueprint is CFR+ stopped early. Each player refines it at the first
own decisions by the exact recipe `OLSS_2` (margins of equation 11 without R, as in the paper's
Mahjong), each by itself, with opponent sets {R}, {blueprint} and both; R plays every legal
action alike. The method is unsafe: exploitability may rise, most of all where only R is
reckoned with.
Exploitability is the sum over both players (OpenSpiel's nash_conv), in fan.

Table margins: blueprint and opponent play every legal action alike. At the first decisions of
player 0 the margin of `OLSS_2` (how much more than the blueprint the refined strategy wins,
given the infoset) stands beside what the sampled search of `algorithms.olss_search` reckons
for its best discard, whose game leaves out claims and refines only the first move.
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
TABLES: Final = ("exploitability", "margins")
SIMULATIONS: Final = (100, 1000, 10_000)
OPPONENT_SETS: Final = ("none", "R", "blueprint", "R+blueprint")

_MARGIN_COLUMNS: Final = (
    "simulations",
    "infosets",
    "exact_margin",
    "sampled_margin",
    "mean_distance",
    "correlation",
    "same_discard",
    "seconds",
)


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compute.

    Attributes:
      game: OpenSpiel's string of a small variant.
      iterations: of CFR+ for the blueprint.
      opponent_sets: out of OPPONENT_SETS.
      table: out of TABLES.
      simulations: of searches in the table of margins, one row each.
      seed: of those searches.
    """

    game: str
    iterations: int
    opponent_sets: tuple[str, ...] = OPPONENT_SETS
    table: str = "exploitability"
    simulations: tuple[int, ...] = SIMULATIONS
    seed: int = 0


def make_jobs(config: Config) -> list[Job]:
    """One job for all rows, which share the tree."""
    if config.table == "margins":
        numbers = ",".join(map(str, config.simulations))
        searches = {"game": config.game, "simulations": numbers, "seed": config.seed}
        return [job_from_columns(margin_rows, searches, config.simulations)]
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


class _Uniform:
    """Plays every legal action alike; knows no values. See `olss_search.model_game`."""

    def evaluate(self, features: Any, legal: Any) -> tuple[Any, Any]:
        """Probabilities [n, a] and values [n]."""
        import numpy as np

        return legal / legal.sum(axis=1, keepdims=True), np.zeros(len(legal))


def margin_rows(columns: Mapping[str, Any], simulations: tuple[int, ...]) -> list[dict[str, Any]]:
    """A row per number of simulations."""
    import numpy as np

    from klss_spiel import openspiel
    from klss_spiel.algorithms.olss_search.model_game import RandomModel
    from klss_spiel.algorithms.olss_search.search import Settings, search_all
    from klss_spiel.games.mahjong.compiled.model_game import (
        MahjongModelGame,
        row_of_information_state,
    )

    game = openspiel.load_game(columns["game"])
    labels, discards, margins = exact_margins(columns["game"])
    rows = np.stack([row_of_information_state(game.variant, label) for label in labels])
    roots = MahjongModelGame(game.variant, rows)
    found = []
    for number in simulations:
        start = time.perf_counter()
        settings = Settings(simulations=number, steps=2 * game.variant.num_tiles)
        rng = np.random.default_rng(columns["seed"])
        reports = search_all(roots, _Uniform(), [RandomModel()], settings, rng)
        gains = np.array([np.nanmax(one.values[0]) - one.baseline[0] for one in reports])
        same = [one.action in best for one, best in zip(reports, discards, strict=True)]
        found.append(
            {
                "simulations": number,
                "infosets": len(labels),
                "exact_margin": float(margins.mean()),
                "sampled_margin": float(np.nanmean(gains)),
                "mean_distance": float(np.nanmean(np.abs(gains - margins))),
                "correlation": float(np.corrcoef(gains, margins)[0, 1]),
                "same_discard": float(np.mean(same)),
                "seconds": time.perf_counter() - start,
            }
        )
    return found


def exact_margins(name: str) -> tuple[list[str], list[set[int]], Any]:
    """Margins of `OLSS_2` at first decisions of player 0 between discards, all playing alike.

    Letters: i infosets.

    Returns:
      [i] information states; [i] actions that the refined strategy prefers; [i] margins.
    """
    import numpy as np

    from klss_spiel import openspiel
    from klss_spiel.algorithms.subgame.recipes import OLSS_2
    from klss_spiel.algorithms.subgame.refine import Schedule, refine
    from klss_spiel.games.mahjong import actions
    from klss_spiel.policy import BehaviorPolicy
    from klss_spiel.sequence_form import sequence_form_from_tree
    from klss_spiel.tree import EMPTY_SEQUENCE

    tree = openspiel.tree_from_game(name)
    infosets = tree.infosets[0]
    uniform = BehaviorPolicy.uniform(tree)
    where = [
        int(infoset)
        for infoset in infosets.decisions
        if infosets.parent_sequence[infoset] == EMPTY_SEQUENCE
        and infosets.num_actions[infoset] > 1
        and all(actions.is_discard(int(action)) for action in infosets.actions(infoset))
    ]
    recipe = OLSS_2((uniform,), gift_scale=0.0)
    refinement = refine(uniform, recipe, player=0, where=where, schedule=Schedule.SEPARATE)
    gradient = sequence_form_from_tree(tree).gradient(0, uniform.realization_plans[1])
    # Which first decision a sequence follows; parents come before children.
    first = np.full(infosets.num_sequences, -1)
    for infoset in infosets.decisions:
        parent = infosets.parent_sequence[infoset]
        first[infosets.sequences(infoset)] = infoset if parent == EMPTY_SEQUENCE else first[parent]
    gain = refinement.policy.realization_plans[0] - uniform.realization_plans[0]
    worth = np.bincount(first[1:], (gain * gradient)[1:], infosets.num_infosets)
    own = tree.player == 0
    reach = (tree.chance_reach * uniform.reach(1))[own]
    weight = np.bincount(tree.infoset[0][own], reach, infosets.num_infosets)
    margins = worth[where] / weight[where]
    preferred = []
    for infoset in where:
        chances = refinement.policy.probabilities[0][infosets.sequences(infoset)]
        near = chances >= chances.max() - 1e-6
        preferred.append({int(action) for action in infosets.actions(infoset)[near]})
    return [infosets.labels[infoset] for infoset in where], preferred, margins


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Rows of the table; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), setup=output.use_double_precision, **how)


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws exploitability after each set of opponents, or margins by simulations."""
    if "simulations" in rows[0]:
        shown = ("exact_margin", "sampled_margin", "mean_distance")
        figures.bars(rows, "simulations", shown, "margins in fan", path=path)
        return
    title = "exploitability of both players together"
    figures.bars(rows, "opponents", ("exploitability",), title, path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    job_flags.define_flags()
    job_flags.define_plot_flag("exploitability by opponents")
    flags.DEFINE_string("game", SMALL, "OpenSpiel's string of a small variant.")
    flags.DEFINE_integer("iterations", 20, "Of CFR+ for the blueprint.")
    flags.DEFINE_enum("table", "exploitability", TABLES, "What to compute.")
    flags.DEFINE_integer("seed", 0, "Of searches in the table of margins.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, computes, prints."""
    values = flags.FLAGS
    config = Config(values.game, values.iterations, table=values.table, seed=values.seed)
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(
        make_jobs(config), setup=output.use_double_precision, progress="tables"
    ) as rows:
        shown: tuple[str, ...] = _MARGIN_COLUMNS
        if values.table == "exploitability":
            shown = ("opponents", "nodes", "subgames", "exploitability", "change", "seconds")
        output.emit(rows, values.json, output.format_table(rows, shown))
        if values.plot:
            plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
