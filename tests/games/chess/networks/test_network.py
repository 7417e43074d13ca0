"""The package's own network: integers against plain numpy, kings, symmetry, files."""

import pathlib
import random

import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.evaluators import make_evaluator
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.networks import network as networks
from klss_spiel.games.chess.networks import tuning
from klss_spiel.games.chess.networks.inputs import decided_all
from klss_spiel.games.chess.networks.network import Network, Parameters
from klss_spiel.games.chess.networks.network_kernels import WIDTH
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import with_counts
from klss_spiel.weights import WeightsError
from tests.helpers import random_chess
from tests.helpers.chess_positions import mirrored, random_play

_BOARD = packed.layout(8, 8)
_GAME = "python_dark_chess"
_ARRAYS = ("bias", "rows", "output", "output_scale", "output_bias")


def _random_parameters(seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    return Parameters(
        rng.normal(0.1, 0.3, WIDTH) * spread,
        rng.normal(0.0, 0.12, (768, WIDTH)) * spread,
        rng.normal(0.0, 0.3, 8) * spread,
        rng.normal(0.0, 0.1, (8, 2, WIDTH)) * spread,
    )


def _view(position, colour):
    """[768] what a player sees, from the rules' board."""
    king = rules.king_square(position, colour)
    turn = (56 if colour else 0) ^ (7 if king % 8 < 4 else 0)
    seen = np.zeros((2, 6, 64))
    for square, code in enumerate(position.squares):
        if code:
            seen[int(code >> 3 != colour), rules.kind_of(code) - 1, square ^ turn] = 1
    return seen.reshape(-1)


def _plainly(position, parameters):
    """White's value in floating point, by matrices."""
    count = sum(code != 0 for code in position.squares)
    bucket = min((count - 1) // 4, 7)
    number = parameters.output_bias[bucket]
    for seat, colour in enumerate((position.side, 1 - position.side)):
        units = np.clip(parameters.bias + _view(position, colour) @ parameters.rows, 0, 1)
        number = number + units**2 @ parameters.output[bucket, seat]
    return np.tanh(number) * (1 - 2 * position.side)


def _safe(position):
    """Whether both kings are there and the side to move cannot capture one."""
    kings = [rules.king_square(position, colour) for colour in (rules.WHITE, rules.BLACK)]
    return None not in kings and not rules.in_check(position, 1 - position.side)


def _positions(count, seed):
    """Positions of random games, castling and en passant among them, in order of play."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        line = random_play(boards.position_of("standard"), rng, 120, legal=False)
        found += [p for p in line if _safe(p)]
    return found[:count]


def _words(positions):
    return packed.pack(positions), np.array([p.side for p in positions], dtype=np.uint8)


def test_integers_are_what_matrices_of_the_same_weights_say():
    network = Network.rounded(_random_parameters())
    exact = Parameters(
        network.bias / 255.0,
        network.rows / 255.0,
        network.output_bias,
        network.output * (network.output_scale * 255.0**2)[:, None, None],
    )
    passing = boards.position_from_fen("r3k3/8/8/8/Pp6/8/8/4K2R b Kq a3 0 1")
    positions = [*_positions(150, seed=1), passing, mirrored(passing)]
    values = network.evaluate(_BOARD, *_words(positions))
    expected = [_plainly(position, exact) for position in positions]
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert np.std(expected) > 0.2
    # ... and rounding the weights changes little.
    unrounded = [_plainly(position, _random_parameters()) for position in positions]
    assert 0 < np.abs(values - unrounded).max() < 0.05


def test_values_do_not_depend_on_what_was_evaluated_before():
    network = Network.rounded(_random_parameters())
    rng = random.Random(5)
    placed = [random_chess.random_position(rng, 8, 8) for _ in range(200)]
    positions = _positions(200, seed=2) + [p for p in placed if _safe(p)]
    words, sides = _words(positions)
    together = network.evaluate(_BOARD, words, sides)
    alone = [network.evaluate(_BOARD, words[i : i + 1], sides[i])[0] for i in range(len(words))]
    assert together.tolist() == alone


def test_colours_and_wings_are_treated_alike():
    network = Network.rounded(_random_parameters())
    positions = _positions(60, seed=3)
    values = network.evaluate(_BOARD, *_words(positions))
    swapped = network.evaluate(_BOARD, *_words([mirrored(p) for p in positions]))
    assert values.tolist() == (-swapped).tolist()
    turned = [
        p._replace(
            squares=b"".join(p.squares[8 * r : 8 * r + 8][::-1] for r in range(8)),
            castling=rules.NO_CASTLING,
            en_passant=None,
        )
        for p in positions
    ]
    assert values.tolist() == network.evaluate(_BOARD, *_words(turned)).tolist()


def test_the_largest_weights_overflow_on_no_board():
    signs = np.where(np.arange(WIDTH) % 2, 1.0, -1.0)
    large = Parameters(
        100 * signs, 100 * signs * np.ones((768, 1)), np.zeros(8), np.full((8, 2, WIDTH), 100.0)
    )
    network = Network.rounded(large)
    networks._check_bounds("largest", network)
    squares = bytearray([rules.piece(rules.ROOK, rules.WHITE)] * 64)
    squares[0] = rules.piece(rules.KING, rules.WHITE)
    squares[63] = rules.piece(rules.KING, rules.BLACK)
    full = rules.Position(8, 8, bytes(squares), rules.BLACK, rules.NO_CASTLING, None, 0, 1)
    assert network.evaluate(_BOARD, *_words([full])) == -1.0  # good for Black, who moves


@pytest.mark.parametrize(
    ("fen", "value"),
    [
        ("4k3/8/8/8/8/8/8/K3R3 w - - 0 1", 1),  # Rxe8
        ("4k3/8/8/8/8/8/8/K3R3 b - - 0 1", 0),  # Black is in check, nobody has won
        ("4k3/8/8/8/8/8/8/8 w - - 0 1", -1),
        ("4k3/8/8/8/8/8/8/8 b - - 0 1", -1),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", 1),
        ("8/8/8/3p4/4K3/8/8/k7 b - - 0 1", -1),  # a pawn takes the king
        ("8/8/8/3p4/4K3/8/8/k7 w - - 0 1", 0),
    ],
)
def test_kings_decide_before_the_network_is_asked(fen, value):
    network = Network.rounded(_random_parameters())
    position = boards.position_from_fen(fen, need_kings=False)
    for case, expected in ((position, value), (mirrored(position), -value)):
        assert decided_all(*_words([case])).tolist() == [expected]
        (found,) = network.evaluate(_BOARD, *_words([case]))
        assert (found == expected) if expected else abs(found) < 1.0


def test_files_come_back_and_name_evaluators(tmp_path):
    path = tmp_path / "mine.safetensors"
    network = Network.rounded(_random_parameters(4))
    networks.save_network(path, network, 3, "command", "CC0-1.0", {"positions": 5})
    loaded = networks.load_network(path)
    for name in _ARRAYS:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(network, name))
    metadata = weights.read_metadata(path)
    assert (metadata.seed, metadata.licence, metadata.command) == (3, "CC0-1.0", "command")
    words, sides = _words(_positions(20, seed=6))
    evaluator = make_evaluator(_GAME, f'network("{path}")')
    np.testing.assert_array_equal(
        evaluator(with_counts(words, sides)), network.evaluate(_BOARD, words, sides)
    )


def _file(path, kind="chess_network", **changed):
    network = Network.rounded(_random_parameters())
    arrays = {name: getattr(network, name) for name in _ARRAYS}
    arrays |= changed
    tree = {name: array for name, array in arrays.items() if array is not None}
    weights.save(path, tree, weights.Metadata(kind, game="python_dark_chess()"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "range_values"}, "expected the kind 'chess_network', got 'range_values'"),
        ({"bias": None}, "expected the arrays"),
        ({"bias": np.zeros(64, dtype=np.int16)}, r"expected bias \[256\] of int16, got \[64\]"),
        ({"bias": np.zeros(WIDTH)}, "of int16, got .* float64"),
        ({"rows": np.full((768, WIDTH), 600, dtype=np.int16)}, "do not fit 16 bits"),
        ({"output": np.full((8, 2, WIDTH), 128, dtype=np.int16)}, "output weights beyond 127"),
        ({"output_bias": np.full(8, np.nan, dtype=np.float32)}, "no finite numbers"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, changed, message):
    path = tmp_path / "other.safetensors"
    _file(path, **changed)
    with pytest.raises(WeightsError, match=message) as caught:
        networks.load_network(path)
    assert str(path) in str(caught.value)


def test_broken_files_and_other_boards_are_refused(tmp_path):
    path = tmp_path / "broken.safetensors"
    _file(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(WeightsError, match="broken"):
        networks.load_network(path)
    with pytest.raises(ValueError, match="expected an 8x8 board for network, got 4x3"):
        make_evaluator("python_dark_chess(board=minimal4x3)", "network")
    small = packed.layout(4, 3)
    with pytest.raises(ValueError, match="expected an 8x8 board for network, got 4x3"):
        Network.rounded(_random_parameters()).evaluate(small, *_words(_positions(1, seed=1)))


def test_gains_are_found_again():
    network = Network.rounded(_random_parameters(spread=0.8))
    positions = _positions(400, seed=8)
    words, sides = _words(positions)
    numbers = np.arctanh(network.evaluate(_BOARD, words, sides).astype(float))
    played = tuning.PlayedPositions(words, sides, np.arange(400), np.tanh(0.5 * numbers))
    gains = tuning.fit_gains(network, played, prior=0.0)
    met = {min((sum(c != 0 for c in p.squares) - 1) // 4, 7) for p in positions}
    for bucket in range(8):
        assert gains[bucket] == pytest.approx(0.5 if bucket in met else 1.0, rel=0.02)
    assert tuning.error_of(network, played) > 0.1
    assert tuning.error_of(tuning.scaled(network, gains), played) < 0.01
    # The network's own values as a prior hold gains near 1.
    assert (tuning.fit_gains(network, played, prior=1e9) == 1.0).all()


def test_positions_of_games_are_quiet_and_have_the_result():
    # 3. Nxe5 would win a pawn and 3... Nxe5 the knight: the position after 2... Nc6 is quiet.
    played = tuning.played_positions([(["e2e4", "e7e5", "g1f3", "b8c6"], 1.0), (["d2d4"], -1.0)])
    assert played.games.tolist() == [0, 0, 0, 0, 1]
    assert played.results.tolist() == [1, 1, 1, 1, -1]
    # After 2. Nf3 Black is to move, nothing hangs to him.
    assert played.sides.tolist() == [1, 0, 1, 0, 1]
    with pytest.raises(ValueError, match="expected games with moves"):
        tuning.played_positions([])


def test_the_shipped_network_knows_chess_and_says_how_it_was_made():
    network = networks.shipped_network()
    fens = {
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1": (-0.05, 0.2),
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1": (-1.0, -0.6),  # no queen
        "rnbqkbnr/ppp1pppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1": (0.1, 0.6),  # a pawn up
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1": (0.0, 0.9),
        "4k3/8/8/8/8/8/8/R3K3 b - - 0 1": (0.6, 1.0),
    }
    positions = [boards.position_from_fen(fen) for fen in fens]
    for value, (low, high) in zip(
        network.evaluate(_BOARD, *_words(positions)), fens.values(), strict=True
    ):
        assert low < value < high
    metadata = weights.read_metadata(networks.SHIPPED)
    assert "klss_spiel.run.train_evaluation" in metadata.command
    assert metadata.extra["teacher"] == "nn-ad9b42354671"
    assert metadata.extra["teacher_licence"] == "CC0-1.0"
    assert metadata.extra["correlation"] > 0.96
    assert metadata.licence == "Apache-2.0"
    folder = pathlib.Path(weights.__file__).parent / "data" / "weights"
    assert (folder / f"{networks.SHIPPED}.safetensors").stat().st_size < 2**20
