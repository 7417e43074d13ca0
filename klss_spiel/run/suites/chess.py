"""Speed of dark chess and Kriegspiel: states, successors, beliefs, trees.

Every row says how many things per second a contender does and how that compares with
this package: `ratio` is our rate divided by the contender's, measured in the same run,
on one core. Peers that are not installed give a row with the reason under `skipped`.
python-chess and pyffish (Fairy-Stockfish) are imported here for comparison only.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyspiel

from klss_spiel import openspiel
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.packed import position_sets
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.transition import Transition

Row = dict[str, Any]

_SUITE: Final = "chess"
COLUMNS: Final = (
    *("suite", "game", "task", "contender", "seconds", "ratio", "per_second", "skipped"),
    *("positions_before", "positions_after", "positions_before_per_second"),
    *("positions_after_per_second", "bytes_per_position", "nodes"),
)
_OURS: Final = "klss_spiel"
_SEED: Final = 2024
_HORIZON: Final = 6

_FOG_VARIANT: Final = """[fogofwar:chess]
king = -
commoner = k
castlingKingPiece = k
extinctionValue = loss
extinctionPieceTypes = k
"""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes:
        seconds: least duration of one measurement.
        repeats: measurements of which the best counts.
        positions: positions of random games that kernels work on.
        belief: least number of positions in the belief that is updated.
    """

    seconds: float
    repeats: int
    positions: int
    belief: int


_QUICK: Final = Effort(0.2, 2, 5_000, 20_000)
_FULL: Final = Effort(1.0, 3, 50_000, 500_000)


def _rate(work: Callable[[], int], effort: Effort) -> tuple[float, float]:
    """Seconds of the best run, and things per second, of work that returns their number."""
    work()  # compiles, loads
    best_seconds, best_rate = 0.0, 0.0
    for _ in range(effort.repeats):
        done, start = 0, time.perf_counter()
        while (seconds := time.perf_counter() - start) < effort.seconds:
            done += work()
        if done / seconds > best_rate:
            best_seconds, best_rate = seconds, done / seconds
    return best_seconds, best_rate


def _compare(
    game: str,
    task: str,
    contenders: dict[str, Callable[[], int] | str],
    effort: Effort,
    **extra: Any,
) -> Iterator[Row]:
    """Rows of one task; the first contender is ours, a text is why one is skipped."""
    ours = 0.0
    for contender, work in contenders.items():
        row: Row = {"suite": _SUITE, "game": game, "task": task, "contender": contender}
        if isinstance(work, str):
            yield {**row, "seconds": None, "ratio": None, "skipped": work}
            continue
        seconds, rate = _rate(work, effort)
        ours = ours or rate
        yield {**row, "seconds": seconds, "ratio": ours / rate, "per_second": rate, **extra}


def _missing(module: str) -> str | None:
    """Why a peer cannot take part, or None if it can."""
    if importlib.util.find_spec(module) is None:
        return f"the Python package {module} is not installed"
    return None


def _playouts(name: str, informed: bool = False) -> Callable[[], int]:
    """Random games through OpenSpiel's interface: legal actions, a view, a move.

    If `informed`, both players' information states are read every ply, too.
    """
    game = pyspiel.load_game(name)
    rng = random.Random(_SEED)

    def work() -> int:
        state, count = game.new_initial_state(), 0
        while not state.is_terminal() and count < 200:
            actions = state.legal_actions()
            state.observation_string(state.current_player())
            if informed:
                state.information_state_string(0)
                state.information_state_string(1)
            state.apply_action(rng.choice(actions))
            count += 1
        return count

    return work


def _states(effort: Effort) -> Iterator[Row]:
    for ours, theirs in (("python_dark_chess", "dark_chess"), ("python_kriegspiel", "kriegspiel")):
        contenders: dict[str, Callable[[], int] | str] = {_OURS: _playouts(ours)}
        contenders["OpenSpiel C++"] = _playouts(theirs)
        yield from _compare(theirs, "states through OpenSpiel's interface", contenders, effort)
        # The C++ games have no information states.
        contenders = {_OURS: _playouts(ours, informed=True)}
        yield from _compare(theirs, "states with both information states", contenders, effort)


def _random_positions(count: int) -> list[rules.Position]:
    """Positions with White to move, from random games of dark chess."""
    rng = random.Random(_SEED)
    found: list[rules.Position] = []
    while len(found) < count:
        position = boards.position_of("standard")
        for _ in range(80):
            moves = rules.pseudo_legal_moves(position)
            if not moves:
                break
            if position.side == rules.WHITE:
                found.append(position)
            position = rules.apply_move(position, rng.choice(moves))
    return found[:count]


def _chess_successors(fens: list[str], legal: bool) -> Callable[[], int] | str:
    """python-chess makes all successors of some positions."""
    if reason := _missing("chess"):
        return reason
    import chess

    parents = [chess.Board(fen) for fen in fens[:50]]

    def work() -> int:
        count = 0
        for board in parents:
            for move in list(board.legal_moves if legal else board.pseudo_legal_moves):
                board.push(move)
                board.pop()
                count += 1
        return count

    return work


def _pyffish() -> Any:
    """Fairy-Stockfish's bindings with the rules of dark chess loaded."""
    import pyffish

    if "fogofwar" not in pyffish.variants():
        pyffish.load_variant_config(_FOG_VARIANT)
    return pyffish


def _pyffish_successors(fens: list[str]) -> Callable[[], int] | str:
    """Fairy-Stockfish's bindings make all successors of some positions of dark chess."""
    if reason := _missing("pyffish"):
        return reason
    pyffish = _pyffish()

    def work() -> int:
        count = 0
        for fen in fens[:5]:
            for move in pyffish.legal_moves("fogofwar", fen, []):
                pyffish.get_fen("fogofwar", fen, [move])
                count += 1
        return count

    return work


def _kernels(effort: Effort) -> Iterator[Row]:
    positions = _random_positions(effort.positions)
    fens = [boards.fen_of(position) for position in positions]
    board, words = packed.layout(8, 8), packed.pack(positions)
    for task, legal in (("pseudo-legal successors", False), ("legal successors", True)):

        def make(legal: bool = legal) -> int:
            return len(packed.successors(board, words, rules.WHITE, legal)[1])

        contenders: dict[str, Callable[[], int] | str] = {_OURS: make}
        contenders["python-chess"] = _chess_successors(fens, legal)
        if not legal:
            contenders["pyffish"] = _pyffish_successors(fens)
        yield from _compare("8x8", task, contenders, effort)
    for task, kernel in (
        ("views of one side", lambda: len(packed.observations(board, words, 0, 1))),
        ("views of both sides, hashed", lambda: len(packed.observation_keys(board, words, 0))),
        (
            "expanded children with views and ends",
            lambda: len(Transition(board).successors(words, rules.WHITE).moves),
        ),
        ("features", lambda: len(packed.features(board, words, 0))),
        ("evaluations", lambda: len(packed.evaluate(board, words, 0))),
        ("distinct positions", lambda: len(position_sets.distinct(words)[0])),
    ):
        yield from _compare("8x8", task, {_OURS: kernel}, effort)


def _large_belief(least: int) -> tuple[position_sets.PositionSet, Any]:
    """White's belief before a move of Black, and the view after it that leaves `least`."""
    rng = random.Random(_SEED)
    board = packed.layout(8, 8)
    while True:
        position = boards.position_of("standard")
        belief = position_sets.PositionSet.of(position, rules.WHITE)
        for _ in range(60):
            moves = rules.pseudo_legal_moves(position)
            quiet = [m for m in moves if position.squares[m.target] == rules.EMPTY]
            if not quiet:
                break
            move, before, mover = rng.choice(quiet), belief, position.side
            position = rules.apply_move(position, move)
            view = packed.observations(board, packed.pack([position]), position.side, rules.WHITE)
            if mover == rules.WHITE:
                belief = belief.after_own_move(move, view[0])
                continue
            belief = belief.after_opponent_move(view[0])
            if len(belief) >= least:
                return before, view[0]


def _chess_belief(fens: list[str], seen: set[tuple[int, int]]) -> Callable[[], int] | str:
    """python-chess updates a part of a belief by trying every move.

    `seen` is what White sees: pairs of square and piece code.
    """
    if reason := _missing("chess"):
        return reason
    import chess

    parents = [chess.Board(fen) for fen in fens]

    def view(board: Any) -> set[tuple[int, int]]:
        board.turn = chess.WHITE
        squares = chess.SquareSet(board.occupied_co[chess.WHITE])
        cells = {*squares, *(move.to_square for move in board.pseudo_legal_moves)}
        pieces = board.piece_map()
        return {
            (s, pieces[s].piece_type + 8 * (not pieces[s].color) if s in pieces else 0)
            for s in cells
        }

    def work() -> int:
        count, kept = 0, set()
        for board in parents:
            for move in list(board.pseudo_legal_moves):
                board.push(move)
                if view(board) == seen:
                    kept.add(board.board_fen())
                board.pop()
                count += 1
        return count

    return work


def _pyffish_belief(fens: list[str]) -> Callable[[], int] | str:
    """Fairy-Stockfish's bindings show the fog of every successor of a part of a belief."""
    if reason := _missing("pyffish"):
        return reason
    pyffish = _pyffish()

    def work() -> int:
        count = 0
        for fen in fens[:3]:
            for move in pyffish.legal_moves("fogofwar", fen, []):
                pyffish.get_fog_fen(pyffish.get_fen("fogofwar", fen, [move]), "fogofwar")
                count += 1
        return count

    return work


def _beliefs(effort: Effort) -> Iterator[Row]:
    belief, view = _large_belief(effort.belief)
    after = belief.after_opponent_move(view)
    successors = len(packed.moves(belief.board, belief.positions, belief.side)[1])
    some = packed.unpack(belief.board, belief.positions[:: max(1, len(belief) // 20)], belief.side)
    fens = [boards.fen_of(position) for position in some]
    (code,) = packed.codes_of(belief.board, view[None, :4])
    seen = {(s, int(code[s])) for s in range(64) if int(view[4]) >> s & 1}

    def update() -> int:
        belief.after_opponent_move(view)
        return successors

    contenders: dict[str, Callable[[], int] | str] = {
        _OURS: update,
        "python-chess": _chess_belief(fens, seen),
        "pyffish": _pyffish_belief(fens),
    }
    for row in _compare("8x8", "successors in a belief update", contenders, effort):
        if row["contender"] == _OURS:
            positions_per_second = row["per_second"] / successors
            row |= {
                "positions_before": len(belief),
                "positions_after": len(after),
                "positions_before_per_second": positions_per_second * len(belief),
                "positions_after_per_second": positions_per_second * len(after),
                "bytes_per_position": after.positions.nbytes / len(after),
            }
        yield row


def _trees() -> Iterator[Row]:
    """Whole trees by compiled code, against the walk over states on a shorter game."""
    for board, rules_name, walked in (("minimal4x3", "paper", 6), ("mate2", "thesis", 4)):
        rates: dict[str, float] = {}
        for contender, horizon, from_states in (
            (_OURS, _HORIZON, False),
            ("walk over states", walked, True),
        ):
            name = f"python_dark_chess(board={board},horizon={horizon},rules={rules_name})"
            openspiel.tree_from_game(name.replace(f"horizon={horizon}", "horizon=2"))  # compiles
            start = time.perf_counter()
            tree = openspiel.tree_from_game(name, from_states=from_states)
            seconds = time.perf_counter() - start
            rates[contender] = tree.num_nodes / seconds
            yield {
                "suite": _SUITE,
                "game": f"{board} horizon {horizon}",
                "task": "nodes of the game tree",
                "contender": contender,
                "seconds": seconds,
                "ratio": rates[_OURS] / rates[contender],
                "per_second": rates[contender],
                "nodes": tree.num_nodes,
            }


def parts(quick: bool) -> list[str]:
    """What there is to measure; `quick` takes about a minute for all of it."""
    del quick
    return ["states", "kernels", "beliefs", "trees"]


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Measures a part."""
    effort = _QUICK if quick else _FULL
    match part:
        case "states":
            return _states(effort)
        case "kernels":
            return _kernels(effort)
        case "beliefs":
            return _beliefs(effort)
        case "trees":
            return _trees()
    raise ValueError(f"expected one of {parts(quick)}, got {part!r}")
