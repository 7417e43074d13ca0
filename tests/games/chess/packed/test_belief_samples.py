"""Samples of beliefs: thinned, joined, drawn from, copied, and by the clock."""

import copy
import pickle

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.settings import OBSCURO
from klss_spiel.budget import Budget
from klss_spiel.games.chess.packed import chess_belief, collected_positions
from tests.helpers.games import random_decisions

DARK = "python_dark_chess(board=microchess)"
KRIEGSPIEL = "python_kriegspiel(board=microchess)"


def rows_of(belief):
    return {row.tobytes() for row in np.ascontiguousarray(belief.positions[:, :4])}


@pytest.mark.parametrize("favoured", [False, True])
def test_thinning_keeps_weights_on_average(favoured):
    rng = np.random.default_rng(5)
    game = search_game(KRIEGSPIEL)
    rows = rng.integers(0, 2**64, (400, 4), dtype=np.uint64)
    weights = rng.exponential(size=400) ** 2
    held = collected_positions.dataclasses.replace(
        game.first_held(0), positions=rows, weights=weights, complete=False
    )
    heavy = weights > np.median(weights)
    favour = rng.normal(size=400) if favoured else None
    totals, parts = [], []
    for salt in range(600):
        thin = collected_positions.thinned(held, 100, salt, favour)
        assert len(thin.positions) == 100
        kept = {row.tobytes(): w for row, w in zip(thin.positions, thin.weights, strict=True)}
        mass = [kept.get(row.tobytes(), 0.0) for row in rows]
        totals.append(np.sum(mass))
        parts.append(np.dot(mass, heavy))
        assert favoured or collected_positions.effective_size(thin) > 40
    expected = weights[heavy].sum() / weights.sum()
    assert np.sum(parts) / np.sum(totals) == pytest.approx(expected, abs=0.01)
    # A quarter of the positions is worth almost as much as all of them.
    assert collected_positions.effective_size(held) < 100


def test_thinning_keeps_what_is_favoured():
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 2**64, (400, 4), dtype=np.uint64)
    held = collected_positions.dataclasses.replace(
        search_game(KRIEGSPIEL).first_held(0), positions=rows, complete=False
    )
    favour = np.where(np.arange(400) < 40, 1000.0, 0.0)  # by a factor that has no float
    thin = collected_positions.thinned(held, 100, 0, favour)
    np.testing.assert_array_equal(thin.positions[:40], rows[:40])


def test_two_samples_count_by_their_effective_size():
    game = search_game(KRIEGSPIEL)
    rows = np.arange(24, dtype=np.uint64).reshape(6, 4)
    one, other = (
        collected_positions.dataclasses.replace(
            game.first_held(0), positions=rows[part], weights=np.array(weights), complete=False
        )
        for part, weights in ((slice(0, 4), [1.0, 1.0, 1.0, 1.0]), (slice(3, 6), [8.0, 8.0, 8.0]))
    )
    both = collected_positions.joined(one, other)
    np.testing.assert_array_equal(both.positions, rows)
    # Four alike and three alike: each is worth one, and the one in common two.
    np.testing.assert_allclose(both.weights, [1, 1, 1, 2, 1, 1])


def test_new_roots_are_drawn_by_weight_and_the_report_says_what_the_sample_is_worth():
    game = search_game(KRIEGSPIEL, belief_limit=20)
    bot = SearchBot(game, 0, Budget(nodes=300))
    sampled = 0
    state = pyspiel.load_game(KRIEGSPIEL).new_initial_state()
    rng = np.random.default_rng(1)
    for _ in range(40):
        if state.is_terminal():
            break
        if state.current_player() == 0:
            action = bot.step(state)
            report = bot.report
            if not report.belief_complete:
                sampled += 1
                assert 0 < report.belief_effective <= report.belief_size + 1e-6
                text = f"a sample of {report.belief_size} worth {report.belief_effective:.0f}"
                assert report.forced or any(text in reason for reason in report.degraded)
        else:
            action = int(rng.choice(state.legal_actions()))
        state.apply_action(action)
    assert sampled > 2


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


def long_text(game, rounds):
    """What White is told while the kings go to and fro, longer than the rules allow."""
    state = game.new_initial_state()
    before = state.information_state_string(0)
    for move in ("a1b1", "h8g8", "b1a1", "g8h8"):
        state.apply_action(state.string_to_action(move))
    news = state.information_state_string(0).removeprefix(before)
    return before + rounds * news, news, state.legal_actions()


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
@pytest.mark.parametrize("name", ["python_dark_chess", "python_kriegspiel"])
def test_beliefs_and_players_of_long_games_can_be_copied(name, copied):
    game = pyspiel.load_game(f"{name}(fen=7k/7p/7P/8/8/p7/P7/K7 w - - 0 1)")
    told, news, legal = long_text(game, rounds=150)
    searched = search_game(game, belief_limit=2_000)
    assert searched.read(0, told).steps == 600
    player = SearchPlayer(searched, 0, OBSCURO, Budget(nodes=50), seed=1)
    player.advance_belief(told)
    player.record_action(told, legal[0])
    belief = searched.belief(0)
    belief.advance(None, told)
    twin, other = copied(belief), copied(player)
    assert twin.positions is not belief.positions
    np.testing.assert_array_equal(twin.positions, belief.positions)
    # The whole chain is there, each reading with what it said.
    whole, again = (held._told.since(-1) for held in (belief, twin))
    assert [reading.key for reading in again] == [reading.key for reading in whole]
    assert len(again) == 601
    for held in (belief, twin):
        held.advance(None, told + news)
    np.testing.assert_array_equal(twin.positions, belief.positions)
    decisions_of = [actor.decide(told + news, legal) for actor in (player, other)]
    np.testing.assert_array_equal(decisions_of[0].probabilities, decisions_of[1].probabilities)


class FakeTime:
    """A clock that moves on only when positions are followed."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def followed_by_clock(monkeypatch, game, now, pace):
    """Makes every followed position of a game take a while."""
    follow = game.follow

    def slowly(held, told, limit, salt):
        after = follow(held, told, limit, salt)
        thinned = held.fraction / after.fraction if after.fraction else 1.0
        now.seconds += pace * max(len(held.positions), thinned * len(after.positions))
        return after

    monkeypatch.setattr(game, "follow", slowly)


def test_where_time_is_short_a_belief_becomes_a_sample_and_says_so(monkeypatch):
    monkeypatch.setattr(chess_belief, "_MEASURED_POSITIONS", 16)
    monkeypatch.setattr(chess_belief, "_LEAST_SAMPLE", 32)
    monkeypatch.setattr(chess_belief, "_FIRST_PACE", 0.002)
    now = FakeTime()
    name = "python_dark_chess"
    timed, patient = (search_game(name, belief_limit=20_000) for _ in range(2))
    followed_by_clock(monkeypatch, timed, now, pace=0.002)
    belief, whole = timed.belief(0), patient.belief(0)
    sampled, longest = 0, 0.0
    for state, player, told in random_decisions(name, seed=8, actions=30):
        if player != 0:
            continue
        start = now.seconds
        belief.allow(5.0, now, longest=10.0)  # time for 2500 positions, or for 5000
        belief.advance(None, told)
        longest = max(longest, now.seconds - start)
        whole.advance(None, told)
        if not whole.complete:
            break
        assert rows_of(belief)
        assert rows_of(belief) <= rows_of(whole)
        if belief.complete:
            assert rows_of(belief) == rows_of(whole)
        sampled += not belief.complete
        del state
    assert sampled > 2
    # A step may find more positions for each than the last one did, which nobody knows before.
    unhurried = 0.002 * len(whole.positions)
    assert longest < 20.0 < unhurried


def test_a_sample_that_dies_where_time_is_short_is_looked_for_no_longer_than_allowed(monkeypatch):
    """Once samples were followed again in full size whatever the time: players overstepped it."""
    monkeypatch.setattr(chess_belief, "_MEASURED_POSITIONS", 16)
    monkeypatch.setattr(chess_belief, "_LEAST_SAMPLE", 4)
    monkeypatch.setattr(chess_belief, "_REMEMBERED", 4)
    monkeypatch.setattr(chess_belief, "_FIRST_PACE", 0.01)
    name = "python_dark_chess"
    died = revived = 0
    for seed in range(10):
        now = FakeTime()
        game = search_game(name, belief_limit=5_000)
        followed_by_clock(monkeypatch, game, now, pace=0.01)
        belief, alive = game.belief(0), True
        for _, player, told in random_decisions(name, seed, actions=60):
            if player != 0:
                continue
            start = now.seconds
            belief.allow(1.0, now, longest=3.0)  # time for 100 positions, 300 at most
            belief.advance(None, told)
            # A step more may find thirty times as many positions, which nobody knows before.
            assert now.seconds - start < 8.0
            revived += len(belief.positions) > 0 and not alive
            alive = len(belief.positions) > 0
            died += not alive
    assert died
    assert revived  # it goes on with what it has found so far


@pytest.mark.parametrize(("lacking", "lives"), [(0.5, True), (1.5, False)])
def test_what_is_followed_again_counts_if_only_its_last_step_takes_too_long(
    monkeypatch, lacking, lives
):
    """Every step takes a second, and none begins when the time is over."""
    game = search_game(DARK)
    belief, now = game.belief(0), FakeTime()
    texts = [text for _, player, text in random_decisions(DARK, 0, 12) if player == 0]
    belief.advance(None, texts[1])
    held, steps = belief._held, belief._told.steps
    belief._told = game.read(0, texts[-1])
    follow = game.follow

    def slowly(*arguments):
        now.seconds += 1.0
        return follow(*arguments)

    monkeypatch.setattr(game, "follow", slowly)
    belief.allow(100.0, now)
    until = len(belief._told.since(steps)) - lacking
    after = belief._follow_all(held, steps, 1000, 1, until)
    assert (len(after.positions) > 0) == lives
    assert after.side == held.viewer
