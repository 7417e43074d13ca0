"""Kriegspiel: figures of the thesis, exact values, the umpire, knowledge, leaks."""

import concurrent.futures
import functools
import math
import pickle
import random
import re

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel import linear_program, testing
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess import kriegspiel_umpire as umpire
from klss_spiel.openspiel import tree_from_game
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import GameTree
from tests.helpers.chess_views import assert_same_knowledge_looks_the_same
from tests.helpers.paths import PLAYTHROUGHS

_REDUCED = "python_kriegspiel(board=minimal4x3,horizon=6,tries=possible)"
_WHITE, _BLACK = 0, 1
_SILENT = umpire.AreThereAny.NONE


def _state(game: str, moves: str = "") -> pyspiel.State:
    state = pyspiel.load_game(game).new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    return state


def _names(state: pyspiel.State) -> list[str]:
    return [state.action_to_string(a) for a in state.legal_actions()]


def _heard(fen: str, move: str, any_rule: str = "none") -> list[str]:
    state = _state(f"python_kriegspiel(fen={fen},are_there_any={any_rule})", move)
    return [state.information_state_string(p).split()[-1] for p in (_WHITE, _BLACK)]


# Figures and exact values.


@pytest.fixture(scope="module")
def reduced() -> GameTree:
    return tree_from_game(_REDUCED)


def test_reduced_minimal4x3_has_the_known_tree(reduced: GameTree) -> None:
    assert reduced.num_nodes == 58231
    assert [len(infosets.decisions) for infosets in reduced.infosets] == [123, 2255]


def test_literal_minimal4x3_has_the_known_number_of_nodes() -> None:
    # With m illegal tries at a node, every ordered choice of some of them is a node, and
    # each of these has all the legal moves below it.
    @functools.cache
    def nodes(position: rules.Position, plies: int) -> int:
        steps = umpire.legal_steps(position, _SILENT)
        if plies == 0 or not steps or rules.is_dead(position):
            return 1
        illegal = len(set(umpire.all_tries(position)) - set(steps))
        choices = sum(math.perm(illegal, k) for k in range(illegal + 1))
        return choices * (1 + sum(nodes(s.after, plies - 1) for s in steps.values()))

    start = umpire.without_clocks(boards.position_of("minimal4x3"))
    assert nodes(start, 6) == 188571826
    # The game itself agrees where it can be built.
    tree = tree_from_game("python_kriegspiel(board=minimal4x3,horizon=2)")
    assert nodes(start, 2) == tree.num_nodes


def test_counted_tries_give_the_thesis_tree() -> None:
    tree = tree_from_game("python_kriegspiel(board=minimal4x3,horizon=6,count_tries=True)")
    assert tree.num_nodes == 19102


@pytest.mark.parametrize(("count_tries", "white"), [(True, 96), (False, 108)])
def test_the_trunk_of_the_thesis_has_its_figures(count_tries: bool, white: int) -> None:
    # Thesis, section 5.1: after one move of each side there are 96 information sets, 17
    # augmented ones of the other player, and 3 public states.
    game = pyspiel.load_game(
        f"python_kriegspiel(board=minimal4x3,horizon=6,count_tries={count_tries})"
    )
    decisions, augmented, public = set(), set(), set()
    waiting = [(game.setup.first_moment(), "")]
    while waiting:
        moment, heard = waiting.pop()
        if moment.outcome is not None or moment.course.plies > 2:
            continue
        if not moment.failed:
            heard = f"{heard} {moment.public_text()}"
        if moment.course.plies == 2:
            decisions.add(moment.told[_WHITE])
            augmented.add(moment.told[_BLACK])
            public.add(heard)
        waiting += [(moment.after(a), heard) for a in moment.legal_actions()]
    assert (len(decisions), len(augmented), len(public)) == (white, 17, 3)


@pytest.mark.parametrize(
    ("fen", "value"), [(boards.BOARDS["minimal4x3"], 1), ("2k1/R3/K3 w - -", 1 / 2)]
)
def test_exact_values_of_small_boards(fen: str, value: float) -> None:
    tree = tree_from_game(f"python_kriegspiel(fen={fen},horizon=6,tries=possible)")
    solution = linear_program.equilibrium(sequence_form_from_tree(tree))
    assert solution.value == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(
    ("fen", "value"), [(boards.BOARDS["minimal4x3"], 1), ("R2/K2/B2/1kN b - -", 1 / 2)]
)
def test_leaving_out_hopeless_tries_keeps_the_value(fen: str, value: float) -> None:
    nodes = []
    for tries in ("all", "possible"):
        tree = tree_from_game(f"python_kriegspiel(fen={fen},horizon=3,tries={tries})")
        solution = linear_program.equilibrium(sequence_form_from_tree(tree))
        assert solution.value == pytest.approx(value, abs=1e-7)
        nodes.append(tree.num_nodes)
    assert nodes[0] > 20 * nodes[1]


def test_the_thesis_line_is_mate_and_optimal(reduced: GameTree) -> None:
    state = _state(_REDUCED, "c1b1 a3b3 d2d3")
    assert state.returns() == [1.0, -1.0]
    action = _state(_REDUCED).string_to_action("c1b1")
    forced = linear_program.action_bounds(reduced, _WHITE, action, 1.0, opening=True)
    solution = linear_program.solve(sequence_form_from_tree(reduced), _WHITE, lower_bounds=forced)
    assert solution.value == pytest.approx(1.0, abs=1e-7)


# Rules and the umpire.


def test_an_illegal_try_is_told_to_the_player_alone() -> None:
    state = _state("python_kriegspiel", "e2e4 e7e5 d2d4 e5d4")
    before = [state.information_state_string(p) for p in (_WHITE, _BLACK)]
    state.apply_action(state.string_to_action("e4d5"))  # nothing stands on d5
    assert state.current_player() == _WHITE
    assert state.information_state_string(_WHITE) == before[_WHITE] + " e4d5?"
    assert state.information_state_string(_BLACK) == before[_BLACK]
    assert "e4d5" not in _names(state)
    assert "e4f5" in _names(state)


def test_tries_may_be_announced() -> None:
    state = _state("python_kriegspiel(announce_tries=True)", "e2e4 e7e5 e4d5")
    assert state.information_state_string(_BLACK).endswith(" e7e5 - tried")


def test_an_illegal_promotion_closes_all_its_pieces() -> None:
    state = _state("python_kriegspiel(fen=1n5k/P7/8/8/8/8/8/K7 w - - 0 1)")
    assert {"a7a8q", "a7a8n", "a7b8q", "a7b8r"} <= set(_names(state))
    blocked = _state("python_kriegspiel(fen=n6k/P7/8/8/8/8/8/K7 w - - 0 1)", "a7a8q")
    assert not [name for name in _names(blocked) if name.startswith("a7a8")]
    assert "a7b8q" in _names(blocked)


def test_counted_tries_end_the_game() -> None:
    state = _state("python_kriegspiel(horizon=3,count_tries=True)", "e2e4 e7e5 e4d5")
    assert state.is_terminal()
    assert state.returns() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("fen", "move", "heard"),
    [
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "e4d5", "pawn:d5"),
        ("4k3/8/8/3n4/4P3/8/8/4K3 w - - 0 1", "e4d5", "piece:d5"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", "pawn:d5"),
        # Thesis, figure 4.1: a queen is taken with a discovered check and a knight's.
        ("5k2/3q4/8/2N5/1B6/8/8/4K3 w - - 0 1", "c5d7", "piece:d7,check:long,check:knight"),
        ("4k3/8/8/8/8/8/8/4KR2 w - - 0 1", "f1f8", "check:horizontal"),
        ("4k3/4P3/8/8/8/8/5R2/4K3 w - - 0 1", "f2f8", "check:horizontal"),
        ("k7/8/1K6/8/8/8/8/7R w - - 0 1", "h1h8", "check:horizontal,mate"),
        ("k7/8/8/1K6/8/8/8/1R6 w - - 0 1", "b5a6", "stalemate"),
    ],
)
def test_announcements(fen: str, move: str, heard: str) -> None:
    state = _state(f"python_kriegspiel(fen={fen})", move)
    assert state.moment.announcement.heard == (heard, heard)


def test_stalemate_and_bare_kings_are_draws() -> None:
    stalemate = _state("python_kriegspiel(fen=k7/8/8/8/8/8/2Q5/7K w - - 0 1)", "c2c7")
    assert stalemate.returns() == [0.0, 0.0]
    assert stalemate.information_state_string(_WHITE).endswith("stalemate 1/2")
    bare = _state("python_kriegspiel(fen=k7/1R6/8/8/8/8/8/7K b - - 0 1)", "a8b7")
    assert bare.is_terminal()
    assert bare.information_state_string(_WHITE).endswith("piece:b7,draw 1/2")


@pytest.mark.parametrize(
    ("any_rule", "white", "black"),
    [
        ("none", "pawn:d4", "pawn:d4"),
        ("any", "pawn:d4,try", "pawn:d4,try"),
        ("count", "pawn:d4,tries:2", "pawn:d4,tries:2"),
        ("all", "pawn:d4", "pawn:d4,tries:c5d4+e5d4"),
    ],
)
def test_are_there_any_pawn_captures(any_rule: str, white: str, black: str) -> None:
    fen = "4k3/8/8/2p1p3/3p4/5N2/8/4K3 w - - 0 1"
    assert _heard(fen, "f3d4", any_rule) == [white, black]


# Knowledge.


@given(
    st.sampled_from(["minimal4x3", "silverman4x4", "microchess"]),
    st.sampled_from(["none", "all"]),
    st.randoms(use_true_random=False),
)
def test_the_true_position_is_always_held_possible(
    board: str, any_rule: str, rng: random.Random
) -> None:
    game = pyspiel.load_game(
        f"python_kriegspiel(board={board},horizon=6,tries=possible,are_there_any={any_rule})"
    )
    moment = game.setup.first_moment()
    while moment.outcome is None:
        true = umpire.without_clocks(moment.position)
        for player in (_WHITE, _BLACK):
            held = moment.possible_positions(player)
            assert true in held
            own = [[code if rules.is_own(code, player) else 0 for code in q.squares] for q in held]
            assert all(pieces == own[0] for pieces in own)
        moment = moment.after(rng.choice(moment.legal_actions()))


def test_possible_tries_are_exactly_those_legal_in_the_infoset(reduced: GameTree) -> None:
    # Independent of the incremental knowledge: gather the legal moves of all histories.
    game = pyspiel.load_game(_REDUCED)
    legal: dict[str, set[rules.Move]] = {}
    offered: dict[str, set[rules.Move]] = {}
    waiting = [game.setup.first_moment()]
    while waiting:
        moment = waiting.pop()
        if moment.outcome is not None or moment.course.plies > 3:
            continue
        position = umpire.without_clocks(moment.position)
        told = moment.told[position.side]
        legal.setdefault(told, set()).update(umpire.legal_steps(position, _SILENT))
        offered[told] = {moment.setup.table.moves[a] for a in moment.legal_actions()}
        waiting += [moment.after(a) for a in moment.legal_actions()]
    assert offered == legal
    assert len(legal) > 100


@given(
    st.sampled_from(["minimal4x3", "silverman4x4", "microchess", "standard"]),
    st.sampled_from(["", ",announce_tries=True", ",are_there_any=all", ",are_there_any=count"]),
    st.sampled_from([_WHITE, _BLACK]),
    st.randoms(use_true_random=False),
)
def test_nothing_leaks_in_deep_games(
    board: str, options: str, player: int, rng: random.Random
) -> None:
    game = pyspiel.load_game(f"python_kriegspiel(board={board},horizon=12{options})")
    assert_same_knowledge_looks_the_same(game, player, rng, plies=30)


def test_the_search_for_leaks_finds_other_positions() -> None:
    game = pyspiel.load_game("python_kriegspiel")
    assert assert_same_knowledge_looks_the_same(game, _WHITE, random.Random(1), plies=30) > 20


# OpenSpiel.


@pytest.mark.parametrize(
    ("game", "skip"),
    [
        # OpenSpiel's test of whole trees counts the other player's unnoticed tries as
        # something a player remembers, so it needs tries that are announced.
        ("python_kriegspiel(board=minimal4x3,horizon=3,tries=possible)", ["openspiel_full_tree"]),
        ("python_kriegspiel(board=minimal4x3,horizon=3,tries=possible,announce_tries=True)", []),
        ("python_kriegspiel(board=minimal4x3,horizon=5,count_tries=True)", []),
        ("python_kriegspiel(board=silverman4x4,horizon=3,are_there_any=all)", []),
        ("python_kriegspiel(board=microchess,horizon=3,are_there_any=count,tries=possible)", []),
        ("python_kriegspiel(horizon=2)", []),
    ],
)
def test_openspiel_accepts_the_game(
    game: str, skip: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    testing.check_game(game, max_nodes=600, simulations=1, skip=skip)


@pytest.mark.parametrize("name", ["python_kriegspiel_minimal4x3", "python_kriegspiel_silverman4x4"])
def test_playthroughs_are_unchanged(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = PLAYTHROUGHS / f"{name}.txt"
    game = path.read_text().splitlines()[0].removeprefix("game: ")
    testing.check_game(game, max_nodes=10, simulations=1, playthrough=path)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("tries=some", "tries among all, possible"),
        ("are_there_any=maybe", "are_there_any among none, any, count, all"),
        ("fen=k7/8/8/8/8/8/8/R6K w - - 0 1", "king en prise"),
        ("fen=k7/8/8/8/8/8/8/7K w - - 0 1", "not over"),
        ("horizon=-2", "expected horizon=0"),
    ],
)
def test_bad_parameters_are_refused(parameters: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(f"python_kriegspiel({parameters})")


def test_states_and_games_pickle() -> None:
    state = _state(_REDUCED, "c1b1 a3b3")
    copy = pickle.loads(pickle.dumps(state))
    assert copy.information_state_string(_WHITE) == state.information_state_string(_WHITE)
    assert copy.legal_actions() == state.legal_actions()
    game = pickle.loads(pickle.dumps(pyspiel.load_game(_REDUCED)))
    assert str(game) == str(pyspiel.load_game(_REDUCED))


@pytest.mark.parametrize(("size", "board"), [(4, "openspiel4x4"), (8, "standard")])
def test_tries_and_captures_equal_the_cpp_game(size: int, board: str) -> None:
    rng = random.Random(7)
    captures = 0
    for _ in range(4):
        cpp = pyspiel.load_game(f"kriegspiel(board_size={size})").new_initial_state()
        ours = _state(f"python_kriegspiel(board={board})")
        while not ours.is_terminal() and not cpp.is_terminal() and len(ours.history()) < 80:
            theirs = {cpp.action_to_string(a): a for a in cpp.legal_actions()}
            mine = {ours.action_to_string(a): a for a in ours.legal_actions()}
            assert set(theirs) == set(mine), str(ours)
            position = umpire.without_clocks(ours.moment.position)
            legal = umpire.legal_steps(position, _SILENT)
            for name in rng.sample(sorted(mine), 3):
                move = boards.move_from_uci(name, position.width, position.height)
                assert (str(cpp.child(theirs[name])) != str(cpp)) == (move in legal)
            name = boards.move_to_uci(rng.choice(sorted(legal)), position.width)
            cpp.apply_action(theirs[name])
            ours.apply_action(mine[name])
            assert str(cpp) == str(ours)
            said = cpp.observation_string(0).splitlines()[1]
            gone = re.search(r"(Pawn|Piece) at (\w\w) captured", said)
            expected = f"{gone[1].lower()}:{gone[2]}" if gone else ""
            heard = ours.moment.announcement.heard[_WHITE]
            assert heard.partition(",")[0] == expected if gone else "p" not in heard[:1]
            captures += gone is not None
    assert captures > 10


def test_where_the_cpp_game_departs_from_the_rules() -> None:
    # An illegal try is told to the opponent (White is player 1 there).
    cpp = pyspiel.load_game("kriegspiel").new_initial_state()
    for move in ("e2e4", "e7e5", "e4d5"):
        cpp.apply_action(cpp.string_to_action(move))
    assert "Illegal" in cpp.observation_string(0)
    # Mate is not announced; the mated side has to try everything first.
    fen = "k7/8/1K6/8/8/8/8/7R w - - 0 1"
    cpp = pyspiel.load_game(f"kriegspiel(fen={fen})").new_initial_state()
    cpp.apply_action(cpp.string_to_action("h1h8"))
    assert not cpp.is_terminal()
    assert "check" not in cpp.observation_string(0).lower()
    assert _state(f"python_kriegspiel(fen={fen})", "h1h8").returns() == [1.0, -1.0]


def test_threads_share_a_game_of_possible_tries() -> None:
    def offers(game: pyspiel.Game, seed: int) -> list[list[int]]:
        rng, state, offered = random.Random(seed), game.new_initial_state(), []
        while not state.is_terminal():
            offered.append(state.legal_actions())
            state.apply_action(rng.choice(offered[-1]))
        return offered

    alone = [offers(pyspiel.load_game(_REDUCED), seed) for seed in range(20)]
    shared = pyspiel.load_game(_REDUCED)
    for memory in (shared.setup.knowledge, shared.setup.offers):
        memory._size = 3  # forget all the time
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(functools.partial(offers, shared), range(20))) == alone
    assert len(shared.setup.knowledge) == len(shared.setup.offers) == 3


def test_observation_planes_show_own_pieces_only() -> None:
    game = pyspiel.load_game("python_kriegspiel(board=silverman4x4)")
    observer = game.make_py_observer()
    observer.set_from(game.new_initial_state(), _BLACK)
    planes = observer.dict["board"]
    assert planes[:6].sum() == 0  # White's kinds
    assert planes[6:12].sum() == 8
    assert np.all(planes.sum(axis=0) == 1)
