"""Engines of sampled chess positions: the compiled alpha-beta, and programs behind UCI.

Worlds are packed positions of dark chess or Kriegspiel, or states of Kriegspiel, whose legal
moves are those of ordinary chess. Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess.actions import action_table
from klss_spiel.games.chess.evaluators.uci import UciProgram, check_board, scores_in_fog
from klss_spiel.games.chess.packed import positions as packed
from klss_spiel.games.chess.packed.alphabeta import AlphaBeta
from klss_spiel.games.chess.packed.counted_positions import boards_of, with_counts
from klss_spiel.games.chess.packed.kriegspiel_search_game import Kriegspiel
from klss_spiel.games.chess.packed.search_game import DarkChess
from klss_spiel.games.chess.rules import Position
from klss_spiel.matches.world_engines import WorldEngine, score_table
from klss_spiel.search_game import Positions


def packed_alphabeta(game: DarkChess | Kriegspiel, depth: int, nodes: int) -> WorldEngine:
    """Scores of all moves or tries at packed positions."""
    if isinstance(game, DarkChess):
        engine = AlphaBeta(game.board, game.setup.variant)
    else:
        engine = AlphaBeta(game.board, legal=True)

    def score(worlds: Positions, player: int, told: str, legal: Sequence[int]) -> FloatArray:
        del told
        return _scores(engine, boards_of(worlds), player, legal, depth, nodes)

    return score


def kriegspiel_alphabeta(game: Any, depth: int, nodes: int) -> WorldEngine:
    """Scores of all tries at states of Kriegspiel."""
    start = game.new_initial_state().moment.course.position
    engine = AlphaBeta(packed.layout(start.width, start.height), legal=True)

    def score(worlds: Positions, player: int, told: str, legal: Sequence[int]) -> FloatArray:
        del told
        boards = packed.pack([state.moment.course.position for state in worlds])
        return _scores(engine, boards, player, legal, depth, nodes)

    return score


def packed_uci(game: DarkChess | Kriegspiel, program: UciProgram) -> WorldEngine:
    """Scores of all moves or tries at packed positions by a program."""
    check_board(game.setup.start)

    def score(worlds: Positions, player: int, told: str, legal: Sequence[int]) -> FloatArray:
        del told
        positions = packed.unpack(game.board, boards_of(worlds), player)
        if isinstance(game, DarkChess):
            found = [scores_in_fog(program, position) for position in positions]
        else:
            found = [program.scores(position)[0] for position in positions]
        return _named_scores(found, positions, legal)

    return score


def kriegspiel_uci(game: Any, program: UciProgram) -> WorldEngine:
    """Scores of all tries at states of Kriegspiel by a program."""
    check_board(game.new_initial_state().moment.position)

    def score(worlds: Positions, player: int, told: str, legal: Sequence[int]) -> FloatArray:
        del told, player
        positions = [state.moment.course.position for state in worlds]
        return _named_scores([program.scores(p)[0] for p in positions], positions, legal)

    return score


def _named_scores(
    scores: Sequence[dict[str, float]], positions: Sequence[Position], legal: Sequence[int]
) -> FloatArray:
    """[worlds, actions] of scores by names of moves; what a program left out is lost."""
    table = action_table(positions[0].width, positions[0].height)
    names = [table.names[action] for action in legal]
    return np.array([[found.get(name, -1.0) for name in names] for found in scores])


def packed_world(state: Any) -> U64Array:
    """[1, 5] the position of a state of dark chess, as its search game holds it."""
    course = state.moment.course
    return with_counts(packed.pack([course.position]), course.plies)


def _scores(
    engine: AlphaBeta, boards: U64Array, player: int, legal: Sequence[int], depth: int, nodes: int
) -> FloatArray:
    """[worlds, actions] from the side of the player, who is to move in all of them."""
    numbers = packed.action_numbers(engine.board)
    world, action, value = [], [], []
    for i, board in enumerate(boards):
        result = engine.search(board, player, depth, nodes, all_scores=True)
        assert result.scores is not None
        world += [i] * len(result.moves)
        action += numbers[result.moves].tolist()
        value += result.scores.tolist()
    return score_table(np.array(world), np.array(action), np.array(value), len(boards), legal)
