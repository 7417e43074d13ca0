"""The compiled alpha-beta against plain minimax, perft and positions with known answers."""

import random

import numpy as np
import pytest

from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.dark_chess_play import RULES
from klss_spiel.games.chess.evaluators import resolver
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.alphabeta import MAX_DEPTH, AlphaBeta
from klss_spiel.games.chess.packed.kernels.moves import PUBLIC_BITS
from klss_spiel.games.chess.packed.transition import Transition
from tests.helpers import random_chess
from tests.helpers.chess_positions import PERFT_FENS

_WIN = 20_000
_UTILITY = 10_000
_evaluate = resolver.resolver()


def _position(fen):
    position = boards.position_from_fen(fen)
    return packed.layout(position.width, position.height), packed.pack([position])[0], position.side


def _names(board, moves):
    return [boards.move_to_uci(packed.unpack_move(board, m), board.width) for m in moves]


def _leaf_scores(board, words, side, ply):
    """[n] scores of positions that are not searched any deeper, for the side to move."""
    values = _evaluate(board, words, np.full(len(words), side)) * (1 - 2 * side)
    won = resolver.resolve(board, words, side).decided * (1 - 2 * side)
    scores = np.rint(values * np.float32(_UTILITY)).astype(np.int64)
    return np.where(won > 0, _WIN - (ply + 1), np.where(won < 0, -(_WIN - ply), scores))


def _minimax(board, words, side, depth, ply=0, variant=RULES["paper"]):
    """[n] scores for the side to move by looking at every line, all of one depth at once."""
    if depth == 0:
        return _leaf_scores(board, words, side, ply)
    below = Transition(board, variant).successors(words, side)
    scores = np.zeros(len(below.over), dtype=np.int64)
    # At the children the other side is to move: it has lost, or has no move.
    lost = below.over & (below.utility != 0)
    scores[lost] = -(_WIN - (ply + 1))
    open_ = ~below.over
    if open_.any():
        scores[open_] = _minimax(
            board, below.positions[open_], 1 - side, depth - 1, ply + 1, variant
        )
    return np.maximum.reduceat(-scores, below.moves.starts[:-1])


def _root_scores(board, word, side, depth, variant=RULES["paper"]):
    """Score of each move of the root."""
    below = Transition(board, variant).successors(word[None], side)
    scores = {}
    for i, move in enumerate((below.moves.words & int(PUBLIC_BITS)).tolist()):
        if below.over[i]:
            scores[move] = _WIN - 1 if below.utility[i] else 0
        else:
            child = below.positions[i : i + 1]
            scores[move] = -int(_minimax(board, child, 1 - side, depth - 1, 1, variant)[0])
    return scores


def _score(result):
    """The integer score that a result stands for."""
    if result.plies_to_end is None:
        return round(result.score * _UTILITY)
    return int(np.sign(result.score)) * (_WIN - result.plies_to_end)


def _searchable(rng, size, count):
    """Random positions with both kings and a move."""
    found = []
    while len(found) < count:
        position = random_chess.random_position(rng, *size)
        if rules.pseudo_legal_moves(position):
            found.append(position)
    return found


_CASES = [((3, 3), 4, 25), ((4, 3), 4, 15), ((5, 5), 3, 10), ((7, 6), 3, 3), ((8, 8), 2, 6)]


@pytest.mark.parametrize(("size", "depth", "count"), _CASES)
def test_every_depth_is_plain_minimax_with_and_without_table(size, depth, count):
    rng = random.Random(size[0] * 10 + size[1])
    board = packed.layout(*size)
    engines = [
        AlphaBeta(board),
        AlphaBeta(board, table_entries=0),
        AlphaBeta(board, table_entries=8),
    ]
    for position in _searchable(rng, size, count):
        (word,), side = packed.pack([position]), position.side
        for plies in range(1, depth + 1):
            expected = _root_scores(board, word, side, plies)
            best = max(expected.values())
            for engine in engines:
                result = engine.search(word, side, depth=plies)
                assert _score(result) == best, boards.fen_of(position)
                assert expected[result.best] == best
            result = engines[0].search(word, side, depth=plies, all_scores=True)
            utilities = {m: np.clip(s / _UTILITY, -1, 1) for m, s in expected.items()}
            assert dict(zip(result.moves.tolist(), result.scores, strict=True)) == utilities


def test_minimax_on_the_standard_board_at_depth_three():
    for fen in PERFT_FENS[:1] + PERFT_FENS[2:3]:
        board, word, side = _position(fen)
        expected = _minimax(board, word[None], side, 3)[0]
        assert _score(AlphaBeta(board).search(word, side, depth=3)) == expected
        assert _score(AlphaBeta(board, table_entries=0).search(word, side, depth=3)) == expected


@pytest.mark.parametrize(("name", "utility"), [("paper", 1), ("no_move_draws", 0)])
def test_a_side_without_moves_loses_or_draws_by_the_rules(name, utility):
    # Once its queen is captured, none of Black's pieces can move and none sees the king.
    board, word, side = _position("kb2/prp1/nbqK w - - 0 1")
    for depth in (1, 2, 3):
        engine = AlphaBeta(board, RULES[name])
        result = engine.search(word, side, depth=depth, all_scores=True)
        scores = dict(zip(_names(board, result.moves), result.scores, strict=True))
        assert scores["d1c1"] == utility
        assert _score(result) == max(_root_scores(board, word, side, depth, RULES[name]).values())
    assert (result.plies_to_end == 1) == (utility == 1)


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        (boards.BOARDS["standard"], 3),
        (PERFT_FENS[1], 2),
        (PERFT_FENS[3], 2),
        (boards.BOARDS["microchess"], 4),
        (boards.BOARDS["minimal4x3"], 4),
    ],
)
def test_without_pruning_every_position_of_perft_is_entered(fen, depth):
    board, word, side = _position(fen)
    result = AlphaBeta(board, table_entries=0, pruning=False).search(word, side, depth=depth)
    paths = [packed.perft(board, word, side, plies, legal=False) for plies in range(depth + 1)]
    # Each iteration looks at all positions of its depth and of smaller ones.
    assert result.nodes == sum(sum(paths[: plies + 1]) for plies in range(1, result.depth + 1))
    pruned = AlphaBeta(board).search(word, side, depth=depth)
    assert pruned.nodes < result.nodes
    assert _score(pruned) == _score(result)


@pytest.mark.parametrize(
    ("fen", "depth", "move", "plies_to_end"),
    [
        # The king can be captured.
        ("4k3/8/8/8/8/8/4R3/K7 w - - 0 1", 3, "e2e8", 1),
        # Every move of the lone king loses it.
        (boards.BOARDS["minimal4x3"], 4, "d2b2", 3),
        # Back rank: the king falls whatever Black does.
        ("6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1", 2, "a1a8", 3),
        # Two rooks: a ladder.
        ("8/8/8/7k/R7/8/1R6/K7 w - - 0 1", 5, "b2g2", 5),
        # A fork of king and queen.
        ("q3k3/8/8/3N4/8/8/8/4K3 w - - 0 1", 3, "d5c7", None),
        # A pawn becomes a queen, or a knight if that forks king and queen.
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", 3, "a7a8q", None),
        ("8/2P1k3/1q6/8/8/8/8/K7 w - - 0 1", 3, "c7c8n", None),
    ],
)
def test_known_answers(fen, depth, move, plies_to_end):
    board, word, side = _position(fen)
    result = AlphaBeta(board).search(word, side, depth=depth)
    assert _names(board, [result.best]) == [move]
    assert result.plies_to_end == plies_to_end
    assert result.best == result.line[0]
    assert result.score > 0.2


def test_the_losing_side_holds_out_longest():
    # Black is mated; a move that leaves the king where it is loses it at once, too.
    board, word, side = _position("R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1")
    result = AlphaBeta(board).search(word, side, depth=3, all_scores=True)
    assert result.plies_to_end == 2
    assert (result.scores == -1).all()


def test_lines_are_playable_and_end_in_the_score():
    board, word, side = _position(PERFT_FENS[0])
    result = AlphaBeta(board, table_entries=0).search(word, side, depth=4)
    position = boards.position_from_fen(PERFT_FENS[0])
    assert len(result.line) == 4
    for move in result.line:
        played = packed.unpack_move(board, move)
        assert played in rules.pseudo_legal_moves(position)
        position = rules.apply_move(position, played)
    value = _evaluate(board, packed.pack([position]), np.array([position.side]))[0]
    assert round(float(value) * _UTILITY) == _score(result)


def test_the_same_search_gives_the_same_result():
    board, word, side = _position(PERFT_FENS[1])
    engine = AlphaBeta(board)
    first = engine.search(word, side, nodes=5000, all_scores=True)
    engine.search(*_position(PERFT_FENS[3])[1:], depth=3)
    again = engine.search(word, side, nodes=5000, all_scores=True)
    assert (first.best, first.nodes, first.depth) == (again.best, again.nodes, again.depth)
    assert first.line.tolist() == again.line.tolist()
    assert first.scores.tolist() == again.scores.tolist()


def test_nodes_are_limited_once_depth_one_is_done():
    board, word, side = _position(PERFT_FENS[1])
    engine = AlphaBeta(board)
    least = engine.search(word, side, nodes=1)
    assert least.depth == 1
    assert least.nodes >= len(least.moves)
    some = engine.search(word, side, nodes=3000)
    assert 1 < some.depth < MAX_DEPTH
    assert some.nodes == 3000
    # What counts is the last iteration that was finished.
    assert _score(some) == _score(engine.search(word, side, depth=some.depth))


def _legal_minimax(position, depth, ply=0):
    """Minimax by the rules of ordinary chess, with the readable rules."""
    moves = rules.legal_moves(position)
    if not moves:
        return -(_WIN - ply) if rules.in_check(position, position.side) else 0
    if depth == 0:
        board = packed.layout(position.width, position.height)
        return int(_leaf_scores(board, packed.pack([position]), position.side, ply)[0])
    return max(-_legal_minimax(rules.apply_move(position, m), depth - 1, ply + 1) for m in moves)


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        ("6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1", 2),  # mate in one
        ("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", 2),  # mate among stalemates
        ("k7/2Q5/8/8/8/8/8/K7 b - - 0 1", 1),
        (PERFT_FENS[4], 1),
        (boards.BOARDS["microchess"], 3),
    ],
)
def test_ordinary_chess_for_kriegspiel(fen, depth):
    board, word, side = _position(fen)
    position = boards.position_from_fen(fen)
    engine = AlphaBeta(board, legal=True)
    if not rules.legal_moves(position):
        with pytest.raises(ValueError, match="both kings and a move"):
            engine.search(word, side, depth=depth)
        return
    result = engine.search(word, side, depth=depth)
    assert _score(result) == _legal_minimax(position, depth)
    legal = {packed.pack_move(board, m) for m in rules.legal_moves(position)}
    assert set(result.moves.tolist()) == legal


def test_pawns_become_queens_only_where_the_rules_say_so():
    board, word, side = _position(boards.BOARDS["mate2"])
    kinds = {}
    for name in ("paper", "thesis"):
        moves = AlphaBeta(board, RULES[name]).search(word, side, depth=3).moves
        kinds[name] = {packed.unpack_move(board, m).promotion for m in moves}
    assert kinds["thesis"] == {rules.NO_PROMOTION, rules.QUEEN}
    assert kinds["paper"] == {rules.NO_PROMOTION, *rules.PROMOTIONS}


def test_wrong_arguments_are_refused():
    board, word, side = _position(PERFT_FENS[0])
    engine = AlphaBeta(board)
    with pytest.raises(ValueError, match="power of two"):
        AlphaBeta(board, table_entries=1000)
    with pytest.raises(ValueError, match=r"expected weights \[2, 14\], got \[2\]"):
        AlphaBeta(board, weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="depth from 1"):
        engine.search(word, side, depth=0)
    with pytest.raises(ValueError, match="got neither"):
        engine.search(word, side)
    with pytest.raises(ValueError, match="1 node or more"):
        engine.search(word, side, nodes=0)
    with pytest.raises(ValueError, match="packed positions"):
        engine.search(word[:3], side, depth=1)
    with pytest.raises(ValueError, match="sides 0 or 1"):
        engine.search(word, 2, depth=1)
