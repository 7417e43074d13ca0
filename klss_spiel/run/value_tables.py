r"""Tables of optimal and learned values.

    python -m klss_spiel.run.value_tables --preset=goldens --json
    python -m klss_spiel.run.value_tables --preset=sestak_table52 --seeds=5 --output=rows.csv
    python -m klss_spiel.run.value_tables --preset=stacked

Presets:

    goldens          optimal values under a uniform trunk, which are unique, by linear
                     programming: {game, cut, value, values_0}
    exact            CFR-D with exact bottoms: exploitability of the trunk, seconds
    sestak_table52   the domains of Tables 5.1 and 5.2 of Sestak's thesis: sizes and the
                     exploitability of trunks made with networks, by the thesis' recipe
                     (`raw`) and by ours; Mate2 is slow and runs with --mate2 only
    leduc            the same for Leduc poker
    stacked          section 5.3: a network at depth 2 taught by one at depth 4, good or bad
    reach_weighted   section 5.1.4: the same networks with errors weighted by reach
    cnn              section 5.2: convolutions, exploitability beside validation loss
    continuations    multi-valued states in Leduc poker instead of a value function
    resolving        continual re-solving: exploitability of each player between that of the
                     trunk, safely completed, and the bound by the averaged values
    leaves           search on a growing tree from the start of the game, whose leaves are
                     worth nothing (`zero`), what an equilibrium pays there (`exact`), what
                     100 iterations of CFR+ do (`blueprint`), what the opponent's best of
                     four continuations leaves (`continuations`), what the shipped network
                     says at its border (`network`), or what play by both gets, given their
                     ranges (`values`)

Exploitability is that of the trunk after safe completion, summed over both players as in
the thesis. Every row is one network; `--summary` adds best, median and worst of each kind.
`--weights_dir` keeps the networks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import flags

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.run import job_flags, output
from klss_spiel.run.value_domains import DOMAINS
from klss_spiel.run.value_rows import (
    LEAF_NETWORKS,
    OURS,
    RAW,
    continuation_row,
    exact_row,
    golden_row,
    leaf_row,
    network_row,
    resolving_row,
)

# The seeds on which configurations were chosen are below this.
FIRST_SEED = 1000

GOLDENS = ("kuhn", "leduc", "dark_2", "kriegspiel_2")
EXACT = ("kuhn", "leduc", "dark_2", "dark_4", "kriegspiel_2")
THESIS = ("kriegspiel_2", "dark_2", "dark_4")
STACKED = ("good", "bad")
CONTINUATIONS = (1, 2, 4, 8)
PRESETS = (
    "goldens",
    "exact",
    "sestak_table52",
    "leduc",
    "stacked",
    "reach_weighted",
    "cnn",
    "continuations",
    "resolving",
    "leaves",
)
# Games of the preset `leaves` with nodes of the trees, and what leaves are worth.
LEAF_NODES: Mapping[str, tuple[int, ...]] = {
    "kuhn": (20, 30, 45),
    "leduc": (50, 100, 300, 1000),
    "dark_2": (100, 300),
}
LEAF_VALUES = ("zero", "exact", "blueprint", "continuations", "network", "values")


@dataclasses.dataclass(frozen=True)
class Config:
    """What to compute.

    Attributes:
      preset: see the module.
      seeds: how many networks of each kind.
      first_seed: the first of their seeds.
      mate2: whether Mate2 is among the thesis' domains.
      domains: only rows of these; empty for all.
      recipes: only rows of these; empty for all.
      epochs: overrides the recipes' number of epochs, for a quick look; None keeps it.
      weights_dir: where networks are written; None for nowhere.
    """

    preset: str
    seeds: int = 5
    first_seed: int = FIRST_SEED
    mate2: bool = False
    domains: tuple[str, ...] = ()
    recipes: tuple[str, ...] = ()
    epochs: int | None = None
    weights_dir: str | None = None

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ValueError(f"expected a preset among {', '.join(PRESETS)}, got {self.preset!r}")
        for name in self.domains:
            if name not in DOMAINS:
                raise ValueError(f"expected a domain among {', '.join(DOMAINS)}, got {name!r}")
        if self.seeds < 1:
            raise ValueError(f"expected at least 1 seed, got {self.seeds}")


def make_jobs(config: Config) -> list[Job]:
    """A job for each row that is asked for."""
    return [
        job
        for job in _all_jobs(config)
        if (not config.domains or job.columns.get("domain") in config.domains)
        and (not config.recipes or job.columns.get("recipe") in config.recipes)
    ]


def _all_jobs(config: Config) -> list[Job]:
    if config.preset == "goldens":
        return [job_from_columns(golden_row, {"domain": name}) for name in GOLDENS]
    if config.preset == "exact":
        return [job_from_columns(exact_row, {"domain": name}) for name in EXACT]
    if config.preset == "continuations":
        return [
            job_from_columns(continuation_row, {"blueprint": blueprint, "continuations": count})
            for blueprint in ("equilibrium", "cfr_100")
            for count in CONTINUATIONS
        ]
    if config.preset == "resolving":
        return [
            job_from_columns(resolving_row, {"domain": name, "player": player, "gadget": gadget})
            for name in GOLDENS
            for player in (0, 1)
            for gadget in ("resolve", "maxmargin")
        ]
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    if config.preset == "leaves":
        return [
            job_from_columns(
                leaf_row, {"domain": name, "leaves": kind, "nodes": nodes, "seed": seed}
            )
            for name, budgets in LEAF_NODES.items()
            for nodes in budgets
            for kind in LEAF_VALUES
            if kind != "network" or name in LEAF_NETWORKS
            for seed in seeds
        ]
    kinds: Sequence[Mapping[str, Any]]
    if config.preset == "sestak_table52":
        names = (*THESIS, *(("mate2",) if config.mate2 else ()))
        kinds = [dict(domain=name, recipe=recipe) for name in names for recipe in (RAW, OURS)]
    elif config.preset == "leduc":
        kinds = [dict(domain="leduc", recipe=recipe) for recipe in (RAW, OURS)]
    elif config.preset == "reach_weighted":
        kinds = [
            dict(domain=name, recipe=RAW, reach_weighted=True)
            for name in ("kriegspiel_2", "dark_2")
        ]
    elif config.preset == "cnn":
        kinds = [dict(domain="dark_2", recipe=recipe, network="cnn") for recipe in (RAW, OURS)]
    else:
        kinds = [dict(domain="dark_2", recipe=OURS, stacked=quality) for quality in STACKED]
    more = {} if config.epochs is None else {"epochs": config.epochs}
    return [
        job_from_columns(network_row, {**kind, **more, "seed": seed}, config.weights_dir)
        for kind in kinds
        for seed in seeds
    ]


def run(config: Config, **how: Any) -> list[dict[str, Any]]:
    """Computes the rows; `how` as in `compute_rows`."""
    return compute_rows(make_jobs(config), setup=output.use_double_precision, **how)


def summarize(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Best, median and worst exploitability of each kind of network."""
    kinds: dict[tuple[tuple[str, Any], ...], list[Mapping[str, Any]]] = {}
    names = (
        *("domain", "recipe", "network", "stacked", "reach_weighted", "leaves", "nodes"),
        "thesis_exploitability",
    )
    for row in rows:
        if row.get("exploitability") is not None:
            key = tuple((name, row[name]) for name in names if row.get(name) not in (None, ""))
            kinds.setdefault(key, []).append(row)
    summary = []
    for kind, members in kinds.items():
        found = [float(row["exploitability"]) for row in members]
        summary.append(
            {
                **dict(kind),
                "networks": len(found),
                "best": min(found),
                "median": float(np.median(found)),
                "worst": max(found),
                "minutes_each": float(np.mean([float(row["seconds"]) for row in members])) / 60,
            }
        )
    return summary


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws exploitability against validation loss, as Figure 5.2 of the thesis."""
    figures.scatter(
        rows, "validation_loss", "last_exploitability", ("domain", "recipe"), 1e-7, path
    )


def define_flags() -> None:
    """Defines the binary's flags."""
    flags.DEFINE_enum("preset", "goldens", PRESETS, "Which table.")
    flags.DEFINE_integer("seeds", 5, "Networks of each kind.")
    flags.DEFINE_integer("first_seed", FIRST_SEED, "The first one's seed.")
    flags.DEFINE_integer("epochs", None, "Epochs instead of the recipes' own.")
    flags.DEFINE_bool("mate2", False, "Include Mate2, ten minutes and more for each network.")
    flags.DEFINE_multi_string("domain", [], "Only rows of these domains.")
    flags.DEFINE_multi_enum("recipe", [], [RAW, OURS], "Only rows of these recipes.")
    flags.DEFINE_bool("summary", False, "Show best, median and worst instead of all rows.")
    flags.DEFINE_string(
        "plot", None, "File (.svg, .pdf, .png) for exploitability against validation loss."
    )
    flags.DEFINE_string("weights_dir", None, "Folder to write networks to.")
    output.define_flags()
    job_flags.define_flags(timed=True)


@output.callable_with_flags(define_flags)
def main() -> None:
    """Parses flags, computes, prints."""
    values = flags.FLAGS
    config = Config(
        preset=values.preset,
        seeds=values.seeds,
        first_seed=values.first_seed,
        mate2=values.mate2,
        domains=tuple(values.domain),
        recipes=tuple(values.recipe),
        epochs=values.epochs,
        weights_dir=values.weights_dir,
    )
    job_flags.check_plot(values.plot)
    with job_flags.computed_rows(make_jobs(config), setup=output.use_double_precision) as rows:
        if values.plot:
            plot(rows, values.plot)
        found = summarize(rows) if values.summary else list(rows)
        output.emit(found, values.json, output.format_table(found))


if __name__ == "__main__":
    output.run_binary(define_flags, main)
