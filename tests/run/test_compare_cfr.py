"""The binaries around CFR: demo, compare_cfr, benchmark."""

import json
import subprocess
import sys

import pytest

from klss_spiel.openspiel import load_game, tree_from_game, turn_based
from klss_spiel.row_files import read_rows
from klss_spiel.run import benchmark, cold_starts, compare_cfr, contenders, demo, peers
from klss_spiel.run.suites import cfr as cfr_suite


def test_demo_values_are_exact_and_cfr_agrees_with_openspiels():
    rows = demo.run(demo.Config(iterations=30))
    assert [row["game"] for row in rows] == list(demo.GAMES)
    assert [row["nodes"] for row in rows] == [58, 9457, 701]
    assert [row["infosets"] for row in rows] == [12, 936, 101]
    assert rows[0]["value"] == pytest.approx(-1 / 18, abs=1e-9)
    for row in rows[:2]:
        assert row["ours exploitability"] == pytest.approx(
            row["OpenSpiel exploitability"], rel=0.05
        )


def test_demo_binary_writes_json_to_standard_output_and_both_files(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "klss_spiel.run.demo"),
            *("--json", "--iterations=5", f"--directory={tmp_path}"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    printed = json.loads(done.stdout)
    assert [row["nodes"] for row in printed] == [58, 9457, 701]
    assert [row["nodes"] for row in read_rows(tmp_path / "demo.csv")] == [58, 9457, 701]
    assert json.loads((tmp_path / "demo.json").read_text()) == printed


def test_checkpoints_grow_and_end_at_the_last_iteration():
    assert compare_cfr.checkpoints(1000, 4) == [1, 10, 100, 1000]
    assert compare_cfr.checkpoints(5, 10) == [1, 2, 3, 4, 5]
    assert compare_cfr.checkpoints(7, 1) == [1, 7]


def test_compare_cfr_runs_every_solver_on_a_python_game_and_draws(tmp_path):
    config = compare_cfr.Config(("python_hidden_pennies(n=3)",), iterations=20, points=2)
    rows = compare_cfr.run(config, output=tmp_path / "rows.csv")
    assert {row["solver"] for row in rows} == {c.name for c in contenders.COMPARED}
    by_solver = {row["solver"]: row["nash_conv"] for row in rows if row["iterations"] == 20}
    assert by_solver["klss_spiel CFR+"] == pytest.approx(by_solver["OpenSpiel CFR+"], abs=1e-6)
    assert by_solver["klss_spiel CFR"] == pytest.approx(by_solver["OpenSpiel CFR"], abs=1e-6)
    assert compare_cfr.run(config, output=tmp_path / "rows.csv") == rows  # seconds and all
    compare_cfr.plot(rows, str(tmp_path / "curves.png"))
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_openspiels_solvers_see_python_games_as_cached_trees():
    game = load_game("python_hidden_pennies(n=3)")
    assert contenders.compiled(game) is not game
    kuhn = load_game("kuhn_poker")
    assert contenders.compiled(kuhn) is kuhn


def _iteration_rows(monkeypatch, game_string, peer):
    monkeypatch.setattr(cfr_suite, "_CONTENDERS", (contenders.OPENSPIEL_CPP,))
    monkeypatch.setattr(cfr_suite, "_PEERS", (peer,))
    monkeypatch.setattr(cfr_suite, "_RUNS", 1)
    monkeypatch.setattr(cfr_suite, "_ROUNDS", 1)
    monkeypatch.setattr(cfr_suite, "GAMES", {"shown": game_string})
    game = turn_based(load_game(game_string))
    rows = cfr_suite._iterations("shown", game, tree_from_game(game))
    return {row["contender"]: row for row in rows}


def test_a_missing_peer_is_skipped_not_a_failure(monkeypatch):
    monkeypatch.setitem(peers.PEERS, "LiteEFG", "import a_package_that_is_not_there")
    rows = _iteration_rows(monkeypatch, "kuhn_poker", "LiteEFG")
    assert "peers" in rows["LiteEFG"]["skipped"] and rows["LiteEFG"]["seconds"] is None
    assert rows["openspiel_cpp"]["ratio"] == 1.0


def test_a_peer_that_breaks_on_a_game_is_skipped_with_its_words(monkeypatch):
    monkeypatch.setitem(peers.PEERS, "LiteEFG", "def start(game): raise ValueError('too big')")
    rows = _iteration_rows(monkeypatch, "kuhn_poker", "LiteEFG")
    assert "ValueError: too big" in rows["LiteEFG"]["skipped"]


def test_an_interpreter_for_peers_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv(peers.INTERPRETER, "/no/such/python")
    with pytest.raises(peers.Unavailable, match="/no/such/python"):
        peers.measure("LiteEFG", "kuhn_poker", 1)


def test_peers_run_in_a_process_of_their_own(monkeypatch):
    monkeypatch.setenv(peers.INTERPRETER, sys.executable)
    script = "import time\ndef start(game): return lambda: time.sleep(.001 * game.num_players())"
    monkeypatch.setitem(peers.PEERS, "LiteEFG", script)
    rows = _iteration_rows(monkeypatch, "goofspiel(num_cards=2,imp_info=True)", "LiteEFG")
    assert rows["LiteEFG"]["seconds"] >= 0.002
    ratio = rows["openspiel_cpp"]["seconds"] / rows["LiteEFG"]["seconds"]
    assert rows["LiteEFG"]["ratio"] == pytest.approx(ratio)


def test_benchmark_rows_have_the_promised_keys(monkeypatch, tmp_path):
    monkeypatch.setattr(cfr_suite, "GAMES", {"kuhn": "kuhn_poker"})
    monkeypatch.setattr(cfr_suite, "_RUNS", 1)
    monkeypatch.setattr(cfr_suite, "_ROUNDS", 1)
    monkeypatch.setattr(cfr_suite, "_PEERS", ())
    monkeypatch.setattr(cfr_suite, "_COLD_GAMES", ("kuhn",))
    start = cold_starts.ColdStart("openspiel_cpp", 2.0, 2.5)
    starts = (start, cold_starts.ColdStart("klss_spiel, first process", 1.0, 1.5))
    monkeypatch.setattr(cold_starts, "measure", lambda game, iterations: starts)
    quick = (contenders.OPENSPIEL_CPP, contenders.KLSS_SPIEL)
    monkeypatch.setattr(cfr_suite, "_CONTENDERS", quick)
    config = benchmark.Config(("cfr",), quick=True)
    rows = benchmark.run(config, output=tmp_path / "rows.csv")
    assert benchmark.run(config, output=tmp_path / "rows.csv") == rows
    for row in rows:
        assert {"suite", "game", "contender", "seconds", "ratio"} <= set(row)
    iteration = {r["contender"]: r for r in rows if r["task"] == "CFR+ iteration"}
    cpp, ours = iteration["openspiel_cpp"], iteration["klss_spiel"]
    assert ours["ratio"] == pytest.approx(cpp["seconds"] / ours["seconds"])
    cold = [row for row in rows if row["task"].startswith("cold")]
    assert [row["ratio"] for row in cold] == [1.0, 2.0]


@pytest.mark.slow
def test_cold_starts_are_fresh_processes_of_every_contender():
    starts = list(cold_starts.measure("kuhn_poker", 2))
    assert [start.contender for start in starts] == [
        "openspiel_cpp",
        "klss_spiel, first process",
        "klss_spiel, second process",
        "klss_spiel jax, first process",
        "klss_spiel jax, second process",
    ]
    # The second process finds on disk what the first one compiled.
    assert starts[2].seconds < starts[1].seconds


def test_cold_starts_refuse_games_that_openspiels_solver_cannot_take():
    with pytest.raises(ValueError, match="expected a game with turns, got goofspiel"):
        next(cold_starts.measure("goofspiel(num_cards=3,imp_info=True)", 2))
