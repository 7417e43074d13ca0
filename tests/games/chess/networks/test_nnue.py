"""Networks of chess programs: a made-up file by plain Python, a real one by the program itself."""

import random
import re
import struct
import subprocess

import numpy as np
import pytest

from klss_spiel.evaluators import make_evaluator
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.networks import nnue
from klss_spiel.games.chess.networks.teacher import (
    export_network,
    find_stockfish,
    licence_of,
    load_teacher,
)
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import with_counts
from klss_spiel.weights import WeightsError
from tests.helpers.chess_positions import mirrored, random_play
from tests.helpers.made_up_nnue import WIDTH, file_bytes, made_up_arrays

_BOARD = packed.layout(8, 8)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    first, stacks = made_up_arrays()
    path = tmp_path_factory.mktemp("nnue") / "made_up.nnue"
    path.write_bytes(file_bytes(first, stacks))
    return path, first, stacks


def _toward_zero(numerator, denominator):
    return int(abs(numerator) // denominator) * (1 if numerator >= 0 else -1)


def _view(position, colour):
    """[(plane, square)] of all pieces, and the own king's number, from the rules' board."""
    king = rules.king_square(position, colour)
    turn = (56 if colour else 0) ^ (7 if king % 8 < 4 else 0)
    found = []
    for square, code in enumerate(position.squares):
        if code:
            kind, owner = rules.kind_of(code), code >> 3
            plane = 10 if kind == rules.KING else 2 * (kind - 1) + (owner != colour)
            found.append((plane, square ^ turn))
    rank, file = divmod(king ^ turn, 8)
    return found, 4 * (7 - rank) + 7 - file


def _plainly(position, first, stacks):
    """Material and the rest in 1/16 units, in Python's integers."""
    count = sum(code != 0 for code in position.squares)
    bucket = min((count - 1) // 4, 7)
    products, material = [], []
    for colour in (position.side, 1 - position.side):
        pieces, king = _view(position, colour)
        rows = [704 * king + 64 * plane + square for plane, square in pieces]
        total = first["bias"].astype(int) + first["rows"][rows].astype(int).sum(axis=0)
        cut = np.clip(total, 0, 127)
        products.append(cut[: WIDTH // 2] * cut[WIDTH // 2 :] // 128)
        material.append(int(first["material"][rows, bucket].astype(int).sum()))
    bias_1, first_layer, bias_2, second, bias_3, third = (a.astype(int) for a in stacks[bucket])
    out = bias_1 + first_layer @ np.concatenate(products)
    squares = np.minimum(out[:15] ** 2 // 2**19, 127)
    inputs = np.concatenate([squares, np.clip(out[:15] // 64, 0, 127), [0, 0]])
    hidden = np.clip((bias_2 + second @ inputs) // 64, 0, 127)
    rest = int(bias_3[0] + third[0] @ hidden) + _toward_zero(int(out[15]) * 9600, 8128)
    return _toward_zero(material[0] - material[1], 2), rest


def _positions(count, seed):
    """Positions of random legal games, of all lengths."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        line = list(random_play(boards.position_of("standard"), rng, 160, legal=True))
        found += rng.sample(line, min(len(line), 10))
    return found[:count]


def _words(positions):
    return packed.pack(positions), np.array([p.side for p in positions], dtype=np.uint8)


@pytest.mark.parametrize("compressed", [False, True])
def test_a_made_up_network_is_what_plain_integers_say(made_up, tmp_path, compressed):
    path, first, stacks = made_up
    if compressed:
        path = tmp_path / "compressed.nnue"
        path.write_bytes(file_bytes(first, stacks, compressed=True))
    network = nnue.read(path)
    positions = _positions(40, seed=1)
    units, won = network.units(*_words(positions))
    assert not won.any()
    expected = [_plainly(position, first, stacks) for position in positions]
    assert units.tolist() == [list(pair) for pair in expected]
    assert network.width == WIDTH
    assert network.description == "test"
    assert len({min((p.squares.count(0) - 32) // 4, 7) for p in positions}) > 2


def test_units_do_not_depend_on_what_was_evaluated_before(made_up):
    network = nnue.load(made_up[0])
    rng = random.Random(4)
    line = list(random_play(boards.position_of("standard"), rng, 150, legal=True))
    line += rng.sample(line, 50)
    words, sides = _words(line)
    together, _ = network.units(words, sides)
    alone = [network.units(words[i : i + 1], sides[i])[0][0] for i in range(len(words))]
    np.testing.assert_array_equal(together, alone)


def test_values_are_the_evaluators_and_swap_with_the_colours(made_up):
    path, first, stacks = made_up
    positions = _positions(20, seed=2)
    words, sides = _words(positions)
    evaluator = make_evaluator("python_dark_chess", f'nnue("{path}",scale=900)')
    values = evaluator(with_counts(words, sides))
    for value, position in zip(values, positions, strict=True):
        units = _toward_zero(sum(_plainly(position, first, stacks)), 16)
        sign = 1 - 2 * position.side
        assert value == pytest.approx(sign * np.tanh(units / 900), abs=1e-6)
    swapped = nnue.load(path).evaluate(_BOARD, *_words([mirrored(p) for p in positions]), 900.0)
    np.testing.assert_allclose(swapped, -values, atol=1e-6)


def test_kings_decide_before_the_network_is_asked(made_up):
    en_prise = boards.position_from_fen("4k3/8/8/8/8/8/8/K3R3 w - - 0 1")
    gone = boards.position_from_fen("8/8/8/8/8/8/8/4K3 w - - 0 1", need_kings=False)
    network = nnue.load(made_up[0])
    cases = [en_prise, mirrored(en_prise), gone, gone._replace(side=rules.BLACK)]
    values = network.evaluate(_BOARD, *_words(cases))
    assert values.tolist() == [1.0, -1.0, 1.0, 1.0]


def test_broken_files_are_refused_by_name(made_up, tmp_path):
    data = made_up[0].read_bytes()
    broken = {
        "short": (data[:-5], "more bytes"),
        "long": (data + b"x", "bytes"),
        "version": (b"\0" + data[1:], "expected the version 0x7af32f20"),
        "hash": (data[:16] + struct.pack("<I", 5) + data[20:], "expected rows of HalfKAv2_hm"),
        "empty": (b"", "more bytes"),
    }
    for name, (content, message) in broken.items():
        path = tmp_path / f"{name}.nnue"
        path.write_bytes(content)
        with pytest.raises(WeightsError, match=message) as caught:
            nnue.read(path)
        assert str(path) in str(caught.value)
    with pytest.raises(WeightsError, match=r"expected a network file, got 'nowhere\.nnue'"):
        nnue.load("nowhere.nnue")
    with pytest.raises(ValueError, match="expected an 8x8 board for nnue, got 4x3"):
        make_evaluator("python_dark_chess(board=minimal4x3)", f'nnue("{made_up[0]}")')


def test_without_stockfish_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("klss_spiel.games.chess.networks.teacher.find_stockfish", lambda: None)
    with pytest.raises(ValueError, match=r"apt-get install stockfish.*--teacher=FILE\.nnue"):
        load_teacher()


def test_the_licence_of_a_teacher_is_the_known_one_or_what_is_stated(tmp_path):
    path = tmp_path / "made_up.nnue"
    path.write_bytes(file_bytes(*made_up_arrays()))
    assert load_teacher(str(path)).licence == "not stated"
    assert load_teacher(str(path), "MIT").licence == "MIT"
    assert licence_of("nn-ad9b42354671") == "CC0-1.0"
    with pytest.raises(ValueError, match=r"expected CC0-1\.0.*got 'MIT'"):
        licence_of("nn-ad9b42354671", "MIT")


def test_a_program_that_writes_no_network_is_named(tmp_path):
    with pytest.raises(ValueError, match="expected true to write its network"):
        export_network("true", str(tmp_path / "none.nnue"))


def _printed(program, fens):
    """What `eval` prints for the 8 buckets (material, rest, total; to the mover), and in all."""
    commands = "".join(f"position fen {fen}\neval\n" for fen in fens)
    done = subprocess.run(
        [program], input=f"uci\n{commands}quit\n", capture_output=True, text=True, timeout=60
    )
    number = r"([+-]?)\s*(\d+\.\d+)\s*"
    rows = re.findall(rf"^\|\s+\d\s+\|\s*{number}\|\s*{number}\|\s*{number}\|", done.stdout, re.M)
    values = [[float(s + v) for s, v in zip(row[::2], row[1::2], strict=True)] for row in rows]
    in_all = re.findall(r"^NNUE evaluation\s+([+-]\d+\.\d+) \(white side\)", done.stdout, re.M)
    return np.array(values).reshape(len(fens), 8, 3), np.array(in_all, dtype=float)


def test_every_number_that_stockfish_prints_is_ours(tmp_path):
    program = find_stockfish()
    if program is None:
        pytest.skip("stockfish is not installed")
    path = str(tmp_path / "its_own.nnue")
    version = export_network(program, path)
    if version != "Stockfish 15.1":
        pytest.skip(f"the numbers of {version} are printed in other units than those of 15.1")
    network = nnue.read(path)
    # `eval` prints nothing for a king in check.
    positions = [p for p in _positions(60, seed=3) if not rules.in_check(p, p.side)][:40]
    words, sides = _words(positions)
    printed, in_all = _printed(program, [boards.fen_of(p) for p in positions])
    for bucket in range(8):
        units, _ = network.units(words, sides, bucket)
        whole = np.trunc(units / 16)
        ours = np.column_stack([whole, whole.sum(axis=1)])
        # A pawn is 361 units; whole units are printed as hundredths of a pawn.
        np.testing.assert_allclose(ours / 361, printed[:, bucket], atol=0.00501)
    values = network.evaluate(_BOARD, words, sides)
    np.testing.assert_allclose(np.arctanh(values) * nnue.SCALE / 361, in_all, atol=0.0055)
    assert np.abs(printed).max() > 3.0
