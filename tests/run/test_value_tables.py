"""Tables of values: goldens, quick networks, summaries."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.algorithms.values.completion import trunk_exploitability
from klss_spiel.algorithms.values.depth_limited import solve_trunk
from klss_spiel.algorithms.values.networks import KIND, load_network
from klss_spiel.openspiel import tree_from_game
from klss_spiel.run import search_exploitability, value_rows, value_tables
from klss_spiel.run.value_domains import DOMAINS, cut_domain, resolving_policy
from klss_spiel.run.value_tables import Config


def test_goldens():
    rows = {row["domain"]: row for row in value_tables.run(Config("goldens"))}
    expected = {
        "kuhn": -0.194444444,
        "leduc": -0.040429078,
        "dark_2": 0.768518519,
        "kriegspiel_2": 0.625,
    }
    for name, value in expected.items():
        assert rows[name]["value"] == pytest.approx(value, abs=1e-9)
        assert rows[name]["gap"] < 1e-10
    np.testing.assert_allclose(
        rows["kuhn"]["values_0"], [-1 / 3, -2 / 3, -1 / 9, -1 / 6, 7 / 18, 1 / 2], atol=1e-12
    )


@pytest.mark.slow
def test_goldens_as_json_on_the_command_line():
    command = [sys.executable, "-m", "klss_spiel.run.value_tables", "--preset=goldens", "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ, timeout=300
    )
    rows = json.loads(done.stdout)
    assert {"game", "cut", "value", "values_0"} <= set(rows[0]) and len(rows) == 4


def test_domains_have_the_thesis_public_states():
    for name in ("dark_2", "dark_4", "kriegspiel_2"):
        assert cut_domain(name).border.num_public_states == DOMAINS[name].thesis.public_states
    with pytest.raises(ValueError, match="expected a domain among"):
        cut_domain("chess")


def test_every_preset_has_jobs_with_different_keys():
    for preset in value_tables.PRESETS:
        jobs = value_tables.make_jobs(Config(preset, seeds=2))
        assert jobs and len({job.key for job in jobs}) == len(jobs)
    assert len(value_tables.make_jobs(Config("sestak_table52", seeds=3, mate2=True))) == 24
    some = Config("sestak_table52", seeds=2, domains=("dark_2",), recipes=("raw",))
    found = [job.columns for job in value_tables.make_jobs(some)]
    assert [(c["domain"], c["recipe"], c["seed"]) for c in found] == [
        ("dark_2", "raw", 1000),
        ("dark_2", "raw", 1001),
    ]
    with pytest.raises(ValueError, match="expected a domain among"):
        Config("leduc", domains=("chess",))
    with pytest.raises(ValueError, match="expected a preset among"):
        Config("table")
    with pytest.raises(ValueError, match="at least 1 seed"):
        Config("leduc", seeds=0)


def test_a_network_is_measured_and_kept(tmp_path):
    folder = tmp_path / "nets"
    columns = {"domain": "kuhn", "recipe": "ours", "epochs": 5, "seed": 3}
    row = value_rows.network_row(columns, str(folder))
    assert 0.0 <= row["exploitability"] <= row["last_exploitability"] <= 2.0
    assert (row["public_states"], row["range_size"], row["situations"]) == (2, 6, 80)
    (file,) = folder.iterdir()
    metadata = weights.read_metadata(file)
    assert metadata.kind == KIND and metadata.seed == 3
    network = load_network(file, cut_domain("kuhn").border)
    solution = solve_trunk(network.border, network, 500)
    assert trunk_exploitability(network.border, solution.average_behavior) == pytest.approx(
        row["exploitability"], abs=1e-6
    )


@pytest.mark.slow
def test_convolutions_read_the_public_boards_of_dark_chess():
    (job, *_) = value_tables.make_jobs(Config("cnn", seeds=1, epochs=1))
    row = value_rows.network_row(job.columns)
    assert (row["public_states"], row["range_size"]) == (13, 14)


def test_rows_of_resolving_lie_between_safe_and_bound():
    columns = {"domain": "kuhn", "player": 1, "gadget": "maxmargin"}
    row = value_rows.resolving_row(columns)
    assert row["safe"] - 1e-9 <= row["exploitability"] <= row["bound"] + 1e-9
    assert row["least_margin"] > -1e-9


def test_rows_of_leaves_say_what_a_search_gives_away():
    found = {
        kind: value_rows.leaf_row({"domain": "kuhn", "leaves": kind, "nodes": 30, "seed": 1000})
        for kind in ("zero", "continuations", "values")
    }
    for row in found.values():
        assert row["exploitability"] == pytest.approx(row["player_0"] + row["player_1"])
    assert found["values"]["exploitability"] < 1e-4 < 0.1 < found["zero"]["exploitability"]
    assert found["continuations"]["exploitability"] < 1e-3


@pytest.mark.slow
def test_rows_of_leaves_ask_the_shipped_network():
    columns = {"domain": "leduc", "nodes": 50, "seed": 1000}
    network, zero = (
        value_rows.leaf_row({**columns, "leaves": kind})["exploitability"]
        for kind in ("network", "zero")
    )
    assert network < 0.01 < 0.05 < zero


def test_rows_of_exact_values_and_continuations():
    row = value_rows.exact_row({"domain": "kuhn"})
    assert row["after_500"] < row["after_100"] < 0.01 and row["seconds"] > 0
    row = value_rows.continuation_row({"blueprint": "equilibrium", "continuations": 1})
    assert row["trunk_exploitability"] == pytest.approx(0.344, abs=2e-3)
    assert row["full_exploitability"] == pytest.approx(0.735, abs=2e-3)


def test_resolving_is_measured_beside_the_search():
    config = search_exploitability.Config(("kuhn_poker",), (), (300, 3000), resolving=True)
    rows = search_exploitability.run(config)
    assert [row["preset"] for row in rows] == ["continual_resolving"] * 2
    assert rows[1]["exploitability"] < min(rows[0]["exploitability"], 0.02)
    with pytest.raises(ValueError, match="cut somewhere"):
        resolving_policy(tree_from_game("python_n_matching_pennies"), 1)


def test_plots_are_drawn(tmp_path):
    rows = [
        {"domain": "d", "recipe": r, "validation_loss": 0.1, "last_exploitability": e}
        for r, e in (("raw", 0.0), ("ours", 0.3))
    ]
    value_tables.plot(rows, str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_summaries_are_best_median_and_worst():
    rows = [
        {"domain": "leduc", "recipe": "ours", "seed": s, "exploitability": e, "seconds": 60.0}
        for s, e in enumerate((0.3, 0.1, 0.2))
    ]
    rows.append({"domain": "leduc", "recipe": "raw", "error": "failed"})
    (summary,) = value_tables.summarize(rows)
    assert (summary["best"], summary["median"], summary["worst"]) == (0.1, 0.2, 0.3)
    assert summary["networks"] == 3 and summary["minutes_each"] == 1.0


@pytest.mark.parametrize(
    "domain",
    ["leduc", "kriegspiel_2", "dark_2", "dark_4", pytest.param("mate2", marks=pytest.mark.slow)],
)
def test_shipped_networks_make_the_trunks_they_promise(domain):
    name = f"values_{domain}"
    metadata = weights.read_metadata(name)
    assert "klss_spiel.run.value_tables" in metadata.command
    border = cut_domain(domain).border
    network = load_network(name, border)
    solution = solve_trunk(border, network, 500)
    by_cfr = 500 if domain == "mate2" else None  # whose program is too large
    found = trunk_exploitability(border, solution.average_behavior, iterations=by_cfr)
    assert found == pytest.approx(metadata.extra["exploitability"], abs=2e-3)
