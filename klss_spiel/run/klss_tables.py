r"""ZS21's Table 1: exploitability before and after subgame solving at every infoset.

    python -m klss_spiel.run.klss_tables --preset=zs21_table1_small
    python -m klss_spiel.run.klss_tables --preset=zs21_table1 --ties=20 --output=table1.csv
    python -m klss_spiel.run.klss_tables --preset=zs21_table1_small --recipe=maxmargin

The blueprint of player 0 is the least exploitable strategy that plays every action
with probability at least epsilon / m, m being the number of actions (or one
action only: the rows _bet and _fold). Subgames are solved nested at every infoset,
under the same restriction but at their roots. Payoffs are scaled to a range of
2; exploitability is the value of the game minus what the strategy gets against a best
response.

What the paper leaves open: there are many least exploitable blueprints; here it is
the one that does best over all opponent infosets taken together. And in most games
the smallest margin cannot be raised, so that many strategies are optimal, which differ
in exploitability: `after` takes the one with the largest sum of margins, `--ties=N`
shows the spread over N random optimal vertices. Recipes with opponent strategies use
the blueprint's alone, an equilibrium strategy of player 1.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel import plot as figures
from klss_spiel.algorithms.subgame.recipes import parse_recipe
from klss_spiel.algorithms.subgame.refine import Schedule, refine
from klss_spiel.algorithms.subgame.solvers import LinearProgramming, Ties
from klss_spiel.arrays import FloatArray
from klss_spiel.best_response import loss_of_player
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.linear_program import TieBreak, action_bounds, equilibrium, floor_bounds, solve
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import job_flags, output
from klss_spiel.sequence_form import SequenceForm, sequence_form_from_tree, treeplex_from_tree
from klss_spiel.tree import GameTree

PLAYER = 0
EPSILON = 0.25
# Exploitabilities below this are zero but for rounding.
ZERO = 1e-9


@dataclasses.dataclass(frozen=True)
class TableRow:
    """A row of the table as printed.

    Attributes:
      game: OpenSpiel's game string.
      blueprint: exploitability of the blueprint.
      after: exploitability after 1-KLSS.
      action: the one action that is restricted, or None for all.
      opening: restrict the action at the first decision only.
    """

    game: str
    blueprint: float
    after: float
    action: int | None = None
    opening: bool = False


_GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order={},returns_type=win_loss)"
_KUHN_BET = 1
_LEDUC_FOLD = 0
_LEDUC_RAISE = 2

ZS21_TABLE1 = {
    "dark_hex": TableRow("dark_hex(num_rows=2,num_cols=2,gameversion=adh)", 0.0683, 0.0625),
    "goofspiel_random": TableRow(_GOOFSPIEL.format("random"), 0.171, 0.077),
    "goofspiel_ascending": TableRow(_GOOFSPIEL.format("ascending"), 0.17, 0.0),
    "kuhn": TableRow("kuhn_poker", 0.0124, 0.0015),
    "kuhn_bet": TableRow("kuhn_poker", 0.0035, 0.0, action=_KUHN_BET, opening=True),
    "leduc": TableRow("leduc_poker", 0.0207, 0.0191),
    "leduc_fold": TableRow("leduc_poker", 0.0065, 0.0057, action=_LEDUC_FOLD),
    "leduc_bet": TableRow("leduc_poker", 0.0097, 0.0096, action=_LEDUC_RAISE),
    "liars_dice": TableRow("liars_dice(dice_sides=5)", 0.181, 0.125),
    "n_matching_pennies": TableRow("python_n_matching_pennies(n=100)", 0.0013, 0.0098),
}

PRESETS = {
    "zs21_table1": tuple(ZS21_TABLE1),
    "zs21_table1_small": (
        "dark_hex",
        "goofspiel_ascending",
        "kuhn",
        "kuhn_bet",
        "n_matching_pennies",
    ),
}
DEFAULT_RECIPE = "1-klss"

# All columns of results; those of ties are not in every row.
RESULTS = (
    *("blueprint", "after", "ratio", "paper_blueprint", "paper_after"),
    *("ties_least", "ties_mean", "ties_greatest", "seconds"),
)


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compute.

    Attributes:
      rows: keys of ZS21_TABLE1.
      recipes: names of recipes; one table row each.
      epsilon: restriction of the blueprint.
      ties: number of random optimal vertices to try besides.
      seed: of those.
      schedule: how solves build on each other.
    """

    rows: tuple[str, ...]
    recipes: tuple[str, ...] = (DEFAULT_RECIPE,)
    epsilon: float = EPSILON
    ties: int = 0
    seed: int = 0
    schedule: Schedule = Schedule.NESTED

    def __post_init__(self) -> None:
        for row in self.rows:
            if row not in ZS21_TABLE1:
                raise ValueError(f"expected rows among {', '.join(ZS21_TABLE1)}, got {row!r}")
        for recipe in self.recipes:
            parse_recipe(recipe)
        if not 0.0 <= self.epsilon < 1.0:
            raise ValueError(f"expected 0 <= epsilon < 1, got {self.epsilon}")
        if self.ties < 0:
            raise ValueError(f"expected a number of ties of at least 0, got {self.ties}")


@dataclasses.dataclass(frozen=True, eq=False)
class Setting:
    """A game of the table with its blueprint.

    Attributes:
      tree: the game.
      form: its sequence form.
      blueprint: the restricted strategy of player 0, an equilibrium one of player 1.
      lower_bounds: [S] the restriction.
      value: of the game to player 0.
      scale: by which payoffs are multiplied.
    """

    tree: GameTree
    form: SequenceForm
    blueprint: BehaviorPolicy
    lower_bounds: FloatArray
    value: float
    scale: float

    def exploitability(self, policy: BehaviorPolicy) -> float:
        """What player 0's strategy loses on the value of the game, scaled."""
        loss = self.scale * loss_of_player(policy, PLAYER, self.value, self.form)
        return loss if loss > ZERO else 0.0


@functools.lru_cache(maxsize=2)
def make_setting(row: str, epsilon: float = EPSILON) -> Setting:
    """The game and blueprint of a row."""
    spec = ZS21_TABLE1[row]
    tree = tree_from_game(spec.game)
    form = sequence_form_from_tree(tree)
    payoffs = tree.utility[tree.terminals]
    if spec.action is None:
        bounds = floor_bounds(treeplex_from_tree(tree, PLAYER), epsilon)
    else:
        bounds = action_bounds(tree, PLAYER, spec.action, epsilon, share=True, opening=spec.opening)
    exact = equilibrium(form)
    everywhere = np.ones(form.treeplexes[1 - PLAYER].num_infosets)
    restricted = solve(
        form, PLAYER, lower_bounds=bounds, tie_break=TieBreak(value_weights=everywhere)
    )
    blueprint = BehaviorPolicy(tree, exact.behaviors).replace(PLAYER, restricted.behavior)
    scale = 2.0 / float(payoffs.max() - payoffs.min())
    return Setting(tree, form, blueprint, bounds, exact.value, scale)


def make_jobs(config: Config) -> list[Job]:
    """A job for each row of the table and recipe."""
    return [
        job_from_columns(
            compute_row,
            {
                "row": row,
                "game": ZS21_TABLE1[row].game,
                "recipe": recipe,
                "epsilon": config.epsilon,
                "ties": config.ties,
                "seed": config.seed,
                "schedule": config.schedule.value,
            },
            group=row,
        )
        for row in config.rows
        for recipe in config.recipes
    ]


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Computes the rows; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), fields=RESULTS, **how)


def compute_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The results of one row; `columns` as in `make_jobs`."""
    start = time.monotonic()
    row, epsilon, seed = columns["row"], columns["epsilon"], columns["seed"]
    setting = make_setting(row, epsilon)
    recipe = parse_recipe(columns["recipe"])

    def after(solver: LinearProgramming) -> float:
        refinement = refine(
            setting.blueprint,
            recipe,
            player=PLAYER,
            schedule=Schedule(columns["schedule"]),
            solver=solver,
            lower_bounds=setting.lower_bounds,
            seed=seed,
        )
        return setting.exploitability(refinement.policy)

    before = setting.exploitability(setting.blueprint)
    result = after(LinearProgramming(Ties.SUM))
    printed = ZS21_TABLE1[row] if epsilon == EPSILON else None
    by_klss = columns["recipe"] == DEFAULT_RECIPE
    results: dict[str, Any] = {
        "blueprint": before,
        "after": result,
        "ratio": before / result if result > 0.0 else math.inf if before > 0.0 else math.nan,
        "paper_blueprint": printed.blueprint if printed else None,
        "paper_after": printed.after if printed and by_klss else None,
    }
    if columns["ties"]:
        spread = [
            after(LinearProgramming(Ties.RANDOM, seed + number))
            for number in range(columns["ties"])
        ]
        results["ties_least"] = min(spread)
        results["ties_mean"] = sum(spread) / len(spread)
        results["ties_greatest"] = max(spread)
    results["seconds"] = time.monotonic() - start
    return results


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws exploitability before and after, beside the paper's."""
    shown = ("blueprint", "after", "paper_after")
    figures.bars(rows, ("row", "recipe"), shown, "exploitability of player 0", path=path)


def define_flags() -> None:
    """Defines the binary's flags."""
    flags.DEFINE_enum("preset", "zs21_table1_small", sorted(PRESETS), "Which rows.")
    flags.DEFINE_multi_string("row", [], "Single rows instead of a preset.")
    flags.DEFINE_multi_string(
        "recipe",
        [DEFAULT_RECIPE],
        "Method: 1-klss, 3-klss, 2-kluss, unsafe, resolve, maxmargin, reach-maxmargin, "
        "safe-1-klss, olss-1, olss-2, 1-klss-resolve.",
    )
    flags.DEFINE_float("epsilon", EPSILON, "Restriction of the blueprint.")
    flags.DEFINE_integer("ties", 0, "Try this many random optimal solutions besides.")
    flags.DEFINE_integer("seed", 0, "Seed of random solutions and independent sets.")
    flags.DEFINE_enum(
        "schedule",
        Schedule.NESTED.value,
        [schedule.value for schedule in Schedule],
        "How solves build on each other.",
    )
    output.define_flags()
    job_flags.define_flags()
    job_flags.define_plot_flag("exploitability before and after")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Parses flags, computes, prints."""
    values = flags.FLAGS
    config = Config(
        rows=tuple(values.row) or PRESETS[values.preset],
        recipes=tuple(values.recipe),
        epsilon=values.epsilon,
        ties=values.ties,
        seed=values.seed,
        schedule=Schedule(values.schedule),
    )
    hidden = ("game", "epsilon", "ties", "seed", "schedule")
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(config), fields=RESULTS) as rows:
        columns = [column for column in output.columns_of(rows) if column not in hidden]
        table = output.format_table(rows, columns, {"seconds": ".1f", "ratio": ".4g"})
        output.emit(rows, values.json, table)
        if values.plot:
            plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
