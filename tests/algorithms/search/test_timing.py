"""Tests of time: what a decision, a clock and pondering take, by a clock of the tests."""

import pickle
import time

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.carry_over import NoFittingPosition
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer, compile_loops
from klss_spiel.algorithms.search.readiness import make_ready
from klss_spiel.algorithms.search.settings import OBSCURO, STRONG
from klss_spiel.algorithms.search.timing import GameTimer, MoveTimer
from klss_spiel.budget import Budget, Clock, longest_by_clock, seconds_by_clock
from klss_spiel.matches.match import Match, play_match

DICE = "liars_dice(dice_sides=3)"


class FakeTime:
    """Moves on by itself a little whenever somebody looks."""

    def __init__(self, step=0.0):
        self.seconds = 100.0
        self.step = step

    def __call__(self):
        self.seconds += self.step
        return self.seconds


class SlowBelief:
    """A game whose beliefs take a while to be brought up to date."""

    def __init__(self, game, now, seconds):
        self._game, self._now, self._seconds = game, now, seconds

    def __getattr__(self, name):
        return getattr(self._game, name)

    def belief(self, player):
        belief = self._game.belief(player)
        advance = belief.advance

        def slowly(action, told):
            self._now.seconds += self._seconds
            advance(action, told)

        belief.advance = slowly
        return belief


def dice_state(*actions):
    state = pyspiel.load_game(DICE).new_initial_state()
    for action in (0, 2, *actions):
        state.apply_action(action)
    return state


def decide(player, state):
    told = state.information_state_string(player.player)
    decision = player.decide(told, state.legal_actions())
    return told, decision


@pytest.fixture(autouse=True, scope="module")
def compiled():
    compile_loops()


def test_a_clock_is_read_from_text():
    assert Clock.parse("3+2") == Clock(180.0, 2.0)
    assert Clock.parse("9s+0.1") == Clock(9.0, 0.1)
    for text in ("fast", "0+1", "nan", "3+-1"):
        with pytest.raises(ValueError, match="expected a clock such as"):
            Clock.parse(text)


def test_a_clock_never_plans_to_use_up_what_is_left():
    for increment in (0.0, 0.1, 5.0):
        times = (0.01, 0.1, 1.0, 10.0, 100.0)
        shares = [seconds_by_clock(left, increment) for left in times]
        assert all(0.0 < share <= left / 4 for share, left in zip(shares, times, strict=True))
        assert shares == sorted(shares)
        longest = [longest_by_clock(left) for left in times]
        assert all(
            usual <= most <= left / 4
            for usual, most, left in zip(shares, longest, times, strict=True)
        )
    assert seconds_by_clock(-1.0, 0.0) == longest_by_clock(-1.0) == 0.0


def test_time_is_left_for_many_moves():
    remaining = 9.0
    for _ in range(200):
        # A decision may take 50 ms more than planned.
        remaining += 0.1 - seconds_by_clock(remaining, 0.1) - 0.05
        assert remaining > 0.25


def test_a_move_timer_divides_only_time():
    now = FakeTime()
    timer = MoveTimer(Budget(seconds=2.0, nodes=7), now, closing=0.1)
    now.seconds += 0.5
    assert timer.part().seconds == pytest.approx(1.4)
    assert timer.part(0.5).seconds == pytest.approx(0.7)
    assert timer.part(0.5).nodes == 7
    now.seconds += 10.0
    assert timer.part().seconds == pytest.approx(0.1)  # a little, always
    assert MoveTimer(Budget(nodes=7), now).part(0.5) == Budget(nodes=7)


def test_a_game_timer_counts_decisions_and_increments():
    now = FakeTime()
    timer = GameTimer(Clock(10.0, 0.5), now)
    timer.begin()
    now.seconds += 1.0  # compiling
    assert timer.timer().budget.seconds == pytest.approx(seconds_by_clock(9.0, 0.5))
    now.seconds += 2.0
    timer.search_ends()
    now.seconds += 0.25
    timer.end()
    assert timer.remaining == pytest.approx(6.75)
    timer.move()
    assert timer.remaining == pytest.approx(7.25)
    timer.begin()
    assert timer.timer().closing == pytest.approx(0.25)
    timer.restart()
    assert timer.remaining == 10.0


@pytest.mark.parametrize("belief", [0.0, 0.5, 0.9])
def test_a_decision_takes_its_budget_of_time_whatever_the_belief_takes(belief):
    now = FakeTime(1e-3)
    game = SlowBelief(search_game(DICE), now, belief)
    player = SearchPlayer(game, 0, OBSCURO, Budget(seconds=1.0), now=now)
    start = now.seconds
    _, decision = decide(player, dice_state())
    assert 0.9 < now.seconds - start < 1.1
    assert decision.report.nodes > 50


def test_a_decision_without_a_belief_says_how_long_it_took(monkeypatch):
    now = FakeTime(1e-6)
    player = SearchPlayer(search_game(DICE), 0, OBSCURO, Budget(seconds=1.0), now=now)

    class Nothing:
        complete = False

    def dies(told):
        player._belief = Nothing()
        now.seconds += 0.5
        raise NoFittingPosition

    monkeypatch.setattr(player, "_search_at", dies)
    _, decision = decide(player, dice_state())
    assert decision.report.degraded == ("belief incomplete and empty; playing uniformly",)
    assert decision.report.seconds == pytest.approx(0.5, abs=0.1)


def test_the_opening_search_does_not_double_the_first_move():
    """Player 1's first decision is preceded by a search from the start of the game."""
    now = FakeTime(1e-3)
    player = SearchPlayer(search_game(DICE), 1, OBSCURO, Budget(seconds=1.0), now=now)
    start = now.seconds
    decide(player, dice_state(1))
    assert player._opening is not None
    assert 0.9 < now.seconds - start < 1.1


def test_a_player_with_a_clock_uses_it_up_slowly_and_never_flags():
    now = FakeTime(1e-3)
    player = SearchPlayer(search_game(DICE), 0, OBSCURO, Clock(5.0, 0.1), now=now)
    for _ in range(3):
        state = dice_state()
        for bid in (0, 1, 2):
            told, _ = decide(player, state)
            before = player.remaining
            player.record_action(told, 2 * bid)
            assert player.remaining == pytest.approx(before + 0.1)
            state.apply_action(2 * bid)
            if bid < 2:
                state.apply_action(2 * bid + 1)
        assert 3.5 < player.remaining < 5.0
        player.restart()
        assert player.remaining == 5.0


def test_a_try_that_is_refused_earns_no_time():
    now = FakeTime(1e-3)
    # A rook of Black's is in the way.
    game = pyspiel.load_game("python_kriegspiel(fen=3k/4/r3/R2K w - - 0 1)")
    player = SearchPlayer(search_game(game), 0, OBSCURO, Clock(1.0, 0.5), now=now)
    state = game.new_initial_state()

    def left_after(move):
        """What is left after a decision, a move or try, and the next decision's time."""
        action = next(a for a in state.legal_actions() if state.action_to_string(0, a) == move)
        told, _ = decide(player, state)
        before = player.remaining
        player.record_action(told, action)
        state.apply_action(action)
        refused = state.current_player() == 0
        if not refused:
            state.apply_action(state.legal_actions()[0])
        for _ in range(2):  # asked again it takes nothing back again
            start = now.seconds
            decide(player, state)
            before -= now.seconds - start
        return refused, player.remaining - before

    assert left_after("a1a4") == (True, pytest.approx(0.0, abs=0.02))
    assert left_after("d1c1") == (False, pytest.approx(0.5, abs=0.02))


def test_a_clock_that_somebody_else_sets_is_not_corrected():
    timer = GameTimer(Clock(10.0, 0.5), FakeTime())
    timer.move()
    timer.budget = Clock(7.0, 0.5)  # as a referee says
    timer.restart()
    timer.refuse()
    assert timer.remaining == 7.0


def test_pondering_grows_the_last_tree_until_the_next_decision():
    game = search_game("liars_dice")
    player = SearchPlayer(game, 0, OBSCURO, Budget(nodes=100), ponder=True)
    state = pyspiel.load_game("liars_dice").new_initial_state()
    for action in (0, 2):
        state.apply_action(action)
    told, _ = decide(player, state)
    size = player.search.tree.num_nodes
    player.record_action(told, 0)
    deadline = time.monotonic() + 60.0
    while player.search.tree.num_nodes < 2 * size and time.monotonic() < deadline:
        time.sleep(0.01)
    state.apply_action(0)
    state.apply_action(1)
    grown = player.search
    assert grown.tree.num_nodes >= 2 * size
    _, decision = decide(player, state)
    after = grown.tree.num_nodes
    assert decision.report.nodes > 0
    player.record_action(told, 2)
    assert pickle.loads(pickle.dumps(player)).seed == player.seed  # stops the thread first
    assert grown.tree.num_nodes == after  # and so did the decision


def test_a_closed_player_does_not_ponder_before_the_next_game():
    """Closed while it decides, in another thread, it must not begin afterwards."""
    player = SearchPlayer(search_game(DICE), 0, OBSCURO, Budget(nodes=50), ponder=True)
    told, _ = decide(player, dice_state())
    player.close()
    player.record_action(told, 0)
    assert player._pondering is None
    player.restart()
    told, _ = decide(player, dice_state())
    player.record_action(told, 0)
    assert player._pondering is not None
    player.close()
    assert player._pondering is None


def test_warming_up_changes_nothing_but_readiness():
    warm, cold = (SearchBot(DICE, 1, Budget(nodes=100), seed=4) for _ in range(2))
    warm.warm_up(pyspiel.load_game(DICE))
    state = dice_state(1)
    first, second = warm.get_policy(state), cold.get_policy(state)
    np.testing.assert_array_equal(first, second)


def test_a_bot_with_a_budget_of_time_is_ready_when_it_is_made(monkeypatch):
    rehearsed = []
    monkeypatch.setattr(
        "klss_spiel.algorithms.search.bot.make_ready", lambda game, player: rehearsed.append(game)
    )
    for budget in (Budget(seconds=0.1), Clock(1.0), Budget(nodes=10)):
        SearchBot(DICE, 0, budget)
    assert len(rehearsed) == 2


@pytest.mark.slow
@pytest.mark.parametrize("control, games", [("9s+0.1", 50), ("3+2", 3)])
def test_strong_never_flags(control, games):
    """An hour of games; numbers of games are rounded up to pairs.

    `klss_spiel.run.match --clock` plays the same and goes on after a kill; see docs/agent.md.
    """
    player = "search(preset=strong)"
    match = Match("python_dark_chess", (player, player), games + games % 2, control=control, seed=5)
    rows = play_match(match).rows
    assert len(rows) == match.games
    assert [row["loser"] for row in rows if row["termination"] != "rules"] == []


def _large_belief_history(least):
    """A random game up to a decision of White at which at least so many positions fit."""
    game = pyspiel.load_game("python_dark_chess")
    for seed in range(100):
        rng = np.random.default_rng(seed)
        searched = search_game(game)
        belief = searched.belief(0)
        state = game.new_initial_state()
        history = []
        for _ in range(60):
            if state.is_terminal():
                break
            action = int(rng.choice(state.legal_actions()))
            if state.current_player() == 0:
                told = state.information_state_string(0)
                belief.advance(None, told)
                if len(belief.positions) >= least:
                    return game, history, told, state.legal_actions()
                history.append((told, action))
            state.apply_action(action)
    raise AssertionError("no game with so large a belief")


@pytest.mark.slow
def test_a_second_is_kept_with_a_belief_of_two_million_positions():
    """By the processor's clock, so that other programs do not matter."""
    game, history, told, legal = _large_belief_history(2_000_000)
    searched = search_game(game)
    seconds = 1.0
    player = SearchPlayer(searched, 0, OBSCURO, Budget(seconds=seconds), now=time.process_time)
    compile_loops()
    for state, action in history[:-1]:
        player.record_action(state, action)
    last, action = history[-1]
    # Exact up to the last decision, whatever it takes; then only a second for two plies.
    belief = player.advance_belief(last)
    assert belief.complete
    assert len(belief.positions) > 100_000
    player.record_action(last, action)
    start = time.process_time()
    decision = player.decide(told, legal)
    taken = time.process_time() - start - decision.report.compiling
    assert taken < 1.1 * seconds
    assert decision.report.new_nodes > 1_000


# After ply 13 Black's belief passes 200,000 positions. At plies 27 and 33 so few of its sample are
# left that renewing it takes five seconds if nobody hurries.
_LARGE = (
    "e2e3 e7e6 d1f3 c7c5 f1d3 b8c6 b1c3 d7d5 b2b3 g8f6 h2h4 a7a6 a2a4 f8e7 c1a3 e8g8 f3d1 c8d7 "
    "f2f4 h7h6 d1f3 a8c8 g2g4 d5d4 c3e2 d4e3 d2e3 f6d5 a3b2 c6b4 e1f2 b4d3 c2d3 d5b4"
)


def test_a_second_is_kept_where_the_belief_is_a_sample():
    """By the processor's clock, so that other programs do not matter."""
    game = pyspiel.load_game("python_dark_chess")
    searched = search_game(game, belief_limit=200_000)
    budget = Budget(seconds=1.0)
    player = SearchPlayer(searched, 1, STRONG, budget, now=time.process_time)
    make_ready(game, player)
    state = game.new_initial_state()
    timed = 0
    for ply, move in enumerate(_LARGE.split()):
        action = state.string_to_action(move)
        if state.current_player() == 1:
            told = state.information_state_string(1)
            if ply in (25, 27, 33):
                start = time.process_time()
                report = player.decide(told, state.legal_actions()).report
                assert time.process_time() - start < 1.1 * budget.seconds, ply
                assert report.seconds < 1.1 * budget.seconds
                assert not report.belief_complete
                assert 0 < report.belief_size <= 200_000
                assert report.degraded == (
                    f"belief incomplete, a sample of {report.belief_size} worth "
                    f"{report.belief_effective:.0f}",
                )
                assert report.new_nodes > 1_000
                timed += 1
            else:
                player.advance_belief(told)  # in any time
            player.record_action(told, action)
        state.apply_action(action)
    assert timed == 3


def test_a_belief_that_has_died_out_may_take_more_of_a_clock_but_not_of_a_budget():
    """A quarter of what is left with a clock, and no more than the decision's time without."""
    allowed = []

    class Watched(SlowBelief):
        def belief(self, player):
            belief = self._game.belief(player)
            belief.allow = lambda seconds, now, longest=0.0: allowed.append((seconds, longest))
            return belief

    for budget in (Clock(40.3, 0.0), Budget(seconds=1.0), Budget(nodes=50)):
        now = FakeTime(1e-6)
        player = SearchPlayer(Watched(search_game(DICE), now, 0.0), 0, OBSCURO, budget, now=now)
        timer = player._timer.timer()
        player.advance_belief(dice_state().information_state_string(0), timer)
    (by_clock, rescue), (half, most), (unlimited, _) = allowed
    assert by_clock < 1.0 and rescue == pytest.approx(9.0, rel=0.01)
    assert half == pytest.approx(0.5) and most == pytest.approx(0.9)
    assert unlimited is None
