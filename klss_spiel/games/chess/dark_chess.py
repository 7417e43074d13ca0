"""Dark chess (Fog of War chess) as an OpenSpiel game, on any board.

White is player 0 and Black player 1, whoever moves first in the starting position.
Rules: Obscuro, appendix A; ZS21, appendix B.1. A player sees the own pieces and the
squares they can move to, wins by capturing the king, and observes after EVERY ply,
also after the own move. A side that cannot move loses. The third repetition and the
fiftieth move without capture or pawn move end the game in a draw by themselves, as
does the `horizon`; nothing announces them beforehand.

Parameters:
    board: name of a starting position in `boards.BOARDS`.
    fen: a starting position of any size, instead of a `board`.
    horizon: plies after which the game is drawn; 0 for none.
    rules: a name in `dark_chess_play.RULES`.

Actions are numbered by `actions` and written as UCI moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from klss_spiel.evaluators import STATES, Evaluator, make_evaluator
from klss_spiel.games import registration
from klss_spiel.games.chess import adapter, boards, play
from klss_spiel.games.chess.dark_chess_play import RULES, DarkChessSetup
from klss_spiel.games.chess.evaluators import DEFAULT
from klss_spiel.search_game import LeafEvaluator, SearchGame
from klss_spiel.specification import Specification

if TYPE_CHECKING:
    from klss_spiel.progress import Progress
    from klss_spiel.tree import GameTree

_SHORT_NAME: Final = "python_dark_chess"
_LONG_NAME: Final = "Dark chess (Fog of War) on any board; White is player 0"
_PARAMETERS: Final = {"rules": "paper"}
_GAME_TYPE = adapter.game_type(_SHORT_NAME, _LONG_NAME, _PARAMETERS)


def setup_from_parameters(parameters: Mapping[str, Any]) -> DarkChessSetup:
    """The game that a complete set of parameters describes."""
    if parameters["rules"] not in RULES:
        raise ValueError(f"expected rules among {', '.join(RULES)}, got {parameters['rules']!r}")
    setup = DarkChessSetup(
        start=play.start_from_parameters(parameters),
        horizon=play.horizon_from_parameters(parameters),
        variant=RULES[parameters["rules"]],
    )
    if setup.outcome(play.Course(setup.start)) is not None:
        raise ValueError(
            f"expected a start in which the game is not over, got {boards.fen_of(setup.start)!r}"
        )
    return setup


class DarkChessGame(adapter.ChessGame):
    """Dark chess from one starting position."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        parameters = registration.complete_parameters(_GAME_TYPE, params)
        setup = self._dark_chess_setup = setup_from_parameters(parameters)
        description = adapter.game_type(_SHORT_NAME, _LONG_NAME, _PARAMETERS, setup)
        super().__init__(description, setup, parameters)

    def first_moment(self) -> play.Moment:
        """The start of the game, on packed positions."""
        from klss_spiel.games.chess.packed.moments import PackedMoment

        return PackedMoment.first(self._dark_chess_setup)

    def game_tree(self, max_nodes: int, progress: Progress | None = None) -> GameTree:
        """The whole game tree, enumerated by compiled code; see `packed.tree`."""
        from klss_spiel.games.chess.packed import tree

        return tree.game_tree(self._dark_chess_setup, str(self), max_nodes, progress)

    def search_game(
        self,
        evaluator: LeafEvaluator | str | Specification | None = None,
        belief_limit: int | None = None,
        sample_belief: bool = True,
    ) -> SearchGame | None:
        """The game as a search sees it, on packed positions; see `packed.search_game`.

        Args:
            evaluator: White's utility at such positions, or a name
                (`klss_spiel.evaluators`); `evaluators.DEFAULT` unless given.
            belief_limit: positions above which a belief becomes a sample.
            sample_belief: whether it may; else that is an error.

        Returns:
            None for rules by which only the states themselves can be searched.
        """
        from klss_spiel.games.chess.packed.collected_positions import DEFAULT_LIMIT
        from klss_spiel.games.chess.packed.search_game import DarkChess

        if not self._dark_chess_setup.variant.observe_every_ply:
            return None
        if evaluator is None or isinstance(evaluator, str | Specification):
            evaluator = make_evaluator(self, evaluator or DEFAULT)
        if isinstance(evaluator, Evaluator) and evaluator.positions == STATES:
            return None
        limit = DEFAULT_LIMIT if belief_limit is None else belief_limit
        return DarkChess(self._dark_chess_setup, evaluator, limit, sample_belief)


registration.register(_GAME_TYPE, DarkChessGame)
