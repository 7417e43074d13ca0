"""A player in another process, which is told views only; see `view_protocol`."""

from __future__ import annotations

from typing import Any

from klss_spiel.line_program import LineProgram, ProgramError
from klss_spiel.matches.players import Seat, register_player
from klss_spiel.matches.referee import Player
from klss_spiel.matches.view_protocol import COLOURS, ToldGame, views_of_state

_SECONDS_TO_START = 60.0
_SECONDS_TO_THINK = 600.0
_SECONDS_PAST_CLOCK = 0.5
_ERROR = "info string error"


class ProcessPlayer:
    """Plays what a program says that understands the view protocol.

    Attributes:
      report: the program's last `info` line.
    """

    def __init__(self, seat: Seat, command: str, nodes: int | None, seconds: float | None) -> None:
        """Starts the program.

        Args:
          seat: where it sits; the game must be one of chess.
          command: the program with its arguments.
          nodes: per move, or None.
          seconds: per move, or None.
        """
        ToldGame(seat.game, seat.player)  # refuses other games
        self._limit = seconds if seconds is not None else seat.seconds
        self._nodes = nodes
        self._sent = 0
        self.report: str | None = None
        self._program = LineProgram(command)
        try:
            self._ask("uci", "uciok", _SECONDS_TO_START)
            self._program.tell(f"setoption name Game value {seat.game}")
            self._program.tell(f"setoption name Colour value {COLOURS[seat.player]}")
            self._program.tell(f"setoption name Seed value {seat.seed}")
            self._program.tell("ucinewgame")
            self._ask("isready", "readyok", _SECONDS_TO_START)
        except BaseException:
            self.close()
            raise

    def step(self, state: Any) -> int:
        """Tells the program what happened since its last move, and asks for the next."""
        told = state.information_state_string()
        for view in views_of_state(told, state.observation_string(), self._sent):
            self._program.tell(view.line())
        self._sent = len(told.split())
        names = {state.action_to_string(a): a for a in state.legal_actions()}
        seconds = _SECONDS_TO_THINK
        if state.clock is not None:
            # Past that the referee counts the game as lost on time, whatever the answer.
            seconds = min(seconds, state.clock.remaining + _SECONDS_PAST_CLOCK)
        move = self._ask(self._go(state), "bestmove", seconds).split()[1:2]
        if not move or move[0] not in names:
            raise ProgramError(f"expected a legal move, got bestmove {' '.join(move)!r}")
        return int(names[move[0]])

    def close(self) -> None:
        """Ends the program."""
        self._program.close()

    def _go(self, state: Any) -> str:
        if self._nodes is not None:
            return f"go nodes {self._nodes}"
        if self._limit is not None:
            return f"go movetime {round(1000 * self._limit)}"
        if state.clock is not None:
            own = "w" if state.current_player() == 0 else "b"
            time_left, increment = state.clock.remaining, state.clock.increment
            return f"go {own}time {round(1000 * time_left)} {own}inc {round(1000 * increment)}"
        return "go"

    def _ask(self, line: str, wanted: str, seconds: float) -> str:
        return self._program.ask(line, wanted, seconds, self._hear)

    def _hear(self, line: str) -> None:
        if line.startswith(_ERROR):
            raise ProgramError(line.removeprefix("info string "))
        if line.startswith("info"):
            self.report = line


def _make_engine(
    seat: Seat, command: str, nodes: int | None = None, seconds: float | None = None
) -> Player:
    return ProcessPlayer(seat, command, nodes, seconds)


register_player("engine", _make_engine)
