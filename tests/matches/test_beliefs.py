"""Beliefs of the explorer against an enumeration of all histories."""

import math
import random
import types

import numpy as np
import pytest

from klss_spiel.algorithms.search.history_belief import HistoryBelief
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import with_counts
from klss_spiel.matches import analysis, beliefs
from klss_spiel.matches.beliefs import beliefs_of
from klss_spiel.openspiel import load_game


def _random_actions(game, seed, most):
    rng = random.Random(seed)
    state = game.new_initial_state()
    actions = []
    while not state.is_terminal() and len(actions) < most:
        actions.append(rng.choice(state.legal_actions()))
        state.apply_action(actions[-1])
    return actions


def _squares(states):
    """Distinct boards, with castling and en passant, of states."""
    return {" ".join(str(state).split()[:4]) for state in states}


def _codes(fens):
    return np.array([list(boards.position_from_fen(fen).squares) for fen in sorted(fens)])


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(
    ("game_string", "most"),
    [("python_dark_chess(board=microchess)", 6), ("python_kriegspiel(board=minimal4x3)", 5)],
)
def test_beliefs_are_all_histories_that_fit(game_string, most, seed):
    game = load_game(game_string)
    actions = _random_actions(game, seed, most)
    compared = 0
    for player in (0, 1):
        found = {belief.step: belief for belief in beliefs_of(_row(game_string, actions), player)}
        truth = HistoryBelief(game, player)
        state = game.new_initial_state()
        last = None
        for step in range(len(actions) + 1):
            if not state.is_terminal() and state.current_player() == player:
                truth.advance(last, state.information_state_string(player))
                fens = _squares(truth.positions)
                belief = found[step]
                assert belief.complete
                assert belief.size == len(fens)
                codes = _codes(fens)
                for kind, letter in enumerate("PNBRQK", start=1):
                    share = (codes == rules.piece(kind, 1 - player)).mean(axis=0)
                    assert belief.heat[letter] == pytest.approx(share, abs=1e-4)
                _check_reveals(belief, truth.positions, player)
                compared += 1
            if step < len(actions):
                if state.current_player() == player:
                    last = actions[step]
                state.apply_action(actions[step])
    assert compared >= 2


def _row(game_string, actions):
    return {"game": game_string, "actions": actions}


def _check_reveals(belief, states, player):
    """Entropies by applying every move to every position, each counted once."""
    distinct = {" ".join(str(state).split()[:4]): state for state in states}
    if len(distinct) > 60:  # the explorer samples
        return
    for reveal in belief.reveals:
        seen = []
        for state in distinct.values():
            names = {state.action_to_string(a): a for a in state.legal_actions()}
            after = state.child(names[reveal.move])
            told = after.information_state_string(player)
            seen.append(told[len(state.information_state_string(player)) :])
        # The end of a game is told in words, which the explorer leaves out.
        seen = [text.removesuffix(" 1-0").removesuffix(" 0-1") for text in seen]
        counts = [seen.count(text) / len(seen) for text in set(seen)]
        bits = -sum(share * math.log2(share) for share in counts)
        assert reveal.outcomes == len(counts)
        assert reveal.bits == pytest.approx(bits, abs=2e-3)


def test_a_belief_past_its_limit_says_that_it_is_a_sample(monkeypatch):
    monkeypatch.setattr(beliefs, "DARK_CHESS_LIMIT", 3)
    game = load_game("python_dark_chess")
    names = game.setup.table.names
    actions = [names.index(move) for move in ("a2a3", "h7h6", "a3a4")]
    found = list(beliefs_of(_row("python_dark_chess", actions), 0))
    assert found[1].complete and found[1].size == 1
    assert not found[-1].complete
    assert all(belief.size is None or belief.size <= 3 for belief in found)


def test_dark_chess_shows_the_belief_of_the_search_with_its_weights(monkeypatch):
    """Black has played b6 with probability 3/4, else the pawn from a6 on to b5."""
    game = load_game("python_dark_chess")
    rest = "3PP3/8/PPP2PPP/RNBQKBNR w KQkq - 0 3"
    belief = _SampledBelief([f"rnbqkbnr/2pppppp/pp6/8/{rest}", f"rnbqkbnr/2pppppp/p7/1p6/{rest}"])
    searched = types.SimpleNamespace(
        belief=lambda player: belief, transition=game.search_game().transition
    )
    monkeypatch.setattr(type(game), "search_game", lambda self, belief_limit: searched)
    (found,) = beliefs_of(_row("python_dark_chess", []), 0)
    assert found.weighted and not found.complete and found.size == 2
    squares = {name: i for i, name in enumerate(f"{f}{r}" for r in range(1, 9) for f in "abcdefgh")}
    assert found.heat["P"][squares["b6"]] == 0.75
    assert {reveal.move: reveal.takes for reveal in found.reveals}["f1b5"] == 0.25
    start = game.new_initial_state().information_state_string(0)
    assert belief.told == [(None, start)]


def test_kriegspiel_gives_up_where_there_are_too_many_positions(monkeypatch):
    monkeypatch.setattr(beliefs, "KRIEGSPIEL_LIMIT", 10)
    game = load_game("python_kriegspiel")
    # A game that can be searched through its states only.
    monkeypatch.setattr(type(game), "search_game", lambda self: None, raising=False)
    names = game.setup.table.names
    actions = [names.index(move) for move in ("e2e4", "a7a6", "d2d4", "b7b6")]
    found = list(beliefs_of(_row("python_kriegspiel", actions), 0))
    assert [belief.size for belief in found] == [1, 1, 20, None]
    assert not found[-1].complete


class _SampledBelief:
    """What a search may hold of Kriegspiel: not all, some likelier than others."""

    complete = False
    weights = np.array([3.0, 1.0])

    def __init__(self, fens):
        self.fens = fens
        self.told = []

    @property
    def positions(self):
        return with_counts(packed.pack([boards.position_from_fen(fen) for fen in self.fens]), 2)

    def advance(self, action, information_state):
        self.told.append((action, information_state))


def test_kriegspiel_goes_on_with_the_sample_of_a_search(monkeypatch):
    monkeypatch.setattr(beliefs, "KRIEGSPIEL_LIMIT", 10)
    game = load_game("python_kriegspiel")
    names = game.setup.table.names
    actions = [names.index(move) for move in ("e2e4", "a7a6", "d2d4", "b7b6")]
    rest = "RNBQKBNR w KQkq - 0 3"
    belief = _SampledBelief(
        [
            f"rnbqkbnr/2pppppp/pp6/8/3PP3/8/PPP2PPP/{rest}",
            f"rnbqkb1r/1ppppppp/p4n2/8/3PP3/8/PPP2PPP/{rest}",
        ]
    )
    searched = types.SimpleNamespace(belief=lambda player: belief)
    monkeypatch.setattr(type(game), "search_game", lambda self: searched, raising=False)
    found = list(beliefs_of(_row("python_kriegspiel", actions), 0))
    assert [b.size for b in found] == [1, 1, 20, None, 2]
    assert found[3].between and not found[3].complete
    sample = found[4]
    assert sample.weighted and not sample.complete and not sample.between
    squares = {name: i for i, name in enumerate(f"{f}{r}" for r in range(1, 9) for f in "abcdefgh")}
    assert sample.heat["P"][squares["b6"]] == 0.75
    assert sample.heat["N"][squares["f6"]] == 0.25
    assert sample.heat["N"][squares["b8"]] == 1.0
    # Rooks that may castle are rooks.
    assert sample.heat["R"][squares["a8"]] == 1.0
    assert sample.reveals
    # The belief was told of every own turn, with the own action before it.
    assert [action for action, _ in belief.told] == [None, actions[0], actions[2]]


_KRIEGSPIEL = "python_kriegspiel(board=microchess)"


def _own_turns(limit, monkeypatch, belief_limit=None):
    """Beliefs of one game at White's turns, followed by a search past so many positions."""
    game = load_game(_KRIEGSPIEL)
    if belief_limit is not None:
        plain = type(game).search_game
        monkeypatch.setattr(
            type(game), "search_game", lambda self: plain(self, belief_limit=belief_limit)
        )
    monkeypatch.setattr(beliefs, "KRIEGSPIEL_LIMIT", limit)
    found = list(beliefs_of(_row(_KRIEGSPIEL, _random_actions(game, 3, 10)), 0))
    return [one for one in found if not one.between]


def test_a_search_of_kriegspiel_holds_what_is_followed_position_by_position(monkeypatch):
    exact = {belief.step: belief for belief in _own_turns(10**9, monkeypatch)}
    searched = _own_turns(2, monkeypatch)
    assert max(belief.size for belief in searched if belief.size) > 20
    for belief in searched:
        truth = exact[belief.step]
        assert (belief.size, belief.complete, belief.weighted) == (truth.size, True, False)
        for letter, share in belief.heat.items():
            assert share == pytest.approx(truth.heat[letter], abs=1e-4)


def test_a_weighted_sample_of_a_search_of_kriegspiel_is_part_of_the_truth(monkeypatch):
    exact = {belief.step: belief for belief in _own_turns(10**9, monkeypatch)}
    sampled = [b for b in _own_turns(2, monkeypatch, belief_limit=12) if not b.complete]
    assert any(belief.size and belief.weighted for belief in sampled)
    for belief in sampled:
        assert belief.size is None or belief.size <= min(12, exact[belief.step].size)
        if not belief.heat:
            continue
        assert sum(belief.heat["K"]) == pytest.approx(1.0, abs=1e-3)
        for letter, share in belief.heat.items():
            # Where the sample sees a piece there may be one.
            possible = np.array(exact[belief.step].heat[letter]) > 0
            assert not np.any(np.array(share)[~possible])


@pytest.mark.parametrize("fails", [False, True])
def test_a_sample_that_has_died_out_ends_the_beliefs_and_errors_are_not_hidden(monkeypatch, fails):
    monkeypatch.setattr(beliefs, "KRIEGSPIEL_LIMIT", 10)
    game = load_game("python_kriegspiel")
    names = game.setup.table.names
    actions = [names.index(move) for move in ("e2e4", "a7a6", "d2d4", "b7b6", "a2a3")]

    class Dying(_SampledBelief):
        def advance(self, action, information_state):
            super().advance(action, information_state)
            if len(self.told) == 3:
                if fails:
                    raise ValueError("expected tries and announcements")
                self.fens = []

    belief = Dying(["rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"])
    belief.weights = np.ones(1)
    searched = types.SimpleNamespace(belief=lambda player: belief)
    monkeypatch.setattr(type(game), "search_game", lambda self: searched, raising=False)
    row = _row("python_kriegspiel", actions)
    if fails:
        with pytest.raises(ValueError, match="expected tries and announcements"):
            list(beliefs_of(row, 0))
        return
    found = list(beliefs_of(row, 0))
    assert [b.size for b in found] == [1, 1, 20, None, None]
    assert found[3].between and not found[4].between and not found[4].complete


@pytest.mark.parametrize("most", [2_000, 1])
def test_the_map_and_the_reveals_of_an_analysis_count_by_weight(monkeypatch, most):
    """Black has played b6 with probability 3/4, else the pawn from a6 on to b5."""
    monkeypatch.setattr(beliefs, "_SAMPLED_POSITIONS", most)
    rest = "3PP3/8/PPP2PPP/RNBQKBNR w KQkq - 0 3"
    belief = _SampledBelief([f"rnbqkbnr/2pppppp/pp6/8/{rest}", f"rnbqkbnr/2pppppp/p7/1p6/{rest}"])
    searched = load_game("python_dark_chess").search_game()
    found = analysis._chess_belief(searched, belief, 0, ())
    assert found.weighted and not found.complete and found.size == 2
    squares = {name: i for i, name in enumerate(f"{f}{r}" for r in range(1, 9) for f in "abcdefgh")}
    assert found.heat["P"][squares["b6"]] == 0.75
    assert found.heat["P"][squares["b5"]] == 0.25
    reveals = {reveal.move: reveal for reveal in found.reveals}
    if most == 1:  # one position stands for all
        assert {reveal.outcomes for reveal in reveals.values()} == {1}
        return
    # The bishop takes the pawn on b5 or finds nothing there; while it stays it sees which.
    assert reveals["f1b5"].takes == 0.25
    told = reveals["a2a3"]
    assert told.outcomes == 2
    assert told.takes == 0.0
    assert told.left == pytest.approx(0.75**2 + 0.25**2)
    assert told.bits == pytest.approx(-0.75 * math.log2(0.75) - 0.25 * math.log2(0.25), abs=1e-3)


def test_other_games_have_no_boards_to_believe_in():
    with pytest.raises(ValueError, match="expected a chess game"):
        list(beliefs_of({"game": "kuhn_poker", "actions": []}, 0))
