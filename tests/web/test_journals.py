"""What players write down, checked against the true games."""

import random

import pytest

from klss_spiel.games.chess import boards, rules
from klss_spiel.openspiel import load_game
from klss_spiel.web.told import start_of, told_to, view_of


def _random_game(game_string, seed, most=80):
    """States of a random game, and the actions between them."""
    rng = random.Random(seed)
    state = load_game(game_string).new_initial_state()
    states, actions = [state.clone()], []
    while not state.is_terminal() and len(actions) < most:
        actions.append(rng.choice(state.legal_actions()))
        state.apply_action(actions[-1])
        states.append(state.clone())
    return states, actions


def _true_captures(states, actions):
    """(mover, UCI, letter captured or "", its square), moves that were made only."""
    found = []
    for before, after, action in zip(states, states[1:], actions, strict=False):
        if str(before) == str(after):
            continue
        position = boards.position_from_fen(str(before))
        name = before.action_to_string(action)
        move = boards.move_from_uci(name, position.width, position.height)
        square = rules.captured_square(position, move)
        letter = "" if square is None else boards.piece_letter(position.squares[square])
        at = "" if square is None else boards.square_name(square, position.width)
        found.append((position.side, name, letter, at))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("board", ["standard", "microchess", "demichess"])
@pytest.mark.parametrize("name", ["python_dark_chess", "python_kriegspiel"])
def test_journals_agree_with_the_true_game(name, board, seed):
    states, actions = _random_game(f"{name}(board={board})", seed)
    true = _true_captures(states, actions)
    game = load_game(f"{name}(board={board})")
    family = "dark" if name == "python_dark_chess" else "kriegspiel"
    start = start_of(game, family)
    for player in (0, 1):
        view = view_of(start, told_to(states[-1], player))
        entries = [entry for entry in view["journal"] if not entry["illegal"]]
        assert len(entries) == len(true)
        for entry, (side, move, letter, at) in zip(entries, true, strict=True):
            assert (entry["by"] == "you") == (side == player)
            assert entry["at"] == at
            if side != player:
                assert entry["takes"] == letter
                # What was seen of the move is right; what was not is a question mark.
                seen = entry["move"].replace("?", "")
                assert seen in (move[:2], move[2:4], move[:4], "")
            else:
                assert entry["move"] == move
                kind = "pawn" if letter in "Pp" else "piece"
                expected = letter if family == "dark" or not letter else kind
                assert entry["takes"] == expected


def test_who_steps_where_a_pawn_can_capture_is_seen_to_come():
    state = load_game("python_dark_chess").new_initial_state()
    for move in ("e2e4", "d7d5"):
        names = {state.action_to_string(a): a for a in state.legal_actions()}
        state.apply_action(names[move])
    view = view_of(start_of(state.get_game(), "dark"), told_to(state, 0))
    assert view["journal"][-1]["move"] == "?d5"


def test_an_illegal_try_is_written_down_and_told_to_its_player_only():
    state = load_game("python_kriegspiel(board=silverman4x4)").new_initial_state()
    names = {state.action_to_string(a): a for a in state.legal_actions()}
    state.apply_action(names["a2a3"])  # a pawn stands there
    start = start_of(state.get_game(), "kriegspiel")
    own, other = (view_of(start, told_to(state, player)) for player in (0, 1))
    assert own["journal"][0]["illegal"] and own["your_turn"]
    assert other["journal"] == [] and not other["your_turn"]


def test_a_captured_pawn_in_passing_is_seen_by_both_for_what_it_is():
    game = load_game("python_dark_chess(fen=4k3/5p2/8/4P3/8/8/8/4K3 b - - 0 1)")
    state = game.new_initial_state()
    for move in ("f7f5", "e5f6"):
        names = {state.action_to_string(a): a for a in state.legal_actions()}
        state.apply_action(names[move])
    start = start_of(game, "dark")
    white, black = (view_of(start, told_to(state, player)) for player in (0, 1))
    assert white["journal"][-1] == {
        "by": "you", "move": "e5f6", "takes": "p", "at": "f5", "illegal": False, "said": (),
    }  # fmt: skip
    assert black["journal"][-1]["takes"] == "p" and black["journal"][-1]["at"] == "f5"
    assert (white["taken"], black["lost"]) == (["p"], ["p"])
