"""The Obscuro paper's experiments in tiny configurations, against hand reasoning."""

import dataclasses
import json

import pytest

from klss_spiel.evaluators import EVALUATORS
from klss_spiel.matches import ratings
from klss_spiel.matches.match import play_match
from klss_spiel.openspiel import load_game, tree_from_game
from klss_spiel.run import obscuro_tables
from klss_spiel.run.obscuro import (
    first_moves,
    king_endings,
    knowledge_distance,
    match_tables,
    positions,
)
from klss_spiel.run.obscuro.budgets import MoveBudget
from klss_spiel.run.obscuro.shares import share_interval
from klss_spiel.run.obscuro_tables import Config

_SMALL = "python_dark_chess(board=minimal4x3,horizon=6)"
_FEW = MoveBudget(nodes=15)


@pytest.fixture
def small_board(monkeypatch):
    """Matches and openings on a board on which a game takes a moment."""
    monkeypatch.setattr(match_tables, "GAME", _SMALL)
    monkeypatch.setattr(first_moves, "GAME", _SMALL)


def _interval(low, estimate, high):
    return ratings.Interval(estimate, low, high)


def test_signs_agree_differ_or_are_undecided():
    assert match_tables.sign_verdict(_interval(0.51, 0.6, 0.7), 0.702) == "agrees"
    assert match_tables.sign_verdict(_interval(0.3, 0.4, 0.49), 0.702) == "differs"
    assert match_tables.sign_verdict(_interval(0.3, 0.4, 0.49), 0.45) == "agrees"
    assert match_tables.sign_verdict(_interval(0.5, 0.6, 0.7), 0.702) == "undecided"
    assert match_tables.sign_verdict(_interval(0.4, 0.6, 0.8), 0.702) == "undecided"


def test_equal_results_do_not_make_an_interval_of_no_width():
    alike = ratings.Tally(100, 0, 0, (1.0,) * 50, (), (1.0,) * 50)
    interval = match_tables.score_interval(alike)
    # The rule of three: 3 / 50, half of it on each side.
    assert (interval.low, interval.estimate, interval.high) == pytest.approx((0.97, 1.0, 1.0))


def test_shares_that_are_all_alike_are_not_taken_for_certain():
    zero, half = share_interval([0.0] * 50), share_interval([0.0, 1.0] * 25)
    assert (zero.low, zero.estimate, zero.high) == pytest.approx((0.0, 0.0, 0.06))
    assert half.estimate == 0.5 and 0.3 < half.low < 0.4 < 0.6 < half.high < 0.7
    assert share_interval([1.0]).low == 0.0


def _games(row, returns):
    """Rows of games with these payoffs of the first player, pair by pair."""
    for number, payoff in enumerate(returns):
        leg = number % 2
        yield {
            "first": row.first,
            "second": row.second,
            "pairing": "0-1",
            "number": number,
            f"return_{leg}": payoff,
            f"return_{1 - leg}": -payoff,
            "plies": 10,
            "loser": None,
        }


def test_games_are_counted_for_the_match_they_belong_to():
    first, second = match_tables.ablation_rows(_FEW)[:2]
    played = [*_games(first, [1, 1, 0, 1] * 10), *_games(second, [-1, -1] * 10)]
    lines = match_tables.summarise([first, second], played, 40, 0)
    assert [line["games"] for line in lines] == [40, 20]
    assert (lines[0]["+"], lines[0]["="], lines[0]["-"]) == (30, 10, 0)
    assert lines[0]["score"] == 0.875 and lines[0]["low"] < 0.875 < lines[0]["high"]
    assert [line["sign"] for line in lines] == ["agrees", "differs"]
    assert (lines[0]["paper"], lines[0]["paper_games"]) == (0.7015, 1000)


def test_printed_scores_are_those_of_the_text():
    # Obscuro, 4.1: 70.2, 58.0, 53.3, 53.3, 72.6, 81.9 and 55.0%.
    found = [100 * row.printed.score for row in match_tables.ablation_rows(_FEW)]
    assert found == pytest.approx([70.2, 58.0, 53.3, 53.3, 72.6, 81.9, 55.0], abs=0.06)
    # 4.2: 56.4, 56.5, 56.7, 54.0, 53.7, 52.3, 52.4 and 52.3%.
    rows = match_tables.doubling_rows(MoveBudget(seconds=1 / 16), 8)
    assert [100 * row.printed.score for row in rows] == pytest.approx(
        [56.4, 56.5, 56.7, 54.0, 53.7, 52.3, 52.4, 52.3], abs=0.07
    )  # the first one's games make 56.3
    assert rows[0].first == "search(seconds=0.125)" and rows[0].second == "search(seconds=0.0625)"


def test_the_paper_stands_beside_doublings_of_the_same_seconds_only():
    (row,) = match_tables.doubling_rows(MoveBudget(seconds=0.5), 1)
    assert 100 * row.printed.score == pytest.approx(54.0, abs=0.06)
    assert match_tables.doubling_rows(MoveBudget(seconds=0.3), 1)[0].printed is None
    assert match_tables.doubling_rows(MoveBudget(nodes=100), 1)[0].printed is None
    with pytest.raises(ValueError, match="doublings"):
        match_tables.doubling_rows(_FEW, 9)


def test_every_match_preset_plays(small_board):
    for preset in obscuro_tables.MATCHES:
        config = Config(preset, budget=_FEW, games=2, doublings=1)
        for line in obscuro_tables.run(config, progress=None):
            if "simple" in line["match"] and "simple" not in EVALUATORS.names:
                assert (line["games"], line["sign"]) == (0, "no evaluator simple")
            else:
                assert (line["games"], line["forfeits"]) == (2, 0)
                assert line["sign"] == "undecided"


def test_matches_are_resumed_and_extended(small_board, tmp_path):
    path = tmp_path / "games.jsonl"
    config = Config("ablations", budget=_FEW, games=2, rows=("uniform resolve",))
    first = obscuro_tables.run(config, output=path, progress=None)
    before = path.read_bytes()
    assert obscuro_tables.run(config, output=path, progress=None) == first
    assert path.read_bytes() == before
    more = dataclasses.replace(config, games=4)
    (line,) = obscuro_tables.run(more, output=path, progress=None)
    assert line["games"] == 4
    assert path.read_bytes().startswith(before) and len(path.read_text().splitlines()) == 4


def test_beliefs_of_players_are_limited_where_it_is_asked_for(small_board):
    budget = MoveBudget(nodes=15, belief_limit=2)
    (row,) = match_tables.random_rows(budget)
    assert row.first == "search(nodes=15,limit=2)"
    match = dataclasses.replace(row.match(2, 0), reports=True)
    reports = [r for game in play_match(match).rows for r in game["reports"] if r is not None]
    assert any(not report["belief_complete"] for report in reports)


def test_an_evaluator_is_named_once():
    budget = MoveBudget(nodes=9, evaluator="resolver(handmade)")
    rows = {row.name: row for row in match_tables.ablation_rows(budget)}
    simple = rows["full v simple evaluation"]
    assert simple.first == "search(nodes=9,evaluator=resolver(handmade))"
    assert simple.second == "search(nodes=9,evaluator=simple)"
    named, plain = (
        obscuro_tables.make_jobs(Config("positions", budget=b, seeds=1))[0]
        for b in (budget, MoveBudget(nodes=9))
    )
    assert named.columns["evaluator"] == "resolver(handmade)" and named.key != plain.key
    assert "evaluator" not in obscuro_tables.make_jobs(Config("king_v_king", budget=budget))[0].key


def test_an_unknown_evaluator_is_said_and_not_played():
    row = match_tables.MatchRow("none", "search(nodes=1,evaluator=nobody)", "random", "1 node")
    assert match_tables.make_jobs([row], 2, 0) == []
    (line,) = match_tables.summarise([row], [], 2, 0)
    assert (line["games"], line["sign"]) == (0, "no evaluator nobody")


def test_first_moves_are_shares_and_games_of_self_play_are_not_repeated(small_board):
    config = Config("first_moves", budget=_FEW, seeds=3, games=2)
    jobs = obscuro_tables.make_jobs(config)
    assert [job.columns.get("number") for job in jobs] == [None] * 3 + [0, 2]
    lines = obscuro_tables.run(config, progress=None)
    assert lines[-1]["what"] == "White's score" and lines[-1]["games"] == 2
    for colour in ("White", "Black"):
        shares = [line["share"] for line in lines if line["what"].startswith(f"{colour} ")]
        assert sum(shares) == pytest.approx(1.0, abs=0.01)
    printed = {line["what"]: line["paper"] for line in lines}
    assert (printed["White d2d4"], printed["Black b8c6"]) == (0.664, 0.325)


def test_printed_lines_are_legal_and_the_named_blunders_lose_the_king():
    losing = 0
    for decision in positions.DECISIONS.values():
        state = load_game("python_dark_chess").new_initial_state()
        for move in decision.line.split():
            state.apply_action(state.string_to_action(move))
        legal = {state.action_to_string(a) for a in state.legal_actions()}
        assert set(decision.named) <= legal
        for move, words in decision.named.items():
            if "loses the king" not in words:
                continue
            after, loser = state.clone(), state.current_player()
            after.apply_action(after.string_to_action(move))
            captures = [after.child(a) for a in after.legal_actions()]
            assert any(s.is_terminal() and s.returns()[loser] == -1 for s in captures)
            losing += 1
    assert losing == 8


def test_a_position_is_searched_along_its_line():
    (name, *_) = positions.DECISIONS
    columns = {"position": name, "nodes": 60, "seconds_per_move": None, "seed": 0}
    row = {**columns, **positions.position_row(columns)}
    assert sum(share for _, share in row["probabilities"]) == pytest.approx(1.0, abs=1e-5)
    assert row["belief"] == 1  # after 1.c4 d5 White knows everything
    moves = [line["move"] for line in positions.summarise([row])]
    assert moves[:2] == ["b1c3", "d1a4"]
    jobs = obscuro_tables.make_jobs(Config("positions", budget=_FEW, seeds=2))
    assert len(jobs) == 2 * len(positions.DECISIONS) == len({job.key for job in jobs})
    (job,) = obscuro_tables.make_jobs(Config("positions", budget=_FEW, seeds=1, rows=(name,)))
    assert job.columns["position"] == name


def test_the_positions_of_figure_1_are_nine_apart():
    job = knowledge_distance.make_jobs()[0]
    row = {**job.columns, **knowledge_distance.distance_row(job.columns)}
    assert (row["distance"], row["nodes"], row["component"]) == (9, 197_742, 149_486)
    assert (row["path"][0], row["path"][-1]) == knowledge_distance.FIGURE_1
    game = load_game("python_dark_chess")
    states = []
    for line in row["path"]:
        states.append(game.new_initial_state())
        for move in line.split():
            states[-1].apply_action(states[-1].string_to_action(move))
    for who, before, after in zip(row["same_for"], states, states[1:], strict=False):
        player = ("White", "Black").index(who)
        assert before.information_state_string(player) == after.information_state_string(player)
    picture = knowledge_distance.path_picture(row)
    assert picture.count("White sees") == picture.count("Black sees") == 10
    assert picture.count("cannot tell this from the next") == 9


@pytest.mark.slow
def test_no_positions_after_two_moves_each_are_more_than_ten_apart():
    lines = obscuro_tables.run(Config("knowledge_distance"), progress=None)
    assert [(line["distance"], line["agrees"]) for line in lines] == [(9, True), (10, True)]


@pytest.mark.parametrize(
    ("fen", "expected"),
    [
        # Black's only move that is not next to a1 is b3, after which White has one square
        # that is not next to b3, b1: no pair, so nothing is sure.
        ("k2/3/K2 b - - 0 1", -1.0),
        # Wherever Black goes, a2 and b2 are safe and next to each other.
        ("k2/3/3/3/K2 b - - 0 1", 0.0),
        # Black's one safe move is a2; c1 and c3 are safe then, but not next to each other.
        ("k2/2K/3 b - - 0 1", -1.0),
    ],
)
def test_bounds_by_hand_after_one_move(fen, expected):
    tree = tree_from_game(f"python_dark_chess(fen={fen},horizon=1)")
    assert king_endings.horizonless_bound(tree, fen, 0) == pytest.approx(expected)


def _row(name, horizon, max_nodes=10**5):
    return king_endings.program_row({"ending": name, "horizon": horizon}, max_nodes)


def test_the_corner_is_worth_a_half_at_once():
    # White steps next to two of Black's three squares, by two ways that leave one
    # different square free: Black guesses right half the time, and White draws then.
    row = _row("8x8, Kb6 v Ka8, White", 4)
    assert (row["value"], row["lower"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert row["upper"] >= 0.5
    ending = king_endings.ENDINGS["8x8, Kb6 v Ka8, White"]
    assert king_endings.verdict(ending, row["lower"], row["upper"]) == "open"


def test_kings_apart_in_the_middle_draw_by_claim_1():
    row = _row("8x8, Kd3 v Kd6, Black", 4)
    assert [row[name] for name in ("value", "lower", "upper")] == pytest.approx([0.0] * 3)


def test_exchanging_the_colours_exchanges_the_bounds():
    white, black = "k3/4/K3/4 w - - 0 1", "4/k3/4/K3 b - - 0 1"
    bounds = []
    for fen, side in ((white, 0), (black, 1)):
        tree = tree_from_game(f"python_dark_chess(fen={fen},horizon=4)")
        bounds.append(king_endings.horizonless_bound(tree, fen, side))
    assert bounds[0] == pytest.approx(-bounds[1])
    assert bounds[0] == pytest.approx(0.0)


def test_what_bounds_say_about_claims():
    above, equal = king_endings.Ending("", "", above=0.0), king_endings.Ending("", "", equal=0.0)
    cases = [
        (above, 0.1, 0.5, "proved"),
        (above, 0.0, 0.5, "open"),
        (above, -0.5, -0.1, "contradicted"),
        (equal, 0.0, 0.0, "proved"),
        (equal, -1.0, 0.0, "open"),
        (equal, 0.1, 0.2, "contradicted"),
        (above, None, None, "open"),
    ]
    for ending, lower, upper, expected in cases:
        assert king_endings.verdict(ending, lower, upper) == expected


def test_kings_on_the_command_line(capsys, tmp_path):
    path = tmp_path / "kings.jsonl"
    flags = ["--preset=king_v_king", "--horizons=2,3", "--nodes=60", "--max_nodes=100"]
    obscuro_tables.main([*flags, "--json", f"--output={path}"])
    lines = json.loads(capsys.readouterr().out)
    assert len(lines) == 3 * len(king_endings.ENDINGS) == len(path.read_text().splitlines())
    by_method = {line["method"]: line for line in lines if line["ending"].startswith("8x8, Kb6")}
    assert by_method["LP, 2 plies"]["value"] is not None
    assert by_method["LP, 3 plies"]["tree"] == "more than 100 nodes"
    assert by_method["search, 60 nodes, 1 core"]["gap"] is not None


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="expected a preset among"):
        Config("table")
    with pytest.raises(ValueError, match="either nodes or seconds"):
        MoveBudget(10, 1.0)
    with pytest.raises(ValueError, match="expected a row among"):
        Config("random", rows=("purification",)).match_rows()
    with pytest.raises(ValueError, match="rows of matches"):
        Config("king_v_king", rows=("purification",))
    with pytest.raises(ValueError, match="expected a row among"):
        obscuro_tables.make_jobs(Config("positions", rows=("purification",)))
    with pytest.raises(ValueError, match="at least 2 plies"):
        obscuro_tables.make_jobs(Config("king_v_king", horizons=(1,)))
    for arguments, message in (
        (["--preset=positions", "--plot=x.svg"], "has no figure"),
        (["--preset=knowledge_distance", "--plot=x.pdf"], "expected an .svg file"),
        (["--preset=first_moves", "--output=x.csv"], "expected a .jsonl file"),
        (["--preset=king_v_king", "--horizons=two"], "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            obscuro_tables.main(arguments)


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    lines = [
        {"match": "a", "games": 9, "score": 0.6, "low": 0.5, "high": 0.7, "paper": 0.564},
        {"match": "b", "games": 9, "score": 1.0, "low": 0.8, "high": 1.0, "paper": None},
    ]
    match_tables.plot_doublings(lines, str(tmp_path / "elo.svg"))
    assert "doublings of the budget" in (tmp_path / "elo.svg").read_text()
    match_tables.plot_scores(lines, str(tmp_path / "scores.svg"))
    shares = [{"what": "White d2d4", "share": 0.5, "paper": 0.664}]
    first_moves.plot(shares, str(tmp_path / "first.svg"))
    assert (tmp_path / "scores.svg").stat().st_size > 1000 < (tmp_path / "first.svg").stat().st_size
