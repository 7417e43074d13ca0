"""Rows of `value_tables`: each function computes one from the columns that name it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from klss_spiel.run.value_domains import DOMAINS, cut_domain

RAW = "raw"
OURS = "ours"

# How networks are trained: fields of `TrainingConfig` by domain and recipe. `raw` is the
# thesis' (about 1,000 random situations, 80,000 at depth 4); `ours` was chosen on seeds
# below `value_tables.FIRST_SEED`, Mate2's on 1000 and 1001, too.
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
        on_policy_rounds=4,
        on_policy_ranges=40,
        stop_below=0.005,
        label_iterations=300,
        epochs=150,
        batch=128,
        completion_iterations=500,
    ),
    ("leduc", OURS): dict(
        random_trunks=100, iterates=100, epochs=150, on_policy_rounds=3, on_policy_ranges=100
    ),
}

# How many continuations there are for what leaves are worth in `leaf_row`.
LEAF_CONTINUATIONS = {"blueprint": 1, "continuations": 4}
# The shipped network, and domain of its border, for searches in the game of another domain.
LEAF_NETWORKS = {"leduc": "leduc", "dark_2": "dark_4"}


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
    from klss_spiel.algorithms.values.networks import load_network
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
    elif kind == "network":
        name = LEAF_NETWORKS[columns["domain"]]
        deeper = cut_domain(name).border
        tree = deeper.tree
        network = load_network(f"values_{name}", deeper)
        searched = leaf_values.LeafValuedGame(
            game, leaf_values.ValuedBorder(deeper, network), tree=tree
        )
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
