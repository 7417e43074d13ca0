"""The binary behind ZS21's Table 1."""

import json
import subprocess
import sys

import pytest

from klss_spiel.run import klss_tables

KEYS = (
    "row",
    "game",
    "recipe",
    "blueprint",
    "after",
    "ratio",
    "paper_blueprint",
    "paper_after",
    "seconds",
)


def run_binary(*arguments):
    command = [sys.executable, "-m", "klss_spiel.run.klss_tables", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_json_has_the_promised_keys_and_nothing_else_is_printed():
    done = run_binary("--row=kuhn", "--row=kuhn_bet", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["row"] for row in rows] == ["kuhn", "kuhn_bet"]
    assert all(set(KEYS) <= set(row) for row in rows)
    assert rows[0]["ratio"] == pytest.approx(8.3333, rel=1e-3)
    assert rows[1]["ratio"] is None  # Infinite: JSON has no such number.


def test_the_table_shows_the_papers_figures():
    done = run_binary("--row=kuhn")
    lines = done.stdout.splitlines()
    assert "paper_after" in lines[0]
    assert "0.0124" in lines[2]
    assert "0.0015" in lines[2]


def test_bad_flags_are_refused_in_one_line():
    for arguments, reason in (
        (["--row=chess"], "expected rows among"),
        (["--row=kuhn", "--recipe=magic"], "expected a recipe such as"),
        (["--row=kuhn", "--epsilon=2"], "epsilon"),
    ):
        done = run_binary(*arguments)
        assert done.returncode != 0
        assert reason in done.stderr
        assert "Traceback" not in done.stderr


def test_other_recipes_share_the_table(monkeypatch):
    rows = klss_tables.run(
        klss_tables.Config(rows=("kuhn",), recipes=("1-klss", "maxmargin", "resolve", "2-kluss"))
    )
    assert [row["recipe"] for row in rows] == ["1-klss", "maxmargin", "resolve", "2-kluss"]
    assert len({row["blueprint"] for row in rows}) == 1
    assert [row["paper_after"] is None for row in rows] == [False, True, True, True]


def test_ties_show_that_the_figure_is_not_unique():
    (row,) = klss_tables.run(klss_tables.Config(rows=("goofspiel_ascending",), ties=6))
    assert row["after"] == 0.0
    assert 0.0 <= row["ties_least"] <= row["ties_mean"] <= row["ties_greatest"] <= 0.0955
    assert row["ties_greatest"] > 0.0


def test_finished_rows_are_not_computed_again(tmp_path, monkeypatch):
    path = str(tmp_path / "table.csv")
    config = klss_tables.Config(rows=("kuhn",))
    first = klss_tables.run(config, output=path)
    monkeypatch.setattr(klss_tables, "make_setting", lambda *_: pytest.fail("computed again"))
    assert klss_tables.run(config, output=path) == first


def test_rows_do_not_depend_on_the_executor():
    config = klss_tables.Config(rows=("kuhn", "dark_hex"), recipes=("1-klss", "maxmargin"), ties=1)
    here, there = (klss_tables.run(config, executor=e) for e in ("in_process", "processes:2"))
    for row in (*here, *there):
        assert row.pop("seconds") > 0.0
    assert here == there


def test_epsilon_zero_starts_from_an_equilibrium():
    (row,) = klss_tables.run(klss_tables.Config(rows=("kuhn",), epsilon=0.0))
    assert row["blueprint"] == 0.0
    assert row["after"] == 0.0
    assert row["paper_blueprint"] is None
