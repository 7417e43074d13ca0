"""Makes the compiled code of a search ready, so that no clock runs while it compiles.

What is compiled is kept on disk (`kernels`), so this takes long only once per machine. The
loops that all games share and those of the game itself take about as long; if nothing is
kept yet and there is a second core, another process compiles the former meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

from klss_spiel.algorithms.search import cfr_kernels
from klss_spiel.algorithms.search.compilation import CompilationTimer
from klss_spiel.algorithms.search.player import SearchPlayer, compile_loops
from klss_spiel.budget import Budget
from klss_spiel.kernels import is_kept
from klss_spiel.thread_limits import num_cores

# The third decision is the first whose last search was one of a subgame.
_REHEARSED_DECISIONS: Final = 3
_REHEARSED_NODES: Final = 64


def make_ready(game: Any, player: SearchPlayer) -> None:
    """Compiles or loads all that a player's decisions need.

    Args:
      game: the `pyspiel.Game`; None for the loops that all games share only.
      player: for whom, and how; not changed.
    """
    if game is None:
        compile_loops()
        return
    with _loops_compiled_beside():
        _use_game(game, player)
    compile_loops()
    rehearse(game, player)


def rehearse(game: Any, player: SearchPlayer) -> None:
    """Plays the first moves of a game of its own as the player would, by tiny searches.

    Args:
      game: the `pyspiel.Game`.
      player: for whom, and how; not changed.
    """
    budget = Budget(nodes=_REHEARSED_NODES)
    actor = SearchPlayer(player.game, player.player, player.settings, budget, player.seed)
    for state in _first_decisions(game, player.player):
        told = state.information_state_string(player.player)
        actions = state.legal_actions()
        actor.decide(told, actions)
        actor.record_action(told, actions[0])


def _use_game(game: Any, player: SearchPlayer) -> None:
    """Uses what a search uses of a game, without searching."""
    searched = player.game
    with CompilationTimer():
        getattr(searched, "warm_up", _nothing)()
        start = searched.initial()
        searched.evaluate(searched.expand(start.position, start.infoset_ids).position)
        belief, action = searched.belief(player.player), None
        for state in _first_decisions(game, player.player):
            belief.advance(action, state.information_state_string(player.player))
            action = state.legal_actions()[0]


def _first_decisions(game: Any, player: int) -> Iterator[Any]:
    """The states of a player's first decisions if everybody takes the first action."""
    state = game.new_initial_state()
    decisions = 0
    while not state.is_terminal() and decisions < _REHEARSED_DECISIONS:
        action = state.legal_actions()[0]
        if state.current_player() == player:
            decisions += 1
            yield state
        state.apply_action(action)


@contextlib.contextmanager
def _loops_compiled_beside() -> Iterator[None]:
    """Compiles the loops of the search in another process meanwhile if that saves time.

    Should that process fail, nothing is lost: `compile_loops` does what it has not done.
    """
    if num_cores() < 2 or is_kept(cfr_kernels.iterate):
        yield
        return
    command = f"from {compile_loops.__module__} import compile_loops; compile_loops()"
    silent = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-c", command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=silent,
        stdout=silent,
        stderr=silent,
    )
    try:
        yield
        process.wait()
    finally:
        process.kill()
        process.wait()


def _nothing() -> None:
    """For games whose first moves use all of their code."""
