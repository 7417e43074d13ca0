"""Referee, players and matches."""

import json
import signal
import subprocess
import sys
import threading
import time

import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score

from klss_spiel import jobs
from klss_spiel.algorithms.search import player as player_module
from klss_spiel.algorithms.search.timing import Pondering
from klss_spiel.budget import Clock
from klss_spiel.matches import players, ratings, records
from klss_spiel.matches.match import Match, jobs_of, play_match, sprt_row
from klss_spiel.matches.players import Seat, blueprint_of, make_player, register_player
from klss_spiel.matches.referee import TimeControl, play_game
from klss_spiel.openspiel import policy_to_openspiel
from klss_spiel.run import match as run_match
from klss_spiel.veiled_state import ClockReading, HiddenInformationError, veil
from tests.helpers.paths import ROOT


class First:
    """Always plays the first legal action."""

    def step(self, state):
        return state.legal_actions()[0]


class Cheat:
    def __init__(self, read):
        self._read = read

    def step(self, state):
        self._read(state)
        return state.legal_actions()[0]


register_player("test_first", lambda seat: First())
register_player("test_cheat", lambda seat: Cheat(lambda state: state.history()))

READINGS = {
    "history": lambda s: s.history(),
    "history_str": lambda s: s.history_str(),
    "clone": lambda s: s.clone(),
    "child": lambda s: s.child(0),
    "other information state": lambda s: s.information_state_string(1 - s.current_player()),
    "other actions": lambda s: s.legal_actions(1 - s.current_player()),
    "serialize": lambda s: s.serialize(),
    "returns": lambda s: s.returns(),
    "observation of the other": lambda s: s.observation_string(1 - s.current_player()),
    "moment": lambda s: s.moment,
}


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
def test_whoever_reads_what_is_hidden_loses_and_the_reason_is_recorded(read):
    game = pyspiel.load_game("leduc_poker")
    record = play_game(game, [First(), Cheat(read)])
    assert record.termination == records.BY_ERROR
    assert record.loser == 1
    assert "HiddenInformationError" in record.reason
    assert record.returns == (13.0, -13.0)  # the worst that leduc knows


def test_a_veiled_state_holds_no_way_to_the_true_one():
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    for action in (0, 1):
        state.apply_action(action)
    veiled = veil(state, 0)
    assert veiled.information_state_string() == veiled.information_state_string(0) == "0"
    assert not any(isinstance(value, pyspiel.State) for value in vars(veiled).values())
    with pytest.raises(HiddenInformationError, match="undo_action"):
        veiled.undo_action(0, 0)
    with pytest.raises(ValueError, match="player 1"):
        veil(state, 1)


@pytest.mark.parametrize(
    "answer, reason", [(99, "expected one of"), ("x", "a number"), (None, "a number")]
)
def test_an_illegal_answer_loses(answer, reason):
    class Wrong:
        def step(self, state):
            return answer

    record = play_game(pyspiel.load_game("kuhn_poker"), [Wrong(), First()])
    assert (record.termination, record.loser) == (records.BY_ILLEGAL_ACTION, 0)
    assert reason in record.reason


def test_a_player_whose_clock_runs_out_loses():
    class Slow:
        def step(self, state):
            assert state.clock.remaining <= 0.05
            time.sleep(0.2)
            return state.legal_actions()[0]

    control = TimeControl.parse("0.05s+0")
    record = play_game(pyspiel.load_game("kuhn_poker"), [Slow(), First()], control=control)
    assert (record.termination, record.loser) == (records.BY_TIME, 0)
    assert record.row()["least_left_0"] < 0.0 and record.row()["least_left_1"] == 0.05
    assert TimeControl.parse("3+2") == TimeControl(180.0, 2.0)
    with pytest.raises(ValueError, match="expected a clock"):
        TimeControl.parse("fast")


def test_a_try_that_is_refused_earns_no_time(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    # A rook of Black's is in the way.
    game = pyspiel.load_game("python_kriegspiel(fen=4k3/8/8/8/4r3/8/4R3/4K3 w - - 0 1)")
    read = []

    class Scripted:
        def __init__(self, *moves):
            self._moves = list(moves)

        def step(self, state):
            read.append((state.current_player(), state.clock.remaining))
            return game_action(state, self._moves.pop(0))

    def game_action(state, name):
        player = state.current_player()
        return next(a for a in state.legal_actions() if state.action_to_string(player, a) == name)

    white, black = Scripted("e2e5", "e2e6", "e1d1", "d1c1"), Scripted("e8d8", "d8c8")
    record = play_game(game, [white, black], control=TimeControl(60.0, 5.0))
    assert record.reason.startswith("IndexError")  # the script is at its end
    assert record.least_left == (60.0, 60.0)
    assert read == [(0, 60.0)] * 3 + [(1, 60.0), (0, 65.0), (1, 65.0), (0, 70.0)]


def test_whoever_fails_after_the_time_is_up_has_lost_on_time():
    class SlowAndWrong:
        def step(self, state):
            time.sleep(0.1)
            raise RuntimeError("too late")

    control = TimeControl.parse("0.05s+0")
    record = play_game(pyspiel.load_game("kuhn_poker"), [SlowAndWrong(), First()], control=control)
    assert record.termination == records.BY_TIME
    assert record.seconds[0] >= 0.1


class Closable(First):
    def __init__(self, log):
        self._log = log

    def close(self):
        self._log.append("closed")


def _broken(seat):
    if seat.seed:  # there is a chair at the rehearsal, but not in a game
        raise RuntimeError("no chair")
    return First()


CLOSED = []
register_player("test_closable", lambda seat: Closable(CLOSED))
register_player("test_broken", _broken)


def test_players_are_closed_also_if_the_other_cannot_sit_down():
    CLOSED.clear()
    results = play_match(Match("kuhn_poker", ("test_closable", "test_broken"), games=2))
    assert len(results.failed) == 2
    # Both rehearsals, and one of the games: in the other the broken one comes first.
    assert CLOSED == ["closed"] * 3
    CLOSED.clear()
    play_match(Match("kuhn_poker", ("trusted(test_closable)", "test_first"), games=2))
    assert CLOSED == ["closed"] * 4


def pondering():
    return [t.name for t in threading.enumerate() if t.name.startswith("pondering")]


def test_nobody_ponders_after_the_game(monkeypatch):
    begun = []
    monkeypatch.setattr(player_module, "Pondering", lambda s: begun.append(s) or Pondering(s))
    # Too large for a search to come to its end by itself.
    match = Match("liars_dice", ("search(nodes=50,ponder=true)", "test_first"), games=2)
    results = play_match(match)
    assert not results.failed
    assert begun and not pondering()


@pytest.mark.parametrize(
    "player, reason",
    [
        ("search(nodes=-3)", "-3"),
        ("search(preset=obscur)", "obscur"),
        ("random(5)", "random"),
        ("pimc(worlds=-2)", "-2"),
        ("policy(nowhere.npz)", "nowhere.npz"),
        ("zs21_baseline", "chess"),
    ],
)
def test_wrong_arguments_of_players_end_a_match_before_it_begins(player, reason, tmp_path):
    games = tmp_path / "games.jsonl"
    with pytest.raises(ValueError, match="expected a player of kuhn_poker") as error:
        play_match(Match("kuhn_poker", ("random", player), games=2), output=str(games))
    assert reason in str(error.value)
    assert not games.exists()


class Seer(First):
    sees_everything = True


register_player("test_seer", lambda seat: Seer())
register_player(
    "test_cpp", lambda seat: pyspiel.make_uniform_random_bot(seat.player, seat.seed % 2**31)
)


def test_only_players_whose_name_says_so_are_told_the_truth():
    seat = Seat(pyspiel.load_game("kuhn_poker"), 0)
    with pytest.raises(ValueError, match=r"trusted\(test_seer\)"):
        make_player("test_seer", seat)
    assert make_player("trusted(test_first)", seat).sees_everything
    assert players.sees_everything("trusted(test_first)")
    # A bot in C++ takes nothing but a true state.
    results = play_match(Match("kuhn_poker", ("trusted(test_cpp)", "test_first"), games=2))
    assert [row["reason"] for row in results.rows] == [None, None]
    failed = play_match(Match("kuhn_poker", ("test_cpp", "test_first"), games=2))
    assert [row["termination"] for row in failed.rows] == [records.BY_ERROR] * 2


def test_a_table_of_several_players_marks_who_sees_the_truth():
    match = Match("kuhn_poker", ("random", "cheating(depth=1)", "test_first"), games=2)
    rows = run_match.rating_rows(play_match(match))
    assert sorted(row["player"] for row in rows) == ["cheating(depth=1)*", "random", "test_first"]


def test_reports_are_kept_if_asked(tmp_path):
    path = tmp_path / "games.jsonl"
    match = Match("kuhn_poker", ("search(nodes=30)", "random"), games=2, reports=True)
    play_match(match, output=str(path))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(len(row["reports"]) == row["plies"] for row in rows)
    assert rows[0]["reports"][0]["nodes"] > 0


def test_seconds_of_the_match_come_before_the_clock():
    seat = Seat(pyspiel.load_game("kuhn_poker"), 0, seconds=0.01)
    player = make_player("search", seat)
    state = seat.game.new_initial_state()
    for action in (0, 1):
        state.apply_action(action)
    player.step(veil(state, 0, ClockReading(600.0)))
    assert player.bot.search_player.budget.seconds == 0.01
    player = make_player("search", Seat(seat.game, 0))
    player.step(veil(state, 0, ClockReading(0.3)))
    assert player.bot.search_player.budget == Clock(0.3, 0.0)
    assert 0.0 < player.bot.search_player.remaining < 0.3


def test_a_search_whose_belief_is_full_plays_on():
    game = "python_kriegspiel(board=minimal4x3,horizon=8)"
    match = Match(game, ("search(nodes=20,limit=30)", "random"), games=2, seed=3)
    rows = play_match(match).rows
    assert not any("belief_limit" in (row["reason"] or "") for row in rows)


def _exact_value(first, second):
    """The first policy's mean payoff over both seats, by OpenSpiel."""
    game = pyspiel.load_game("kuhn_poker")
    policies = [policy_to_openspiel(policy, game) for policy in (first, second)]
    state = game.new_initial_state()
    as_first = expected_game_score.policy_value(state, policies)[0]
    as_second = expected_game_score.policy_value(state, policies[::-1])[1]
    return 0.5 * (as_first + as_second)


def test_mean_reward_of_a_long_match_is_the_exact_value():
    match = Match("kuhn_poker", ("random", "cfr(200)"), games=1000, seed=5)
    summary = play_match(match).summary(0, 1)
    uniform, solved = (blueprint_of("kuhn_poker()", kind) for kind in ("uniform", "cfr:200"))
    exact = _exact_value(uniform, solved)
    error = (summary["reward_high"] - summary["reward_low"]) / 2 / 1.96
    assert abs(summary["reward"] - exact) < 3 * error
    assert summary["games"] == 1000
    assert summary["forfeits"] == 0


def test_two_equal_players_draw_every_pair_exactly():
    for game in ("leduc_poker", "python_dark_chess(board=microchess)"):
        match = Match(game, ("random", "random"), games=20, seed=1)
        summary = play_match(match).summary(0, 1)
        assert summary["score"] == 0.5
        assert summary["pairs"] == [0, 0, 10, 0, 0]
        assert summary["reward"] == 0.0


def test_games_do_not_depend_on_the_executor():
    match = Match("leduc_poker", ("random", "search(nodes=30)"), games=4)
    in_process = play_match(match)
    processes = play_match(match, executor="processes:2")

    def moves(results):
        return {row["number"]: row["moves"] for row in results.rows}

    assert moves(in_process) == moves(processes)
    assert in_process.failed == processes.failed == []


def test_a_report_counts_the_games_of_a_file_and_plays_none(tmp_path, capsys):
    path = tmp_path / "kuhn.jsonl"
    arguments = ["--game=kuhn_poker", "--player=random", "--player=cfr(10)", f"--output={path}"]
    run_match.main([*arguments, "--games=4", "--json"])
    (played,) = json.loads(capsys.readouterr().out)
    run_match.main([*arguments, "--games=8", "--report", "--json"])
    (reported,) = json.loads(capsys.readouterr().out)
    assert reported == played
    assert reported["games"] == 4


def test_a_sequential_test_ends_a_match_early():
    match = Match("kuhn_poker", ("cfr(100)", "test_first"), games=2000, seed=2)
    sprt = ratings.Sprt(0.0, 100.0)
    results = play_match(match, sprt=sprt)
    row = sprt_row(results, sprt)
    assert row["accepted"] in (0.0, 100.0)
    assert len(results.rows) < 2000
    assert row["pairs"] <= len(results.rows) / 2


def test_a_killed_match_goes_on_and_loses_only_games_in_flight(tmp_path):
    path = tmp_path / "games.jsonl"
    command = [
        sys.executable,
        "-m",
        "klss_spiel.run.match",
        "--game=leduc_poker",
        "--player=random",
        "--player=greedy",
        "--games=400",
        f"--output={path}",
        "--json",
    ]
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not path.exists() or path.stat().st_size < 5000):
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
    assert 0 < len(before) < 400
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    (summary,) = json.loads(done.stdout)
    assert summary["games"] == 400
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["key"] for row in rows[: len(before)]] == [row["key"] for row in before]
    assert len({row["key"] for row in rows}) == 400
    expected = {"game", "players", "games", "wins", "draws", "losses", "score", "elo", "elo_low"}
    assert expected | {"elo_high", "los", "pairs", "seconds"} <= set(summary)


def test_a_player_that_fails_loses_its_games_and_the_match_goes_on():
    match = Match("kuhn_poker", ("test_cheat", "test_first"), games=6)
    results = play_match(match)
    summary = results.summary(0, 1)
    assert (summary["games"], summary["losses"], summary["forfeits"]) == (6, 6, 6)
    assert summary["elo"] is None
    assert summary["elo_low"] is None


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"players": ("random",)}, "at least 2 players"),
        ({"players": ("random", "nobody")}, "expected a player among"),
        ({"games": 3}, "even number"),
        ({"control": "x"}, "clock"),
        ({"seed": -1}, "seed from 0"),
        ({"seconds": 0.0}, "more than 0 seconds"),
        ({"game": "dark_chess"}, "information state"),
        ({"game": "kuhn"}, "unknown game"),
    ],
)
def test_bad_matches_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Match(**{"game": "kuhn_poker", "players": ("random", "random"), **arguments})


def test_wrong_arguments_of_a_player_are_refused_by_name():
    seat = Seat(pyspiel.load_game("kuhn_poker"), 0)
    with pytest.raises(ValueError, match="cannot make player random"):
        make_player("random(3)", seat)
    with pytest.raises(ValueError, match="cfr:100"):
        make_player("policy(nothing)", seat)


def test_jobs_swap_seats_and_share_seeds():
    jobs = jobs_of(Match("kuhn_poker", ("random", "cfr(10)", "test_first"), games=2))
    assert len(jobs) == 6
    assert len({job.key for job in jobs}) == 6
    first, second = (job.columns for job in jobs if job.columns["pairing"] == "0-1")
    assert (first["player_0"], first["player_1"]) == (second["player_1"], second["player_0"])


def test_matches_say_how_far_they_are(monkeypatch):
    shown = []

    class Recorder:
        def __init__(self, what, total):
            shown.append((what, total))

        def update(self, done):
            shown.append(done)

    monkeypatch.setattr(jobs, "Progress", Recorder)
    match = Match("kuhn_poker", ("random", "test_first"), games=2)
    run_match.run(run_match.Config(match))
    assert shown == [("games", 2), 1, 2]
    play_match(match)  # a library is silent unless it is asked
    assert len(shown) == 3
