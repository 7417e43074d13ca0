"""The compiled capture resolver against full quiescence in plain Python."""

import random

import numpy as np
import pyspiel
import pytest

from klss_spiel import evaluators
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.evaluators import quiescence, resolver
from klss_spiel.games.chess.networks.network import shipped_network
from klss_spiel.games.chess.packed import counted_positions, search_game
from klss_spiel.games.chess.packed import positions as packed
from tests.helpers import random_chess
from tests.helpers.chess_positions import mirrored, random_play
from tests.helpers.recorded_games import are_of_people, recorded_games

_BOARD = packed.layout(8, 8)
_NO_LIMIT = 1 << 30
_WORTH = {
    rules.PAWN: 1,
    rules.KNIGHT: 3,
    rules.BISHOP: 3,
    rules.ROOK: 5,
    rules.QUEEN: 9,
    rules.KING: 0,
}
_PER_PAWN = 1 / 1000  # makes any material a value well below a win


def _words(positions):
    return packed.pack(positions), np.array([p.side for p in positions], dtype=np.uint8)


def _lead(position):
    """Material of the side to move less that of the other, in pawns."""
    worth = [(code >> 3, _WORTH[rules.kind_of(code)]) for code in position.squares if code]
    return sum(w if colour == position.side else -w for colour, w in worth)


def _material(position):
    return _lead(position) * _PER_PAWN


def _handmade(position):
    board = packed.layout(position.width, position.height)
    (value,) = packed.evaluate(board, packed.pack([position]), position.side)
    return float(value if position.side == rules.WHITE else -value)


def _full_quiescence(positions):
    """[n] White's utility."""
    values = [quiescence.quiescence(position, _handmade) for position in positions]
    return np.array(values) * np.array([1 - 2 * p.side for p in positions])


def _has_kings(position):
    return None not in [rules.king_square(position, c) for c in (rules.WHITE, rules.BLACK)]


def _real_positions():
    for game in recorded_games():
        position = boards.position_of("standard")
        for move in game.moves:
            yield position
            position = rules.apply_move(position, boards.move_from_uci(move, 8, 8))


def _random_positions(count, seed):
    """Positions of random play from the standard start."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        line = random_play(boards.position_of("standard"), rng, rng.randrange(4, 60), legal=False)
        position = list(line)[-1]
        if _has_kings(position):
            found.append(position)
    return found


def _placements(rng, size, count):
    """Random positions of a board; not crowded, or plain quiescence takes forever."""
    found = []
    while len(found) < count:
        position = random_chess.random_position(rng, *size)
        if _has_kings(position) and len(position.squares) - position.squares.count(0) <= 14:
            found.append(position)
    return found


@pytest.mark.parametrize("size", random_chess.SIZES)
def test_without_shortcuts_material_is_that_of_full_quiescence(size):
    rng = random.Random(sum(size))
    board = packed.layout(*size)
    positions = _placements(rng, size, 40)
    resolution = resolver.resolve(board, *_words(positions), _NO_LIMIT, skip_losing=False)
    for i, position in enumerate(positions):
        value = quiescence.quiescence(position, _material)
        if resolution.decided[i]:
            assert value == quiescence.WIN
            assert resolution.decided[i] == (1 if position.side == rules.WHITE else -1)
        else:
            expected = round(value / _PER_PAWN) - _lead(position)
            assert resolution.gains[i] == expected, boards.fen_of(position)


@pytest.mark.parametrize("size", [(3, 3), (5, 5), (8, 8)])
def test_ends_are_quiet_and_hold_the_material_that_was_won(size):
    rng = random.Random(7)
    board = packed.layout(*size)
    positions = _placements(rng, size, 100)
    words, sides = _words(positions)
    resolution = resolver.resolve(board, words, sides, _NO_LIMIT, skip_losing=False)
    again = resolver.resolve(board, resolution.ends, resolution.sides, _NO_LIMIT, skip_losing=False)
    ends = packed.unpack(board, resolution.ends, resolution.sides)
    gaining = 0
    for i, (position, end) in enumerate(zip(positions, ends, strict=True)):
        if resolution.decided[i]:
            continue
        assert again.gains[i] == again.decided[i] == 0
        lead = _lead(end) if end.side == position.side else -_lead(end)
        assert lead - _lead(position) == resolution.gains[i]
        if resolution.gains[i] == 0:  # nothing happens; the right en passant stays
            assert (resolution.ends[i] == words[i]).all()
        gaining += bool(resolution.gains[i])
    assert gaining >= 5


def test_values_correlate_with_full_quiescence_on_real_games():
    positions = list(_real_positions())[::3]
    words, sides = _words(positions)
    full = _full_quiescence(positions)
    resolved = resolver.resolver()(_BOARD, words, sides)
    assert np.corrcoef(full, resolved)[0, 1] >= 0.99
    assert resolver.resolve(_BOARD, words, sides).nodes.mean() < 15
    # ... which the evaluation alone is far from, farther where people left more to capture.
    alone = np.corrcoef(full, packed.evaluate(_BOARD, words, sides))[0, 1]
    assert alone < (0.95 if are_of_people() else 0.97)


def test_values_correlate_with_full_quiescence_on_random_play():
    positions = _random_positions(150, seed=5)
    words, sides = _words(positions)
    full = _full_quiescence(positions)
    resolved = resolver.resolver()(_BOARD, words, sides)
    assert np.corrcoef(full, resolved)[0, 1] >= 0.99
    assert np.corrcoef(full, packed.evaluate(_BOARD, words, sides))[0, 1] < 0.97


def test_few_nodes_are_needed_and_the_limit_is_kept():
    words, sides = _words(_random_positions(400, seed=2))
    # Random play leaves pieces hanging everywhere; real games need 4 to 5 nodes.
    assert resolver.resolve(_BOARD, words, sides).nodes.mean() < 20
    assert resolver.resolve(_BOARD, words, sides, _NO_LIMIT).nodes.max() > 20
    limited = resolver.resolve(_BOARD, words, sides, node_limit=5)
    assert limited.nodes.max() == 5
    # One node is the position itself: nobody captures.
    alone = resolver.resolve(_BOARD, words, sides, node_limit=1)
    assert (alone.ends == words).all()


@pytest.mark.parametrize(
    ("fen", "gain"),
    [
        # A queen that a pawn guards and a knight attacks: Nxd4, cxd4.
        ("4k3/8/2n5/8/3Q4/2P5/8/4K3 b - - 0 1", 6),
        # A guarded pawn is left to itself; an unguarded one is taken.
        ("4k3/8/3p4/4p3/8/8/4Q3/4K3 w - - 0 1", 0),
        ("4k3/8/8/4p3/8/8/7Q/K7 w - - 0 1", 1),
        # The rook behind the rook makes the capture good: Rxd5, exd5, Rxd5.
        ("4k3/8/2r5/3q4/8/8/3R4/3RK3 w - - 0 1", 9),
        # Promotion, by a step and by a capture; en passant.
        ("8/P6k/8/8/8/8/8/K7 w - - 0 1", 8),
        ("1r6/P6k/8/8/8/8/8/K7 w - - 0 1", 13),
        ("4k3/8/8/8/Pp6/8/8/4K3 b - a3 0 1", 1),
        # The king may not capture what is guarded.
        ("4k3/8/8/8/8/2b5/3p4/4K3 w - - 0 1", 0),
    ],
)
def test_known_captures(fen, gain):
    position = boards.position_from_fen(fen)
    for case in (position, mirrored(position)):
        resolution = resolver.resolve(_BOARD, *_words([case]))
        assert resolution.decided.tolist() == [0]
        assert resolution.gains.tolist() == [gain]


def test_the_evaluation_is_asked_once_at_quiet_ends_with_safe_kings():
    positions = _random_positions(300, seed=11)
    words, sides = _words(positions)
    asked = []

    def evaluation(board, ends, end_sides):
        asked.append((ends, end_sides))
        return np.full(len(ends), 0.25, dtype=np.float32)

    values = resolver.resolver(evaluation)(_BOARD, words, sides)
    ((ends, end_sides),) = asked
    resolution = resolver.resolve(_BOARD, words, sides)
    decided = resolution.decided != 0
    assert 0 < decided.sum() < len(positions)
    assert (values[~decided] == 0.25).all()
    assert (values[decided] == resolution.decided[decided]).all()
    assert (ends == resolution.ends[~decided]).all()
    for end in packed.unpack(_BOARD, ends, end_sides):
        assert _has_kings(end)
        assert not rules.in_check(end, 1 - end.side)


def test_a_captured_king_decides():
    gone = boards.position_from_fen("8/8/8/8/8/8/8/4K3 w - - 0 1", need_kings=False)
    for side, value in ((rules.WHITE, 1), (rules.BLACK, 1)):
        words = packed.pack([gone._replace(side=side)])
        assert resolver.resolver()(_BOARD, words, np.array([side])) == value


def test_colours_are_treated_alike():
    positions = _random_positions(60, seed=3)
    evaluate = resolver.resolver()
    values = evaluate(_BOARD, *_words(positions))
    swapped = evaluate(_BOARD, *_words([mirrored(p) for p in positions]))
    # Captures of equal worth are tried from the first cell on, so ends may differ a little.
    assert np.corrcoef(values, -swapped)[0, 1] > 0.99


@pytest.mark.parametrize("first", ["w", "b"])
def test_positions_of_a_search_are_evaluated_for_their_side_to_move(first):
    fen = boards.BOARDS["standard"].replace(" w ", f" {first} ")
    game = pyspiel.load_game("python_dark_chess", {"fen": fen})
    positions = _random_positions(50, seed=4)
    words, sides = _words(positions)
    plies = 2 * np.arange(50) + (sides ^ np.uint8(first == "b"))
    counted = counted_positions.with_counts(words, plies, np.full(50, 7))
    expected = resolver.resolver()(_BOARD, words, sides)
    evaluator = evaluators.make_evaluator(game, "resolver(handmade)")
    assert evaluator.name == "resolver(handmade)"
    assert (evaluator(counted) == expected).all()
    # What a search uses if nothing is chosen: the network behind the resolver.
    by_network = resolver.resolver(shipped_network().evaluate)(_BOARD, words, sides)
    assert not (by_network == expected).all()
    for name in ("resolver", "resolver(network)"):
        assert (evaluators.make_evaluator(game, name)(counted) == by_network).all()
    assert (game.search_game().evaluate(counted) == by_network).all()
    assert (search_game.DarkChess(game.setup).evaluate(counted) == by_network).all()
    handmade = evaluators.make_evaluator(game, "handmade")
    assert not (handmade(counted) == expected).all()
    few = evaluators.make_evaluator(game, "resolver(handmade,node_limit=1)")(counted)
    assert not (few == expected).all()


def test_small_boards_are_evaluated_by_hand_if_nothing_is_chosen():
    game = pyspiel.load_game("python_dark_chess(board=minimal4x3)")
    start = game.search_game().initial()
    children = game.search_game().expand(start.position, start.infoset_ids).position
    expected = evaluators.make_evaluator(game, "resolver(handmade)")(children)
    for evaluate in (
        game.search_game().evaluate,
        search_game.DarkChess(game.setup).evaluate,
        evaluators.make_evaluator(game, "resolver"),
    ):
        assert (evaluate(children) == expected).all()


def test_kriegspiel_is_evaluated_alike():
    words, sides = _words(_random_positions(30, seed=6))
    counted = counted_positions.with_counts(words, sides)
    dark, kriegspiel = (
        {
            name: evaluators.make_evaluator(game, name)(counted).tolist()
            for name in ("resolver", "resolver(network)", "resolver(handmade)")
        }
        for game in ("python_dark_chess", "python_kriegspiel")
    )
    # What is asked by default, and how to mate a bare king in Kriegspiel: see test_hunt.
    assert dark.pop("resolver") == dark["resolver(network)"] != dark["resolver(handmade)"]
    kriegspiel.pop("resolver")
    assert dark == kriegspiel


def test_wrong_arguments_are_refused():
    words, sides = _words(_random_positions(2, seed=4))
    with pytest.raises(ValueError, match="limit of 1 node"):
        resolver.resolve(_BOARD, words, sides, node_limit=0)
    with pytest.raises(ValueError, match=r"\[n, 4\] of uint64, got \[2, 3\]"):
        resolver.resolve(_BOARD, words[:, :3], sides)
