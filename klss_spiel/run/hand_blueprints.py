"""Blueprints of games that are a public tree times hands, made once for all processes."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from absl import logging

from klss_spiel.arrays import FloatArray
from klss_spiel.games.poker.flop_holdem import flop_public_game
from klss_spiel.games.poker.leduc_family import PokerGame, parse_game
from klss_spiel.games.poker.public_poker import leduc_public_game
from klss_spiel.public_boards import Boards
from klss_spiel.public_game import PublicGame
from klss_spiel.row_files import write_atomically
from klss_spiel.run.blueprint_states import SavedArrays
from klss_spiel.run.stopped_blueprints import stopped_cfr
from klss_spiel.tree import PLAYERS
from klss_spiel.treeplex_kernels import behavior_of

Behaviors = tuple[FloatArray, FloatArray]


@dataclasses.dataclass(frozen=True, eq=False)
class HandSetting:
    """A game with one blueprint.

    Attributes:
      name: of the game.
      boards: the game.
      behaviors: the blueprint of both players; may be mapped from files.
      nash_conv: its exploitability, summed over both.
      iterations: it took.
      seconds: that making it took the process that finished it.
      cpu_seconds: likewise, of the processor.
    """

    name: str
    boards: Boards
    behaviors: Behaviors
    nash_conv: float
    iterations: int
    seconds: float
    cpu_seconds: float

    @functools.cached_property
    def answers(self) -> tuple[FloatArray, FloatArray]:
        """For each responder, [B, P] what he answers the blueprint behind every board."""
        found: list[list[FloatArray]] = [[], []]
        for board in range(self.boards.count):
            game = self.boards.game_at(board)
            behaviors = self.boards.behaviors_at(board, self.behaviors)
            for p in PLAYERS:
                found[p].append(self.boards.answer(game, behaviors[1 - p], p))
        return np.array(found[0]), np.array(found[1])


@functools.lru_cache(maxsize=1)
def make_setting(name: str, target: float, folder: str | None = None) -> HandSetting:
    """The game of a name with a blueprint by CFR of exploitability `target` or less.

    Args:
      name: of the game.
      target: nash_conv to stop at.
      folder: where the blueprint is kept, and its state while it is made, to go on from;
        a process that finds another one making it waits. None for nowhere.
    """
    game = public_game(parse_game(name))
    if folder is None:
        behaviors, made = _made(game, target, None)
    else:
        file = state_file(folder, name, target)
        with _one_at_a_time(file.with_suffix(".lock")):
            if not file.with_suffix(".json").exists():
                _keep(file, *_made(game, target, SavedArrays(file)))
        behaviors, made = _kept(file)
    return HandSetting(name, Boards(game), behaviors, **made)


def _made(
    game: PublicGame, target: float, state: SavedArrays | None
) -> tuple[Behaviors, dict[str, Any]]:
    """The blueprint, and the other attributes of `HandSetting`."""
    start, cpu_start = time.monotonic(), time.process_time()
    form = dataclasses.replace(game).form  # A copy, to forget it with all it has laid out.
    solution, reached = stopped_cfr(form, game.name, target, state)
    iterations = solution.iterations
    sums = solution.average_sum_of(0), solution.average_sum_of(1)
    del solution  # In games that fill the memory.
    first, second = (behavior_of(form.treeplexes[p], sums[p]) for p in PLAYERS)
    made = {
        "nash_conv": reached,
        "iterations": iterations,
        "seconds": time.monotonic() - start,
        "cpu_seconds": time.process_time() - cpu_start,
    }
    return (first, second), made


def _keep(file: pathlib.Path, behaviors: Behaviors, made: dict[str, Any]) -> None:
    for p in PLAYERS:
        np.save(_behavior_file(file, p), behaviors[p])
    # Last, and in one step: it says that the others are whole.
    write_atomically(file.with_suffix(".json"), json.dumps(made))
    file.unlink(missing_ok=True)  # CFR's state, of no use any more.


def _kept(file: pathlib.Path) -> tuple[Behaviors, dict[str, Any]]:
    first, second = (np.load(_behavior_file(file, p), mmap_mode="r") for p in PLAYERS)
    return (first, second), json.loads(file.with_suffix(".json").read_text())


def _behavior_file(file: pathlib.Path, player: int) -> pathlib.Path:
    return file.with_name(f"{file.stem}_player{player}.npy")


@contextlib.contextmanager
def _one_at_a_time(path: pathlib.Path) -> Iterator[None]:
    """Waits while another process is inside; a kill lets the next one in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logging.info("waiting for another process that makes %s", path.stem)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            logging.warning("%s cannot be locked: %s", path, error.strerror)
        yield


def state_file(folder: str, *what: object) -> pathlib.Path:
    """The file of something in the folder of states."""
    digest = hashlib.sha256(repr(what).encode()).hexdigest()[:8]
    return pathlib.Path(folder) / f"{what[0]}_{digest}.npz"


def public_game(game: PokerGame) -> PublicGame:
    """A game of one community card, or of a flop."""
    return leduc_public_game(game) if game.board_cards == 1 else flop_public_game(game)
