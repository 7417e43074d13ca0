"""Dark chess: figures of the thesis, exact values, leaks, OpenSpiel's C++ game, real games."""

import json
import random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel import linear_program
from klss_spiel.games.chess import boards, observation, rules
from klss_spiel.openspiel import tree_from_game
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import TERMINAL, GameTree
from tests.helpers.chess_views import assert_same_knowledge_looks_the_same

_MINIMAL = "python_dark_chess(board=minimal4x3,horizon=6)"
# Pawns that pass each other by double steps. On seven ranks these are unseen themselves: who
# steps past a square does not know whether a pawn stands there that could capture.
_PAWNS = "3k3/p1p1p1p/7/7/7/1P1P1P1/3K3 w - - 0 1"
_WHITE, _BLACK = 0, 1


@pytest.fixture(scope="module")
def minimal() -> GameTree:
    return tree_from_game(_MINIMAL)


def _state(game: str, moves: str = "") -> pyspiel.State:
    state = pyspiel.load_game(game).new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    return state


def _after(fen: str, move: str) -> pyspiel.State:
    return _state(f"python_dark_chess(fen={fen})", move)


# Figures and exact values.


def test_minimal4x3_has_the_known_tree(minimal: GameTree) -> None:
    assert np.diff(minimal.level_start).tolist() == [1, 9, 27, 211, 1094, 8444, 37512]
    assert minimal.num_nodes == 47298
    assert [len(infosets.decisions) for infosets in minimal.infosets] == [830, 3573]
    utility = minimal.utility[minimal.terminals]
    assert [np.sum(utility == u) for u in (1, 0, -1)] == [803, 34174, 3422]


@pytest.mark.parametrize(("depth", "white", "black"), [(2, 25, 18), (4, 804, 679)])
def test_minimal4x3_has_the_known_augmented_infosets(
    minimal: GameTree, depth: int, white: int, black: int
) -> None:
    level = slice(minimal.level_start[depth], minimal.level_start[depth + 1])
    playing = minimal.player[level] != TERMINAL
    counts = [len(np.unique(minimal.infoset[p, level][playing])) for p in (_WHITE, _BLACK)]
    assert counts == [white, black]


@pytest.mark.parametrize(
    ("board", "depth", "count"), [("minimal4x3", 2, 13), ("minimal4x3", 4, 407), ("mate2", 2, 77)]
)
def test_public_states_are_as_many_as_in_the_thesis(board: str, depth: int, count: int) -> None:
    # Thesis, tables 5.2 and 5.3: sequences of public observations, games not over.
    game = pyspiel.load_game(f"python_dark_chess(board={board},horizon=6,rules=thesis)")
    public = game.make_py_observer(
        pyspiel.IIGObservationType(
            perfect_recall=True, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
        )
    )
    level = [game.new_initial_state()]
    for _ in range(depth):
        level = [state.child(a) for state in level for a in state.legal_actions()]
    states = {public.string_from(state, _WHITE) for state in level if not state.is_terminal()}
    assert len(states) == count


@pytest.mark.parametrize(
    ("fen", "value"),
    [
        (boards.BOARDS["minimal4x3"], 1),
        ("3k/R3/K3 w - -", 3 / 4),
        ("1k2/3R/K3 w - -", 4 / 7),
        ("K3/2k1/R3 w - -", 1 / 3),
    ],
)
def test_exact_values_of_small_boards(fen: str, value: float) -> None:
    form = sequence_form_from_tree(tree_from_game(f"python_dark_chess(fen={fen},horizon=6)"))
    assert linear_program.equilibrium(form).value == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(
    ("move", "value"),
    [
        ("c1b1", 1),
        ("d2b2", 1),  # the thesis' line 1. Rb2
        ("c1d1", 1 / 2),
        ("c1c2", 1 / 2),
        ("d2d1", 1 / 3),
        ("d2d3", 0),
        ("d2c2", 0),
        ("d2a2", 0),
        ("c1b2", -1),
    ],
)
def test_values_of_first_moves(minimal: GameTree, move: str, value: float) -> None:
    action = _state(_MINIMAL).string_to_action(move)
    forced = linear_program.action_bounds(minimal, _WHITE, action, 1.0, opening=True)
    solution = linear_program.solve(sequence_form_from_tree(minimal), _WHITE, lower_bounds=forced)
    assert solution.value == pytest.approx(value, abs=1e-7)


def test_the_thesis_line_ends_at_once() -> None:
    # 1. Rb2 leaves Black only Ka2 (into attack), Kxb2 or Kb3: after Ka2 the king is taken.
    state = _state(_MINIMAL, "d2b2 a3a2 b2a2")
    assert state.is_terminal()
    assert state.returns() == [1.0, -1.0]


@pytest.mark.slow
def test_mate2_tree_is_as_large_as_in_the_thesis_and_solved() -> None:
    tree = tree_from_game("python_dark_chess(board=mate2,horizon=6,rules=thesis)")
    assert tree.num_nodes == 3728672
    value = linear_program.equilibrium(sequence_form_from_tree(tree)).value
    assert value == pytest.approx(1.0, abs=1e-6)


# Rules.


def test_a_side_that_cannot_move_loses_unless_the_rules_say_draw() -> None:
    # White is to be stalemated: only the black king moves, then White has nothing.
    fen = "7k/8/8/8/1p6/pPp5/PRP5/KB6 b - - 0 1"
    assert _after(fen, "h8h7").returns() == [-1.0, 1.0]
    assert _state(f"python_dark_chess(fen={fen},rules=no_move_draws)", "h8h7").returns() == [0, 0]


def test_pawns_become_only_queens_in_the_thesis() -> None:
    fen = "k3/2P1/4/3K w - - 0 1"
    for variant, pieces in (("paper", "bnqr"), ("thesis", "q")):
        state = _state(f"python_dark_chess(fen={fen},rules={variant})")
        names = [state.action_to_string(a) for a in state.legal_actions()]
        assert sorted(name[4] for name in names if name.startswith("c3c4")) == list(pieces)


def test_bare_kings_play_on_and_may_capture_each_other() -> None:
    state = _state("python_dark_chess(fen=k3/4/4/3K w - -)", "d1d2 a4b3 d2c3 b3c3")
    assert state.returns() == [-1.0, 1.0]


def test_castling_into_and_through_attack_is_allowed() -> None:
    state = _after("k4rr1/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1")
    assert str(state).startswith("k4rr1/8/8/8/8/8/8/5RK1 b")
    state.apply_action(state.string_to_action("g8g1"))
    assert state.returns() == [-1.0, 1.0]


def test_the_third_repetition_ends_the_game_unannounced() -> None:
    state = _state("python_dark_chess", "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1")
    told = state.information_state_string(_WHITE)
    state.apply_action(state.string_to_action("f6g8"))
    assert state.is_terminal()
    assert state.returns() == [0.0, 0.0]
    # Only the end itself is told: until then a first visit looks like a second.
    assert state.information_state_string(_WHITE).startswith(told)
    assert state.information_state_string(_WHITE).endswith(" 1/2")


def test_the_fiftieth_move_ends_the_game() -> None:
    state = _state("python_dark_chess(fen=k7/8/8/8/8/8/8/7K w - - 98 80)", "h1h2")
    assert not state.is_terminal()
    state.apply_action(state.string_to_action("a8a7"))
    assert state.returns() == [0.0, 0.0]
    assert state.is_terminal()


def test_the_horizon_ends_the_game_in_a_draw() -> None:
    state = _state("python_dark_chess(horizon=2)", "e2e4 e7e5")
    assert state.is_terminal()
    assert state.returns() == [0.0, 0.0]


def test_a_blocked_pawn_is_known_to_be_blocked_but_not_by_what() -> None:
    position = boards.position_from_fen("k7/8/8/8/8/4n3/4P3/K7 w - - 0 1")
    seen = rules.squares_in(rules.visible_squares(position, rules.WHITE))
    names = {boards.square_name(s, 8) for s in seen}
    assert "e2" in names
    assert not names & {"e3", "e4", "d3", "f3"}


def test_a_pawn_capturable_en_passant_is_seen_by_the_capturer_only() -> None:
    state = _after("4k3/6pp/8/6P1/8/8/8/4K3 b - - 0 1", "h7h5")
    white = observation.fog_text(state.moment.position, rules.WHITE).split("/")
    assert white[3][7] == "p"  # h5
    assert white[2][7] == "."  # h6, where the capture lands
    assert "h6" in state.observation_string(_WHITE)
    assert "h6" not in state.observation_string(_BLACK)
    assert state.information_state_string(_WHITE).endswith(" ep:h6")
    assert "ep:" not in state.information_state_string(_BLACK)
    capturer, other = (json.loads(state.observation_json(p)) for p in (_WHITE, _BLACK))
    assert capturer["view"].endswith(" h6")
    assert "g5h6" in capturer["legal_moves"]
    assert other["view"].endswith(" -")
    assert "h6" not in str(other)
    assert "g5h6" in [state.action_to_string(a) for a in state.legal_actions()]


def test_players_who_look_only_on_their_turn_know_less() -> None:
    often = tree_from_game("python_dark_chess(board=minimal4x3,horizon=4)")
    seldom = tree_from_game("python_dark_chess(board=minimal4x3,horizon=4,rules=observe_on_turn)")
    assert seldom.num_nodes == often.num_nodes
    assert seldom.num_decision_infosets < often.num_decision_infosets


# What the players are told.


def test_information_state_holds_own_moves_and_views_in_order() -> None:
    state = _state(_MINIMAL, "d2b2 a3a2")
    # White sees the lines of the rook and the squares around the king, after each ply.
    assert state.information_state_string(_WHITE) == "White d2b2 ?.??/.R../?.K. ?.??/kR../?.K."
    assert state.information_state_string(_BLACK) == "Black k.??/.R??/???? a3a2 ..??/kR??/..??"


_DEEP_STARTS = (
    "minimal4x3",
    "mate2",
    "microchess",
    "silverman4x4",
    "demichess",
    "standard",
    _PAWNS,
)


@pytest.mark.parametrize("start", _DEEP_STARTS)
@given(
    st.sampled_from(["paper", "thesis", "observe_on_turn"]),
    st.sampled_from([_WHITE, _BLACK]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=5)
def test_nothing_leaks_in_deep_games(
    start: str, variant: str, player: int, rng: random.Random
) -> None:
    kind = "fen" if "/" in start else "board"
    game = pyspiel.load_game(f"python_dark_chess({kind}={start},rules={variant},horizon=60)")
    assert_same_knowledge_looks_the_same(game, player, rng, plies=30)


def test_the_search_for_leaks_meets_en_passant() -> None:
    game, rng, rights = pyspiel.load_game(f"python_dark_chess(fen={_PAWNS})"), random.Random(1), 0
    for _ in range(10):
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < 30:
            state.apply_action(rng.choice(state.legal_actions()))
            rights += state.moment.position.en_passant is not None
    assert rights >= 5


def test_the_search_for_leaks_finds_other_positions() -> None:
    game = pyspiel.load_game("python_dark_chess")
    assert assert_same_knowledge_looks_the_same(game, _WHITE, random.Random(1), plies=20) > 20


def test_clocks_do_not_leak() -> None:
    # OpenSpiel's C++ game shows White the half-move clock, which tells a6 from Kd7.
    fen = "4k3/p7/8/8/8/8/P7/4K3 b - - 7 20"
    looks = {_after(fen, move).information_state_string(_WHITE) for move in ("a7a6", "e8d7")}
    assert len(looks) == 1
    cpp = pyspiel.load_game(f"dark_chess(fen={fen})").new_initial_state()
    shown = {cpp.child(cpp.string_to_action(m)).observation_string(1) for m in ("a6", "Kd7")}
    assert len(shown) == 2


def test_observation_json_is_what_the_player_sees() -> None:
    state = _state(_MINIMAL, "d2b2")
    black = json.loads(state.observation_json(_BLACK))
    assert black["colour"] == "Black"
    assert black["to_move"]
    assert sorted(black["legal_moves"]) == ["a3a2", "a3b2", "a3b3"]
    assert json.loads(state.observation_json(_WHITE))["legal_moves"] == []
    with pytest.raises(ValueError, match="player 0"):
        state.observation_json(2)


def test_observation_planes_show_each_square_once() -> None:
    game = pyspiel.load_game("python_dark_chess(board=microchess)")
    observer = game.make_py_observer()
    rng = random.Random(3)
    state = game.new_initial_state()
    while not state.is_terminal() and len(state.history()) < 30:
        for player in (_WHITE, _BLACK):
            observer.set_from(state, player)
            planes = observer.dict["board"]
            assert planes.shape == (14, 5, 4)
            assert np.all(planes.sum(axis=0) == 1)
            text = observation.fog_text(state.moment.position, player)
            assert planes[observation.UNSEEN_PLANE].sum() == text.count("?")
            assert planes[observation.VACANT_PLANE].sum() == text.count(".")
        state.apply_action(rng.choice(state.legal_actions()))


def test_observer_of_all_players_shows_both_views() -> None:
    game = pyspiel.load_game(_MINIMAL)
    both = game.make_py_observer(
        pyspiel.IIGObservationType(
            perfect_recall=False,
            public_info=True,
            private_info=pyspiel.PrivateInfoType.ALL_PLAYERS,
        )
    )
    state = game.new_initial_state()
    both.set_from(state, _WHITE)
    assert both.dict["white_board"].shape == both.dict["black_board"].shape == (14, 3, 4)
    assert not np.array_equal(both.dict["white_board"], both.dict["black_board"])
    assert both.string_from(state, _WHITE).startswith("White ")
    assert "; Black " in both.string_from(state, _WHITE)
