"""The binary that trains blueprints, on a short variant of Mahjong."""

import dataclasses
import itertools
import types

import jax
import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.algorithms.blueprints.blueprint import NetworkBlueprint
from klss_spiel.matches import mahjong_players
from klss_spiel.openspiel import load_game
from klss_spiel.run import train_blueprint

# Long enough for both to discard.
_SHORT = "python_two_player_mahjong(ranks=5,honours=2,sets=1,flowers=0)"


def _config(folder, **changes):
    config = train_blueprint.Config(
        game=_SHORT,
        loss="ach",
        output=str(folder / "tiny.safetensors"),
        minutes=None,
        updates=2,
        start=None,
        clone_updates=1,
        clone_batch=8,
        width=16,
        blocks=1,
        num_games=8,
        steps=4,
        learning_rate=1e-3,
        last_learning_rate=1e-4,
        decay_updates=2,
        entropy=None,
        probability_floor=None,
        pairs=4,
        seed=0,
        model_of=None,
        command="test",
    )
    return dataclasses.replace(config, **changes)


def test_training_by_the_binary_saves_and_goes_on(tmp_path):
    config = _config(tmp_path)
    rows = train_blueprint.run(config)
    opponents = ["greedy", "prospector", "random"]
    assert [row["opponent"] for row in rows] == [name for name in opponents for _ in range(2)]
    assert rows[0]["plays"] == "sampled"
    more = train_blueprint.run(dataclasses.replace(config, updates=3))
    assert more[0]["updates"] == 3
    game = load_game(_SHORT).trainable_game()
    assert isinstance(mahjong_players.loaded(game, config.output), NetworkBlueprint)
    model = dataclasses.replace(
        config, model_of=config.output, output=str(tmp_path / "model.safetensors"), updates=1
    )
    (row,) = train_blueprint.run(model)
    assert row["updates"] == 1


def test_no_updates_measure_the_blueprint_that_is_started_from(tmp_path):
    trained = _config(tmp_path)
    train_blueprint.run(trained)
    measured = str(tmp_path / "measured.safetensors")
    changes = {"start": trained.output, "output": measured, "updates": 0, "pairs": 6, "seed": 3}
    rows = train_blueprint.run(dataclasses.replace(trained, **changes))
    game = load_game(_SHORT).trainable_game()
    start, copy = (mahjong_players.loaded(game, path) for path in (trained.output, measured))
    jax.tree.map(np.testing.assert_array_equal, start.parameters, copy.parameters)
    # Decks of another seed than those of the training's own measurement.
    points = game.strength(start.chooser(0, sampled=False), "greedy", 6, seed=4)
    (row,) = [r for r in rows if (r["opponent"], r["plays"]) == ("greedy", "most likely")]
    assert (row["updates"], row["games"], row["points"]) == (0, 12, points.mean())


def _states(folder):
    """Everything that two files of a training hold: networks, optimiser, games."""
    blueprint = weights.load(folder / "tiny.safetensors", kind="blueprint")
    training = weights.load(folder / "tiny.training.safetensors", kind="blueprint_training_ach")
    assert {"rows", "decks", "generators"} <= set(training.tree["environment"])
    assert training.metadata.extra["step"] == blueprint.metadata.extra["updates"]
    return blueprint.tree, training.tree


@pytest.fixture(scope="module")
def four_updates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train_blueprint.run(_config(folder, updates=4))
    return _states(folder)


def test_two_updates_and_two_more_are_four_updates(four_updates, tmp_path):
    train_blueprint.run(_config(tmp_path, updates=2))
    with pytest.raises(AssertionError, match="not equal"):
        jax.tree.map(np.testing.assert_array_equal, _states(tmp_path), four_updates)
    train_blueprint.run(_config(tmp_path, updates=4))
    jax.tree.map(np.testing.assert_array_equal, _states(tmp_path), four_updates)


def test_minutes_only_stop(four_updates, tmp_path, monkeypatch):
    # A minute passes whenever somebody looks at the clock.
    ticks = itertools.count(0.0, 60.0)
    clock = types.SimpleNamespace(monotonic=lambda: next(ticks), process_time=lambda: next(ticks))
    with monkeypatch.context() as patched:
        patched.setattr(train_blueprint, "time", clock)
        rows = train_blueprint.run(_config(tmp_path, updates=4, minutes=7))
    assert 0 < rows[0]["updates"] < 4
    train_blueprint.run(_config(tmp_path, updates=4, minutes=1000))
    jax.tree.map(np.testing.assert_array_equal, _states(tmp_path), four_updates)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"learning_rate": 2e-3}, r"learning_rate: 0\.002 expected, got 0\.001"),
        ({"clone_updates": 2}, "clone_updates: 2 expected, got 1"),
        ({"entropy": 0.25}, r"loss\.entropy: 0\.25 expected, got"),
        ({"width": 8}, "width: 8 expected, got 16"),
        ({"seed": 1}, "expected the seed 1, got 0"),
        ({"loss": "ppo"}, "expected the kind 'blueprint_training_ppo'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_training_goes_on_with_the_same_settings_only(tmp_path, changes, reason):
    train_blueprint.run(_config(tmp_path, updates=1))
    before = _states(tmp_path)
    with pytest.raises(weights.WeightsError, match=reason):
        train_blueprint.run(_config(tmp_path, updates=2, **changes))
    jax.tree.map(np.testing.assert_array_equal, _states(tmp_path), before)


def test_training_goes_on_from_its_own_start_only(tmp_path):
    train_blueprint.run(_config(tmp_path, updates=1))
    other = str(tmp_path / "other.safetensors")
    start = str(tmp_path / "tiny.safetensors")
    train_blueprint.run(_config(tmp_path, updates=1, start=start, output=other))
    with pytest.raises(weights.WeightsError, match="start: None expected, got"):
        train_blueprint.run(_config(tmp_path, updates=2, output=other))


def test_outputs_of_other_runs_are_not_overwritten(tmp_path):
    own, foreign = tmp_path / "tiny.safetensors", tmp_path / "foreign.safetensors"
    train_blueprint.run(_config(tmp_path, updates=1))
    model = {"model_of": str(own), "output": str(foreign), "updates": 1}
    weights.save(foreign, {"a": np.zeros(2)}, weights.Metadata(kind="values"))
    for changes, expected in (
        ({"output": str(foreign)}, "expected the kind"),
        (model, "expected a new file"),
    ):
        before = foreign.read_bytes()
        with pytest.raises(weights.WeightsError, match=expected):
            train_blueprint.run(_config(tmp_path, **changes))
        assert foreign.read_bytes() == before
    # A blueprint by another run, and one that nothing can be added to.
    (tmp_path / "tiny.training.safetensors").rename(tmp_path / "gone.safetensors")
    before = own.read_bytes()
    with pytest.raises(weights.WeightsError, match="steps: 2 expected, got 4"):
        train_blueprint.run(_config(tmp_path, steps=2))
    with pytest.raises(weights.WeightsError, match="state of its training"):
        train_blueprint.run(_config(tmp_path))
    assert own.read_bytes() == before


def test_training_needs_an_environment():
    with pytest.raises(ValueError, match="expected a game with a compiled environment"):
        train_blueprint.trainable_game("kuhn_poker")


def test_training_needs_an_end(tmp_path):
    output = str(tmp_path / "endless.safetensors")
    with pytest.raises(ValueError, match="expected --minutes or --updates"):
        train_blueprint.main([f"--output={output}", f"--game={_SHORT}"])
