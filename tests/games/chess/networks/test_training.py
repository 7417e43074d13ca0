"""Training of the package's own network: gradient, learning, the same again, going on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from klss_spiel.games.chess import rules
from klss_spiel.games.chess.evaluators.resolver import resolve
from klss_spiel.games.chess.networks import noisy_play, training, training_kernels
from klss_spiel.games.chess.networks.network import Network
from klss_spiel.games.chess.networks.network_kernels import WIDTH
from klss_spiel.games.chess.packed import positions as packed

_BOARD = packed.layout(8, 8)
_PLAY = noisy_play.PlaySettings(games=16, longest=60)


@pytest.fixture(scope="module")
def data():
    quiet = noisy_play.quiet_positions(600, packed.evaluate, np.random.default_rng(3), _PLAY)
    values = packed.evaluate(_BOARD, quiet.positions, quiet.sides)
    targets = np.where(quiet.sides, -values, values).astype(np.float32)
    return training.Labelled(quiet.positions, quiet.sides, targets)


def _views(data):
    """[n, 2, 768] what the side to move and the other player see, and [n] buckets."""
    positions = packed.unpack(_BOARD, data.positions, data.sides)
    views = np.zeros((len(positions), 2, 2, 6, 64), dtype=np.float32)
    for i, position in enumerate(positions):
        for seat, colour in enumerate((position.side, 1 - position.side)):
            king = rules.king_square(position, colour)
            turn = (56 if colour else 0) ^ (7 if king % 8 < 4 else 0)
            for square, code in enumerate(position.squares):
                if code:
                    enemy, kind = int(code >> 3 != colour), rules.kind_of(code) - 1
                    views[i, seat, enemy, kind, square ^ turn] = 1
    counts = np.array([64 - p.squares.count(0) for p in positions])
    return views.reshape(len(positions), 2, 768), np.minimum((counts - 1) // 4, 7)


def test_loss_and_gradient_are_those_of_jax(data):
    rng = np.random.default_rng(0)
    arrays = list(training.first_parameters(rng).arrays().values())
    arrays[2][:] = rng.normal(0, 0.3, 8)
    arrays[3][:] = rng.normal(0, 0.1, (8, 2, WIDTH))
    order = np.arange(0, len(data), 7)
    views, buckets = _views(data)

    def loss(bias, rows, output_bias, output):
        units = jnp.clip(bias + views[order] @ rows, 0, 1)
        numbers = jnp.einsum("nsj,nsj->n", units**2, output[buckets[order]])
        values = jnp.tanh(numbers + output_bias[buckets[order]])
        return jnp.mean((values - data.targets[order]) ** 2)

    gradient = tuple(np.ones_like(array) for array in arrays)
    found = training_kernels.loss_and_gradient(
        data.positions, data.sides, data.targets, order, *arrays, gradient
    )
    expected, slopes = jax.value_and_grad(loss, argnums=(0, 1, 2, 3))(*arrays)
    assert found == pytest.approx(float(expected), rel=1e-4)
    for ours, theirs in zip(gradient, slopes, strict=True):
        largest = np.abs(theirs).max()
        assert largest > 0
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * largest)


def test_adam_is_the_published_rule():
    rng = np.random.default_rng(1)
    parameter = np.array([0.5, -0.2], dtype=np.float32)
    mean, square = np.zeros_like(parameter), np.zeros_like(parameter)
    expected, m, v = parameter.copy(), 0.0, 0.0
    for step in range(1, 5):
        gradient = rng.normal(size=2).astype(np.float32)
        training_kernels.adam_step(parameter, gradient, mean, square, step, 0.1, 0.6)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        change = 0.1 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        expected = np.clip(expected - change, -0.6, 0.6)
    np.testing.assert_allclose(parameter, expected, rtol=1e-4)


def _trained(data, epochs, seed=0):
    trainer = training.Trainer(training.Settings(epochs=4, batch=64, rate=2.5e-3), seed)
    losses = [trainer.epoch(data) for _ in range(epochs)]
    return trainer, losses


def test_training_learns_and_is_the_same_again_also_after_a_stop(data):
    trainer, losses = _trained(data, 4)
    assert losses[-1] < 0.5 * losses[0]
    assert losses[-1] < 0.75 * np.var(data.targets)
    again, _ = _trained(data, 4)
    stopped, _ = _trained(data, 2)
    resumed = training.Trainer(stopped.settings, 0)
    resumed.restore(2, {k: {n: a.copy() for n, a in v.items()} for k, v in stopped.state().items()})
    for _ in range(2):
        resumed.epoch(data)
    other, _ = _trained(data, 4, seed=1)
    for name, array in trainer.parameters.arrays().items():
        np.testing.assert_array_equal(array, again.parameters.arrays()[name])
        np.testing.assert_array_equal(array, resumed.parameters.arrays()[name])
    assert not np.array_equal(trainer.parameters.rows, other.parameters.rows)
    # What the trainer predicts is what the integers say, but for rounding.
    values = Network.rounded(trainer.parameters).evaluate(_BOARD, data.positions, data.sides)
    predicted = training.predict(trainer.parameters, data)
    assert np.abs(np.where(data.sides, -values, values) - predicted).max() < 0.05


def test_the_rate_falls_geometrically_and_settings_are_checked():
    settings = training.Settings(epochs=3, rate=1e-2, last_rate=1e-4)
    assert [settings.rate_of(e) for e in range(3)] == pytest.approx([1e-2, 1e-3, 1e-4])
    with pytest.raises(ValueError, match="expected positive numbers"):
        training.Settings(epochs=0)
    nothing = training.Labelled(
        np.empty((0, 4), np.uint64), np.empty(0, np.uint8), np.empty(0, np.float32)
    )
    with pytest.raises(ValueError, match="at least one position"):
        training.Trainer(settings, 0).epoch(nothing)


def test_positions_of_noisy_play_are_quiet_various_and_the_same_again():
    def make(seed):
        return noisy_play.quiet_positions(500, packed.evaluate, np.random.default_rng(seed), _PLAY)

    quiet, again, other = make(1), make(1), make(2)
    np.testing.assert_array_equal(quiet.positions, again.positions)
    assert not np.array_equal(quiet.positions, other.positions)
    assert len(np.unique(quiet.positions, axis=0)) > 400
    resolution = resolve(_BOARD, quiet.positions, quiet.sides)
    assert not resolution.decided.any()
    # Captures that were skipped as plainly losing may gain after others; few do.
    assert np.mean(resolution.gains != 0) < 0.05
    for position in packed.unpack(_BOARD, quiet.positions, quiet.sides):
        assert rules.king_square(position, rules.WHITE) is not None
        assert rules.king_square(position, rules.BLACK) is not None


def test_siblings_are_kept_beside_what_is_played():
    sure = noisy_play.PlaySettings(games=4, random_plies=0, noise=0.0)
    play = noisy_play.NoisyPlay(packed.evaluate, sure, np.random.default_rng(0))
    first = play.step()
    # Without noise all games play one move; siblings are drawn apart.
    played = {row.tobytes() for row in first.positions[:4]}
    assert len(played) == 1
    assert len(first.positions) > 4
    assert not played & {row.tobytes() for row in first.positions[4:]}
