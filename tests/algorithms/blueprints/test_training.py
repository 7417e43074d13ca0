"""Training of blueprints: losses, advantages, files, on a game whose answer is known."""

import dataclasses

import jax
import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.algorithms.blueprints import losses, network, opponent_model, training
from klss_spiel.algorithms.blueprints.blueprint import (
    NetworkBlueprint,
    load_blueprint,
    sample_rows,
    save_blueprint,
)
from klss_spiel.search_game import Blueprint
from tests.algorithms.blueprints.toy_training import ToyTraining, exploitability

_SETTINGS = training.Settings(
    num_games=256, steps=4, width=16, blocks=1, learning_rate=3e-3, discount=1.0, averaging=0.99
)


def _strategies(parameters: network.Parameters) -> np.ndarray:
    legal = np.array([[True, True, True, False]] * 2)
    found, _ = NetworkBlueprint("toy", parameters, 1.0).evaluate(np.eye(2, dtype=np.float32), legal)
    assert np.all(found[:, 3] == 0)
    return found[:, :3]


def _trained(settings: training.Settings, updates: int) -> training.Trainer:
    trainer = training.Trainer(ToyTraining(), settings)
    for _ in range(updates):
        trainer.update()
    return trainer


def test_ach_approaches_the_equilibrium_on_average():
    # Equilibrium of rock-paper-scissors in which rock beats scissors twice: 1/4, 1/2, 1/4.
    settings = dataclasses.replace(
        _SETTINGS, learning_rate=1e-3, loss=dataclasses.replace(losses.ACH, entropy=0.05)
    )
    trainer = training.Trainer(ToyTraining(), settings)
    start = exploitability(_strategies(trainer.parameters))
    played = []
    for _ in range(400):
        trainer.update()
        played.append(_strategies(trainer.parameters))
    average = np.mean(played, axis=0)
    assert exploitability(average) < 0.5 * start
    # As of hedge, only the average converges: the last strategy circles.
    assert exploitability(average) < exploitability(played[-1])
    np.testing.assert_allclose(average[:, 1], 0.5, atol=0.1)


def test_cloning_learns_the_teacher():
    trainer = _trained(dataclasses.replace(_SETTINGS, clone_updates=150), 150)
    assert _strategies(trainer.parameters)[:, 1].min() > 0.9


def test_small_steps_clone_more_in_as_many_updates():
    settings = dataclasses.replace(_SETTINGS, clone_updates=12)
    batch = settings.num_games * settings.steps
    whole, small = (
        _strategies(_trained(dataclasses.replace(settings, clone_batch=size), 12).parameters)
        for size in (0, batch // 8)
    )
    assert small[:, 1].min() > whole[:, 1].min() + 0.1


def test_training_starts_from_another_network_of_its_shape():
    first = _trained(_SETTINGS, 2)
    second = _trained(dataclasses.replace(_SETTINGS, seed=9), 1)
    second.start_from(first.average)
    for name in ("parameters", "average"):
        np.testing.assert_array_equal(
            _strategies(getattr(second, name)), _strategies(first.average)
        )
    wider = _trained(dataclasses.replace(_SETTINGS, width=2 * _SETTINGS.width), 0)
    with pytest.raises(ValueError, match="expected weights of shapes"):
        second.start_from(wider.parameters)


def test_training_is_reproducible_and_resumes(tmp_path):
    whole = _trained(_SETTINGS, 6)
    again = _trained(_SETTINGS, 6)
    half = _trained(_SETTINGS, 3)
    path = tmp_path / "toy.safetensors"
    metadata = weights.Metadata(kind="training", game="toy", seed=0)
    weights.Checkpoint(path, metadata).save(3, half.state())
    resumed = training.Trainer(ToyTraining(), _SETTINGS)
    found = weights.Checkpoint(path, metadata).restore(resumed.state())
    assert found is not None
    resumed.restore(*found)
    for _ in range(3):
        resumed.update()
    for other in (again, resumed):
        for one, two in zip(
            jax.tree.leaves(whole.parameters), jax.tree.leaves(other.parameters), strict=True
        ):
            np.testing.assert_array_equal(one, two)
    assert resumed.updates == 6


def test_another_seed_gives_another_network():
    one, two = (_trained(dataclasses.replace(_SETTINGS, seed=seed), 1) for seed in (0, 1))
    assert not np.array_equal(one.parameters["input"]["weight"], two.parameters["input"]["weight"])


def test_advantages_by_hand():
    # One game: player 0, player 1, player 1, player 0 decide; the third ends the first game
    # with 1 for player 1. Discount 0.5, trace 1.
    values = np.array([[0.2], [0.4], [0.1], [0.3]], np.float32)
    players = np.array([[0], [1], [1], [0]])
    rewards = np.array([[0.0], [0.0], [1.0]], np.float32)
    done = np.array([[False], [False], [True]])
    found = training.mixed_advantages(values, players, rewards, done, 0.5, 1.0)
    third = 1.0 - 0.1
    second = 0.5 * 0.1 - 0.4 + 0.5 * third
    first = -0.5 * 0.4 - 0.2 - 0.5 * second  # what player 1 gets player 0 loses
    np.testing.assert_allclose(found[:, 0], [first, second, third], rtol=1e-6)


def _samples(**changes: object) -> losses.Samples:
    base = losses.Samples(
        features=np.eye(2, dtype=np.float32)[[0]],
        legal=np.array([[True, True, True, False]]),
        action=np.array([1]),
        probability=np.array([0.25], np.float32),
        advantage=np.array([2.0], np.float32),
        target=np.array([0.5], np.float32),
    )
    return base._replace(**changes)


def _parameters(logits: list[float]) -> network.Parameters:
    """A network whose logits are these whatever the input, and whose value is 0."""
    made = network.init_parameters(jax.random.key(0), 2, 4, 4, 1)
    zero = jax.tree.map(np.zeros_like, made)
    zero["policy"]["bias"] = np.array(logits, np.float32)
    return zero


def test_ach_by_hand():
    loss = dataclasses.replace(losses.ACH, entropy=0.0, value=0.0, clip=10.0)
    parameters = _parameters([1.0, 3.0, 2.0, 100.0])
    # Centred logit 3 - 2 = 1; -1 / 0.25 * 2 = -8. The illegal action does not count.
    total, parts = losses.total_loss(parameters, _samples(), loss)
    np.testing.assert_allclose([total, parts["policy"]], [-8.0, -8.0], rtol=1e-6)
    bound = dataclasses.replace(loss, logit_bound=0.5)
    assert losses.total_loss(parameters, _samples(), bound)[0] == 0
    lower = _samples(advantage=np.array([-2.0], np.float32))
    assert losses.total_loss(parameters, lower, bound)[0] == pytest.approx(8.0)
    floor = _samples(probability=np.array([1e-6], np.float32))
    assert losses.total_loss(parameters, floor, dataclasses.replace(loss, clip=1e9))[
        0
    ] == pytest.approx(-2.0 / 0.02)


def test_the_gradient_of_ach_is_the_advantage_over_the_probability():
    loss = dataclasses.replace(losses.ACH, entropy=0.0, value=0.0, clip=10.0)
    gradient = jax.grad(lambda p: losses.total_loss(p, _samples(), loss)[0])(
        _parameters([1.0, 3.0, 2.0, 0.0])
    )["policy"]["bias"]
    # -A / pi times (1 - 1/3, -1/3, -1/3).
    np.testing.assert_allclose(gradient, [8 / 3, -16 / 3, 8 / 3, 0.0], atol=1e-5)


def test_ppo_by_hand():
    loss = losses.Loss("ppo", entropy=0.0, value=0.0, clip=0.5)
    even = _parameters([0.0, 0.0, 0.0, 0.0])
    # Ratio (1/3) / (1/4) = 4/3, within the bounds; with 1/8 it is 8/3, cut to 3/2.
    assert losses.total_loss(even, _samples(), loss)[0] == pytest.approx(-8 / 3)
    cut = _samples(probability=np.array([0.125], np.float32))
    assert losses.total_loss(even, cut, loss)[0] == pytest.approx(-3.0)


def test_value_and_entropy_parts():
    loss = losses.Loss("clone", entropy=1.0, value=0.5)
    total, parts = losses.total_loss(_parameters([0.0] * 4), _samples(), loss)
    np.testing.assert_allclose(parts["entropy"], np.log(3), rtol=1e-6)
    np.testing.assert_allclose(parts["value"], 0.125, rtol=1e-6)
    # Cross-entropy and entropy are both log 3.
    np.testing.assert_allclose(total, 0.0625, rtol=1e-5)


def test_files_keep_the_blueprint_and_foreign_ones_are_refused(tmp_path):
    trainer = _trained(_SETTINGS, 1)
    path = tmp_path / "toy.safetensors"
    save_blueprint(path, ToyTraining(), trainer.parameters, 0, {"minutes": 1})
    found = load_blueprint(path, ToyTraining())
    np.testing.assert_array_equal(_strategies(found.parameters), _strategies(trainer.parameters))
    assert found.scale == 2.0
    with pytest.raises(weights.WeightsError, match="expected the game 'other', got 'toy'"):
        load_blueprint(path, ToyTraining("other"))
    with pytest.raises(weights.WeightsError, match="expected the kind 'environment_model'"):
        opponent_model.load_model(path, ToyTraining())
    path.write_bytes(b"\x80\x04nonsense")
    with pytest.raises(weights.WeightsError, match="pickle"):
        load_blueprint(path, ToyTraining())


def test_a_network_is_a_blueprint_for_infosets_with_different_actions():
    trainer = _trained(_SETTINGS, 2)
    blueprint = NetworkBlueprint("toy", trainer.parameters, 2.0)
    assert isinstance(blueprint, Blueprint)
    legal = np.array([[True, False, True, False], [True, True, True, False]])
    probabilities, values = blueprint.evaluate(np.eye(2, dtype=np.float32), legal)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
    assert not probabilities[~legal].any()
    np.testing.assert_allclose(probabilities[1, :3], _strategies(trainer.parameters)[1], rtol=1e-5)
    # In units of the game: twice those of the network.
    whole, worth = NetworkBlueprint("toy", trainer.parameters, 1.0).evaluate(
        np.eye(2, dtype=np.float32), legal
    )
    np.testing.assert_array_equal(whole, probabilities)
    np.testing.assert_allclose(values, 2 * worth, rtol=1e-6)


def test_rows_are_sampled_by_their_probabilities():
    probabilities = np.tile([0.0, 0.25, 0.75, 0.0], (20_000, 1))
    found = sample_rows(probabilities, np.random.default_rng(0))
    share = np.bincount(found, minlength=4) / len(found)
    np.testing.assert_allclose(share, [0, 0.25, 0.75, 0], atol=0.01)


def test_a_model_of_the_opponent_learns_the_mixture():
    blueprint = NetworkBlueprint("toy", _trained(_SETTINGS, 1).parameters, 1.0)
    settings = opponent_model.Settings(
        num_games=8, batch=512, width=16, blocks=1, learning_rate=1e-2
    )
    trainer = opponent_model.ModelTrainer(ToyTraining(), blueprint, settings)
    for _ in range(150):
        loss, blind = trainer.update()
    # Half the moments are certain, half are a coin: log(2) / 2 against log(3).
    assert loss == pytest.approx(np.log(2) / 2, abs=0.03)
    assert blind == pytest.approx(np.log(3))
    model = NetworkBlueprint("model", trainer.parameters, 1.0)
    found, _ = model.evaluate(np.eye(2, dtype=np.float32), np.ones((2, 3), np.bool_))
    np.testing.assert_allclose(found, [[0, 0, 1], [0.5, 0.5, 0]], atol=0.06)


def test_evaluation_without_gradients_is_that_of_training():
    rng = np.random.default_rng(0)
    parameters = network.init_parameters(jax.random.key(3), 30, 12, 16, 2)
    parameters["policy"]["bias"] = np.asarray(rng.normal(size=12), np.float32)
    # Most features are 0, as in games; more rows than are taken at once.
    features = (rng.normal(size=(700, 30)) * (rng.random((700, 30)) < 0.3)).astype(np.float32)
    legal = rng.random((700, 12)) < 0.4
    legal[:, 5], legal[:, 7] = True, False
    found, values = NetworkBlueprint("random", parameters, 20.0).evaluate(features, legal)
    expected, worth = network.evaluate(parameters, features, legal)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(values, 20 * np.asarray(worth), atol=1e-4)
    assert not found[~legal].any()


def test_rows_without_legal_actions_have_no_probabilities():
    parameters = network.init_parameters(jax.random.key(0), 4, 3, 8, 1)
    legal = np.array([[True, True, False], [False, False, False]])
    features = np.ones((2, 4), np.float32)
    found, values = NetworkBlueprint("random", parameters, 1.0).evaluate(features, legal)
    assert found[0].sum() == pytest.approx(1.0)
    assert not found[1].any()
    assert values[0] == pytest.approx(values[1])
