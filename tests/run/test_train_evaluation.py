"""The trainer of the evaluation network: the same again, goes on, refuses, tunes."""

import dataclasses
import json

import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.games.chess.networks import training
from klss_spiel.games.chess.networks.network import load_network
from klss_spiel.run import labelled_positions, train_evaluation
from klss_spiel.weights import WeightsError
from tests.helpers.made_up_nnue import file_bytes, made_up_arrays


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    path = tmp_path_factory.mktemp("teacher") / "made_up.nnue"
    path.write_bytes(file_bytes(*made_up_arrays()))
    return str(path)


def _config(folder, teacher, **changed):
    return train_evaluation.Config(
        output=str(folder / "net.safetensors"),
        **{
            "teacher": teacher,
            "teacher_licence": "of a test",
            "positions": 1500,
            "test_positions": 300,
            "epochs": 3,
            "batch": 256,
            **changed,
        },
    )


def _same(first, second):
    one, two = load_network(first.output), load_network(second.output)
    return all(
        np.array_equal(getattr(one, field.name), getattr(two, field.name))
        for field in dataclasses.fields(one)
    )


def test_a_seed_gives_one_network_also_after_interruptions(teacher, tmp_path, monkeypatch):
    whole = _config(tmp_path / "whole", teacher)
    (row,) = train_evaluation.run(whole)
    assert 0 < row["error"] < 1
    assert row["error"] == pytest.approx(row["error_before_rounding"], abs=0.01)
    metadata = weights.read_metadata(whole.output)
    assert metadata.extra["teacher"] == row["teacher"]
    assert metadata.extra["teacher"].startswith("nn-")
    assert metadata.extra["teacher_licence"] == "of a test"
    assert metadata.licence == "Apache-2.0"

    stopped = _config(tmp_path / "stopped", teacher)
    epoch, done = training.Trainer.epoch, []

    def interrupted(self, *args):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(epoch(self, *args))
        return done[-1]

    with monkeypatch.context() as patched:
        patched.setattr(training.Trainer, "epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_evaluation.run(stopped)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "stopped").rglob("*_0000*")}
    assert len(made) == 3
    train_evaluation.run(stopped)
    assert _same(whole, stopped)
    # Nothing that was finished is made again.
    assert made == {path: path.stat().st_mtime_ns for path in made}

    other = _config(tmp_path / "other", teacher, seed=1)
    train_evaluation.run(other)
    assert not _same(whole, other)

    for changed, message in (
        ({"seed": 1}, "expected .*test_0000.* of seed 1, got .*delete"),
        ({"rate": 1e-3}, "expected the kind"),
    ):
        with pytest.raises(ValueError, match=message):
            train_evaluation.run(dataclasses.replace(whole, **changed))


def test_positions_are_the_same_whoever_makes_them(teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(labelled_positions, "BLOCK", 300)
    alone = _config(tmp_path / "alone", teacher, epochs=1)
    train_evaluation.run(alone)
    # Two shards make the first half; the second waits for the first network.
    shared = _config(tmp_path / "shared", teacher, epochs=1)
    made = [
        row["file"]
        for index in range(2)
        for row in train_evaluation.run(dataclasses.replace(shared, shard=f"{index}/2"))
    ]
    blocks = ("handmade_0000", "handmade_0001", "handmade_0002", "test_0000")
    assert sorted(made) == [block + weights.SUFFIX for block in blocks]
    by_others = dataclasses.replace(shared, executor="processes:2")
    train_evaluation.run(by_others)
    assert _same(alone, shared)
    of_one, of_other = (
        {path.name: weights.load(path, kind="chess_positions").tree for path in folder.glob("*_0*")}
        for folder in (tmp_path / "alone" / "net.positions", tmp_path / "shared" / "net.positions")
    )
    assert set(of_one) == set(of_other) and len(of_one) == 1 + 3 + 3
    for name, tree in of_one.items():
        for key, array in tree.items():
            np.testing.assert_array_equal(array, of_other[name][key])
    # With the first network there, shards have blocks of the second half too.
    rows = train_evaluation.run(dataclasses.replace(shared, shard="0/1"))
    assert len(rows) == 7 and all(row["was_there"] for row in rows)


def test_results_of_games_tune_a_network(teacher, tmp_path):
    trained = _config(tmp_path, teacher, positions=600, epochs=1)
    train_evaluation.run(trained)
    moves = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"
    rows = [
        {"key": str(i), "moves": moves, "return_0": (1.0, -1.0)[i % 2], "termination": "rules"}
        for i in range(10)
    ]
    rows.append({"key": "x", "moves": "", "return_0": 1.0, "termination": "error"})
    games = tmp_path / "games.jsonl"
    games.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tuned = dataclasses.replace(
        trained,
        output=str(tmp_path / "tuned.safetensors"),
        tune=(str(games),),
        network=trained.output,
    )
    (row,) = train_evaluation.run(tuned)
    assert row["games"] == 10
    # The same moves were won and lost as often: values should be 0, and 32 pieces only.
    assert row["gains"][7] < 1.0
    assert row["gains"][:7] == [1.0] * 7
    assert weights.read_metadata(tuned.output).extra["tuning"]["games"] == 10
    before, after = load_network(trained.output), load_network(tuned.output)
    np.testing.assert_array_equal(before.rows, after.rows)
    assert after.output_scale[7] < before.output_scale[7]


def test_bad_flags_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"named \*\.safetensors, got 'net\.npz'"):
        train_evaluation.Config(output="net.npz")
    with pytest.raises(ValueError, match="at least 2 positions"):
        train_evaluation.Config(output="net.safetensors", positions=1)
    with pytest.raises(ValueError, match="expected --shard=i/n"):
        _config(tmp_path, None, shard="2/2")
    with pytest.raises(ValueError, match="expected the executor"):
        _config(tmp_path, None, executor="threads:2")
    missing = _config(tmp_path, str(tmp_path / "none.nnue"))
    with pytest.raises(WeightsError, match="expected a network file"):
        train_evaluation.run(missing)
