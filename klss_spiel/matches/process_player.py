"""A player in another process, which is told views only; see `view_protocol`."""

from __future__ import annotations

import queue
import shlex
import subprocess
import threading
import time
from typing import Any

from klss_spiel.matches.players import Seat, register_player
from klss_spiel.matches.referee import Player
from klss_spiel.matches.view_protocol import COLOURS, ToldGame, views_of_state

_SECONDS_TO_START = 60.0
_SECONDS_TO_THINK = 600.0
_SECONDS_TO_END = 5.0


class EngineError(RuntimeError):
    """Another process did not play by the protocol."""


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
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        except OSError as error:
            raise EngineError(f"cannot start {command!r}: {error}") from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._ask("uci", "uciok")
        self._tell(f"setoption name Game value {seat.game}")
        self._tell(f"setoption name Colour value {COLOURS[seat.player]}")
        self._tell(f"setoption name Seed value {seat.seed}")
        self._tell("ucinewgame")
        self._ask("isready", "readyok")

    def step(self, state: Any) -> int:
        """Tells the program what happened since its last move, and asks for the next."""
        told = state.information_state_string()
        for view in views_of_state(told, state.observation_string(), self._sent):
            self._tell(view.line())
        self._sent = len(told.split())
        names = {state.action_to_string(a): a for a in state.legal_actions()}
        move = self._ask(self._go(state), "bestmove").split()[1:2]
        if not move or move[0] not in names:
            raise EngineError(f"expected a legal move, got bestmove {' '.join(move)!r}")
        return int(names[move[0]])

    def close(self) -> None:
        """Ends the program."""
        try:
            self._tell("quit")
            self._process.wait(_SECONDS_TO_END)
        except (EngineError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

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

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise EngineError(f"the program ended: {error}") from error

    def _ask(self, line: str, wanted: str) -> str:
        """Sends a line and returns the first answer that begins with `wanted`."""
        seconds = _SECONDS_TO_THINK if line.startswith("go") else _SECONDS_TO_START
        self._tell(line)
        deadline = time.monotonic() + seconds
        while True:
            try:
                answer = self._lines.get(timeout=max(0.0, deadline - time.monotonic()) + 1e-3)
            except queue.Empty:
                raise EngineError(
                    f"expected {wanted} within {seconds:g} s after {line!r}"
                ) from None
            if answer is None:
                raise EngineError(f"expected {wanted} after {line!r}, but the program ended")
            if answer.startswith("info string error"):
                raise EngineError(answer.removeprefix("info string "))
            if answer.startswith("info"):
                self.report = answer
            if answer.split()[:1] == [wanted]:
                return answer

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)


def _make_engine(
    seat: Seat, command: str, nodes: int | None = None, seconds: float | None = None
) -> Player:
    return ProcessPlayer(seat, command, nodes, seconds)


register_player("engine", _make_engine)
