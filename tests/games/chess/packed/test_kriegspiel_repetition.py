"""Tests of draws by repetition and of quiet plies in the search of Kriegspiel."""

import dataclasses

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klss_spiel.algorithms.search import repetition
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.openspiel_game import search_game
from klss_spiel.algorithms.search.player import SearchPlayer
from klss_spiel.algorithms.search.search import search_from_start
from klss_spiel.algorithms.search.settings import OBSCURO, STRONG
from klss_spiel.algorithms.search.tree import PENDING
from klss_spiel.budget import Budget
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.counted_positions import counts_of, has_pawns, with_counts
from klss_spiel.games.chess.packed.kernels.own_pieces import own_pieces
from klss_spiel.games.chess.packed.kriegspiel_search_game import Kriegspiel
from klss_spiel.search_game import RepeatingGame, RootPositions
from klss_spiel.tree import TERMINAL

SEEING = dataclasses.replace(OBSCURO, repetitions=True)
STANDARD = "python_kriegspiel"
# The white king's tries a3 and b3 are illegal: the black king stands beside them.
ROOK = "python_kriegspiel(fen=k3/4/K3/3R w - - 0 1)"
TO_AND_FRO = ["d1d2", "a4b4", "d2d1", "b4a4"]
# The rook stands twice where it goes; the black king goes further, so that no position comes
# a third time.
TWICE = ["d1d2", "a4b4", "d2d1", "b4c4", "d1d2", "c4b4", "d2d1", "b4a4"]
WITH_TRIES = ["a2a3", "d1d2", "a4b4", "a2b3", "a2a3", "d2d1", "b4a4"]
CASTLES = "python_kriegspiel(fen=r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1)"


def played(loaded, moves):
    state = loaded.new_initial_state()
    for move in moves:
        state.apply_action(state.string_to_action(move))
    return state


def rows_of(name, moves):
    """[1 + moves, 5 + k] the positions of a line, as the search's expansion makes them."""
    loaded = pyspiel.load_game(name)
    game = search_game(loaded)
    start = game.initial()
    rows, known = [start.position], start.infoset_ids
    state = loaded.new_initial_state()
    for move in moves:
        action = state.string_to_action(move)
        children = game.expand(rows[-1], known)
        (taken,) = np.flatnonzero(children.action == action)
        rows.append(children.position[taken : taken + 1])
        known = children.infoset_ids[:, taken : taken + 1]
        state.apply_action(action)
    return game, np.concatenate(rows)


def test_a_board_that_comes_again_after_moves_is_the_same_position():
    game, rows = rows_of(ROOK, TO_AND_FRO)
    assert isinstance(game, RepeatingGame)
    keys = game.position_keys(rows)
    assert keys[4] == keys[0]
    assert len(set(keys.tolist())) == 4
    game, rows = rows_of(ROOK, WITH_TRIES)
    assert keys[0] == game.position_keys(rows[-1:])[0]
    turned = rows[-1:].copy()
    turned[:, 4] += np.uint64(1)
    assert game.position_keys(turned)[0] != keys[0]


def test_a_board_without_its_castling_rights_is_another_position():
    line = ["e1e2", "e8e7", "e2e1", "e7e8"]
    game, rows = rows_of(CASTLES, [*line, *line])
    keys = game.position_keys(rows)
    assert keys[0] != keys[4] == keys[8]
    views = game.views(0, rows)
    assert views[0] != views[4] == views[8]


class AfterTry(Kriegspiel):
    """A game that starts after White has tried a3."""

    def initial(self):
        start = super().initial()
        children = self.expand(start.position, start.infoset_ids)
        action = self.setup.table.names.index("a2a3")
        (taken,) = np.flatnonzero(children.action == action)
        assert children.player[taken] == 0
        return RootPositions(
            children.position[[taken]], children.player[[taken]], children.infoset_ids[:, [taken]]
        )


@pytest.mark.parametrize("kind", [Kriegspiel, AfterTry])
@pytest.mark.parametrize("preset", [SEEING, STRONG])
def test_closed_leaves_are_the_boards_that_come_again_after_moves(kind, preset):
    search = search_from_start(kind(pyspiel.load_game(ROOK).setup), preset)
    search.run(Budget(nodes=6_000))
    tree = search.tree
    nodes, count = tree.nodes, tree.num_nodes
    first = 1 + tree.num_roots
    boards = [row[:4].tobytes() for row in tree.positions[:count]]
    plies = counts_of(tree.positions[:count])[0].tolist()
    repeats, tries, of_the_root = [], 0, 0
    for node in range(first + 1, count):
        above = int(nodes.parent[node])
        if above < first or nodes.player[node] == TERMINAL:
            continue
        if plies[above] == plies[node]:
            tries += 1  # the same board with the same side to move, and no repetition
            assert boards[above] == boards[node]
            continue
        while above >= first:
            # Two plies cannot lead back, but tries make paths longer than plies.
            if boards[above] == boards[node] and (plies[node] - plies[above]) % 2 == 0:
                repeats.append(node)
                of_the_root += boards[node] == boards[first]
                break
            above = int(nodes.parent[above])
    assert tries > 100 and len(repeats) > 10 and of_the_root
    assert np.flatnonzero(nodes.first_child[:count] == PENDING).tolist() == repeats
    assert np.all(nodes.value[repeats] == 0.0)


def test_without_the_setting_nothing_is_a_repetition():
    search = search_from_start(search_game(ROOK), OBSCURO)
    search.run(Budget(nodes=3_000))
    assert not np.any(search.tree.nodes.first_child[: search.tree.num_nodes] == PENDING)


def test_a_view_is_the_own_pieces_after_an_own_move():
    moves = ["a2a3", *TWICE[:2], "a2b3", "a2a3", *TWICE[2:], "a2b3"]
    game, rows = rows_of(ROOK, moves)
    told = played(pyspiel.load_game(ROOK), moves).information_state_string(0)
    past = game.past_views(0, told)
    # The rook went to d2, d1, d2 and d1.
    assert len(past) == 4 and past[0] == past[2] != past[1] == past[3]
    assert set(repetition.views_seen_twice(game, 0, told).tolist()) == set(past.tolist())
    views = game.views(0, rows).tolist()
    after = [moves.index("d1d2") + 1, moves.index("d2d1") + 1]
    assert [views[i] for i in after] == past[:2].tolist()
    # Black's king goes on unseen.
    other = played(pyspiel.load_game(ROOK), ["d1d2", "a4b4", "d2d1", "b4c4"])
    assert game.past_views(0, other.information_state_string(0)).tolist() == past[:2].tolist()
    # Black sees a king.
    assert len(set(game.views(1, rows[[0, 1]]).tolist())) == 1


def test_an_illegal_try_shows_no_view_that_has_been_seen_after_a_move():
    """The own pieces stand as they have twice, but nothing was moved."""
    game, rows = rows_of(ROOK, TWICE)
    told = played(pyspiel.load_game(ROOK), TWICE).information_state_string(0)
    twice = repetition.views_seen_twice(game, 0, told)
    children = game.expand(rows[-1:], game.infosets(0, told)[None].repeat(2, axis=0))
    names = [game.setup.table.names[action] for action in children.action]
    search = search_from_start(game, SEEING, player=0)
    values, leaves = np.full(len(names), 0.5), np.array([2], dtype=np.int32)
    drawn, after = repetition.draws(game, search.tree, leaves, children, values, twice, 0.0)
    assert {"a2a3", "a2b3"} < set(names)
    assert [name for name, is_draw in zip(names, drawn, strict=True) if is_draw] == ["d1d2"]
    assert after[names.index("d1d2")] == 0.0


HOME = ["g1f3", "g8f6", "f3g1", "f6g8"]


@pytest.mark.parametrize(
    ("moves", "count"),
    [
        (HOME, 2),
        ([*HOME, "e2d3", "g1f3", "a7a6"], 3),  # a try, and a pawn of the opponent's
        ([*HOME, "g1f3", "a7a6", "f3e5", "b7b6", "a2b3"], 4),
        ([*HOME, "e2e4", "g8f6"], 0),  # an own pawn
        ([*HOME, "e2e4", "g8f6", "g1f3", "a7a6"], 1),
        ([*HOME, "g1f3", "d7d5", "f3e5", "d8d6", "e5f7", "a7a6"], 0),  # captures a pawn
        ([*HOME, "g1f3", "d7d6", "f3e5", "d6e5"], 0),  # loses the knight
    ],
)
def test_what_changes_for_good_ends_the_memory_of_views(moves, count):
    loaded = pyspiel.load_game(STANDARD)
    game = search_game(loaded)
    told = played(loaded, moves).information_state_string(0)
    assert len(game.past_views(0, told)) == count


def quiet_plies(name, moves):
    """The counts that positions of White's belief are given."""
    loaded = pyspiel.load_game(name)
    game = search_game(loaded)
    state = played(loaded, moves)
    assert state.current_player() == 0
    told = state.information_state_string(0)
    belief = game.belief(0)
    belief.advance(None, told)
    return set(counts_of(game.with_quiet_plies(0, told, belief.positions))[1].tolist())


@pytest.mark.parametrize(
    ("moves", "clock"),
    [
        ([], 40),
        (["h1g1", "a8b8"], 42),
        (["a2b3", "h1g1", "a8b8", "b2c3"], 42),  # tries are no plies
        (["h1g1", "a7a6"], 42),  # the opponent's pawn is not heard
        (["a2a3", "a8b8"], 1),
        (["h1g1", "a8b8", "b2c3", "b2b3", "h8h7"], 1),
        (["g2b7", "a8b7"], 0),  # the second capture
        (["g2b7", "a8b7", "h1g1", "b7b8"], 2),
    ],
)
def test_quiet_plies_are_those_since_the_last_capture_or_own_pawn_move(moves, clock):
    name = "python_kriegspiel(fen=k6r/pp6/8/8/8/8/PP4Q1/K6R w - - 40 60)"
    assert quiet_plies(name, moves) == {clock}


def test_quiet_plies_stop_short_of_the_draw():
    name = "python_kriegspiel(fen=k6r/pp6/8/8/8/8/PP4Q1/K6R w - - 90 60)"
    line = ["h1g1", "a8b8", "g1h1", "b8a8"]
    assert quiet_plies(name, line[:2]) == {92}
    assert quiet_plies(name, line) == {94}
    assert quiet_plies(name, [*line, *line[:2]]) == {94}


def test_quiet_plies_are_certain_where_the_opponent_has_no_pawns():
    """Who is ahead has to see that the next move must be a capture or a pawn's."""
    name = "python_kriegspiel(fen=k6r/8/8/8/8/8/PP2Q3/K6R w - - 95 60)"
    line = ["h1g1", "a8b8", "g1h1", "b8a8"]
    assert quiet_plies(name, line[:2]) == {97}
    assert quiet_plies(name, line) == {99}


def test_a_game_that_goes_on_shows_that_a_pawn_has_moved():
    """It may have become a queen since: none of the positions has to have a pawn."""
    name = "python_kriegspiel(fen=k7/8/8/6Q1/8/8/PP5p/KN6 w - - 98 60)"
    assert quiet_plies(name, ["g5d2", "h2h1q"]) == {94}


@pytest.mark.parametrize("fen", ["7k/8/8/3pP3/8/8/8/K7 w - d6 0 1", "7k/p7/8/8/8/8/8/K7 w - - 0 1"])
def test_pawns_are_counted_en_passant_too(fen):
    words = with_counts(packed.pack([boards.position_from_fen(fen)]), 0)
    assert has_pawns(words, rules.BLACK).tolist() == [True]
    assert has_pawns(words, rules.WHITE).tolist() == ["P" in fen]
    bare = with_counts(packed.pack([boards.position_from_fen("7k/8/8/8/8/8/8/K2q4 w - - 0 1")]), 0)
    assert has_pawns(bare, rules.BLACK).tolist() == [False]


def test_the_last_pawn_move_before_the_draw_is_found():
    """With pieces alone the game is drawn at once."""
    loaded = pyspiel.load_game("python_kriegspiel(fen=k7/8/8/8/8/8/P2Q3R/K7 w - - 99 80)")
    bot = SearchBot(loaded, 0, Budget(nodes=2000), seed=0, settings=STRONG)
    state = loaded.new_initial_state()
    move = state.action_to_string(bot.step(state))
    assert move.startswith("a2")


def test_nothing_but_the_quiet_plies_is_changed():
    loaded = pyspiel.load_game(
        "python_kriegspiel(fen=k3/4/K3/3R w - - 30 60,horizon=60,count_tries=true)"
    )
    game = search_game(loaded)
    told = played(loaded, [*WITH_TRIES, "a2a3", "a2b3"]).information_state_string(0)
    belief = game.belief(0)
    belief.advance(None, told)
    before = belief.positions.copy()
    after = game.with_quiet_plies(0, told, belief.positions)
    np.testing.assert_array_equal(before, belief.positions)
    assert np.all(before[:, 4] >> np.uint64(48) == 5)  # tries
    assert np.all(before[:, 5] != 0)  # that are closed
    expected = before.copy()
    expected[:, 4] += np.uint64(34 << 32)  # 30 at the start and 4 plies
    np.testing.assert_array_equal(after, expected)


@pytest.mark.parametrize(
    "name",
    [
        "python_kriegspiel(board=microchess)",
        STANDARD,
        CASTLES,
        "python_kriegspiel(fen=4k3/pppppppp/8/PPPPPPPP/8/8/8/4K3 b - - 0 1,are_there_any=all)",
        "python_kriegspiel(fen=4k3/PPP5/8/8/8/8/ppp5/4K3 w - - 7 30,announce_tries=true)",
    ],
)
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
def test_random_games_have_the_pieces_that_were_read_and_no_larger_count(name, seed):
    loaded = pyspiel.load_game(name)
    game = search_game(loaded)
    rng = np.random.default_rng(seed)
    state = loaded.new_initial_state()
    for _ in range(120):
        state.apply_action(int(rng.choice(state.legal_actions())))
        if state.is_terminal():
            return
        position = state.moment.position
        words = packed.pack([position])
        sides = packed.side_array(position.side, 1)
        for player in (0, 1):
            told = state.information_state_string(player)
            (pieces,) = own_pieces(words, sides, player)
            np.testing.assert_array_equal(game.read(player, told).pieces, pieces)
            codes = packed.codes_of(game.board, pieces[None])[0]
            own = [code if (code > 8) == player else 0 for code in position.squares]
            castling = np.isin(codes, [7, 15])
            np.testing.assert_array_equal(np.where(castling, codes - 3, codes), own)
            rows = game.with_quiet_plies(player, told, game.initial().position)
            (clock,) = counts_of(rows)[1].tolist()
            assert min(position.halfmove_clock, 94) <= clock < 100


def test_a_capture_past_an_own_piece_is_not_read_as_one_en_passant():
    """The bishop on d4 stands where a pawn would be that e4d5 captured en passant."""
    name = "python_kriegspiel(fen=4k3/8/8/3p4/3BP3/8/8/4K3 w - - 0 1)"
    game, rows = rows_of(name, ["e4d5"])
    told = played(pyspiel.load_game(name), ["e4d5"]).information_state_string(0)
    (pieces,) = own_pieces(rows[1:], game.sides(rows[1:]), 0)
    np.testing.assert_array_equal(game.read(0, told).pieces, pieces)


def test_the_better_side_does_not_repeat():
    """White, a rook up, has had the king on a2 and b2 twice; unseeing, he would go on."""
    loaded = pyspiel.load_game(ROOK)
    game = search_game(loaded)
    line = ["a2b2", "a4b4", "b2a2", "b4c4", "a2b2", "c4b4", "b2a2", "b4a4"]
    state = played(loaded, line)
    told, again = state.information_state_string(0), state.string_to_action("a2b2")
    probability = {}
    for sees in (True, False):
        preset = dataclasses.replace(STRONG, repetitions=sees)
        player = SearchPlayer(game, 0, preset, Budget(nodes=2_000), seed=1)
        decision = player.decide(told, state.legal_actions())
        probability[sees] = decision.probabilities[decision.actions.index(again)]
        assert decision.report.value > 0.3
        assert len(player.search.seen_twice) == (2 if sees else 0)
    assert probability == {True: 0.0, False: 1.0}
