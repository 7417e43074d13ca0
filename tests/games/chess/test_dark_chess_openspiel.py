"""Dark chess beside others: OpenSpiel's checks, its C++ game, and real games."""

import pickle
import random

import pyspiel
import pytest

from klss_spiel import testing
from klss_spiel.games.chess import boards, observation, rules
from tests.helpers.chess_positions import random_play
from tests.helpers.paths import PLAYTHROUGHS
from tests.helpers.recorded_games import are_of_people, recorded_games

_MINIMAL = "python_dark_chess(board=minimal4x3,horizon=6)"
_WHITE, _BLACK = 0, 1


def _state(game: str, moves: str = "") -> pyspiel.State:
    state = pyspiel.load_game(game).new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    return state


def _after(fen: str, move: str) -> pyspiel.State:
    return _state(f"python_dark_chess(fen={fen})", move)


# OpenSpiel.


@pytest.mark.parametrize(
    "game",
    [
        "python_dark_chess(board=minimal4x3,horizon=3)",
        _MINIMAL,
        "python_dark_chess(board=minimal4x3,horizon=4,rules=observe_on_turn)",
        "python_dark_chess(board=silverman4x4,rules=no_move_draws)",
        "python_dark_chess(board=microchess,horizon=20)",
        "python_dark_chess",
    ],
)
def test_openspiel_accepts_the_game(game: str, capfd: pytest.CaptureFixture[str]) -> None:
    testing.check_game(game, max_nodes=500, simulations=2)


@pytest.mark.parametrize(
    "name",
    [
        "python_dark_chess_minimal4x3",
        "python_dark_chess_microchess",
        "python_dark_chess_en_passant",
        "python_dark_chess",
    ],
)
def test_playthroughs_are_unchanged(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = PLAYTHROUGHS / f"{name}.txt"
    game = path.read_text().splitlines()[0].removeprefix("game: ")
    testing.check_game(game, max_nodes=10, simulations=1, playthrough=path)


def test_bare_name_is_the_standard_board() -> None:
    state = _state("python_dark_chess")
    assert str(state) == boards.BOARDS["standard"]
    assert state.current_player() == _WHITE
    assert len(state.legal_actions()) == 20


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("board=maximal", "expected a board among standard"),
        ("rules=house", "expected rules among paper"),
        ("horizon=-1", "expected horizon=0"),
        ("fen=kK/2/2 w - -", "3x3 to 8x8"),
        ("fen=7k/8/8/8/1p6/pPp5/PRP5/KB6 w - - 0 1", "not over"),
        ("players=3", "players=2"),
        ("board=minimal4x3,fen=k3/3R/2K1 w - -", "expected fen or board, got both"),
    ],
)
def test_bad_parameters_are_refused(parameters: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(f"python_dark_chess({parameters})")


def test_actions_are_numbered_to_the_size_of_the_board() -> None:
    assert pyspiel.load_game(_MINIMAL).num_distinct_actions() == 200
    assert pyspiel.load_game("python_dark_chess").num_distinct_actions() == 1968


def test_undo_is_refused_rather_than_done_wrongly() -> None:
    state = _state("python_dark_chess", "e2e4")
    with pytest.raises(pyspiel.SpielError, match="not undoing"):
        state.undo_action(_WHITE, state.history()[-1])
    assert str(state.clone()) == str(state)


def test_illegal_actions_are_refused() -> None:
    state = _state("python_dark_chess")
    with pytest.raises(ValueError, match=r"expected an action among b1a3.*got 0"):
        state.apply_action(0)


def test_long_games_pickle() -> None:
    game = pyspiel.load_game("python_dark_chess(board=microchess)")
    rng = random.Random(4)
    state = game.new_initial_state()
    while not state.is_terminal() and len(state.history()) < 1500:
        quiet = [a for a in state.legal_actions() if not state.child(a).is_terminal()]
        if not quiet:
            break
        state.apply_action(rng.choice(quiet))
    copy = pickle.loads(pickle.dumps(state))
    assert str(copy) == str(state)
    assert copy.information_state_string(_BLACK) == state.information_state_string(_BLACK)
    assert copy.legal_actions() == state.legal_actions()


@pytest.mark.parametrize(("size", "board"), [(4, "openspiel4x4"), (8, "standard")])
def test_moves_and_views_equal_the_cpp_game(size: int, board: str) -> None:
    rng = random.Random(5)
    cpp_game = pyspiel.load_game(f"dark_chess(board_size={size})")
    for _ in range(4):
        cpp = cpp_game.new_initial_state()
        ours = _state(f"python_dark_chess(board={board})")
        while True:
            position = ours.moment.position
            for player in (_WHITE, _BLACK):
                # In the C++ game White is player 1.
                shown = _cpp_board(cpp.observation_string(1 - player))
                seen = observation.fog_text(position, player)
                if position.en_passant is not None and player != position.side:
                    # It shows the passed square to the pusher as well.
                    shown = _without(shown, position.en_passant, position)
                    seen = _without(seen, position.en_passant, position)
                assert shown == seen, str(ours)
            if cpp.is_terminal() or ours.is_terminal():
                assert cpp.returns()[::-1] == ours.returns(), str(ours)
                assert cpp.is_terminal() == ours.is_terminal()
                break
            theirs = {str(cpp.child(a)).split()[0]: a for a in cpp.legal_actions()}
            mine = {str(ours.child(a)).split()[0]: a for a in ours.legal_actions()}
            assert set(theirs) == set(mine), str(ours)
            chosen = rng.choice(sorted(mine))
            cpp.apply_action(theirs[chosen])
            ours.apply_action(mine[chosen])
            if len(ours.history()) >= 60:
                break


def _cpp_board(observation_string: str) -> str:
    placement = observation_string.split()[0]
    return "".join("." * int(c) if c.isdigit() else c for c in placement)


def _without(text: str, square: int, position: rules.Position) -> str:
    ranks = text.split("/")
    rank = position.height - 1 - square // position.width
    file = square % position.width
    ranks[rank] = ranks[rank][:file] + "*" + ranks[rank][file + 1 :]
    return "/".join(ranks)


@pytest.mark.parametrize(
    ("fen", "move", "san", "cpp_square", "ours_square"),
    [
        # The square passed over is shown to the pusher there, not here.
        ("4k3/6pp/8/6P1/8/8/8/4K3 b - - 0 1", "h7h5", "h5", "h6", None),
        # It wraps around the edge there: no white pawn can reach a6 from h6's file.
        ("4k3/p7/7p/1P6/8/8/8/4K3 b - - 0 1", "a7a5", "a5", "a6", None),
    ],
)
def test_en_passant_is_not_shown_to_the_pusher(
    fen: str, move: str, san: str, cpp_square: str, ours_square: str | None
) -> None:
    cpp = pyspiel.load_game(f"dark_chess(fen={fen})").new_initial_state()
    cpp.apply_action(cpp.string_to_action(san))
    assert cpp.observation_string(0).split()[3] == cpp_square
    assert cpp_square not in _after(fen, move).observation_string(_BLACK)


def test_no_move_is_a_draw_in_the_cpp_game() -> None:
    fen = "7k/8/8/8/1p6/pPp5/PRP5/KB6 w - - 0 1"
    cpp = pyspiel.load_game(f"dark_chess(fen={fen})").new_initial_state()
    assert cpp.is_terminal()
    assert cpp.returns() == [0.0, 0.0]


# Real games.


# Games, plies, castlings, captures en passant: of people, and of this package's players. The
# latter two were counted by python-chess.
_OF_PEOPLE = (20, 1159, 27, 1)
_OF_PACKAGE = (20, 1647, 25, 1)


def test_real_games_are_legal() -> None:
    games = recorded_games()
    en_passants = castlings = plies = 0
    for game in games:
        state = _state("python_dark_chess")
        for number, move in enumerate(game.moves, start=1):
            position = state.moment.position
            assert not state.is_terminal(), (game.name, number)
            names = {state.action_to_string(a): a for a in state.legal_actions()}
            assert move in names, (game.name, number, move)
            parsed = boards.move_from_uci(move, 8, 8)
            castlings += rules.is_castling(position, parsed)
            captured = rules.captured_square(position, parsed)
            en_passants += captured is not None and captured != parsed.target
            state.apply_action(names[move])
            plies += 1
    expected = _OF_PEOPLE if are_of_people() else _OF_PACKAGE
    assert (len(games), plies, castlings, en_passants) == expected


def test_the_true_position_is_always_held_possible_in_real_games() -> None:
    # All positions that fit one side's views, by brute force, while there are few.
    def key(position: rules.Position) -> rules.RepetitionKey:
        return rules.repetition_key(position)

    most = 100
    compared = 0
    for number, game in enumerate(recorded_games()):
        player = number % 2
        state = _state("python_dark_chess")
        possible = {key(state.moment.position): state.moment.position}
        for text in game.moves:
            move = boards.move_from_uci(text, 8, 8)
            own = state.moment.position.side == player
            state.apply_action(state.string_to_action(text))
            true = state.moment.position
            view = observation.fog_text(true, player)
            after = {}
            for position in possible.values():
                moves = rules.pseudo_legal_moves(position)
                assert move in moves or not own
                for reply in [move] if own else moves:
                    later = rules.apply_move(position, reply)
                    if observation.fog_text(later, player) == view:
                        after[key(later)] = later
            possible = after
            assert key(true) in possible
            compared += 1
            if len(possible) > most:
                break
    assert compared > 60


def test_random_play_never_shows_an_unseen_enemy() -> None:
    # A square is shown with an enemy piece exactly if an own piece can capture there.
    rng = random.Random(6)
    for position in random_play(boards.position_of("standard"), rng, 200, legal=False):
        for colour in (rules.WHITE, rules.BLACK):
            capturable = {
                rules.captured_square(position, m) for m in rules.moves_of(position, colour)
            }
            seen = rules.squares_in(rules.visible_squares(position, colour))
            enemies = {s for s in seen if rules.is_own(position.squares[s], 1 - colour)}
            assert enemies == capturable - {None}
