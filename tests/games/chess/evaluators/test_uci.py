"""Programs of ordinary chess as evaluators and engines; the program is a small fake."""

import shlex
import sys
import time

import chess
import numpy as np
import pytest

from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.evaluators import make_evaluator
from klss_spiel.games.chess import boards
from klss_spiel.games.chess.evaluators.uci import (
    SECONDS_TO_THINK,
    UciProgram,
    decided_in_fog,
    scores_in_fog,
    utility_of_score,
)
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import with_counts
from klss_spiel.matches.match import Match, play_match
from klss_spiel.matches.world_engines import make_engine
from klss_spiel.openspiel import load_game
from klss_spiel.search_game import EvaluatorError
from klss_spiel.specification import parse
from tests.helpers.paths import ROOT

FAKE = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests/helpers/fake_uci.py'))}"

HANGING = "4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1"  # Nxd5
EN_PRISE = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"  # Rxe8
ONLY_MOVE = "k7/8/8/8/8/8/1r6/K7 w - - 0 1"  # all but Kxb2 leave the king
STALEMATE = "k7/8/8/8/8/1q6/8/K7 w - - 0 1"  # in the fog every move loses the king


@pytest.fixture(scope="module")
def program():
    with_all = UciProgram(FAKE, depth=1, all_moves=True)
    yield with_all
    with_all.close()


def test_scores_are_utilities_in_the_right_order():
    scores = [("mate", -1), ("cp", -30_000), ("cp", 0), ("cp", 30_000), ("mate", 9), ("mate", 1)]
    values = [utility_of_score(*score) for score in scores]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    assert max(map(abs, values)) <= 1.0
    assert utility_of_score("mate", 0) == -1.0


def test_all_legal_moves_get_the_scores_of_the_program(program):
    scores, value = program.scores(boards.position_from_fen(HANGING))
    assert set(scores) == {move.uci() for move in chess.Board(HANGING).legal_moves}
    assert max(scores, key=scores.get) == "c3d5"
    assert scores["c3d5"] == value == utility_of_score("cp", 300)
    assert scores["e1f2"] == utility_of_score("cp", -600)


def test_what_ordinary_chess_does_not_know_is_decided_before(program):
    # The fake ends at such positions, so that asking it would fail.
    en_prise = boards.position_from_fen(EN_PRISE)
    scores = scores_in_fog(program, en_prise)
    assert [move for move, value in scores.items() if value == 1.0] == ["e1e8"]
    assert set(scores.values()) == {1.0, -1.0}
    lost = scores_in_fog(program, boards.position_from_fen(STALEMATE))
    assert set(lost.values()) == {-1.0}
    assert len(lost) == 3
    saved = scores_in_fog(program, boards.position_from_fen(ONLY_MOVE))
    assert [move for move, value in saved.items() if value > -1.0] == ["a1b2"]
    gone = boards.position_from_fen("8/8/8/8/8/8/8/K7 b - - 0 1", need_kings=False)
    assert decided_in_fog(gone) == -1.0
    assert decided_in_fog(gone._replace(side=0)) == 1.0


def test_the_evaluator_speaks_for_white():
    game = load_game("python_dark_chess")
    evaluator = make_evaluator(game, f'uci("{FAKE}",depth=1)')
    fens = [HANGING, EN_PRISE, STALEMATE]
    words = packed.pack([boards.position_from_fen(fen) for fen in fens])
    white = [utility_of_score("cp", 300), 1.0, -1.0]
    assert np.allclose(evaluator(with_counts(words, 0)), white)
    black = packed.pack([boards.position_from_fen("4k3/8/2n5/8/3Q4/8/8/4K3 b - - 0 1")])
    assert np.allclose(evaluator(with_counts(black, 1)), [-utility_of_score("cp", 300)])


def test_an_engine_of_worlds_has_a_score_for_every_legal_action():
    game = search_game(f"python_dark_chess(fen={HANGING})")
    engine = make_engine(parse(f'uci("{FAKE}")'), game, depth=1)
    state = load_game(f"python_dark_chess(fen={HANGING})").new_initial_state()
    legal = state.legal_actions()
    told = state.information_state_string(0)
    scores = engine(game.initial().position, 0, told, legal)
    assert scores.shape == (1, len(legal))
    assert state.action_to_string(0, legal[int(scores[0].argmax())]) == "c3d5"


@pytest.mark.parametrize("name", ["python_dark_chess", "python_kriegspiel"])
def test_a_player_asks_a_program_in_whole_games(name):
    player = f'pimc(worlds=2,depth=1,engine=uci("{FAKE}"),limit=200)'
    results = play_match(Match(f"{name}(horizon=8)", (player, "random"), games=2))
    assert results.failed == []
    assert [row["reason"] for row in results.rows] == [None, None]
    assert [row["plies"] >= 8 for row in results.rows] == [True, True]


def test_programs_that_fail_are_named_errors():
    position = boards.position_from_fen(HANGING)
    with pytest.raises(EvaluatorError, match=r"within 0\.2 s"):
        # One that neither answers nor stops.
        _impatient(f"{FAKE} --silent").scores(position)
    with pytest.raises(EvaluatorError, match="ended"):
        UciProgram(f"{FAKE} --dies", depth=1).scores(position)
    with pytest.raises(EvaluatorError, match="cannot start"):
        UciProgram("no_such_program_anywhere", depth=1)
    with pytest.raises(ValueError, match="depth, nodes or seconds"):
        UciProgram(FAKE)
    with pytest.raises(ValueError, match="expected python_dark_chess for the evaluator uci"):
        make_evaluator(load_game("python_kriegspiel"), f'uci("{FAKE}",nodes=1)')
    with pytest.raises(ValueError, match="8x8"):
        make_evaluator("python_dark_chess(board=microchess)", f'uci("{FAKE}")')
    with pytest.raises(ValueError, match="dark chess or Kriegspiel"):
        make_engine(parse(f'uci("{FAKE}")'), search_game("kuhn_poker"), depth=1)


def test_a_program_has_the_time_that_the_specification_says():
    """One that thinks until it is stopped: what it says then counts, here and for engines."""
    game = load_game("python_dark_chess")
    words = with_counts(packed.pack([boards.position_from_fen(HANGING)]), 0)
    start = time.monotonic()
    evaluator = make_evaluator(game, f'uci("{FAKE} --ponders",deadline=0.3)')
    assert evaluator(words) == pytest.approx([utility_of_score("cp", 300)])
    searched = search_game(f"python_dark_chess(fen={HANGING})")
    engine = make_engine(parse(f'uci("{FAKE} --ponders",deadline=0.3)'), searched, depth=1)
    state = load_game(f"python_dark_chess(fen={HANGING})").new_initial_state()
    told, legal = state.information_state_string(0), state.legal_actions()
    scores = engine(searched.initial().position, 0, told, legal)
    assert scores.max() == pytest.approx(utility_of_score("cp", 300))
    assert 0.6 < time.monotonic() - start < SECONDS_TO_THINK


def test_a_silent_program_is_given_up_soon_after_its_deadline():
    game = load_game("python_dark_chess")
    words = with_counts(packed.pack([boards.position_from_fen(HANGING)]), 0)
    evaluator = make_evaluator(game, f'uci("{FAKE} --silent",deadline=0.1)')
    start = time.monotonic()
    with pytest.raises(EvaluatorError, match="expected bestmove within"):
        evaluator(words)
    assert time.monotonic() - start < SECONDS_TO_THINK / 2
    with pytest.raises(ValueError, match="expected a deadline above 0 for uci, got 0"):
        make_evaluator(game, f'uci("{FAKE}",deadline=0)')


def _impatient(command):
    return UciProgram(command, depth=1, deadline=0.2, seconds_to_stop=0.2)
