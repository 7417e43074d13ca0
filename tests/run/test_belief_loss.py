"""The binaries that train a move prior and say what it is good for."""

import json

import numpy as np
import pytest

from klss_spiel import weights
from klss_spiel.games.chess.packed.move_prior import load_prior
from klss_spiel.run import belief_loss, train_move_prior

# By 1... e6 and 2... Bb4 White cannot see anything of it; the rest is for length.
MOVES = ("d2d4", "e7e6", "b1c3", "f8b4", "g1f3", "g8f6", "a2a3", "b4c3", "b2c3", "e8g8")


def games_file(folder, name="games.jsonl"):
    path = folder / name
    rows = [
        {
            "game": "python_dark_chess",
            "termination": "rules",
            "moves": " ".join(MOVES),
            "player_0": "search(nodes=1)",
            "player_1": other,
        }
        for other in ("search(nodes=2)", "random", "search(nodes=2)")
    ]
    rows.append({**rows[0], "game": "python_dark_chess(board=microchess)"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prior")
    path = str(folder / "prior.safetensors")
    config = train_move_prior.Config(path, (games_file(folder),), epochs=200, uniform=0.1)
    return config, train_move_prior.run(config)


def test_training_reads_own_moves_of_games_from_the_standard_start(trained):
    config, (row,) = trained
    # Ten moves of two games of two searches, five of the one against a random player.
    assert (row["games"], row["moves"]) == (3, 25)
    assert row["nats_left_out"] < row["nats_uniform"] - 0.5  # the left-out game is the same
    metadata = weights.read_metadata(config.output)
    assert metadata.extra["games"] == 3
    assert metadata.licence == "Apache-2.0"
    again = train_move_prior.Config(
        config.output.replace("prior.", "again."), config.games, epochs=200, uniform=0.1
    )
    train_move_prior.run(again)
    first, second = load_prior(config.output), load_prior(again.output)
    np.testing.assert_array_equal(first.weights, second.weights)


def test_losses_are_those_of_the_positions_that_fit(trained):
    config, _ = trained
    found = belief_loss.losses_of(MOVES, 0, config.output, 100_000)
    assert [ply for ply, *_ in found] == [0, 2, 4, 6, 8]
    # Nothing is unknown at first. Black has 20 first moves, of which White would see six: c5, d5
    # and e5 by the pawn, g5, h6 and Nh6 by the bishop.
    assert found[0][1:] == (1, 0.0, 0.0)
    assert found[1][1] == 14
    assert found[1][2] == pytest.approx(np.log(14))
    # A prior of this very game does not wonder about it.
    assert all(weighted < flat - 0.5 for _, _, flat, weighted in found[1:])


def test_beliefs_past_the_limit_are_left_out_and_counted(trained, tmp_path):
    config, _ = trained
    games = belief_loss.games_of(games_file(tmp_path))
    assert list(games) == ["games.jsonl:0", "games.jsonl:1", "games.jsonl:2"]
    chosen = belief_loss.Config({"one": games["games.jsonl:0"]}, config.output, limit=50)
    rows = belief_loss.run(chosen)
    assert [row["ply"] for row in rows] == [0]
    assert rows[0]["left_out"] > 0
    assert rows[0]["decisions"] + rows[0]["left_out"] == len(MOVES)
    (bucket, everything) = belief_loss.summary_rows(rows)
    assert everything["plies"] == "all"
    assert bucket["gain"] == pytest.approx(bucket["flat"] - bucket["weighted"])
    # Of one game there is nothing else to draw.
    assert bucket["low"] == pytest.approx(bucket["gain"])
    assert bucket["high"] == pytest.approx(bucket["gain"])


def test_intervals_are_over_games():
    rows = [
        {"played": name, "ply": 0, "decisions": 10, "left_out": 0, "flat": 10.0, "weighted": w}
        for name, w in (("a", 0.0), ("b", 10.0), ("c", 5.0))
    ]
    line = belief_loss.summary_rows(rows)[-1]
    assert line["gain"] == pytest.approx(0.5)
    # The three games alone may be drawn: gains from 0 to 1 per decision.
    assert line["low"] < 0.2 and line["high"] > 0.8


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(ValueError, match="expected games"):
        belief_loss.Config({})
    with pytest.raises(ValueError, match=r"named \*"):
        train_move_prior.Config("prior.json", ("x",))
    with pytest.raises(ValueError, match="at least one --games"):
        train_move_prior.Config("prior.safetensors", ())
    broken = tmp_path / "games.json"
    broken.write_text('{"games": 3}')
    with pytest.raises(ValueError, match="cannot read games"):
        belief_loss.games_of(str(broken))
