"""Kriegspiel as an OpenSpiel game, on any board.

White is player 0 and Black player 1, whoever moves first in the starting position.
Rules: the thesis, section 4.1.1. A player sees the own pieces and hears the umpire
(`kriegspiel_umpire`); the moves are those of ordinary chess. An action is a try: if it
is illegal, the player alone is told so and tries again. Checkmate wins. Stalemate, the
third repetition, the fiftieth move without capture or pawn move, material with which
nobody can mate, and the `horizon` draw.

Parameters:
    board: name of a starting position in `boards.BOARDS`.
    fen: a starting position of any size, instead of a `board`.
    horizon: plies after which the game is drawn; 0 for none.
    count_tries: whether illegal tries count towards the horizon.
    announce_tries: whether the other player hears of an illegal try.
    are_there_any: what is said about legal pawn captures when a move begins: none,
        any (whether), count (how many), all (which; to the side to move only).
    tries: all, or possible to offer only tries that are legal in some position the
        player holds possible (same value, far smaller tree, for small boards).

Actions are numbered by `actions` and written as UCI moves.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from klss_spiel.evaluators import STATES, Evaluator, make_evaluator
from klss_spiel.games import registration
from klss_spiel.games.chess import adapter, boards, play, rules
from klss_spiel.games.chess.evaluators import DEFAULT
from klss_spiel.games.chess.kriegspiel_play import KriegspielSetup, Tries
from klss_spiel.games.chess.kriegspiel_umpire import AreThereAny
from klss_spiel.search_game import LeafEvaluator, SearchGame
from klss_spiel.specification import Specification

_SHORT_NAME: Final = "python_kriegspiel"
_LONG_NAME: Final = "Kriegspiel on any board; White is player 0"
_PARAMETERS: Final = {
    "announce_tries": False,
    "are_there_any": AreThereAny.NONE.value,
    "count_tries": False,
    "tries": Tries.ALL.value,
}
_GAME_TYPE = adapter.game_type(_SHORT_NAME, _LONG_NAME, _PARAMETERS)
_Choice = TypeVar("_Choice", bound=enum.Enum)


def _choice(parameters: Mapping[str, Any], name: str, choices: type[_Choice]) -> _Choice:
    for choice in choices:
        if choice.value == parameters[name]:
            return choice
    known = ", ".join(choice.value for choice in choices)
    raise ValueError(f"expected {name} among {known}, got {parameters[name]!r}")


def setup_from_parameters(parameters: Mapping[str, Any]) -> KriegspielSetup:
    """The game that a complete set of parameters describes."""
    start = play.start_from_parameters(parameters)
    setup = KriegspielSetup(
        start=start,
        horizon=play.horizon_from_parameters(parameters),
        announce_tries=bool(parameters["announce_tries"]),
        are_there_any=_choice(parameters, "are_there_any", AreThereAny),
        count_tries=bool(parameters["count_tries"]),
        tries=_choice(parameters, "tries", Tries),
    )
    if rules.in_check(start, 1 - start.side):
        raise ValueError(f"expected a start without a king en prise, got {boards.fen_of(start)!r}")
    if setup.outcome(play.Course(start), num_tries=0) is not None:
        raise ValueError(
            f"expected a start in which the game is not over, got {boards.fen_of(start)!r}"
        )
    return setup


class KriegspielGame(adapter.ChessGame):
    """Kriegspiel from one starting position."""

    def __init__(self, params: Mapping[str, Any] | None = None):
        parameters = registration.complete_parameters(_GAME_TYPE, params)
        setup = setup_from_parameters(parameters)
        description = adapter.game_type(_SHORT_NAME, _LONG_NAME, _PARAMETERS, setup)
        self._kriegspiel_setup = setup
        super().__init__(description, setup, parameters)

    def first_moment(self) -> play.Moment:
        """The start of the game, on packed positions unless knowledge limits the tries."""
        if self._kriegspiel_setup.tries is Tries.POSSIBLE:
            return self._kriegspiel_setup.first_moment()
        from klss_spiel.games.chess.packed.kriegspiel_moments import PackedKriegspielMoment

        return PackedKriegspielMoment.first(self._kriegspiel_setup)

    def search_game(
        self,
        evaluator: LeafEvaluator | str | Specification | None = None,
        belief_limit: int | None = None,
        sample_belief: bool = True,
    ) -> SearchGame | None:
        """The game as a search sees it, on packed positions.

        See `packed.kriegspiel_search_game`.

        Args:
            evaluator: White's utility at such positions, or a name
                (`klss_spiel.evaluators`); `evaluators.DEFAULT` unless given.
            belief_limit: positions above which a belief becomes a sample.
            sample_belief: whether it may; else that is an error.

        Returns:
            None where only the states themselves can be searched: if knowledge limits
            the tries, or the evaluator looks at states.
        """
        from klss_spiel.games.chess.packed.kriegspiel_search_game import DEFAULT_LIMIT, Kriegspiel

        if self._kriegspiel_setup.tries is Tries.POSSIBLE:
            return None
        if evaluator is None or isinstance(evaluator, str | Specification):
            evaluator = make_evaluator(self, evaluator or DEFAULT)
        if isinstance(evaluator, Evaluator) and evaluator.positions == STATES:
            return None
        limit = DEFAULT_LIMIT if belief_limit is None else belief_limit
        return Kriegspiel(self._kriegspiel_setup, evaluator, limit, sample_belief)


registration.register(_GAME_TYPE, KriegspielGame)
