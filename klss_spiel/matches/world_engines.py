"""Engines that score all actions of positions as if nothing were hidden.

An engine is called with positions of a `SearchGame` (the player to move in all of them),
the player, what the player was told, and the legal actions; it returns scores from the
player's side, [positions, actions]. An action that is not possible in a position (a try in
Kriegspiel) scores as low as anything there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame, rollout_evaluator
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.search_game import Positions, SearchGame
from klss_spiel.specification import Registry, Specification, Value
from klss_spiel.tree import TERMINAL

WorldEngine = Callable[[Positions, int, str, Sequence[int]], FloatArray]

_ENGINES: Registry[WorldEngine] = Registry("engine")


def register_engine(name: str, maker: Callable[..., WorldEngine]) -> None:
    """Adds an engine: `maker(game, depth, *arguments)`."""
    _ENGINES.register(name, maker)


def make_engine(wanted: Value | Specification, game: SearchGame, depth: int) -> WorldEngine:
    """The engine that a specification describes, for one game."""
    if depth < 1:
        raise ValueError(f"expected a depth of at least 1, got {depth}")
    return _ENGINES.make(Specification.nested(wanted), game, depth)


def _one_ply(game: SearchGame, depth: int) -> WorldEngine:
    """Values right after each action: the game's own evaluation, or the payoff."""
    del depth

    def score(worlds: Positions, player: int, told: str, legal: Sequence[int]) -> FloatArray:
        own = int(game.infosets(player, told)[0])
        children = game.expand(worlds, game.informed(player, own, worlds))
        values = children.utility.copy()
        unfinished = np.flatnonzero(children.player != TERMINAL)
        if len(unfinished):
            values[unfinished] = game.evaluate(children.position[unfinished])
        world = np.repeat(np.arange(len(worlds)), children.count)
        own_side = values if player == 0 else -values
        return score_table(world, children.action, own_side, len(worlds), legal)

    return score


def score_table(
    world: IntArray, action: IntArray, values: FloatArray, count: int, legal: Sequence[int]
) -> FloatArray:
    """[worlds, actions] of one value per world and action, from the player's side.

    Args:
      world: [m] number of the world.
      action: [m] action in it.
      values: [m] how good that is.
      count: of worlds.
      legal: actions, the columns.
    """
    column = {a: j for j, a in enumerate(legal)}
    scores = np.full((count, len(legal)), -np.inf)
    for i, a, value in zip(world.tolist(), action.tolist(), values.tolist(), strict=True):
        if a in column:
            scores[i, column[a]] = value
    known = np.isfinite(scores)
    worst = np.where(known, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(known, scores, np.where(np.isfinite(worst), worst, 0.0))


def _alphabeta(game: SearchGame, depth: int, nodes: int = 200_000) -> WorldEngine:
    """Minimax to a depth: compiled for packed chess, through states elsewhere."""
    if isinstance(game, OpenSpielSearchGame):
        if _is_kriegspiel(game):
            from klss_spiel.matches.chess_engines import kriegspiel_alphabeta

            return kriegspiel_alphabeta(game.game, depth, nodes)
        return _minimax_of_states(game, depth)
    from klss_spiel.games.chess.packed.kriegspiel_search_game import Kriegspiel
    from klss_spiel.games.chess.packed.search_game import DarkChess
    from klss_spiel.matches.chess_engines import packed_alphabeta

    if not isinstance(game, DarkChess | Kriegspiel):
        raise ValueError(
            f"expected packed chess or a game searched through states, got {game.name}"
        )
    return packed_alphabeta(game, depth, nodes)


def _uci(
    game: SearchGame,
    depth: int,
    command: str,
    nodes: int | None = None,
    seconds: float | None = None,
    deadline: float | None = None,
) -> WorldEngine:
    """A program of ordinary chess; to the depth unless nodes or seconds are given."""
    from klss_spiel.games.chess.evaluators.uci import SECONDS_TO_THINK, UciProgram
    from klss_spiel.games.chess.packed.kriegspiel_search_game import Kriegspiel
    from klss_spiel.games.chess.packed.search_game import DarkChess
    from klss_spiel.matches.chess_engines import kriegspiel_uci, packed_uci

    limit = depth if nodes is None and seconds is None else None
    longest = SECONDS_TO_THINK if deadline is None else deadline

    def started() -> UciProgram:
        return UciProgram(command, limit, nodes, seconds, all_moves=True, deadline=longest)

    if isinstance(game, DarkChess | Kriegspiel):
        return packed_uci(game, started())
    if not isinstance(game, OpenSpielSearchGame) or not _is_kriegspiel(game):
        raise ValueError(f"expected dark chess or Kriegspiel for uci, got {game.name}")
    return kriegspiel_uci(game.game, started())


def _is_kriegspiel(game: OpenSpielSearchGame) -> bool:
    return str(game.game.get_type().short_name) == "python_kriegspiel"


def _minimax_of_states(game: OpenSpielSearchGame, depth: int) -> WorldEngine:
    """Expectiminimax through `pyspiel.State`, random play below the depth."""
    rollout = rollout_evaluator(rollouts=1)
    scale = game.utility_scale

    def value(state: Any, left: int) -> float:
        if state.is_terminal():
            return float(state.returns()[0] - game.utility_offset) / scale
        if state.is_chance_node():
            return float(sum(q * value(state.child(a), left) for a, q in state.chance_outcomes()))
        if left == 0:
            return float(rollout(_as_array([state]))[0])
        best = max if state.current_player() == 0 else min
        return float(best(value(state.child(a), left - 1) for a in state.legal_actions()))

    def score(worlds: Positions, player: int, told: str, legal: Sequence[int]) -> FloatArray:
        del told
        sign = 1.0 if player == 0 else -1.0
        return np.array(
            [[sign * value(state.child(a), depth - 1) for a in legal] for state in worlds]
        )

    return score


def _as_array(states: list[Any]) -> Positions:
    positions = np.empty(len(states), dtype=object)
    positions[:] = states
    return positions


register_engine("one_ply", _one_ply)
register_engine("alphabeta", _alphabeta)
register_engine("uci", _uci)
