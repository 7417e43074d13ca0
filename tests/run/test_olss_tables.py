"""The binary behind OLSS's Table 2, and the poker games it plays."""

import json
import re
import subprocess
import sys

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.algorithms.subgame.recipes import parse_recipe
from klss_spiel.algorithms.subgame.refine import infosets_after_chance
from klss_spiel.algorithms.subgame.regions import RegionIndex
from klss_spiel.algorithms.subgame.solvers import LinearProgramming
from klss_spiel.best_response import nash_conv
from klss_spiel.games.poker import leduc_family
from klss_spiel.games.poker.leduc_family import (
    CALL,
    FLOP_HOLDEM,
    FOLD,
    game_size,
    leduc,
    parse_game,
)
from klss_spiel.games.poker.rank_trees import hand_strength, poker_tree, ranks_tree
from klss_spiel.linear_program import equilibrium
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.row_files import read_rows
from klss_spiel.run import olss_report, olss_tables
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import PLAYERS

RANK_LETTERS = "23456789TJQKA"

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


def rank_label(text):
    """Our label of one of universal_poker's information states."""
    fields = dict(re.findall(r"\[(\w+):? ([^\]]*)\]", text))
    hand = sorted(RANK_LETTERS.index(card) for card in fields["Private"][::2])
    history = fields["Sequences"].replace("|", "/")
    board = fields["Public"]
    shown = f"[board: {RANK_LETTERS.index(board[0])}]" if board else ""
    own = " ".join(str(rank) for rank in hand)
    player = fields["Player"]
    return f"[player: {player}][hand: {own}]{shown}[betting: {history}]"


# Games.


def test_sizes_after_the_board_are_the_papers():
    # OLSS, appendix B.
    printed = {
        "leduc231": (4, 20),
        "leduc2131": (24, 600),
        "leduc2132": (253, 75900),
        "leduc2133": (1540, 3542000),
        "fhp": (1081, 1271256),
    }
    for name, sizes in printed.items():
        size = game_size(parse_game(name))
        assert (size.infoset, size.closure) == sizes


@pytest.mark.parametrize("player", PLAYERS)
def test_subgames_start_where_infosets_have_the_papers_sizes(player):
    tree = poker_tree(leduc(2, 3, 1))
    index = RegionIndex(tree, player)
    where = infosets_after_chance(tree, player)
    # Six cards, five ways to bet, five boards.
    assert len(where) == 6 * 5 * 5
    for infoset in where[::10]:
        assert len(index.knowledge_set(int(infoset), 1)) == 4
        assert len(index.knowledge_set(int(infoset), COMMON_KNOWLEDGE)) == 20


@pytest.mark.parametrize("game", [leduc(2, 3, 1), leduc(1, 4, 1), leduc(2, 3, 2), leduc(3, 3, 3)])
def test_nodes_are_counted_right(game):
    assert game_size(game).nodes == poker_tree(game).num_nodes


def test_one_hole_card_and_three_ranks_are_leduc_poker():
    ours = equilibrium(sequence_form_from_tree(poker_tree(leduc(2, 3, 1))))
    theirs = equilibrium(sequence_form_from_tree(tree_from_game("leduc_poker")))
    assert ours.value == pytest.approx(theirs.value, abs=1e-9)


def test_names_are_read_and_bad_ones_refused():
    assert parse_game("leduc2131") == parse_game("leduc(2,13,1)") == leduc(2, 13, 1)
    assert parse_game("FHP") is FLOP_HOLDEM
    for name in ("leduc", "leduc23", "chess", "leduc(2,3)"):
        with pytest.raises(ValueError, match="expected fhp or a name"):
            parse_game(name)
    with pytest.raises(ValueError, match="cannot be dealt"):
        parse_game("leduc222")


@pytest.mark.parametrize(
    "game", [leduc(2, 3, 1), leduc(2, 13, 2), leduc(2, 13, 3), leduc(3, 4, 3), leduc(4, 5, 2)]
)
def test_random_games_pay_what_universal_poker_pays(game):
    rng = np.random.default_rng(0)
    loaded = pyspiel.load_game(game.game_string)
    public = leduc_family.public_tree(game)
    showdowns = 0
    for _ in range(200):
        state = loaded.new_initial_state()
        node = public[0]
        while not state.is_terminal():
            action = int(rng.choice(state.legal_actions()))
            if state.is_chance_node():
                if node.player == leduc_family.CHANCE:
                    node = public[node.children[0]]
            else:
                assert state.current_player() == node.player
                assert tuple(state.legal_actions()) == node.actions
                if action == FOLD:  # Otherwise few games come to a showdown.
                    action = CALL if rng.random() < 0.8 else FOLD
                node = public[node.children[node.actions.index(action)]]
            state.apply_action(action)
        assert node.player == leduc_family.TERMINAL
        if node.folded != leduc_family.NO_ONE:
            sign = 1 if node.folded == 1 else -1
        else:
            showdowns += 1
            cards = re.findall(r"P\d Cards: (\w+)|BoardCards (\w+)", str(state))
            first, second, board = (
                tuple(RANK_LETTERS.index(card) for card in "".join(found)[::2]) for found in cards
            )
            mine, yours = (hand_strength(hand, board[0]) for hand in (first, second))
            sign = (mine > yours) - (mine < yours)
        assert state.returns() == [sign * min(node.paid), -sign * min(node.paid)]
    assert showdowns > 50


@pytest.mark.parametrize("game", [leduc(2, 3, 1), leduc(2, 3, 2)])
def test_strategies_on_ranks_are_as_exploitable_as_on_cards(game):
    tree = ranks_tree(game)
    policy = BehaviorPolicy.random(tree, np.random.default_rng(3))
    table = pyspiel.UniformRandomPolicy(pyspiel.load_game(game.game_string)).policy_table()
    seen = set()
    for text, entries in table.items():
        label = rank_label(text)
        player = int(label[len("[player: ")])
        infosets = tree.infosets[player]
        infoset = infosets.index_of_label[label]
        assert [action for action, _ in entries] == infosets.actions(infoset).tolist()
        probabilities = policy.probabilities[player][infosets.sequences(infoset)]
        table[text] = list(zip((a for a, _ in entries), probabilities.tolist(), strict=True))
        seen.add(label)
    assert len(seen) == tree.num_decision_infosets
    exact = pyspiel.nash_conv(pyspiel.load_game(game.game_string), table)
    assert nash_conv(policy) == pytest.approx(exact, abs=1e-9)


def test_ranks_give_the_value_of_cards():
    cards = equilibrium(sequence_form_from_tree(poker_tree(leduc(2, 3, 1))))
    ranks = equilibrium(sequence_form_from_tree(ranks_tree(leduc(2, 3, 1))))
    assert ranks.value == pytest.approx(cards.value, abs=1e-9)


def test_games_that_do_not_fit_are_refused_with_an_estimate():
    nodes = f"{game_size(parse_game('leduc2133')).nodes:,} nodes.*GB of memory"
    with pytest.raises(ValueError, match=nodes):
        olss_tables.Config(games=("leduc231", "leduc2133"), gigabytes=16.0, layout="nodes")
    with pytest.raises(ValueError, match=r"1,755 boards.*GB of memory"):
        olss_tables.Config(games=("leduc231", "fhp"), gigabytes=8.0)
    common = {"games": ("fhp",), "gigabytes": 64.0, "recipes": ("unsafe",)}
    olss_tables.Config(**common)
    with pytest.raises(ValueError, match=r"unsafe in fhp takes about .* minutes"):
        olss_tables.Config(**common, minutes=5.0)
    with pytest.raises(ValueError, match=r"1-klss in fhp takes about .* minutes"):
        olss_tables.Config(**{**common, "recipes": ("1-klss",)})


def test_large_games_are_laid_out_by_hands():
    names = ("leduc231", "leduc2131", "leduc232", "leduc2132", "leduc2133", "fhp")
    layouts = {name: olss_tables.default_layout(parse_game(name)) for name in names}
    assert [name for name, layout in layouts.items() if layout == "hands"] == [*names[3:]]


def test_rows_by_hands_are_those_by_nodes():
    recipes = ("unsafe", "olss-1")
    by_nodes, by_hands = (
        olss_tables.run(
            config("leduc232", recipes=recipes, solver="cfr", iterations=(5,), layout=layout)
        )
        for layout in ("nodes", "hands")
    )
    assert [row["layout"] for row in by_hands] == ["hands"] * len(recipes)
    for one, other in zip(by_nodes, by_hands, strict=True):
        assert other["blueprint"] == pytest.approx(one["blueprint"], abs=1e-9)
        # Where regrets tie at 0, rounding decides what is played.
        assert other["after"] == pytest.approx(one["after"], abs=1e-3)
        assert abs(other["after"] - other["blueprint"]) > 0.01


def test_hands_of_five_cards_have_no_tree():
    with pytest.raises(ValueError, match="hands of at most 4 cards"):
        poker_tree(leduc(2, 5, 4))
    with pytest.raises(ValueError, match="at most 4 cards"):
        hand_strength((0, 1, 2, 3), 4)


# Rows.


@pytest.fixture(scope="module")
def setting():
    return olss_tables.make_setting("leduc231", "mccfr", 0.5, 0)


@pytest.mark.parametrize(("name", "method"), [("leduc231", "mccfr"), ("leduc232", "cfr")])
def test_blueprints_stop_a_little_below_the_target(name, method):
    found = olss_tables.make_setting(name, method, 0.5, 0)
    assert 0.4 < found.blueprint.nash_conv <= 0.5
    assert found.blueprint.nash_conv == pytest.approx(nash_conv(found.blueprint.policy))


def test_seeds_make_different_blueprints(setting):
    other = olss_tables.make_setting("leduc231", "mccfr", 0.5, 1)
    first, second = (s.blueprint.policy.probabilities[0] for s in (setting, other))
    assert not np.allclose(first, second)


def test_only_the_second_round_is_refined(setting):
    blueprint = setting.blueprint.policy
    policy = olss_tables.refined(setting, parse_recipe("maxmargin"), LinearProgramming())
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
    strategies = olss_tables.opponent_strategies(blueprint, 1, count)
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
    olss_tables.make_setting.cache_clear()
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


# Reports.


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


# The binary.


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
    ):
        with pytest.raises(ValueError, match=reason):
            olss_tables.Config(**{"games": ("leduc231",), **options})
