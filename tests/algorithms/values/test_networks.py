"""Value networks: recipes, training, files."""

import dataclasses

import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.algorithms.values.bottoms import Bottoms, LinearValues, StackedBottoms
from klss_spiel.algorithms.values.completion import trunk_exploitability
from klss_spiel.algorithms.values.depth_limited import solve_trunk
from klss_spiel.algorithms.values.networks import (
    CNN,
    FNN,
    RAW,
    Architecture,
    NetworkValues,
    Recipe,
    flat_features,
    initial_parameters,
    load_network,
    make_slots,
    one_hot_features,
    state_features,
)
from klss_spiel.algorithms.values.optimal import optimal_values
from klss_spiel.algorithms.values.ranges import ranges
from klss_spiel.algorithms.values.training import (
    TrainingConfig,
    iterate_ranges,
    random_ranges,
    train,
)
from klss_spiel.policy import BehaviorPolicy
from tests.algorithms.values.games import border_of

SMALL = TrainingConfig(
    architecture=Architecture((32,)), random_trunks=40, epochs=60, trunk_iterations=100, batch=16
)


def _network(border, recipe, seed=0, features=None, architecture=FNN):
    features = one_hot_features(border) if features is None else features
    slots = make_slots(border)
    parameters = initial_parameters(architecture, features, slots, seed)
    return NetworkValues(border, parameters, recipe, features, slots)


def _random_reach(border, seed=0):
    return ranges(border, BehaviorPolicy.random(border.tree, np.random.default_rng(seed))).reach


def test_slots_hold_every_infoset_once():
    border = border_of("dark_2")
    slots = make_slots(border)
    for p in (0, 1):
        used = slots.infoset[p][slots.used[p]]
        assert sorted(used.tolist()) == list(range(border.sizes[p]))
        numbers = np.arange(1.0, 1 + border.sizes[p])
        split = slots.split(numbers, p)
        assert split.shape == slots.infoset[p].shape
        assert np.all(split[~slots.used[p]] == 0)
        np.testing.assert_array_equal(split.reshape(-1)[slots.place[p]], numbers)


def test_zero_sum_correction_holds_in_every_public_state():
    """Proposition 9's sum vanishes for any parameters; without the correction it does not."""
    border = border_of("leduc")
    reach = _random_reach(border)
    for recipe, vanishes in (
        (Recipe(), True),
        (Recipe(normalized=False, zero_sum=True), True),
        (Recipe(zero_sum=False), False),
        (RAW, False),
    ):
        values = _network(border, recipe)(reach)
        sums = sum(
            np.bincount(border.infoset_public_state[p], reach[p] * values[p]) for p in (0, 1)
        )
        assert (np.abs(sums).max() < 1e-6) == vanishes


def test_normalized_networks_scale_as_values_do():
    """Linear in the opponent's range, independent of the size of the own one."""
    border = border_of("leduc")
    reach = _random_reach(border)
    network = _network(border, Recipe())
    values = network(reach)
    scaled = network((3 * reach[0], 0.5 * reach[1]))
    np.testing.assert_allclose(scaled[0], 0.5 * values[0], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(scaled[1], 3 * values[1], rtol=1e-4, atol=1e-7)
    exact = LinearValues(border)
    np.testing.assert_allclose(exact((3 * reach[0], 0.5 * reach[1]))[1], 3 * exact(reach)[1])
    nobody = network((np.zeros(30), np.zeros(30)))
    assert np.all(nobody[0] == 0) and np.all(nobody[1] == 0)


def test_training_learns_values_and_a_good_trunk():
    border = border_of("kuhn")
    trained = train(border, one_hot_features(border), SMALL, seed=1)
    reach = _random_reach(border, 5)
    exact = optimal_values(
        border, ranges(border, BehaviorPolicy.random(border.tree, np.random.default_rng(5)))
    )
    found = trained.values(reach)
    untrained = _network(border, Recipe())(reach)
    for p in (0, 1):
        error = np.abs(found[p] - exact.counterfactual[p]).mean()
        assert error < 0.3 * np.abs(untrained[p] - exact.counterfactual[p]).mean()
    uniform = border.trunk_of(BehaviorPolicy.uniform(border.tree))
    assert trained.exploitability < 0.3 * trunk_exploitability(border, uniform)
    # The figure is that of the network returned.
    solution = solve_trunk(border, trained.values, SMALL.trunk_iterations)
    assert trunk_exploitability(border, solution.average_behavior) == pytest.approx(
        trained.exploitability
    )


def test_training_is_deterministic_for_a_seed():
    border = border_of("kuhn")
    config = dataclasses.replace(
        SMALL, epochs=5, iterates=5, on_policy_rounds=1, on_policy_ranges=4
    )
    first, again, other = (
        train(border, one_hot_features(border), config, seed) for seed in (3, 3, 4)
    )
    assert first.history == again.history != other.history
    # 40 random and 5 of CFR-D, then 4 met on the way.
    assert [count for count, _, _ in first.history] == [45, 49]
    reach = _random_reach(border)
    np.testing.assert_array_equal(first.values(reach)[0], again.values(reach)[0])


def test_training_stops_early_once_the_trunk_is_good_enough():
    border = border_of("kuhn")
    config = dataclasses.replace(SMALL, epochs=5, on_policy_rounds=1, on_policy_ranges=4)
    features = one_hot_features(border)
    whole = train(border, features, config, seed=3)
    reached = whole.history[0][2]
    stopped = train(border, features, dataclasses.replace(config, stop_below=reached), seed=3)
    assert stopped.history == whole.history[:1]
    assert stopped.exploitability == stopped.last_exploitability == reached
    never = train(border, features, dataclasses.replace(config, stop_below=0.0), seed=3)
    assert never.history == whole.history and len(whole.history) == 2


@pytest.mark.parametrize(
    "changes",
    [
        dict(recipe=RAW),
        dict(counterfactual_loss=False),
        dict(reach_weighted=True),
        dict(validation=0.0),
    ],
)
def test_other_recipes_train_too(changes):
    border = border_of("kuhn")
    config = dataclasses.replace(SMALL, epochs=20, **changes)
    trained = train(border, one_hot_features(border), config, seed=2)
    worse = train(border, one_hot_features(border), dataclasses.replace(config, epochs=1), seed=2)
    assert trained.history[0][1] < worse.history[0][1]


def test_convolutions_read_boards():
    border = border_of("dark_2")
    rng = np.random.default_rng(0)
    boards = rng.random((len(border.nodes), 4, 3, 4))
    planes = state_features(border, boards)
    assert planes.shape == (17, 4, 3, 4)
    network = _network(border, Recipe(), features=planes, architecture=CNN)
    values = network(_random_reach(border))
    assert values[0].shape == (25,) and np.all(np.isfinite(values[0]))
    with pytest.raises(ValueError, match="expected boards"):
        _network(border, Recipe(), architecture=CNN)
    with pytest.raises(ValueError, match="26 border nodes"):
        state_features(border, boards[1:])
    constant = np.concatenate([planes, np.ones_like(planes)], axis=1)
    np.testing.assert_array_equal(flat_features(constant), planes.reshape(17, -1))


def test_networks_are_kept_in_files(tmp_path):
    border = border_of("kuhn")
    network = _network(border, Recipe(zero_sum=False))
    path = tmp_path / "net.safetensors"
    network.save(path, command="a test", seed=7, exploitability=0.5)
    loaded = load_network(path, border)
    assert loaded.recipe == network.recipe
    reach = _random_reach(border)
    np.testing.assert_array_equal(loaded(reach)[0], network(reach)[0])
    metadata = weights.read_metadata(path)
    assert (metadata.seed, metadata.extra["exploitability"]) == (7, 0.5)
    with pytest.raises(weights.WeightsError, match="expected the game 'leduc_poker"):
        load_network(path, border_of("leduc"))


def test_networks_of_another_border_are_refused():
    border, other = border_of("kuhn"), border_of("leduc")
    network = _network(other, Recipe())
    with pytest.raises(ValueError, match="expected a network with 6 outputs"):
        NetworkValues(
            border, network.parameters, Recipe(), one_hot_features(border), make_slots(border)
        )
    with pytest.raises(ValueError, match="features of 2 public states"):
        NetworkValues(
            border,
            _network(border, Recipe()).parameters,
            Recipe(),
            one_hot_features(other),
            make_slots(border),
        )
    with pytest.raises(ValueError, match="shape"):
        network((np.ones(3), np.ones(30)))


def test_a_network_of_nans_is_noticed():
    border = border_of("kuhn")
    network = _network(border, Recipe())
    network.parameters["layers"][-1]["bias"][:] = np.nan
    with pytest.raises(ValueError, match="finite values"):
        solve_trunk(border, network, 2)


def test_ranges_to_learn_from():
    border = border_of("leduc")
    rng = np.random.default_rng(0)
    drawn = random_ranges(border, 3, rng)
    assert len(drawn) == 3 and not np.allclose(drawn[0][0], drawn[1][0])
    assert all(np.all(reach > 0) and np.all(reach <= 1) for pair in drawn for reach in pair)
    visited = iterate_ranges(border, Bottoms(border, 1, warm=True), 6, 50, rng)
    assert len(visited) == 6
    assert any(np.any(reach == 0) for pair in visited for reach in pair)  # CFR+ plays purely


def test_stacks_solve_down_to_the_next_border():
    border, deeper = border_of("dark_2"), border_of("dark_4")
    at_border = ranges(border, BehaviorPolicy.random(border.tree, np.random.default_rng(1)))
    exact = optimal_values(border, at_border).counterfactual
    stacked = StackedBottoms(border, deeper, Bottoms(deeper, 3, warm=True), 60)(at_border.reach)
    for p in (0, 1):
        state = border.infoset_public_state[p]
        difference = np.bincount(state, at_border.reach[p] * (stacked[p] - exact[p]))
        assert np.abs(difference).max() < 0.02
    with pytest.raises(ValueError, match="below the first"):
        StackedBottoms(deeper, border, LinearValues(border), 1)
