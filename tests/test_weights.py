"""Trained files: what is saved is loaded, and nothing else is."""

import collections
import contextlib
import dataclasses
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import hypothesis.strategies as st
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given

from klss_spiel import weights
from klss_spiel.array_trees import from_structure, named_arrays, shapes_of, structure_of
from klss_spiel.weights import Checkpoint, Metadata, WeightsError, load, read_metadata, save

METADATA = Metadata(
    kind="values",
    game="leduc_poker",
    feature_version=3,
    command="python -m train --seed=7",
    seed=7,
    licence="CC0-1.0",
    extra={"layers": [8, 4], "correlation": 0.98},
)
LAYERS = {
    "layers": [
        {"kernel": np.arange(6.0).reshape(2, 3), "bias": np.zeros(3, np.float32)},
        {"kernel": np.ones((3, 1), np.float16), "bias": np.int16([5])},
    ],
    "scale": np.float64(0.5),
}

Adam = collections.namedtuple("Adam", ["count", "mean"])
Empty = collections.namedtuple("Empty", [])


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "net.safetensors"
    save(path, LAYERS, METADATA)
    return path


def assert_same(tree, other):
    assert structure_of(tree) == structure_of(other)
    first, second = named_arrays(tree), named_arrays(other)
    assert list(first) == list(second)
    for name, array in first.items():
        assert array.dtype == second[name].dtype
        np.testing.assert_array_equal(array, second[name])


dtypes = st.sampled_from(["bool", "int8", "uint8", "int16", "int32", "int64", "f2", "f4", "f8"])
arrays = st.builds(
    lambda dtype, shape, seed: np.random.default_rng(seed).integers(0, 100, shape).astype(dtype),
    dtypes,
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 9),
)
trees = st.recursive(
    arrays | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(exclude_characters="/"), min_size=1), inner)
    ),
)


@given(trees)
def test_structures_come_back_through_json(tree):
    structure = json.loads(json.dumps(structure_of(tree)))
    assert_same(from_structure(structure, named_arrays(tree)), tree)


@given(trees.filter(lambda tree: bool(named_arrays(tree))))
def test_trees_come_back_from_files(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("weights") / "net.safetensors"
    save(path, tree, METADATA)
    assert_same(load(path, kind="values").tree, tree)
    assert_same(load(path, kind="values", like=tree).tree, tree)


def test_files_say_what_they_are(saved):
    found = load(
        saved,
        kind="values",
        game="leduc_poker",
        feature_version=3,
        shapes=shapes_of(LAYERS),
    )
    assert_same(found.tree, LAYERS)
    metadata = found.metadata
    assert metadata.shapes["layers/0/kernel"] == (2, 3)
    assert metadata.versions["numpy_version"] == np.__version__
    assert dataclasses.replace(metadata, shapes={}) == METADATA
    assert read_metadata(saved) == metadata
    # Anyone's safetensors reads the arrays.
    np.testing.assert_array_equal(
        safetensors.numpy.load_file(saved)["layers/0/kernel"], LAYERS["layers"][0]["kernel"]
    )


def test_equal_weights_are_equal_files(tmp_path, saved):
    save(tmp_path / "again.safetensors", LAYERS, METADATA)
    assert (tmp_path / "again.safetensors").read_bytes() == saved.read_bytes()


def test_views_and_foreign_byte_orders_are_saved_as_they_read(tmp_path):
    base = np.arange(12.0).reshape(3, 4)
    tree = {"t": base.T, "s": base[:, ::2], "b": base.astype(">f8"), "r": base[::-1]}
    save(tmp_path / "net.safetensors", tree, METADATA)
    found = load(tmp_path / "net.safetensors", kind="values").tree
    for name, array in tree.items():
        np.testing.assert_array_equal(found[name], array)


def test_jax_arrays_are_read_without_jax(tmp_path):
    jnp = pytest.importorskip("jax.numpy")
    path = tmp_path / "net.safetensors"
    save(path, {"a": jnp.arange(3.0)}, METADATA)
    script = f"""
import sys
from klss_spiel import weights
assert weights.load({str(path)!r}, kind="values").tree["a"].tolist() == [0.0, 1.0, 2.0]
assert not {{"jax", "torch", "numba"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ({"kind": "policy"}, "expected the kind 'policy', got 'values'"),
        ({"game": "kuhn_poker"}, "expected the game 'kuhn_poker', got 'leduc_poker'"),
        ({"feature_version": 4}, "expected the feature version 4, got 3"),
        ({"shapes": {"scale": ()}}, r"layers/0/kernel: nothing expected, got \(2, 3\)"),
        (
            {"shapes": {**shapes_of(LAYERS), "layers/0/kernel": (2, 4)}},
            r"other shapes than expected: layers/0/kernel: \(2, 4\) expected, got \(2, 3\)$",
        ),
        ({"like": {"scale": np.zeros(())}}, "other shapes"),
        ({"like": {**LAYERS, "scale": np.float32(1)}}, "scale: float32 expected, got float64$"),
    ],
)
def test_something_else_is_refused_with_what_was_expected(saved, expected, reason):
    with pytest.raises(WeightsError, match=reason):
        load(saved, **{"kind": "values", **expected})


class Bomb:
    def __reduce__(self):
        return os.abort, ()


def test_pickles_are_refused_unread(tmp_path):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path = tmp_path / f"{protocol}.safetensors"
        path.write_bytes(pickle.dumps({"a": Bomb()}, protocol))
        with pytest.raises(WeightsError, match="pickle" if protocol >= 2 else "not safetensors"):
            load(path, kind="values")
    archive = tmp_path / "torch.safetensors"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data.pkl", pickle.dumps(Bomb()))
    with pytest.raises(WeightsError, match="never loaded"):
        load(archive, kind="values")


def test_broken_files_raise_one_error(saved, tmp_path):
    content = saved.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    broken = tmp_path / "broken.safetensors"
    for size in [0, 1, 7, 8, 9, length // 2, 8 + length, len(content) - 1]:
        broken.write_bytes(content[:size])
        with pytest.raises(WeightsError, match=r"broken\.safetensors"):
            load(broken, kind="values")
    for number in range(0, 8 + length, 7):
        damaged = bytearray(content)
        damaged[number] ^= 0x41
        broken.write_bytes(damaged)
        with contextlib.suppress(WeightsError):  # Damage to a word of the metadata is legible.
            load(broken, kind="values")

    def with_header(**changes):
        ours = {**json.loads(header["__metadata__"]["klss_spiel"]), **changes}
        text = json.dumps({**header, "__metadata__": {"klss_spiel": json.dumps(ours)}}).encode()
        return struct.pack("<Q", len(text)) + text + content[8 + length :]

    broken.write_bytes(with_header())
    load(broken, kind="values")
    for changes, reason in (
        ({"format": 2}, "expected weights of this package in format 1, got 2"),
        ({"structure": {"dict": {"x": "array"}}}, "structure does not fit"),
        ({"structure": {"set": []}}, "structure does not fit"),
        ({"shapes": {"scale": [2]}}, "other shapes"),
        ({"shapes": 3}, "expected the metadata"),
    ):
        broken.write_bytes(with_header(**changes))
        with pytest.raises(WeightsError, match=reason):
            load(broken, kind="values")
    safetensors.numpy.save_file({"a": np.zeros(2)}, broken)
    with pytest.raises(WeightsError, match="weights of this package"):
        load(broken, kind="values")
    with pytest.raises(WeightsError, match="which is none"):
        load(tmp_path / "missing.safetensors", kind="values")


def test_what_is_no_tree_of_numbers_is_not_saved(tmp_path):
    path = tmp_path / "net.safetensors"
    for tree, reason in (
        ({}, "at least one array"),
        ({"a": "text"}, "expected an array at 'a', got str"),
        ({"a": np.array(["text"])}, "numbers of at most 64 bits at 'a'"),
        ({"a": np.array([None])}, "numbers of at most 64 bits at 'a'"),
        ({"a": [np.zeros(1, np.longdouble)]}, "at 'a/0'"),
        ({"a/b": np.zeros(1)}, "texts without slashes"),
        ({1: np.zeros(1)}, "texts without slashes"),
    ):
        with pytest.raises(WeightsError, match=reason):
            save(path, tree, METADATA)
    with pytest.raises(WeightsError, match="cannot be saved"):
        save(path, LAYERS, dataclasses.replace(METADATA, extra={"a": {1}}))
    with pytest.raises(WeightsError, match=r"named \.safetensors"):
        save(tmp_path / "net.npz", LAYERS, METADATA)
    assert os.listdir(tmp_path) == []


def test_shipped_files_are_found_by_name(tmp_path, monkeypatch):
    for name in weights.shipped_names():
        assert read_metadata(name).licence
    with pytest.raises(WeightsError, match=r"or a shipped name .*got 'no_such_net'"):
        load("no_such_net", kind="values")
    with pytest.raises(WeightsError, match="which is none"):
        load("../net", kind="values")
    folder = tmp_path / "data" / "weights"
    save(folder / "tiny_net.safetensors", LAYERS, METADATA)
    monkeypatch.setattr(weights.importlib.resources, "files", lambda package: tmp_path)
    assert weights.shipped_names() == ["tiny_net"]
    assert_same(load("tiny_net", kind="values").tree, LAYERS)


# Checkpoints.


def state(step):
    optimizer = (Empty(), Adam(np.int32(step), [{"a": np.full(3, step / 2)}]))
    return {"parameters": {"a": np.full(3, float(step))}, "optimizer": optimizer}


def test_training_goes_on_in_its_own_containers(tmp_path):
    path = tmp_path / "run.safetensors"
    checkpoint = Checkpoint(path, METADATA)
    assert checkpoint.restore(state(0)) is None
    checkpoint.save(5, state(5))
    checkpoint.save(6, state(6))
    step, found = Checkpoint(path, METADATA).restore(state(0))
    assert step == 6
    assert_same(found, state(6))
    empty, adam = found["optimizer"]
    assert isinstance(empty, Empty) and isinstance(adam, Adam)
    assert os.listdir(tmp_path) == ["run.safetensors"]


def test_checkpoints_of_another_run_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    Checkpoint(path, METADATA).save(5, state(5))
    for change, reason in (
        ({"seed": 8}, "expected the seed 8, got 7"),
        ({"kind": "policy"}, "expected the kind"),
        ({"game": "kuhn_poker"}, "expected the game"),
        ({"feature_version": 4}, "expected the feature version"),
    ):
        with pytest.raises(WeightsError, match=reason):
            Checkpoint(path, dataclasses.replace(METADATA, **change)).restore(state(0))
    with pytest.raises(WeightsError, match="other shapes"):
        Checkpoint(path, METADATA).restore({"parameters": np.zeros(3)})


def test_checkpoints_of_other_settings_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"

    def checkpoint(**settings):
        extra = {"settings": settings, "remark": "differs at will"}
        return Checkpoint(path, dataclasses.replace(METADATA, extra=extra))

    checkpoint(rate=1e-3, shape=(3, 4), loss={"entropy": 0.5}).save(5, state(5))
    assert checkpoint(rate=1e-3, shape=(3, 4), loss={"entropy": 0.5}).restore(state(0))[0] == 5
    for settings, reason in (
        ({"rate": 2e-3}, r"other settings than expected: rate: 0\.002 expected, got 0\.001"),
        ({"loss": {"entropy": 0.25}}, r"loss\.entropy: 0\.25 expected, got 0\.5"),
        ({"start": None}, "start: None expected, got nothing"),
    ):
        others = {"rate": 1e-3, "shape": (3, 4), "loss": {"entropy": 0.5}, **settings}
        with pytest.raises(WeightsError, match=reason):
            checkpoint(**others).restore(state(0))
    with pytest.raises(WeightsError, match=r"rate: nothing expected, got 0\.001"):
        Checkpoint(path, METADATA).restore(state(0))


def test_weights_are_no_checkpoints(tmp_path):
    path = tmp_path / "run.safetensors"
    save(path, state(1), METADATA)
    with pytest.raises(WeightsError, match="weights without a step"):
        Checkpoint(path, METADATA).restore(state(0))


def test_checkpoints_are_saved_now_and_then(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(weights.time, "monotonic", lambda: now[0])
    checkpoint = Checkpoint(tmp_path / "run.safetensors", METADATA, seconds_between_saves=10.0)
    saved = []
    for step in range(5):
        saved.append(checkpoint.save_now_and_then(step, state(step)))
        now[0] += 6.0
    assert saved == [False, False, True, False, True]


def test_a_failed_save_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", METADATA)
    checkpoint.save(1, state(1))

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        checkpoint.save(2, state(2))
    assert checkpoint.restore(state(0))[0] == 1
    assert os.listdir(tmp_path) == ["run.safetensors"]
