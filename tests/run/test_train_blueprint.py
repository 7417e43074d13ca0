"""The binary that trains blueprints, on a short variant of Mahjong."""

import dataclasses

import jax
import numpy as np
import pytest

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


def test_training_needs_an_environment():
    with pytest.raises(ValueError, match="expected a game with a compiled environment"):
        train_blueprint.trainable_game("kuhn_poker")


def test_training_needs_an_end(tmp_path):
    output = str(tmp_path / "endless.safetensors")
    with pytest.raises(ValueError, match="expected --minutes or --updates"):
        train_blueprint.main([f"--output={output}", f"--game={_SHORT}"])
