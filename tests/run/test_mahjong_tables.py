"""The table of Mahjong and the exact check, on few games and a tiny variant."""

import dataclasses

import jax
import numpy as np
import pytest

from klss_spiel import openspiel, veiled_state
from klss_spiel.algorithms.blueprints import network
from klss_spiel.algorithms.blueprints.blueprint import save_blueprint
from klss_spiel.algorithms.blueprints.opponent_model import save_model
from klss_spiel.algorithms.olss_search.model_game import RandomModel
from klss_spiel.algorithms.olss_search.search import Settings
from klss_spiel.best_response import best_response_to
from klss_spiel.matches import mahjong_players
from klss_spiel.openspiel import load_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import mahjong_exact, mahjong_tables
from klss_spiel.sequence_form import sequence_form_from_tree
from tests.games.mahjong.test_game import _random_state

_TINY = (
    "python_two_player_mahjong(ranks=3,honours=0,copies=3,sets=1,flowers=0,ting=False,kongs=False)"
)
# Long enough for player 0 to draw again: 25,045 nodes.
_LISTED = (
    "python_two_player_mahjong(ranks=3,honours=0,copies=4,sets=1,flowers=0,wall_limit=3,"
    "forced_hu=True,ting=False,kongs=False)"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Random networks for the full game: nothing here depends on what they play."""
    folder = tmp_path_factory.mktemp("weights")
    game = load_game(mahjong_tables.GAME).trainable_game()
    names = {}
    for seed, name in enumerate(("ach", "ppo", "model")):
        outputs = game.num_moves if name == "model" else game.num_actions
        key = jax.random.key(seed)
        parameters = network.init_parameters(key, game.num_features, outputs, 16, 1)
        names[name] = str(folder / f"{name}.safetensors")
        if name == "model":
            save_model(names[name], game, parameters, 0, {}, "test")
        else:
            save_blueprint(names[name], game, parameters, 0, {}, "test")
    return names


def _config(files, **changes):
    config = mahjong_tables.Config(
        opponents=("ACH",),
        settings=("blueprint",),
        games=12,
        simulations=20,
        steps=4,
        exploration=20.0,
        allow_win=True,
        seed=0,
        **files,
    )
    return dataclasses.replace(config, **changes)


def test_a_blueprint_against_itself_cancels_exactly(files):
    (row,) = mahjong_tables.run(_config(files))
    assert (row["fan"], row["half_width"], row["verdict"]) == (0.0, 0.0, "equal")
    assert row["games"] == 12
    assert (row["paper_fan"], row["searches_per_game"]) == (0.0, 0.0)


def test_rows_are_resumed_and_searches_counted(files, tmp_path):
    config = _config(files, opponents=("PPO",), settings=("R+ACH",), games=4)
    path = tmp_path / "rows.jsonl"
    (first,) = mahjong_tables.run(config, output=path)
    (again,) = mahjong_tables.run(config, output=path)
    assert first == again
    assert first["searches_per_game"] > 1
    assert (first["paper_fan"], first["paper_half_width"]) == (0.22, 0.13)


def test_blocks_are_put_together():
    blocks = [
        {"opponent": "ACH", "setting": "R", "decks": 2, "sum": 6.0, "sum_of_squares": 20.0},
        {"opponent": "ACH", "setting": "R", "decks": 2, "sum": -2.0, "sum_of_squares": 4.0},
    ]
    more = {"searches": 8, "search_seconds": 2.0, "seconds": 30.0}
    (row,) = mahjong_tables.summarise([{**block, **more} for block in blocks])
    # Samples 4, 2, 0, -2: mean 1, variance (9 + 1 + 1 + 9) / 3.
    assert row["fan"] == 1.0
    assert row["half_width"] == pytest.approx(1.96 * np.sqrt(20 / 3 / 4))
    assert row["verdict"] == "undecided"
    assert (row["searches_per_game"], row["seconds_per_search"], row["minutes"]) == (2.0, 0.25, 1.0)


def test_an_odd_number_of_games_is_refused(files):
    with pytest.raises(ValueError, match="expected an even number of games"):
        mahjong_tables.make_jobs(_config(files, games=3))


def test_the_plan_begins_with_ten_thousand_games_of_every_row(files):
    config = _config(
        files, opponents=("ACH", "PPO"), settings=mahjong_tables.SETTINGS, games=None, steps=8
    )
    jobs = mahjong_tables.make_jobs(config)
    games = {}
    for number, job in enumerate(jobs):
        pair = (job.columns["opponent"], job.columns["setting"])
        games.setdefault(pair, []).append((number, 2 * job.columns["decks"]))
    assert next(iter(games)) == ("ACH", "ACH")
    assert {sum(n for _, n in blocks) for blocks in games.values()} == {10_000, 75_000}
    assert sum(n for _, n in games["ACH", "ACH"]) == 75_000
    # The last games of that row come when all others are there.
    last_of_others = max(blocks[-1][0] for pair, blocks in games.items() if pair != ("ACH", "ACH"))
    assert sum(n for number, n in games["ACH", "ACH"] if number < last_of_others) == 10_000


def test_a_run_goes_on_with_more_games(files):
    blocks = 2 * mahjong_tables._DECKS_PER_BLOCK
    few = mahjong_tables.make_jobs(_config(files, games=2 * blocks))
    more = mahjong_tables.make_jobs(_config(files, games=5 * blocks))
    assert len(few) == 2
    assert {job.key for job in few} < {job.key for job in more}


def test_unknown_models_are_refused(files):
    game = load_game(mahjong_tables.GAME).trainable_game()
    with pytest.raises(ValueError, match="expected models R and ACH"):
        mahjong_players.models_of(game, "R+X", files["model"])


def test_a_bot_plays_from_behind_a_veil(files):
    game = load_game(mahjong_tables.GAME).trainable_game()
    player = mahjong_players.MahjongPlayer(
        game.variant,
        mahjong_players.loaded(game, files["ach"]),
        (RandomModel(),),
        Settings(simulations=20, batch=10),
    )
    bot = mahjong_players.MahjongBot(player, seed=1)
    for seed in range(6):
        state = _random_state(mahjong_tables.GAME, seed, moves=3 * seed)
        if state.is_terminal():
            continue
        veiled = veiled_state.veil(state, state.current_player())
        bot.restart()
        action = bot.step(veiled)
        assert action in state.legal_actions()
        bot.restart()
        assert bot.step(state) == action
    assert player.count.searches > 0


def test_olss_2_with_opponent_sets_on_a_listed_game():
    config = mahjong_exact.Config(_TINY, iterations=2)
    rows = mahjong_exact.run(config)
    assert [row["opponents"] for row in rows] == list(mahjong_exact.OPPONENT_SETS)
    assert rows[0]["change"] == 0.0
    assert all(row["subgames"] > 0 for row in rows[1:])
    assert all(row["exploitability"] >= -1e-9 for row in rows)


@pytest.mark.slow
def test_margins_of_the_sampled_search_stand_beside_the_exact_ones():
    rows = mahjong_exact.run(
        mahjong_exact.Config(_LISTED, iterations=0, table="margins", simulations=(20, 1000))
    )
    assert [row["simulations"] for row in rows] == [20, 1000]
    # Refining all later moves as well wins more than refining the first alone.
    assert rows[0]["exact_margin"] > rows[1]["sampled_margin"] > 0
    assert rows[1]["correlation"] > 0.5
    assert rows[1]["infosets"] == 21


@pytest.mark.slow
def test_exact_margins_together_are_what_a_best_response_gains():
    # A hand that must win at once has no decision: all others are between discards.
    name = _LISTED.replace("wall_limit=3", "wall_limit=2")
    labels, preferred, margins = mahjong_exact.exact_margins(name)
    tree = openspiel.tree_from_game(name)
    form = sequence_form_from_tree(tree)
    plans = BehaviorPolicy.uniform(tree).realization_plans
    gain = best_response_to(form, 0, plans[1]).value - form.expected_value(plans)
    which = [tree.infosets[0].index_of_label[label] for label in labels]
    # Player 1 has not moved before: only chance weighs.
    weights = [tree.chance_reach[tree.infoset[0] == infoset].sum() for infoset in which]
    assert np.dot(weights, margins) == pytest.approx(gain)
    assert all(preferred)
