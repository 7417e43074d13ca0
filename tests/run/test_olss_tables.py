"""The rows of the binary behind OLSS's Table 2, and its flags."""

import json
import subprocess
import sys

import numpy as np
import pytest

from klss_spiel.algorithms.subgame.recipes import parse_recipe
from klss_spiel.algorithms.subgame.solvers import LinearProgramming
from klss_spiel.best_response import nash_conv
from klss_spiel.row_files import read_rows
from klss_spiel.run import olss_by_nodes, olss_report, olss_tables
from klss_spiel.tree import PLAYERS

KEYS = (
    "game",
    "recipe",
    "seed",
    "blueprint_by",
    "solver",
    "iterations",
    "gift_scale",
    "opponent_strategies",
    "blueprint",
    "after",
    "paper_blueprint",
    "paper_after",
    "seconds",
)


def run_binary(*arguments, **options):
    command = [sys.executable, "-m", "klss_spiel.run.olss_tables", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def config(*games, **options):
    """A small table: exact solutions, one early blueprint."""
    return olss_tables.Config(games=games, **{"solver": "lp", "seeds": 1, "target": 0.5, **options})


@pytest.fixture(scope="module")
def setting():
    return olss_by_nodes.make_setting("leduc231", "mccfr", 0.5, 0)


@pytest.mark.parametrize(("name", "method"), [("leduc231", "mccfr"), ("leduc232", "cfr")])
def test_blueprints_stop_a_little_below_the_target(name, method):
    found = olss_by_nodes.make_setting(name, method, 0.5, 0)
    assert 0.4 < found.blueprint.nash_conv <= 0.5
    assert found.blueprint.nash_conv == pytest.approx(nash_conv(found.blueprint.policy))


def test_seeds_make_different_blueprints(setting):
    other = olss_by_nodes.make_setting("leduc231", "mccfr", 0.5, 1)
    first, second = (s.blueprint.policy.probabilities[0] for s in (setting, other))
    assert not np.allclose(first, second)


def test_only_the_second_round_is_refined(setting):
    blueprint = setting.blueprint.policy
    policy = olss_by_nodes.refined(setting, parse_recipe("maxmargin"), LinearProgramming())
    for player in PLAYERS:
        infosets = setting.tree.infosets[player]
        changed = 0
        for label, infoset in infosets.index_of_label.items():
            sequences = infosets.sequences(infoset)
            before, after = (p.probabilities[player][sequences] for p in (blueprint, policy))
            if "[Round 0]" in label:
                np.testing.assert_array_equal(before, after)
            else:
                changed += not np.allclose(before, after)
        assert changed > 50


@pytest.mark.parametrize("count", [1, 4, 7])
def test_opponents_are_biased_to_fold_call_and_raise(setting, count):
    blueprint = setting.blueprint.policy
    strategies = olss_by_nodes.opponent_strategies(blueprint, 1, count)
    assert len(strategies) == count
    assert strategies[0] is blueprint
    infosets = setting.tree.infosets[1]
    infoset = next(int(i) for i in infosets.decisions if infosets.num_actions[i] == 3)
    sequences = infosets.sequences(infoset)
    base = blueprint.probabilities[1][sequences]
    for number, strategy in enumerate(strategies[1:]):
        factor = np.ones(3)
        factor[number % 3] = 5.0 if number < 3 else 20.0
        expected = factor * base / (factor @ base)
        np.testing.assert_allclose(strategy.probabilities[1][sequences], expected)
        assert strategy.probabilities[0] is blueprint.probabilities[0]


def test_safe_methods_stay_below_an_early_blueprint():
    rows = olss_tables.run(config("leduc231", recipes=("safe-1-klss", "olss-1")))
    assert [row["recipe"] for row in rows] == ["safe-1-klss", "olss-1"]
    for row in rows:
        assert row["after"] < row["blueprint"] <= 0.5
        assert row["gift_scale"] == 1.0
        assert row["paper_after"] is None  # The paper's blueprint is another.


def test_options_make_rows_where_they_mean_something():
    options = {"gift_scales": (1.0, 2.0), "opponent_strategies": (1, 7)}
    recipes = ("unsafe", "safe-1-klss", "olss-1")
    rows = olss_tables.run(config("leduc221", recipes=recipes, **options))
    assert [(row["recipe"], row["gift_scale"], row["opponent_strategies"]) for row in rows] == [
        ("unsafe", None, None),
        ("safe-1-klss", 1.0, None),
        ("safe-1-klss", 2.0, None),
        ("olss-1", 1.0, 1),
        ("olss-1", 1.0, 7),
        ("olss-1", 2.0, 1),
        ("olss-1", 2.0, 7),
    ]
    assert len({row["blueprint"] for row in rows}) == 1
    # Means of several options are listed, not put into the paper's table.
    assert "opponent_strategies" in olss_report.table(rows).splitlines()[0]


def test_a_stopped_run_goes_on_where_it_stood(tmp_path, monkeypatch):
    path = str(tmp_path / "rows.csv")
    recipes = ("unsafe", "maxmargin")
    done = olss_tables.run(config("leduc221", recipes=recipes[:1]), output=path)
    olss_by_nodes.make_setting.cache_clear()
    real, computed = olss_tables.refined, []

    def counted(setting, recipe, *rest):
        computed.append(recipe.name)
        return real(setting, recipe, *rest)

    monkeypatch.setattr(olss_tables, "refined", counted)
    rows = olss_tables.run(config("leduc221", recipes=recipes), output=path)
    assert computed == ["maxmargin"]
    assert rows[0] == done[0]
    stored = read_rows(tmp_path / "rows.csv")
    assert [row["recipe"] for row in stored] == list(recipes)
    assert all(row["open_spiel_version"] and row["seconds"] > 0.0 for row in stored)


@pytest.mark.slow
def test_table_2_of_leduc_holds_in_its_order():
    # Means over ten seeds: unsafe .215 (.08 to .29), maxmargin .096, resolve .110, 1-klss
    # .185, safe-1-klss .117, olss-1 .101; the paper has .195 .109 .089 .190 .120 .091.
    rows = olss_tables.run(olss_tables.Config(games=("leduc231",), seeds=5))
    claims = olss_report.claims(rows)
    assert len(claims) == 4
    assert [claim for claim in claims if not claim["holds"]] == []
    after = {row["recipe"]: row["after"] for row in olss_report.means(rows)}
    assert after["maxmargin"] == pytest.approx(0.095, abs=0.015)
    assert after["resolve"] == pytest.approx(0.110, abs=0.02)
    assert after["safe-1-klss"] == pytest.approx(0.117, abs=0.015)
    assert after["olss-1"] == pytest.approx(0.101, abs=0.015)


def test_json_has_the_promised_keys_and_nothing_else_is_printed():
    done = run_binary(
        "--preset=olss_table2",
        "--games=leduc221",
        "--game=leduc(1,4,1)",
        "--recipe=maxmargin",
        "--seeds=1",
        "--solver=lp",
        "--target=0.5",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["game"] for row in rows] == ["leduc221", "leduc141"]
    assert all(set(KEYS) <= set(row) for row in rows)


def test_bad_flags_are_refused_in_one_line():
    for arguments, reason in (
        (["--games=leduc231,fhp", "--max_gigabytes=1"], "GB of memory"),
        (["--games=leduc231", "--gift_scale=big"], "expected numbers in --gift_scale"),
        (["--games=leduc231", "--solver=lp", "--curve"], "a curve needs iterations"),
    ):
        done = run_binary(*arguments)
        assert done.returncode != 0
        assert reason in done.stderr
        assert "Traceback" not in done.stderr


def test_bad_configurations_are_refused():
    for options, reason in (
        ({"games": ()}, "at least one game"),
        ({"games": ("poker",)}, "expected fhp or a name"),
        ({"recipes": ("magic",)}, "expected a recipe such as"),
        ({"opponent_strategies": (2,)}, "1, 4 or 7"),
        ({"gift_scales": (-1.0,)}, "gift scales of at least 0"),
        ({"games": ("leduc232",), "blueprint": "mccfr"}, "MCCFR does not know"),
        ({"blueprint": "magic"}, "expected a blueprint by"),
        ({"seeds": 0}, "at least one seed"),
        ({"iterations": (0,)}, "at least one iteration"),
        ({"target": 0.0}, "target above 0"),
        ({"solver": "magic"}, "expected the solver"),
        ({"layout": "magic"}, "expected the layout nodes or hands"),
        ({"games": ("leduc232",), "layout": "hands", "blueprint": "mccfr"}, "made by cfr"),
        ({"games": ("leduc232",), "layout": "hands", "recipes": ("olss-2",)}, "no subgames"),
        ({"games": ("leduc232",), "layout": "hands", "boards": 4}, "a sample of 2 to 3 boards"),
        ({"boards": 2}, "samples of boards need the layout hands"),
    ):
        with pytest.raises(ValueError, match=reason):
            olss_tables.Config(**{"games": ("leduc231",), **options})
