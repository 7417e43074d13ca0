"""`uci(command)`: what a program of ordinary chess says of positions of hidden-information chess.

Such programs know the rules of ordinary chess, in which no king is ever captured. So
positions of dark chess in which a king is gone or can be captured, and those without a
legal move of ordinary chess, are decided here and never sent. What a program does not
mention (moves that leave the own king to be captured, castling through check) counts as
lost. The board is 8x8.

A program is started with a command, so that specifications are for the owner of the machine.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.evaluators import Evaluator
from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.dark_chess_play import DarkChessSetup
from klss_spiel.games.chess.evaluators.packed_evaluation import on_positions
from klss_spiel.games.chess.packed.positions import Layout, SideArray, unpack
from klss_spiel.line_program import LineProgram, ProgramError
from klss_spiel.search_game import EvaluatorError

_SECONDS_TO_START: Final = 60.0
_SECONDS_TO_STOP: Final = 2.0
# Unless something else is said; of every position.
SECONDS_TO_THINK: Final = 30.0
_MOST_LINES: Final = 256
# Every mate is worth more than anything that is not mate, and a near one more than a far one.
_WORTH_OF_PAWNS: Final = 0.95
_WORTH_OF_A_MOVE: Final = 1e-4
_LONGEST_MATE: Final = 400


class UciProgram:
    """A program that plays ordinary chess. Mutable; used by one thread at a time."""

    def __init__(
        self,
        command: str,
        depth: int | None = None,
        nodes: int | None = None,
        seconds: float | None = None,
        all_moves: bool = False,
        deadline: float = SECONDS_TO_THINK,
        seconds_to_stop: float = _SECONDS_TO_STOP,
    ) -> None:
        """Starts the program.

        Args:
            command: the program with its arguments.
            depth: of a search, or None.
            nodes: of a search, or None.
            seconds: of a search, or None; one of the three is needed.
            all_moves: ask for the scores of all moves (option MultiPV), if it can.
            deadline: seconds after which a program that should have answered about a
                position is told to stop; those of a search are added to it.
            seconds_to_stop: after which one that does not stop either is ended.
        """
        limits = {"depth": depth, "nodes": nodes}
        if seconds is not None:
            limits["movetime"] = round(1000 * seconds)
        given = {name: limit for name, limit in limits.items() if limit is not None}
        if not given or any(limit < 1 for limit in given.values()):
            raise ValueError(f"expected a depth, nodes or seconds above 0 for uci, got {given}")
        if not deadline > 0.0:
            raise ValueError(f"expected a deadline above 0 for uci, got {deadline}")
        self._go = "go " + " ".join(f"{name} {limit}" for name, limit in given.items())
        self._deadline = deadline + (seconds or 0.0)
        self._seconds_to_stop = seconds_to_stop
        self._most_lines = 1
        try:
            self._program = LineProgram(command)
            self._program.ask("uci", "uciok", _SECONDS_TO_START, self._hear_option)
            if all_moves and self._most_lines > 1:
                lines = min(self._most_lines, _MOST_LINES)
                self._program.tell(f"setoption name MultiPV value {lines}")
            self._program.tell("ucinewgame")
            self._program.ask("isready", "readyok", _SECONDS_TO_START)
        except ProgramError as error:
            raise EvaluatorError(f"uci: {error}") from error

    def scores(self, position: rules.Position) -> tuple[dict[str, float], float]:
        """Moves and what they are worth to the mover, and what the position is worth.

        Args:
            position: with a legal move of ordinary chess, no king to be captured.

        Raises:
            EvaluatorError: the program has no answer in time, or has ended.
        """
        found: dict[str, float] = {}
        latest = [0.0]

        def hear(line: str) -> None:
            words = line.split()
            if words[:1] != ["info"] or "score" not in words:
                return
            at = words.index("score")
            kind, number = [*words[at + 1 : at + 3], "", ""][:2]
            if not number.lstrip("-").isdecimal() or kind not in ("cp", "mate"):
                return
            value = utility_of_score(kind, int(number))
            is_bound = "lowerbound" in words or "upperbound" in words
            move = words[words.index("pv") + 1] if "pv" in words[:-1] else None
            if move is not None and not (is_bound and move in found):
                found[move] = value
            if "multipv" not in words or words[words.index("multipv") + 1 :][:1] == ["1"]:
                latest[0] = value

        try:
            self._program.tell(f"position fen {boards.fen_of(position)}")
            try:
                answer = self._program.ask(self._go, "bestmove", self._deadline, hear)
            except ProgramError:
                answer = self._program.ask("stop", "bestmove", self._seconds_to_stop, hear)
        except ProgramError as error:
            self._program.close()
            raise EvaluatorError(f"uci: {error}") from error
        best = answer.split()[1:2]
        if best:
            # Nothing that was mentioned on the way is better than what is played.
            found = {move: min(value, latest[0]) for move, value in found.items()}
            found[best[0]] = latest[0]
        return found, latest[0]

    def close(self) -> None:
        """Ends the program."""
        self._program.close()

    def _hear_option(self, line: str) -> None:
        words = line.split()
        if words[:3] == ["option", "name", "MultiPV"] and "max" in words[:-1]:
            most = words[words.index("max") + 1]
            self._most_lines = int(most) if most.isdecimal() else 1


def utility_of_score(kind: str, number: int) -> float:
    """A score of UCI ("cp" or "mate") as a utility between -1 and 1."""
    if kind == "mate":
        sign = 1.0 if number > 0 else -1.0  # "mate 0": the mover is mated
        return sign * (1.0 - _WORTH_OF_A_MOVE * min(abs(number), _LONGEST_MATE))
    return _WORTH_OF_PAWNS * float(np.tanh(number / 400.0 * np.log(10.0) / 2.0))


def decided_in_fog(position: rules.Position) -> float | None:
    """What dark chess is worth to the mover where ordinary chess has no such position."""
    if rules.king_square(position, position.side) is None:
        return -1.0
    if rules.king_square(position, 1 - position.side) is None:
        return 1.0
    if rules.in_check(position, 1 - position.side):
        return 1.0  # the king is captured
    if not rules.legal_moves(position):
        return -1.0  # whatever moves, the own king is lost
    return None


def scores_in_fog(program: UciProgram, position: rules.Position) -> dict[str, float]:
    """What all moves of dark chess are worth to the mover, by their names."""
    king = rules.king_square(position, 1 - position.side)
    scores = {
        boards.move_to_uci(move, position.width): 1.0 if move.target == king else -1.0
        for move in rules.moves_of(position, position.side)
    }
    if decided_in_fog(position) is None:
        found, _ = program.scores(position)
        scores |= {move: value for move, value in found.items() if move in scores}
    return scores


def check_board(position: rules.Position) -> None:
    """Raises ValueError for boards that programs of ordinary chess do not know."""
    if (position.width, position.height) != (8, 8):
        raise ValueError(f"expected an 8x8 board for uci, got {position.width}x{position.height}")


def uci_evaluator(
    setup: DarkChessSetup,
    command: str,
    depth: int | None,
    nodes: int | None,
    seconds: float | None,
    deadline: float = SECONDS_TO_THINK,
) -> Evaluator:
    """Values of positions of dark chess by a program; see `UciProgram`."""
    check_board(setup.start)
    program = UciProgram(command, depth, nodes, seconds, deadline=deadline)

    def evaluate(board: Layout, positions: U64Array, sides: SideArray) -> FloatArray:
        values = np.empty(len(positions))
        for i, position in enumerate(unpack(board, positions, sides)):
            value = decided_in_fog(position)
            if value is None:
                value = program.scores(position)[1]
            values[i] = value if position.side == rules.WHITE else -value
        return values

    return on_positions("uci", evaluate, setup)
