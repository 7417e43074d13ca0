"""The statistics of games, above all ZS21's Table 2."""

import json
import subprocess
import sys

import numpy as np
import pytest

from klss_spiel.openspiel import tree_from_game
from klss_spiel.run import game_stats

KEYS = ("1", "2", "3", "4", "inf")


@pytest.fixture(scope="module")
def table2():
    return game_stats.run(game_stats.Config(tuple(row.game for row in game_stats.ZS21_TABLE2)))


@pytest.mark.parametrize(
    ("game", "nodes", "infosets", "diameter", "averages"),
    [
        # ZS21, Table 2, typed from the paper; None where its cell is empty.
        ("dark_hex", 471, 94, 13, (5.23, 12.00, 18.17, 22.04, 29.58)),
        ("random", 26773, 3608, 4, (5.84, 8.90, 9.19, 9.20, None)),
        ("ascending", 1077, 162, 4, (5.83, 9.05, 9.31, 9.32, None)),
        ("kuhn", 58, 12, 3, (2.50, 3.50, 4.00, None, None)),
        ("leduc", 9457, 936, 3, (6.14, 14.71, 15.40, None, None)),
        ("liars_dice", 51181, 5120, 2, (7.00, 15.00, None, None, None)),
        ("n_matching_pennies", 701, 101, 99, (3.63, 4.29, 4.93, 5.57, 35.97)),
    ],
)
def test_every_row_of_table_2_is_reproduced(table2, game, nodes, infosets, diameter, averages):
    (row,) = [row for row in table2 if game in row["game"]]
    assert (row["nodes"], row["infosets"], row["diameter"]) == (nodes, infosets, diameter)
    last = None
    for key, printed in zip(KEYS, averages, strict=True):
        last = last if printed is None else printed
        assert f"{row['average_knowledge'][key]:.2f}" == f"{last:.2f}"


def test_the_preset_is_the_whole_table_and_knows_that_it_agrees(table2):
    assert len(table2) == len(game_stats.ZS21_TABLE2) == 7
    for row, printed in zip(table2, game_stats.ZS21_TABLE2, strict=True):
        assert game_stats.agrees(row, printed)
        assert not game_stats.agrees({**row, "diameter": row["diameter"] + 1}, printed)
        off = {**row["average_knowledge"], "2": row["average_knowledge"]["2"] + 0.01}
        assert not game_stats.agrees({**row, "average_knowledge": off}, printed)
    text = game_stats.table(table2, game_stats.ZS21_TABLE2)
    assert text.count("yes") == 7
    assert len(text.splitlines()) == 2 * (3 + 7) + 1


def test_statistics_as_worded_count_the_movers_infoset():
    # Kuhn, by hand: a mover holds one of 3 cards and faces one of 2: |I| = 2. The
    # opponent with either card thinks 2 hands possible, one of them in I: |I^2| = 4.
    # All 6 deals with the same bets are common knowledge: |I^3| = 6.
    worded = game_stats.statistics(tree_from_game("kuhn_poker"))["as_worded"]
    assert worded["diameter"] == 3
    assert list(worded["average_knowledge"].values()) == [2, 4, 6, 6, 6]
    # 5-sided dice: I has the 5 dice of the opponent, everything is known in 2 steps.
    worded = game_stats.statistics(tree_from_game("liars_dice(dice_sides=5)"))["as_worded"]
    assert worded["diameter"] == 2
    assert list(worded["average_knowledge"].values()) == [5, 25, 25, 25, 25]


def test_averages_do_not_shrink_with_the_order():
    for name in ("leduc_poker", "dark_hex(num_rows=2,num_cols=2)", "python_hidden_pennies(n=7)"):
        row = game_stats.statistics(tree_from_game(name))
        for averages in (row["average_knowledge"], row["as_worded"]["average_knowledge"]):
            assert list(averages) == list(KEYS)
            assert np.all(np.diff(list(averages.values())) >= 0)


def test_a_game_of_forced_moves_only_still_has_averages():
    row = game_stats.statistics(tree_from_game("nim(pile_sizes=1;1)"))
    assert row["average_knowledge"]["inf"] == 1
    assert row["diameter"] == 0


def run_binary(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "klss_spiel.run.game_stats", *arguments],
        check=False,
        capture_output=True,
        text=True,
    )


def test_binary_prints_one_json_list(tmp_path):
    path = tmp_path / "stats.csv"
    # A comma within a game string must not split it.
    games = ["kuhn_poker", "goofspiel(num_cards=3,imp_info=True,points_order=ascending)"]
    flags = [f"--game={game}" for game in games]
    done = run_binary(*flags, "--json", f"--output={path}")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["game"] for row in rows] == games
    for row in rows:
        assert list(row) == [
            "game",
            "nodes",
            "infosets",
            "diameter",
            "average_knowledge",
            "as_worded",
        ]
        assert tuple(row["average_knowledge"]) == KEYS
    assert json.loads(run_binary(*flags, "--json", f"--output={path}").stdout) == rows
    assert len(path.read_text().splitlines()) == 3


def test_binary_prints_a_table_and_refuses_bad_input():
    shown = run_binary("--game=kuhn_poker").stdout
    assert shown.splitlines()[3].split() == [
        "kuhn_poker",
        "58",
        "12",
        "3",
        "2.50",
        "3.50",
        "4.00",
        "4.00",
        "4.00",
    ]
    for arguments, message in [
        ((), "at least one --game"),
        (("--game=kuhn_pokr",), "near names: kuhn_poker"),
        (("--game=leduc_poker", "--max_nodes=100"), "max_nodes=100"),
        (("--game=matching_pennies_3p",), "two-player"),
    ]:
        failed = run_binary(*arguments)
        assert failed.returncode == 1
        assert failed.stdout == ""
        assert message in failed.stderr
