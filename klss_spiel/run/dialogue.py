"""One game in a terminal: who sits at the table, what is typed, shown, taken back, saved."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from klss_spiel.matches import records
from klss_spiel.matches.pgn import pgn_of
from klss_spiel.matches.players import Seat, check_specification, make_player, sees_everything
from klss_spiel.matches.referee import TimeControl, close_player, forfeited
from klss_spiel.openspiel import check_supported, load_game, turn_based
from klss_spiel.run.shown_views import Viewer, revealed
from klss_spiel.run.typed_moves import action_typed
from klss_spiel.tree import CHANCE
from klss_spiel.veiled_state import ClockReading, veil

HUMAN = "human"
BY_RESIGNATION = "resignation"
ABANDONED = "abandoned"
_QUIT = ("quit", "q", "exit")
_LIST = "?"
_HELP = "help"
_COMMANDS = (
    "? lists your moves, hint asks a search, undo takes your last move back, "
    "save [FILE] keeps the game, resign loses it, quit leaves it."
)
_PGN_GAMES = ("python_dark_chess", "python_kriegspiel")


@dataclasses.dataclass(frozen=True)
class Config:
    """A game to be played.

    Attributes:
      game: game string.
      players: who plays for player 0 and for player 1: HUMAN or a specification.
      seconds: per move, for bots whose specification has no budget.
      clock: minutes+seconds such as "3+2", or None.
      seed: of chance and of the bots.
      hints: specification of whom `hint` asks.
      save: file for the game, or None.
    """

    game: str
    players: tuple[str, str]
    seconds: float = 2.0
    clock: str | None = None
    seed: int = 0
    hints: str = "search"
    save: str | None = None


class _Leave(Exception):
    """The game ends otherwise than by its rules: why, and who loses (None: nobody)."""

    def __init__(self, termination: str, loser: int | None) -> None:
        super().__init__(termination)
        self.termination = termination
        self.loser = loser


class _TakenBack(Exception):
    """The human wants the last own move back."""


class Table:
    """A game in progress with everybody who sits there. Mutable."""

    def __init__(
        self,
        config: Config,
        read: Callable[[], str],
        show: Callable[[str], None],
        report: Callable[[str], None],
    ) -> None:
        for player in config.players:
            if player != HUMAN:
                check_specification(player)
        self.config = config
        self.game = turn_based(load_game(config.game))
        check_supported(self.game)
        self.save = config.save
        if self.save is not None:
            self._check_file(self.save)
        self._read, self._show, self._report = read, show, report
        self._control = None if config.clock is None else TimeControl.parse(config.clock)
        self._remaining = [0.0 if self._control is None else self._control.base] * 2
        self._bots: dict[int, Any] = {}
        self._viewers = {p: Viewer.of(self.game, p) for p in (0, 1) if config.players[p] == HUMAN}
        self._seen = {p: 0 for p in self._viewers}
        self.actions: list[int] = []
        self.movers: list[int] = []
        self.moves: list[str] = []
        self.state = self.game.new_initial_state()

    def play(self) -> dict[str, Any]:
        """Plays to the end, or until somebody leaves; returns the row."""
        ending: dict[str, Any] = {"termination": records.BY_RULE, "loser": None}
        try:
            while not self.state.is_terminal():
                try:
                    self._advance()
                except _TakenBack:
                    self._take_back()
        except _Leave as left:
            ending = {"termination": left.termination, "loser": left.loser}
        except EOFError:
            ending = {"termination": ABANDONED, "loser": None}
        finally:
            self._dismiss_bots()
        row = self._row(ending)
        self._say_the_end(row)
        if self.save is not None:
            self._write(row)
        return row

    def _advance(self) -> None:
        """One action of whoever is to move."""
        mover = int(self.state.current_player())
        if mover == CHANCE:
            outcomes, weights = zip(*self.state.chance_outcomes(), strict=True)
            # Depends on how many there were before only: after `undo` cards stay the same.
            rng = np.random.default_rng([self.config.seed, self.movers.count(CHANCE)])
            action = int(rng.choice(outcomes, p=np.array(weights) / sum(weights)))
        else:
            start = time.perf_counter()
            action = self._ask_human(mover) if mover in self._viewers else self._ask_bot(mover)
            self._stop_clock(mover, time.perf_counter() - start)
            name = self.state.action_to_string(mover, action)
            self.moves.append(name)
            if not self._viewers:
                self._show(f"player {mover}: {name}")
        self.actions.append(action)
        self.movers.append(mover)
        self.state.apply_action(action)
        if self._control is not None and mover != CHANCE and self.state.current_player() != mover:
            # For moves, not for tries that an umpire refuses.
            self._remaining[mover] += self._control.increment

    def _stop_clock(self, mover: int, used: float) -> None:
        if self._control is None:
            return
        self._remaining[mover] -= used
        if self._remaining[mover] < 0.0:
            raise _Leave(records.BY_TIME, mover)

    # Bots.

    def _ask_bot(self, player: int) -> int:
        specification = self.config.players[player]
        if player not in self._bots:
            seat = Seat(self.game, player, self.config.seed + player, self.config.seconds)
            self._bots[player] = make_player(specification, seat)
        bot = self._bots[player]
        action = bot.step(self._view_for(player, sees_everything(specification)))
        said = getattr(bot, "report", None)
        if said is not None:
            self._report(f"player {player}: {said}")
        return int(action)

    def _dismiss_bots(self) -> None:
        bots, self._bots = self._bots, {}
        for bot in bots.values():
            close_player(bot)

    def _view_for(self, player: int, everything: bool) -> Any:
        if everything:
            return self.state
        clock = None
        if self._control is not None:
            clock = ClockReading(self._remaining[player], self._control.increment)
        return veil(self.state, player, clock)

    # The human.

    def _ask_human(self, player: int) -> int:
        viewer = self._viewers[player]
        self._show("\n" + "\n".join(viewer.lines(self.state, self._seen[player])))
        self._seen[player] = viewer.entries(self.state)
        clock = ""
        if self._control is not None:
            minutes, seconds = divmod(int(self._remaining[player]), 60)
            clock = f", {minutes}:{seconds:02d} left"
        count = len(self.state.legal_actions())
        self._show(f"Your move, player {player} ({count} legal, ? lists them{clock}; or help):")
        while True:
            typed = self._read().strip()
            word, _, rest = typed.partition(" ")
            command = word.casefold()
            if typed.casefold() in _QUIT:
                raise _Leave(ABANDONED, None)
            if command == "resign":
                raise _Leave(BY_RESIGNATION, player)
            if command == "undo":
                if self._control is not None:
                    self._show("With a clock nothing is taken back.")
                elif player not in self.movers:
                    self._show("There is no move of yours to take back.")
                else:
                    raise _TakenBack
            elif command == "hint":
                self._show(self._hint(player))
            elif command == "save":
                self._arrange_saving(rest.strip())
            elif not typed or typed == _LIST:
                self._show(self._listed(player))
            elif command == _HELP:
                self._show(_COMMANDS)
            else:
                try:
                    return action_typed(self.state, player, typed)
                except ValueError as error:
                    self._show(str(error))

    def _listed(self, player: int) -> str:
        return "  ".join(
            f"{action}: {self.state.action_to_string(player, action)}"
            for action in self.state.legal_actions()
        )

    def _hint(self, player: int) -> str:
        seat = Seat(self.game, player, self.config.seed, self.config.seconds)
        adviser = make_player(self.config.hints, seat)
        action = adviser.step(self._view_for(player, everything=False))
        close_player(adviser)
        candidates = getattr(adviser, "candidates", None) or [(action, 1.0)]
        best = sorted(candidates, key=lambda pair: -pair[1])[:3]
        shown = ", ".join(
            f"{self.state.action_to_string(player, a)} ({q:.0%})" for a, q in best if q > 0.005
        )
        return f"A search would play {shown}."

    def _take_back(self) -> None:
        """Returns to before the last move of a human."""
        last = max(i for i, mover in enumerate(self.movers) if mover in self._viewers)
        kept, movers = self.actions[:last], self.movers[:last]
        self.moves = self.moves[: sum(mover != CHANCE for mover in movers)]
        self.actions, self.movers = kept, movers
        self.state = self.game.new_initial_state()
        for action in kept:
            self.state.apply_action(action)
        self._dismiss_bots()  # they remember moves that were not made
        self._seen = {
            p: min(seen, viewer.entries(self.state))
            for (p, viewer), seen in zip(self._viewers.items(), self._seen.values(), strict=True)
        }

    # The end.

    def _arrange_saving(self, path: str) -> None:
        is_chess = self.game.get_type().short_name in _PGN_GAMES
        path = path or ("game.pgn" if is_chess else "game.json")
        try:
            self._check_file(path)
        except ValueError as error:
            self._show(str(error))
            return
        self.save = path
        # The file tells everything, so it must wait.
        self._show(f"The game will be in {path} when it is over.")

    def _check_file(self, path: str) -> None:
        is_chess = self.game.get_type().short_name in _PGN_GAMES
        endings = (".pgn", ".json") if is_chess else (".json",)
        if pathlib.Path(path).suffix not in endings:
            raise ValueError(f"expected a file that ends in {' or '.join(endings)}, got {path!r}")

    def _row(self, ending: dict[str, Any]) -> dict[str, Any]:
        returns: tuple[float | None, float | None] = (None, None)
        if ending["termination"] == records.BY_RULE:
            first, second = self.state.returns()
            returns = (float(first), float(second))
        elif ending["loser"] is not None:
            returns = forfeited(self.game, ending["loser"])
        return {
            "game": self.config.game,
            "player_0": self.config.players[0],
            "player_1": self.config.players[1],
            **ending,
            "plies": len(self.moves),
            "return_0": returns[0],
            "return_1": returns[1],
            "moves": " ".join(self.moves),
            "actions": list(self.actions),
        }

    def _say_the_end(self, row: dict[str, Any]) -> None:
        for player in self._viewers:
            if row["termination"] == ABANDONED:
                self._show("You left the game.")
            else:
                how = {BY_RESIGNATION: "You resigned", records.BY_TIME: "Time is over"}
                over = how.get(row["termination"], "The game is over")
                self._show(f"\n{over}; you get {row[f'return_{player}']:g}.")
            self._show("\n".join(revealed(self.game, self.state, player)))
            self._show(f"Moves: {row['moves']}")

    def _write(self, row: dict[str, Any]) -> None:
        assert self.save is not None
        file = pathlib.Path(self.save)
        if file.suffix == ".json":
            text = json.dumps(row, indent=1) + "\n"
        else:
            unfinished = row["return_0"] is None
            # PGN calls a resignation a normal end, and knows no other word for leaving.
            ends = {BY_RESIGNATION: records.BY_RULE, ABANDONED: records.BY_ERROR}
            played = {
                **row,
                "number": 0,
                "clock": self.config.clock,
                "termination": ends.get(row["termination"], row["termination"]),
                "reason": None if row["termination"] == records.BY_RULE else row["termination"],
            }
            text = pgn_of({**played, "return_0": row["return_0"] or 0.0}, "klss_spiel play")
            text = text.replace("1/2-1/2", "*") if unfinished else text
        try:
            file.write_text(text, "utf-8")
        except OSError as error:
            self._show(f"cannot write {file}: {error.strerror}")
            return
        self._show(f"The game is in {file}.")


def run(
    config: Config,
    read: Callable[[], str],
    show: Callable[[str], None],
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Plays one game.

    Args:
      config: the game.
      read: returns what the human types next; raises EOFError when there is no more.
      show: gets the text that the human is to see.
      report: gets what bots say about their decisions.

    Returns:
      One row: the game, who played, how it ended, all moves, and the returns (None if a
      human left before the end).
    """
    return Table(config, read, show, report).play()
