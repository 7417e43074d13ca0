"""Tests of tabulated search agents and of the binary that measures them."""

import dataclasses
import json
import math

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.policy import search_policy
from klss_spiel.algorithms.search.settings import OBSCURO, ZS21, free_region
from klss_spiel.best_response import exploitability
from klss_spiel.budget import Budget
from klss_spiel.openspiel import policy_to_function, tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import output, search_exploitability

KUHN = "kuhn_poker"
LEDUC = "leduc_poker"
SMALL_BOARD = "python_dark_chess(board=minimal4x3,horizon=6)"
MIXING = dataclasses.replace(OBSCURO, purification=False)


def measured(name, settings, nodes, tree=None):
    tree = tree_from_game(name) if tree is None else tree
    return exploitability(search_policy(name, settings, Budget(nodes=nodes), tree=tree))


def test_the_table_is_what_the_bot_plays():
    game = pyspiel.load_game(KUHN)
    table = policy_to_function(search_policy(KUHN, OBSCURO, Budget(nodes=60), seed=3))
    rng = np.random.default_rng(1)
    for _ in range(6):
        bots = [SearchBot(game, player, Budget(nodes=60), seed=3) for player in (0, 1)]
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                action = int(rng.choice(state.legal_actions()))
            else:
                policy, action = bots[state.current_player()].step_with_policy(state)
                assert dict(policy) == pytest.approx(table(state))
            state.apply_action(action)


@pytest.mark.parametrize("settings", [OBSCURO, MIXING, ZS21], ids=["obscuro", "mixing", "zs21"])
def test_nested_search_in_kuhn_poker_gets_less_exploitable_with_budget(settings):
    tree = tree_from_game(KUHN)
    few, many = (measured(KUHN, settings, nodes, tree) for nodes in (10, 1000))
    assert many < few < exploitability(BehaviorPolicy.uniform(tree))


def test_with_common_knowledge_nested_search_solves_kuhn_poker():
    """k-KLUSS of unlimited order is resolving over common knowledge, which is safe."""
    settings = dataclasses.replace(MIXING, carry_over=free_region(math.inf))
    assert measured(KUHN, settings, 3000) < 5e-3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "small", "large"), [(LEDUC, 200, 1500), (SMALL_BOARD, 10, 300)])
def test_nested_search_in_larger_games_gets_less_exploitable_with_budget(name, small, large):
    tree = tree_from_game(name)
    few, many = (measured(name, MIXING, nodes, tree) for nodes in (small, large))
    assert many < few < exploitability(BehaviorPolicy.uniform(tree))


def test_the_binary_measures_presets_budgets_and_baselines(tmp_path):
    config = search_exploitability.Config(
        games=(KUHN,),
        presets=("obscuro", "zs21"),
        budgets=(20, 200),
        baselines=True,
    )
    rows = search_exploitability.run(config, output=tmp_path / "rows.jsonl")
    assert [list(row) for row in rows[:1]] == [
        ["game", "preset", "budget_nodes", "exploitability", "nash_conv", "seconds"]
    ]
    names = [(row["preset"], row["budget_nodes"]) for row in rows]
    assert names == [
        (preset, budget)
        for preset in (
            "obscuro",
            "zs21",
            search_exploitability.CFR_PLUS,
            search_exploitability.ISMCTS,
        )
        for budget in (20, 200)
    ]
    for row in rows:
        assert row["nash_conv"] == pytest.approx(2 * row["exploitability"])
        assert row["exploitability"] >= -1e-9
    again = search_exploitability.run(config, output=tmp_path / "rows.jsonl")
    assert again == rows  # nothing is computed twice
    assert len(json.loads(output.to_json(rows))) == 8
    search_exploitability.plot(rows, str(tmp_path / "curves.png"))
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_a_preset_may_have_settings_changed():
    presets = ("strong", "strong(play=average,purification=false)")
    config = search_exploitability.Config((KUHN,), presets, (30,))
    rows = search_exploitability.run(config)
    assert [row["preset"] for row in rows] == list(presets)
    assert rows[0]["exploitability"] != pytest.approx(rows[1]["exploitability"])
    for wrong, expected in (
        ("string", "expected a preset among"),
        ("strong(plays=last)", "expected settings among"),
        ("strong(recent)", "expected settings by name"),
    ):
        with pytest.raises(ValueError, match=expected):
            search_exploitability.make_jobs(dataclasses.replace(config, presets=(wrong,)))


def test_what_differs_from_a_preset_is_part_of_its_name():
    config = search_exploitability.Config(
        games=(KUHN,),
        presets=("obscuro",),
        budgets=(10,),
        changes={"carry_over": "klss"},
        rollouts=2,
        seed=4,
        baselines=True,
    )
    rows = search_exploitability.run(config)
    assert [row["preset"] for row in rows] == [
        "obscuro+carry_over=klss+rollouts=2+seed=4",
        search_exploitability.CFR_PLUS,
        f"{search_exploitability.ISMCTS}+seed=4",
    ]


def test_exploitability_falls_where_players_move_again_after_a_failed_try():
    """Classical dark hex on 2x2, a win for player 0 that a few dozen nodes find."""
    name = "dark_hex(num_rows=2,num_cols=2,gameversion=cdh)"
    tree = tree_from_game(name)
    assert measured(name, OBSCURO, 10, tree) > 0.3
    assert measured(name, OBSCURO, 60, tree) < 1e-9
