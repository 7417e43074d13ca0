"""Sets of possible positions against sets kept by the readable rules."""

import random

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.games.chess.packed import position_sets
from klss_spiel.games.chess.packed import positions as packed
from tests.helpers import random_chess
from tests.helpers.recorded_games import recorded_games

_COLOURS = (rules.WHITE, rules.BLACK)


def _view(position: rules.Position, viewer: int) -> np.ndarray:
    """[5] what the viewer sees in a position."""
    board = packed.layout(position.width, position.height)
    return packed.observations(board, packed.pack([position]), position.side, viewer)[0]


def _told(position: rules.Position, viewer: int) -> str:
    """The same in words, by the readable rules."""
    return " ".join(
        (
            observation.fog_text(position, viewer),
            observation.own_castling_text(position, viewer),
            observation.own_en_passant_text(position, viewer),
        )
    )


def _advance(belief, position, move):
    """The belief after a move in the true position, and the new true position."""
    after = rules.apply_move(position, move)
    seen = _view(after, belief.viewer)
    if position.side == belief.viewer:
        return belief.after_own_move(move, seen), after
    return belief.after_opponent_move(seen), after


def _without_clocks(position):
    return position._replace(halfmove_clock=0, fullmove_number=1)


@hypothesis.given(st.integers(0, 2**32), st.sampled_from(random_chess.SIZES))
def test_a_belief_is_every_position_consistent_with_what_was_seen(seed, size):
    rng = random.Random(seed)
    start = _without_clocks(random_chess.random_placement(rng, *size))
    for viewer in _COLOURS:
        position = start
        belief = position_sets.PositionSet.of(start, viewer)
        expected = {start}
        for move in random_chess.random_game(rng, start, 6):
            before, position_before = expected, position
            belief, position = _advance(belief, position, move)
            if position_before.side == viewer:
                tried = [rules.apply_move(p, move) for p in before]
            else:
                tried = [
                    rules.apply_move(p, m) for p in before for m in rules.pseudo_legal_moves(p)
                ]
            told = _told(position, viewer)
            expected = {_without_clocks(p) for p in tried if _told(p, viewer) == told}
            if len(expected) > 3000:
                break
            found = packed.unpack(belief.board, belief.positions, belief.side)
            assert len(found) == len(set(found))
            assert set(found) == expected, (boards.fen_of(start), viewer, move)
            assert belief.complete
            assert position in belief


def _all_consistent_successors(belief, seen):
    """The update by brute force: every successor, its own view, compared."""
    _, _, children = packed.successors(belief.board, belief.positions, belief.side)
    views = packed.observations(belief.board, children, 1 - belief.side, belief.viewer)
    return np.unique(children[(views == seen).all(axis=1)], axis=0)


def test_large_beliefs_of_the_standard_board_equal_brute_force():
    rng = random.Random(5)
    largest = 0
    for viewer in _COLOURS:
        for _ in range(3):
            position = boards.position_of("standard")
            belief = position_sets.PositionSet.of(position, viewer)
            for move in random_chess.random_game(rng, position, 40):
                before, mover = belief, position.side
                belief, position = _advance(belief, position, move)
                if mover != viewer:
                    expected = _all_consistent_successors(before, _view(position, viewer))
                    assert (np.unique(belief.positions, axis=0) == expected).all()
                assert position in belief
                largest = max(largest, len(belief))
                if len(belief) > 30_000:
                    break
    assert largest > 10_000


def _belief_of_size(least: int) -> tuple[position_sets.PositionSet, np.ndarray]:
    """A belief before the opponent's move after which there are at least so many positions."""
    rng = random.Random(6)
    while True:
        position = boards.position_of("standard")
        belief = position_sets.PositionSet.of(position, rules.WHITE)
        for move in random_chess.random_game(rng, position, 30):
            before, mover = belief, position.side
            belief, position = _advance(belief, position, move)
            if mover == rules.BLACK and len(belief) >= least:
                return before, _view(position, rules.WHITE)


def test_past_its_limit_a_belief_is_a_uniform_sample_and_says_so():
    before, seen = _belief_of_size(40_000)
    whole = before.after_opponent_move(seen)
    assert whole.complete
    assert whole.fraction == 1.0
    limit = 5000
    sample = before.after_opponent_move(seen, limit)
    assert not sample.complete
    assert limit / 4 < len(sample) <= limit
    everything = {tuple(row) for row in whole.positions.tolist()}
    kept = {tuple(row) for row in sample.positions.tolist()}
    assert len(kept) == len(sample)
    assert kept < everything
    # 5 standard deviations of the number kept by independent coins of that fraction.
    expected = len(whole) * sample.fraction
    assert abs(len(sample) - expected) < 5 * expected**0.5
    # The order in which positions are found does not matter.
    shuffled = np.random.default_rng(0).permutation(before.positions)
    again = position_sets.dataclasses.replace(before, positions=shuffled)
    assert {tuple(row) for row in again.after_opponent_move(seen, limit).positions.tolist()} == kept
    # Once incomplete, always incomplete.
    position = packed.unpack(sample.board, sample.positions[:1], sample.side)[0]
    move = rules.pseudo_legal_moves(position)[0]
    after = _view(rules.apply_move(position, move), rules.WHITE)
    assert not sample.after_own_move(move, after).complete


@hypothesis.given(st.integers(0, 2**32), st.integers(1, 3000), st.integers(1, 300))
def test_distinct_keeps_one_of_each_in_order(seed, size, values):
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2**64, (values, 4), dtype=np.uint64)
    rows = pool[rng.integers(0, values, size)]
    kept, fraction = position_sets.distinct(rows)
    assert fraction == 1.0
    assert [tuple(row) for row in kept.tolist()] == list(
        dict.fromkeys(tuple(row) for row in rows.tolist())
    )


def test_distinct_grows_and_thins():
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 2**64, (100_000, 4), dtype=np.uint64)
    twice = np.concatenate([rows, rows])
    assert len(position_sets.distinct(twice)[0]) == len(rows)
    kept, fraction = position_sets.distinct(twice, limit=10_000)
    assert 2_500 < len(kept) <= 10_000
    assert fraction == pytest.approx(0.5 ** round(-np.log2(fraction)))
    assert len(kept) == pytest.approx(fraction * len(rows), rel=0.1)


def test_a_belief_takes_turns():
    position = boards.position_of("standard")
    belief = position_sets.PositionSet.of(position, rules.WHITE)
    seen = _view(position, rules.WHITE)
    with pytest.raises(ValueError, match="turn"):
        belief.after_opponent_move(seen)
    moved = belief.after_own_move(
        boards.move_from_uci("e2e4", 8, 8),
        _view(rules.apply_move(position, boards.move_from_uci("e2e4", 8, 8)), rules.WHITE),
    )
    with pytest.raises(ValueError, match="turn"):
        moved.after_own_move(boards.move_from_uci("e7e5", 8, 8), seen)
    with pytest.raises(ValueError, match="limit"):
        moved.after_opponent_move(seen, limit=0)
    with pytest.raises(ValueError, match=r"\[5\]"):
        moved.after_opponent_move(seen[:4])


def _follow(moves: tuple[str, ...], viewer: int, limit: int) -> int:
    """Plies of a game through which a belief stays complete; the truth must be in it."""
    position = boards.position_of("standard")
    belief = position_sets.PositionSet.of(position, viewer)
    for ply, text in enumerate(moves):
        move = boards.move_from_uci(text, 8, 8)
        after = rules.apply_move(position, move)
        # The bot's way: from what the game tells the player in words.
        seen = packed.observation_from_text(belief.board, viewer, _told(after, viewer))
        if position.side == viewer:
            belief = belief.after_own_move(move, seen)
        else:
            belief = belief.after_opponent_move(seen, limit)
        position = after
        if not belief.complete:
            return ply
        assert position in belief, (moves[: ply + 1], viewer)
    return len(moves)


def test_the_true_position_of_real_games_is_always_believed():
    games = recorded_games()
    plies = [_follow(game.moves, viewer, 50_000) for game in games for viewer in _COLOURS]
    assert sum(plies) > 900


@pytest.mark.slow
def test_the_true_position_of_real_games_is_believed_up_to_two_million():
    games = recorded_games()
    plies = [_follow(game.moves, viewer, 2_000_000) for game in games for viewer in _COLOURS]
    assert sum(plies) > 0.8 * 2 * sum(len(game.moves) for game in games)
