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
                     four continuations leaves (`continuations`), or what play by both gets,
                     given their ranges (`values`)

Exploitability is that of the trunk after safe completion, summed over both players as in
the thesis. Every row is one network; `--summary` adds best, median and worst of each kind.
`--weights_dir` keeps the networks.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import flags

from klss_spiel import plot as figures
from klss_spiel.jobs import Job, compute_rows, job_from_columns
from klss_spiel.run import job_flags, output
from klss_spiel.run.value_domains import DOMAINS, cut_domain

# The seeds on which configurations were chosen are below this.
FIRST_SEED = 1000

RAW = "raw"
OURS = "ours"

# How networks are trained: fields of `TrainingConfig` by domain and recipe. `raw` is the
# thesis' (about 1,000 random situations, 80,000 at depth 4); `ours` was chosen on seeds
# below FIRST_SEED.
RECIPES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("kuhn", RAW): dict(random_trunks=40, epochs=60),
    ("kuhn", OURS): dict(random_trunks=40, epochs=60, batch=16),
    ("kriegspiel_2", RAW): dict(random_trunks=334, epochs=100),
    ("dark_2", RAW): dict(random_trunks=77, epochs=200),
    ("dark_4", RAW): dict(random_trunks=200, epochs=5, batch=256),
    ("mate2", RAW): dict(
        random_trunks=195, label_iterations=300, epochs=50, batch=256, completion_iterations=500
    ),
    ("leduc", RAW): dict(random_trunks=200, epochs=200),
    ("kriegspiel_2", OURS): dict(random_trunks=100, iterates=50, epochs=100, on_policy_rounds=1),
    ("dark_2", OURS): dict(random_trunks=77, iterates=50, epochs=200, on_policy_rounds=2),
    ("dark_4", OURS): dict(random_trunks=40, iterates=60, epochs=20, on_policy_rounds=1, batch=256),
    ("mate2", OURS): dict(
        random_trunks=20,
        iterates=40,
        on_policy_rounds=1,
        on_policy_ranges=20,
        label_iterations=300,
        epochs=150,
        batch=128,
        completion_iterations=500,
    ),
    ("leduc", OURS): dict(
        random_trunks=100, iterates=100, epochs=150, on_policy_rounds=3, on_policy_ranges=100
    ),
}

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
LEAF_VALUES = ("zero", "exact", "blueprint", "continuations", "values")
LEAF_CONTINUATIONS = {"blueprint": 1, "continuations": 4}


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


def golden_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Optimal values under a uniform trunk."""
    from klss_spiel.algorithms.values.optimal import optimal_values
    from klss_spiel.algorithms.values.ranges import ranges
    from klss_spiel.policy import BehaviorPolicy

    border = cut_domain(columns["domain"]).border
    start = time.monotonic()
    values = optimal_values(border, ranges(border, BehaviorPolicy.uniform(border.tree)))
    return {
        "game": DOMAINS[columns["domain"]].game,
        "cut": "{} {}".format(*DOMAINS[columns["domain"]].cut),
        "value": values.value,
        "values_0": values.counterfactual[0].tolist(),
        "gap": float(np.abs(values.imbalance()).max()),
        "seconds": time.monotonic() - start,
    }


def exact_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """CFR-D with warm exact bottoms: exploitability after 100 and 500 iterations."""
    from klss_spiel.algorithms.values.bottoms import Bottoms
    from klss_spiel.algorithms.values.completion import trunk_exploitability
    from klss_spiel.algorithms.values.depth_limited import solve_trunk

    border = cut_domain(columns["domain"]).border
    solve_trunk(border, Bottoms(border, 1, warm=True), 2)  # compiles
    bottoms = Bottoms(border, 5, warm=True)
    solution, seconds, row = None, 0.0, {}
    for iterations in (100, 500):
        start = time.monotonic()
        done = 0 if solution is None else solution.iterations
        solution = solve_trunk(border, bottoms, iterations - done, start=solution)
        seconds += time.monotonic() - start
        row[f"after_{iterations}"] = trunk_exploitability(border, solution.average_behavior)
    return {**row, "seconds": seconds}


def continuation_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Depth-limited solving of Leduc poker with self-generated continuations."""
    from klss_spiel.algorithms import cfr
    from klss_spiel.algorithms.values import completion, continuations
    from klss_spiel.best_response import best_response_to
    from klss_spiel.linear_program import equilibrium
    from klss_spiel.policy import BehaviorPolicy
    from klss_spiel.sequence_form import sequence_form_from_tree

    border = cut_domain("leduc").border
    form = sequence_form_from_tree(border.tree)
    if columns["blueprint"] == "equilibrium":
        behaviors = equilibrium(form).behaviors
    else:
        behaviors = cfr.solve(form, 100).average_behavior
    blueprint = BehaviorPolicy(border.tree, behaviors)
    found = continuations.self_generated(border, 0, blueprint, columns["continuations"])
    own = border.bottoms_of(blueprint)[0]
    states = continuations.multi_valued_states(border, 0, own, found)
    solution = continuations.solve_depth_limited(states)
    value = completion.game_value(border.tree)
    plan = form.treeplexes[0].realization_plan(solution.strategy())
    return {
        "value": solution.value,
        "trunk_exploitability": value
        - completion.safe_completion(border, 0, solution.trunk).guarantee,
        "full_exploitability": value + best_response_to(form, 1, plan).value,
    }


def resolving_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Continual re-solving of one player, 200 iterations with nearly exact values."""
    from klss_spiel.algorithms.values import resolving
    from klss_spiel.algorithms.values.bottoms import Bottoms
    from klss_spiel.algorithms.values.completion import game_value, safe_completion
    from klss_spiel.best_response import best_response_to
    from klss_spiel.sequence_form import sequence_form_from_tree

    border, player = cut_domain(columns["domain"]).border, columns["player"]
    start = time.monotonic()
    first = resolving.solve_first(border, player, Bottoms(border, 100), 200)
    carried = first.carried
    assert carried is not None
    second = resolving.solve_next(carried, resolving.Gadget(columns["gadget"]))
    seconds = time.monotonic() - start
    behavior = np.where(first.decided, first.behavior, second.behavior)
    value = game_value(border.tree) * (1.0 if player == 0 else -1.0)
    trunk = first.behavior[border.trunk_part.sequences[player]]
    form = sequence_form_from_tree(border.tree)
    plan = form.treeplexes[player].realization_plan(behavior)
    margins = carried.alternate - resolving.opponent_values(carried, behavior)
    return {
        "safe": value - safe_completion(border, player, trunk).guarantee,
        "exploitability": value + best_response_to(form, 1 - player, plan).value,
        "bound": resolving.exploitability_bound(carried, first.behavior, value),
        "least_margin": float(margins.min()),
        "seconds": seconds,
    }


def leaf_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Searches of both players that grow a tree and then settle on it for 300 iterations."""
    import pyspiel

    from klss_spiel.algorithms import cfr
    from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame
    from klss_spiel.algorithms.search.search import search_from_start
    from klss_spiel.algorithms.search.settings import OBSCURO
    from klss_spiel.algorithms.values import leaf_values
    from klss_spiel.budget import Budget
    from klss_spiel.evaluators import make_evaluator
    from klss_spiel.policy import BehaviorPolicy
    from klss_spiel.sequence_form import sequence_form_from_tree

    border = cut_domain(columns["domain"]).border
    tree, kind = border.tree, columns["leaves"]
    game = pyspiel.load_game(DOMAINS[columns["domain"]].game)
    start = time.monotonic()
    if kind == "values":
        searched: OpenSpielSearchGame = leaf_values.LeafValuedGame(game, tree=tree)
    elif kind in LEAF_CONTINUATIONS:
        solution = cfr.solve(sequence_form_from_tree(tree), 100)
        blueprint = BehaviorPolicy(tree, solution.average_behavior)
        chosen = leaf_values.continuations_from(border, blueprint, LEAF_CONTINUATIONS[kind])
        searched = leaf_values.LeafValuedGame(game, chosen, tree=tree)
    else:
        searched = OpenSpielSearchGame(game, make_evaluator(game, kind))
    row: dict[str, Any] = {"exploitability": 0.0}
    for player in (0, 1):
        search = search_from_start(searched, OBSCURO, player, columns["seed"])
        search.run(Budget(nodes=columns["nodes"]))
        search.iterate(300)
        found = leaf_values.search_exploitability(search, tree)
        row |= {f"player_{player}": found, "exploitability": row["exploitability"] + found}
    return {**row, "seconds": time.monotonic() - start}


def network_row(columns: Mapping[str, Any], weights_dir: str | None = None) -> dict[str, Any]:
    """Trains one network and measures the trunk it makes."""
    from klss_spiel.algorithms.values import networks, training

    start = time.monotonic()
    name, seed = columns["domain"], columns["seed"]
    domain, cut = DOMAINS[name], cut_domain(name)
    convolves = columns.get("network") == "cnn"
    raw = columns["recipe"] == RAW
    settings = dict(RECIPES[name, columns["recipe"]])
    if "epochs" in columns:
        settings["epochs"] = columns["epochs"]
    config = training.TrainingConfig(
        architecture=networks.CNN if convolves else domain.architecture,
        recipe=networks.RAW if raw else networks.Recipe(),
        reach_weighted=bool(columns.get("reach_weighted")),
        **settings,
    )
    row: dict[str, Any] = {}
    labels = None
    if "stacked" in columns:
        labels, row["bottom_exploitability"] = _stacked_labels(columns["stacked"], seed)
    features = cut.boards if convolves else cut.features
    assert features is not None
    trained = training.train(cut.border, features, config, seed, labels)
    thesis = domain.thesis
    slots = trained.values.slots.infoset
    row |= {
        "exploitability": trained.exploitability,
        "last_exploitability": trained.last_exploitability,
        "validation_loss": trained.history[-1][1],
        "situations": trained.history[-1][0] * cut.border.num_public_states,
        "public_states": cut.border.num_public_states,
        "public_features": int(np.prod(features.shape[1:])),
        "range_size": slots[0].shape[1] + slots[1].shape[1],
        "thesis_exploitability": thesis.exploitability if thesis else None,
        "seconds": time.monotonic() - start,
    }
    if weights_dir is not None:
        os.makedirs(weights_dir, exist_ok=True)
        trained.values.save(
            os.path.join(weights_dir, f"values_{name}_{columns['recipe']}_{seed}.safetensors"),
            command=_command(columns),
            seed=seed,
            cut=list(domain.cut),
            exploitability=trained.exploitability,
        )
    return row


def _command(columns: Mapping[str, Any]) -> str:
    """What makes a row's network again."""
    preset = "leduc" if columns["domain"] == "leduc" else "sestak_table52"
    mate2 = " --mate2" if columns["domain"] == "mate2" else ""
    more = {k: v for k, v in columns.items() if k not in ("domain", "recipe", "seed")}
    return (
        f"python -m klss_spiel.run.value_tables --preset={preset}{mate2} "
        f"--first_seed={columns['seed']} --seeds=1 --weights_dir=DIR"
        f" (row {columns['domain']} {columns['recipe']}{f' {more}' if more else ''})"
    )


def _stacked_labels(quality: str, seed: int) -> tuple[Any, float]:
    """Who labels situations at depth 2: the game down to depth 4 and a network there."""
    from klss_spiel.algorithms.values import bottoms, networks, training

    cut, deeper = cut_domain("dark_2"), cut_domain("dark_4")
    good = quality == "good"
    recipe = RECIPES["dark_4", OURS if good else RAW]
    config = training.TrainingConfig(recipe=networks.Recipe() if good else networks.RAW, **recipe)
    trained = training.train(deeper.border, deeper.features, config, seed)
    labels = bottoms.StackedBottoms(cut.border, deeper.border, trained.values, 100)
    return labels, trained.exploitability


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
