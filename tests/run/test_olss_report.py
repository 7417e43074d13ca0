"""What is made of the rows of OLSS's Table 2: claims, figures, curves."""

import re
import subprocess
import sys

import pytest

from klss_spiel.row_files import read_rows
from klss_spiel.run import olss_report, olss_tables


def run_binary(*arguments, **options):
    command = [sys.executable, "-m", "klss_spiel.run.olss_tables", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def made_up(recipe, seed, after, **columns):
    return {
        "game": "leduc231",
        "recipe": recipe,
        "seed": seed,
        "blueprint_by": "mccfr",
        "solver": "cfr",
        "iterations": 1000,
        "gift_scale": 1.0 if recipe in ("safe-1-klss", "olss-1") else None,
        "opponent_strategies": 4 if recipe == "olss-1" else None,
        "blueprint": 0.15,
        "after": after,
        "paper_after": 0.1,
        "seconds": 1.0,
        "blueprint_seconds": 2.0,
        **columns,
    }


def test_claims_are_judged_by_every_seed_and_by_means():
    rows = [
        made_up("safe-1-klss", 0, 0.12),
        made_up("safe-1-klss", 1, 0.16),
        made_up("olss-1", 0, 0.13),
        made_up("olss-1", 1, 0.10),
        made_up("1-klss", 0, 0.14),
        made_up("1-klss", 1, 0.15),
    ]
    holds = {claim["claim"]: claim["holds"] for claim in olss_report.claims(rows)}
    assert holds == {
        "safe-1-klss below the blueprint with every seed": False,
        "olss-1 below the blueprint with every seed": True,
        "olss-1 below safe-1-klss on average": True,
        "1-klss above the blueprint on average": False,
    }
    text = olss_report.table(rows)
    assert re.search(r"leduc231 +paper +0\.1500 +0\.1200 +0\.0910 +0\.1900", text)
    assert re.search(r"leduc231 +mean of 2 +0\.1500 +0\.1400 +0\.1150 +0\.1450", text)
    assert "with every seed: NO" in text


def test_samples_of_boards_are_shown_with_intervals():
    rows = [
        made_up("unsafe", 0, 0.12, boards_refined=13),
        made_up("olss-1", 0, 0.13, after_low=0.11, after_high=0.16, boards_refined=5),
    ]
    text = olss_report.table(rows)
    assert re.search(r"leduc231 +95% from +0\.1100", text)
    assert re.search(r"leduc231 +95% to +0\.1600", text)
    assert re.search(r"leduc231 +boards +13 +5", text)
    assert "95%" not in olss_report.table(rows[:1])


def test_scaled_up_gifts_promise_no_safety():
    rows = [made_up("safe-1-klss", 0, 0.2, gift_scale=2.0)]
    assert olss_report.claims(rows) == []


def test_figure_5_counts_iterations():
    rows = [
        made_up("olss-1", 0, after, iterations=steps)
        for steps, after in ((1, 0.3), (10, 0.121), (100, 0.119), (1000, 0.118))
    ]
    (found,) = olss_report.iterations_needed(rows)
    assert found["iterations"] == 100
    (found,) = olss_report.iterations_needed(rows, reduction=0.5)
    assert found["iterations"] is None


def test_curves_are_written_as_csv_and_png(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        made_up(recipe, seed, 0.3 / steps + 0.01 * seed, iterations=steps)
        for seed in (0, 1)
        for recipe in ("olss-1", "maxmargin")
        for steps in (1, 3)
    ]
    lines = olss_report.write_curve(rows, f"{tmp_path}/rows.jsonl")
    curve = read_rows(tmp_path / "rows_curve.csv")
    assert [(row["recipe"], row["iterations"], row["seeds"]) for row in curve] == [
        ("olss-1", 1, 2),
        ("olss-1", 3, 2),
        ("maxmargin", 1, 2),
        ("maxmargin", 3, 2),
    ]
    assert curve[0]["after"] == pytest.approx(0.305)
    assert (curve[0]["least"], curve[0]["greatest"]) == (pytest.approx(0.3), pytest.approx(0.31))
    assert (tmp_path / "rows_curve.png").read_bytes().startswith(b"\x89PNG")
    assert lines[-1] == "leduc231: 20% below the blueprint, maxmargin: 3 iterations"


def test_curves_without_matplotlib_are_csv_only(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    olss_report.write_curve([made_up("olss-1", 0, 0.1)], f"{tmp_path}/rows.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["rows_curve.csv"]


@pytest.mark.slow
def test_the_binary_draws_a_curve(tmp_path):
    pytest.importorskip("matplotlib")
    done = run_binary(
        "--games=leduc221",
        "--recipe=maxmargin",
        "--seeds=1",
        "--target=0.5",
        "--iterations=20",
        "--curve",
        f"--output={tmp_path}/rows.csv",
    )
    assert done.returncode == 0, done.stderr
    curve = read_rows(tmp_path / "rows_curve.csv")
    assert [row["iterations"] for row in curve] == [1, 3, 10, 20]
    assert (tmp_path / "rows_curve.png").exists()
    assert "20% below the blueprint, maxmargin" in done.stdout


def test_half_decades_end_with_the_last():
    assert olss_tables.half_decades(1) == (1,)
    assert olss_tables.half_decades(100) == (1, 3, 10, 30, 100)
    assert olss_tables.half_decades(500) == (1, 3, 10, 30, 100, 300, 500)
