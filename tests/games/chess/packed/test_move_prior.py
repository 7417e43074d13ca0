"""Priors of moves, and beliefs weighted by them, against filters over histories of states."""

import json
import math
import pathlib
import random

import numpy as np
import pyspiel
import pytest

from klss_spiel import weights
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.networks import move_prior_training as training
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.kernels import move_priors as kernels
from klss_spiel.games.chess.packed.move_prior import (
    NUM_WEIGHTS,
    MovePrior,
    features_of,
    load_prior,
    save_prior,
    shipped_prior,
    uniform_prior,
)
from klss_spiel.games.chess.packed.position_sets import PositionSet
from klss_spiel.games.chess.packed.search_game import DarkChess
from klss_spiel.run import belief_loss
from tests.helpers import random_chess
from tests.helpers.recorded_games import are_of_people, games_of_people


def some_prior(seed=0, memory=1.0):
    found = np.random.default_rng(seed).normal(size=NUM_WEIGHTS).astype(np.float32)
    return MovePrior(found, uniform=0.1, memory=memory)


def chances_by_move(prior, position):
    """Probability of each move of one position."""
    board = packed.layout(position.width, position.height)
    found = prior.probabilities(board, packed.pack([position]), position.side)
    moves = [packed.unpack_move(board, word) for word in found.words]
    return dict(zip(moves, found.probabilities.tolist(), strict=True))


def brute_force(game, actions, player, prior):
    """Information state and {packed position: probability} at each own turn, over histories.

    Every history of OpenSpiel's states is followed on its own and compared by the whole
    information state string; nothing of the packed beliefs is used but the prior.
    """
    start = game.new_initial_state()
    histories = [(start, 1.0)]
    true, found = start.clone(), []
    for action in [*actions, None]:
        if true.is_terminal():
            break
        if true.current_player() == player:
            by_position = {}
            for state, chance in histories:
                key = packed.pack([state.moment.position])[0].tobytes()
                by_position[key] = by_position.get(key, 0.0) + chance
            total = sum(by_position.values())
            told = true.information_state_string(player)
            found.append((told, {key: chance / total for key, chance in by_position.items()}))
        if action is None:
            break
        mine = true.current_player() == player
        true.apply_action(action)
        told = true.information_state_string(player)
        after = []
        for state, chance in histories:
            if state.is_terminal():
                continue
            likely = {} if mine else chances_by_move(prior, state.moment.position)
            for tried in [action] if mine else state.legal_actions():
                if tried not in state.legal_actions():
                    continue
                child = state.child(tried)
                if child.information_state_string(player) == told:
                    move = game.setup.table.moves[tried]
                    after.append((child, chance * (1.0 if mine else likely[move])))
        histories = after
    return found


@pytest.mark.parametrize(
    ("name", "seeds", "plies"),
    [
        ("python_dark_chess(board=microchess)", range(3), 10),
        ("python_dark_chess(board=demichess,rules=thesis)", range(1), 6),
    ],
)
def test_weights_are_those_of_a_filter_over_all_histories(name, seeds, plies):
    assert max(_compare_with_histories(name, seed, plies) for seed in seeds) > 5


def _compare_with_histories(name, seed, plies):
    """Compares at every decision of a random game; returns the largest belief."""
    game = pyspiel.load_game(name)
    rng = random.Random(seed)
    state, actions = game.new_initial_state(), []
    while not state.is_terminal() and len(actions) < plies:
        actions.append(rng.choice(state.legal_actions()))
        state.apply_action(actions[-1])
    prior = some_prior(seed)
    searched = search_game(name)
    largest = 0
    for player in (0, 1):
        held = PositionSet.of(game.setup.start, player, searched.transition, prior)
        steps = 0
        for told, expected in brute_force(game, actions, player, prior):
            for reading in searched.read(player, told).since(steps):
                held = searched.follow(held, reading, 1_000_000, 0)
                steps = reading.steps
            assert held.complete
            assert held.probabilities.sum() == pytest.approx(1.0)
            keys = [row.tobytes() for row in held.positions]
            assert set(keys) == set(expected)
            np.testing.assert_allclose(
                held.probabilities, [expected[key] for key in keys], rtol=1e-4
            )
            largest = max(largest, len(keys))
    return largest


def test_a_uniform_prior_shares_the_weight_among_the_moves():
    """Black has just king moves; White sees nothing of them.

    Black's king on a4 has three moves, White's is far away on d1 and sees none of their
    targets: a third each. After that a king on b4 has five moves and one on a3 too, one on b3
    eight, of which some are seen.
    """
    position = boards.position_from_fen("k3/4/4/3K b - - 0 1")
    board = packed.layout(4, 4)
    held = PositionSet.of(position, rules.WHITE, prior=uniform_prior())
    after = rules.apply_move(position, boards.move_from_uci("a4b4", 4, 4))
    seen = packed.observations(board, packed.pack([after]), after.side, rules.WHITE)[0]
    held = held.after_opponent_move(seen)
    assert len(held) == 3
    np.testing.assert_allclose(held.probabilities, 1 / 3)
    # By Kc1 White sees b1, b2, c2, d1 and d2.
    own = boards.move_from_uci("d1c1", 4, 4)
    moved = rules.apply_move(after, own)
    seen = packed.observations(board, packed.pack([moved]), moved.side, rules.WHITE)[0]
    held = held.after_own_move(own, seen)
    last = rules.apply_move(moved, boards.move_from_uci("b4a4", 4, 4))
    seen = packed.observations(board, packed.pack([last]), last.side, rules.WHITE)[0]
    held = held.after_opponent_move(seen)
    # b4 -> a3 a4 b3 c3 c4; a3 -> a2 a4 b3 b4 (b2 is seen); b3 -> a2 a3 a4 b4 c3 c4 (b2, c2 too).
    expected = {
        "a2": (1 / 5 + 1 / 8) / 3,
        "a3": (1 / 5 + 1 / 8) / 3,
        "a4": (1 / 5 + 1 / 5 + 1 / 8) / 3,
        "b3": (1 / 5 + 1 / 5) / 3,
        "b4": (1 / 5 + 1 / 8) / 3,
        "c3": (1 / 5 + 1 / 8) / 3,
        "c4": (1 / 5 + 1 / 8) / 3,
    }
    total = sum(expected.values())
    found = {}
    for king, chance in zip(
        packed.unpack(board, held.positions, held.side), held.probabilities, strict=True
    ):
        square = rules.king_square(king, rules.BLACK)
        found["abcd"[square % 4] + str(square // 4 + 1)] = chance
    assert found == pytest.approx({name: chance / total for name, chance in expected.items()})


def test_memory_flattens_what_was_believed_before():
    position = boards.position_of("standard")
    board = packed.layout(8, 8)
    sets = {
        memory: PositionSet.of(position, rules.WHITE, prior=some_prior(1, memory))
        for memory in (1.0, 0.5)
    }
    rng = random.Random(2)
    for move in random_chess.random_game(rng, position, 6):
        mover, position = position.side, rules.apply_move(position, move)
        seen = packed.observations(board, packed.pack([position]), position.side, rules.WHITE)[0]
        for memory, held in sets.items():
            own = mover == rules.WHITE
            before = held
            sets[memory] = (
                held.after_own_move(move, seen) if own else held.after_opponent_move(seen)
            )
            if not own and memory < 1.0:
                # The same as Bayes' rule from weights that were flattened by hand.
                flat = PositionSet(
                    before.transition,
                    before.viewer,
                    before.side,
                    before.positions,
                    weights=before.weights**memory,
                    prior=some_prior(1),
                ).after_opponent_move(seen)
                np.testing.assert_allclose(
                    sets[memory].probabilities, flat.probabilities, rtol=1e-6
                )
    entropy = {
        memory: -np.sum(held.probabilities * np.log(held.probabilities))
        for memory, held in sets.items()
    }
    assert entropy[0.5] > entropy[1.0]


def test_probabilities_are_mirrored_for_black_and_sum_to_1():
    rng = random.Random(4)
    prior = some_prior(3)
    for _ in range(20):
        position = random_chess.random_placement(rng, 8, 8)
        chances = chances_by_move(prior, position)
        assert sum(chances.values()) == pytest.approx(1.0)
        if position.en_passant is not None or position.castling:
            continue
        squares = np.frombuffer(position.squares, dtype=np.uint8).reshape(8, 8)[::-1]
        swapped = np.where(squares > 0, squares ^ 8, 0).astype(np.uint8)
        mirrored = position._replace(squares=swapped.tobytes(), side=1 - position.side)
        turned = {
            rules.Move(move.source ^ 56, move.target ^ 56, move.promotion): chance
            for move, chance in chances.items()
        }
        assert chances_by_move(prior, mirrored) == pytest.approx(turned)


def test_features_tell_captures_dangers_and_checks_apart():
    """White's queen on d1 may take a pawn on d5 that a pawn on e6 covers; the king is checked."""
    position = boards.position_from_fen("4k3/8/4p3/3p4/8/8/4r3/3QK3 w - - 0 1")
    board = packed.layout(8, 8)
    _, words, features = features_of(board, packed.pack([position]), position.side)
    assert features.shape[1] == kernels.NUM_FEATURES
    assert features.max() < NUM_WEIGHTS
    by_move = {
        boards.move_to_uci(packed.unpack_move(board, word), 8): row.tolist()
        for word, row in zip(words, features, strict=True)
    }
    assert len({tuple(row) for row in features.tolist()}) == len(by_move)
    # The last feature: 1 where the check by the seen rook is answered, 2 where it is not.
    last = {name: row[-1] - (NUM_WEIGHTS - 5) for name, row in by_move.items()}
    assert last["e1e2"] == last["d1e2"] == 1
    assert last["d1d5"] == last["d1a4"] == 2


def test_training_finds_the_players_preferences_and_is_deterministic():
    rng = random.Random(7)
    truth = some_prior(5)
    games = []
    for _ in range(25):
        position, moves = boards.position_of("standard"), []
        for _ in range(24):
            if rules.king_square(position, position.side) is None:
                break
            chances = chances_by_move(truth, position)
            if not chances:
                break
            move = rng.choices(list(chances), list(chances.values()))[0]
            moves.append(boards.move_to_uci(move, 8))
            position = rules.apply_move(position, move)
        games.append((moves, (True, True)))
    played = training.played_moves(games)
    assert len(played) == sum(len(moves) for moves, _ in games)
    left_out = played.games % 5 == 0
    kept, tested = training.some(played, ~left_out), training.some(played, left_out)
    how = training.Fit(epochs=6, penalty=1e-3)
    prior = training.fit(kept, how)
    loss, uniform = training.losses(prior, tested)
    best, _ = training.losses(truth, tested)
    assert best.mean() < loss.mean() < uniform.mean() - 0.3
    np.testing.assert_array_equal(prior.weights, training.fit(kept, how).weights)


def test_files_come_back_and_others_are_refused(tmp_path):
    prior = some_prior(2, memory=0.75)
    path = tmp_path / "prior.safetensors"
    save_prior(path, prior, 3, "command", "Apache-2.0", {"games": 1})
    again = load_prior(path)
    np.testing.assert_array_equal(again.weights, prior.weights)
    assert (again.uniform, again.memory) == (prior.uniform, prior.memory)
    assert weights.read_metadata(path).extra == {"games": 1}
    with pytest.raises(weights.WeightsError, match="kind"):
        load_prior("chess_network")
    for wrong in ({"uniform": 0.0}, {"uniform": 1.5}, {"memory": -0.1}):
        with pytest.raises(ValueError, match="expected a"):
            MovePrior(prior.weights, **wrong)
    with pytest.raises(ValueError, match="finite weights"):
        MovePrior(prior.weights[:-1])


def _own_games(name, count):
    """Games that the package's players played, if the results are at hand."""
    path = pathlib.Path(__file__).parents[4] / "docs" / "results" / name
    if not path.exists():
        pytest.skip(f"needs {path}")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [tuple(row["moves"].split()) for row in rows[:count]]


def _losses(games, limit):
    found = [
        (flat, weighted)
        for moves in games
        for viewer in (0, 1)
        for _, size, flat, weighted in belief_loss.losses_of(
            moves[:40], viewer, "dark_chess_move_prior", limit
        )
        if size is not None
    ]
    return np.mean(found, axis=0)


def test_true_positions_are_likelier_by_the_shipped_prior_in_games_it_did_not_see():
    """Games of `obscuro` against `zs21`, which are not among those it was trained on."""
    flat, weighted = _losses(_own_games("obscuro/versus_zs21.jsonl", 6), 5_000)
    assert weighted < flat - 0.2


@pytest.mark.slow
@pytest.mark.skipif(not are_of_people(), reason="the package's own games have the test above")
def test_true_positions_of_real_games_are_likelier_by_the_shipped_prior():
    flat, weighted = _losses([game.moves for game in games_of_people()], 100_000)
    assert weighted < flat - 0.2


def test_a_weighted_belief_holds_the_same_positions_and_stays_weighted_as_a_sample():
    game = pyspiel.load_game("python_dark_chess")
    searched = DarkChess(game.setup, lambda positions: np.zeros(len(positions)), 2_000)
    rng = random.Random(11)
    state = game.new_initial_state()
    plain, weighted = searched.belief(0), searched.weighted_belief(0)
    sampled = 0
    for _ in range(24):
        if state.current_player() == 0:
            told = state.information_state_string(0)
            plain.advance(None, told)
            weighted.advance(None, told)
            assert weighted.weights is not None
            assert np.all(weighted.weights > 0.0)
            assert len(weighted.weights) == len(weighted.positions) > 0
            if plain.complete:
                assert weighted.complete
                np.testing.assert_array_equal(plain.positions, weighted.positions)
            sampled += not weighted.complete
        state.apply_action(rng.choice(state.legal_actions()))
    assert sampled > 2
    assert math.isfinite(float(weighted.weights.sum()))


def test_only_the_board_it_was_trained_on_has_a_prior():
    searched = search_game("python_dark_chess(board=microchess)")
    assert searched.weighted_belief(0).weights is None
    assert shipped_prior() is shipped_prior()
