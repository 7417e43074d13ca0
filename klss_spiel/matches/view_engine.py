"""A program that plays by the view protocol; see `view_protocol`.

`ViewEngine` reads commands and writes answers; any player of `players` thinks for it. It
never has a position: what is told is put together to the player's information state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from klss_spiel.budget import Budget
from klss_spiel.matches.players import Seat, check_specification, make_player, seconds_by_clock
from klss_spiel.matches.referee import Player, close_player
from klss_spiel.matches.view_protocol import COLOURS, ToldGame, parse_view
from klss_spiel.openspiel import load_game
from klss_spiel.veiled_state import VeiledState

DEFAULT_PLAYER = "search"
_DEFAULT_SECONDS = 1.0
_GO_NUMBERS = ("movetime", "nodes", "wtime", "btime", "winc", "binc", "movestogo")
_MILLISECOND = 1e-3
# What is shown of a decision.
_LIKELIEST = 8


class ViewEngine:
    """The state of one program. Mutable.

    Commands come one after another; thinking runs in a thread of its own so that `stop`
    and `isready` are answered meanwhile.
    """

    def __init__(self, write: Callable[[str], None], player: str = DEFAULT_PLAYER) -> None:
        """A program that has not been told anything.

        Args:
          write: sends one line.
          player: specification of the player that thinks; the owner of the machine
            chooses it, not whoever sends commands.
        """
        check_specification(player)
        self._write = write
        self._player_text = player
        self._options = {"Game": "python_dark_chess", "Colour": "white", "Seed": "0"}
        self._told: ToldGame | None = None
        self._player: Player | None = None
        self._stop = threading.Event()
        self._thinking: threading.Thread | None = None
        self._busy = False

    def command(self, line: str) -> bool:
        """Obeys one line; returns whether there may be more.

        What is wrong is answered by `info string error ...` and changes nothing.
        """
        words = line.split()
        if not words:
            return True
        name, rest = words[0], words[1:]
        if name == "quit":
            self._finish()
            return False
        handlers: dict[str, Callable[[list[str]], None]] = {
            "uci": self._introduce,
            "isready": lambda rest: self._write("readyok"),
            "ucinewgame": self._new_game,
            "setoption": self._set_option,
            "position": self._position,
            "go": self._go,
            "stop": lambda rest: self._stop.set(),
        }
        try:
            handler = handlers.get(name)
            if handler is None:
                raise ValueError(f"expected a command among {', '.join(handlers)}, got {name!r}")
            if name in ("ucinewgame", "setoption", "position", "go") and self._busy:
                raise ValueError(f"expected 'stop' before {name!r} while thinking")
            handler(rest)
        except (ValueError, OSError, RuntimeError) as error:
            self._error(str(error))
        return True

    def wait(self) -> None:
        """Waits until a move that is thought about is known."""
        if self._thinking is not None:
            self._thinking.join()

    def close(self) -> None:
        """Waits likewise, then ends what the player has started."""
        self.wait()
        close_player(self._player)

    def _error(self, text: str) -> None:
        self._write(f"info string error {' '.join(text.split())}")

    def _finish(self) -> None:
        self._stop.set()
        self.close()

    def _introduce(self, rest: list[str]) -> None:
        del rest
        self._write("id name klss_spiel")
        self._write("id author klss_spiel")
        for name, value in self._options.items():
            self._write(f"option name {name} type string default {value}")
        self._write("uciok")

    def _set_option(self, rest: list[str]) -> None:
        text = " ".join(rest)
        if not text.startswith("name ") or " value " not in text:
            raise ValueError(f"expected 'setoption name X value Y', got {text!r}")
        name, _, value = text.removeprefix("name ").partition(" value ")
        name, value = name.strip(), value.strip()
        if name not in self._options:
            raise ValueError(f"expected an option among {', '.join(self._options)}, got {name!r}")
        if name == "Game":
            ToldGame(load_game(value), 0)
        elif name == "Colour" and value not in COLOURS:
            raise ValueError(f"expected white or black, got {value!r}")
        elif name == "Seed" and not value.isdecimal():
            raise ValueError(f"expected a seed from 0, got {value!r}")
        self._options[name] = value
        self._told = None

    def _new_game(self, rest: list[str]) -> None:
        del rest
        player = COLOURS.index(self._options["Colour"])
        game = load_game(self._options["Game"])
        told = ToldGame(game, player)
        seat = Seat(game, player, int(self._options["Seed"]))
        close_player(self._player)
        self._player = make_player(self._player_text, seat)
        self._told = told

    def _current(self) -> ToldGame:
        if self._told is None:
            self._new_game([])
        assert self._told is not None
        return self._told

    def _position(self, rest: list[str]) -> None:
        if not rest or rest[0] != "fog_fen":
            raise ValueError("expected 'position fog_fen <board> <castling> <en passant> ...'")
        told = self._current()
        told.see(parse_view(rest[1:], *told.size))

    def _go(self, rest: list[str]) -> None:
        told = self._current()
        if told.mover != told.player:
            raise ValueError("expected a view of the opponent's ply before 'go'")
        limits = _numbers(rest)
        legal = told.legal_actions()
        if not legal:
            raise ValueError("expected a view in which a move is possible")
        state = VeiledState(told.game, told.player, told.told, legal)
        self._stop = threading.Event()
        budget = _budget(limits, told.player, self._stop)
        self._busy = True
        self._thinking = threading.Thread(target=self._think, args=(state, budget), daemon=True)
        self._thinking.start()

    def _think(self, state: VeiledState, budget: Budget) -> None:
        assert self._player is not None
        bot = getattr(self._player, "bot", None)
        if bot is not None:
            bot.search_player.budget = budget
        try:
            action = self._player.step(state)
        except Exception as error:
            self._error(f"{type(error).__name__}: {error}")
            self._answer("0000")
            return
        self._inform(getattr(self._player, "report", None))
        candidates = getattr(self._player, "candidates", None)
        if candidates:
            likeliest = sorted(candidates, key=lambda pair: -pair[1])[:_LIKELIEST]
            shown = (f"{state.action_to_string(a)}:{q:.3f}" for a, q in likeliest if q > 0.0)
            self._write(f"info string candidates {' '.join(shown)}")
        self._answer(state.action_to_string(action))

    def _answer(self, move: str) -> None:
        # Whoever reads the answer may send the next command at once.
        self._busy = False
        self._write(f"bestmove {move}")

    def _inform(self, report: Any) -> None:
        nodes = getattr(report, "nodes", None)
        if nodes is None:
            if report is not None:
                self._write(f"info string {report}")
            return
        # The value is in wins; engines speak of hundredths of a pawn.
        sign = 1 if self._told is None or self._told.player == 0 else -1
        self._write(
            f"info depth {report.depth} nodes {nodes} time {round(1000 * report.seconds)} "
            f"score cp {round(100 * sign * report.value)} belief {report.belief_size}"
        )


def _numbers(words: list[str]) -> dict[str, int]:
    if words == ["infinite"]:
        return {"infinite": 1}
    limits = {}
    for name, value in zip(words[::2], [*words[1::2], ""], strict=False):
        if name not in _GO_NUMBERS or not value.isdecimal():
            raise ValueError(f"expected {', '.join(_GO_NUMBERS)} with numbers, got {name} {value}")
        limits[name] = int(value)
    return limits


def _budget(limits: dict[str, int], player: int, stop: threading.Event) -> Budget:
    clock, increment = ("wtime", "winc") if player == 0 else ("btime", "binc")
    seconds: float | None = None
    if "movetime" in limits:
        seconds = _MILLISECOND * limits["movetime"]
    elif clock in limits:
        seconds = seconds_by_clock(
            _MILLISECOND * limits[clock], _MILLISECOND * limits.get(increment, 0)
        )
    nodes = limits.get("nodes")
    if "infinite" in limits:
        return Budget(stop=stop)
    if seconds is None and nodes is None:
        seconds = _DEFAULT_SECONDS
    return Budget(seconds=seconds, nodes=nodes, stop=stop)
