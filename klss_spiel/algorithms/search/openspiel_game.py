"""Any OpenSpiel game, seen by a search through its states.

`search_game` asks a game for something faster first (`klss_spiel.search_game`).
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.evaluators import (
    STATES,
    Evaluator,
    largest_payoff,
    make_evaluator,
    payoff_offset,
)
from klss_spiel.evaluators import rollout_evaluator as rollout_evaluator
from klss_spiel.evaluators import zero_evaluator as zero_evaluator
from klss_spiel.openspiel import check_supported, load_game, turn_based
from klss_spiel.search_game import (
    Belief,
    Children,
    InfosetIds,
    LeafEvaluator,
    Positions,
    RootPositions,
    SearchGame,
)
from klss_spiel.specification import Specification
from klss_spiel.tree import CHANCE, NO_ACTION, PLAYERS, TERMINAL

# States of games written in Python cost much more than those in C++.
_HISTORIES = 20_000
_HISTORIES_OF_PYTHON_GAMES = 2_000


def search_game(
    game: Any,
    evaluator: LeafEvaluator | str | Specification | None = None,
    belief_limit: int | None = None,
    sample_belief: bool | None = None,
) -> SearchGame:
    """The fastest `SearchGame` of an OpenSpiel game.

    Args:
      game: a `pyspiel.Game` or a game string.
      evaluator: values of unfinished positions, or a name (`klss_spiel.evaluators`);
        None for the game's own, which is zero unless the game brings a better one.
      belief_limit: most positions a belief may hold exactly; None for the default.
      sample_belief: past the limit go on with a sample, and say so; False raises an error
        there. None for the default, a sample.

    Raises:
      TypeError: an evaluator that cannot be called.
      ValueError: a game that cannot be searched, or not with these beliefs.
    """
    if isinstance(game, str):
        game = load_game(game)
    if isinstance(evaluator, str | Specification):
        evaluator = make_evaluator(game, evaluator)
    if evaluator is not None and not callable(evaluator):
        raise TypeError(f"expected an evaluator that can be called, got {evaluator!r}")
    beliefs: dict[str, Any] = {"belief_limit": belief_limit, "sample_belief": sample_belief}
    beliefs = {name: value for name, value in beliefs.items() if value is not None}
    through_states = isinstance(evaluator, Evaluator) and evaluator.positions == STATES
    searched = None
    if not through_states and hasattr(game, "search_game"):
        searched = game.search_game(evaluator)
    if searched is None:
        return OpenSpielSearchGame(game, evaluator or zero_evaluator, **beliefs)
    if not isinstance(searched, SearchGame):
        raise ValueError(f"expected {game}.search_game() to be a SearchGame, got {searched!r}")
    if beliefs:
        unknown = sorted(set(beliefs) - set(inspect.signature(game.search_game).parameters))
        if unknown:
            raise ValueError(f"{game} keeps beliefs of its own kind, which take no {unknown}")
        searched = game.search_game(evaluator, **beliefs)
    return cast(SearchGame, searched)


def default_belief_limit(game: Any) -> int:
    """How many histories a belief holds unless somebody says so: some seconds' worth."""
    is_python = str(game.get_type().short_name).startswith("python_")
    return _HISTORIES_OF_PYTHON_GAMES if is_python else _HISTORIES


class OpenSpielSearchGame:
    """Any OpenSpiel game of two players, through its state interface.

    An identifier is a 64-bit hash of what a player knew before, the own action if one was
    taken, whether it is the player's turn, and the information state string; so it
    does not depend on what was looked at earlier. A player who neither moved nor moves
    and is told nothing new stays in the infoset. Mutable: the table of what was seen
    grows.
    """

    def __init__(
        self,
        game: Any,
        evaluator: LeafEvaluator = zero_evaluator,
        belief_limit: int | None = None,
        sample_belief: bool = True,
    ) -> None:
        """Makes a game searchable.

        Args:
          game: a `pyspiel.Game` or a game string.
          evaluator: values of unfinished positions.
          belief_limit: most histories a belief may hold; `default_belief_limit` if None.
          sample_belief: past the limit keep a sample, and say so; else raise an error.
        """
        if isinstance(game, str):
            game = load_game(game)
        check_supported(game)
        self.game = turn_based(game)
        self._evaluator = evaluator
        self._belief_limit = (
            default_belief_limit(self.game) if belief_limit is None else belief_limit
        )
        self._sample_belief = sample_belief
        self.utility_offset = payoff_offset(self.game)
        self.utility_scale = largest_payoff(self.game)
        self._told: dict[int, str] = {}
        self._decisions: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})

    @property
    def name(self) -> str:
        """OpenSpiel's name with parameters."""
        return str(self.game)

    def initial(self) -> RootPositions:
        """The start of the game."""
        state = self.game.new_initial_state()
        player = int(state.current_player())
        infoset_ids = [
            [self._identify(p, None, NO_ACTION, player == p, state.information_state_string(p))]
            for p in PLAYERS
        ]
        return RootPositions(
            position=_array_of([state]),
            player=np.array([player], dtype=np.int8),
            infoset_ids=np.array(infoset_ids, dtype=np.uint64),
        )

    def expand(self, positions: Positions, infoset_ids: InfosetIds) -> Children:
        """All children of the given states."""
        count, action, chance, player, utility = [], [], [], [], []
        known: tuple[list[int], list[int]] = ([], [])
        states: list[Any] = []
        for i, state in enumerate(positions):
            mover = int(state.current_player())
            if mover == CHANCE:
                outcomes = state.chance_outcomes()
            else:
                outcomes = [(a, 1.0) for a in state.legal_actions()]
            count.append(len(outcomes))
            before = (int(infoset_ids[0, i]), int(infoset_ids[1, i]))
            for a, q in outcomes:
                child = state.child(a)
                to_move = int(child.current_player())
                states.append(child)
                action.append(a)
                chance.append(q)
                player.append(to_move)
                if to_move == TERMINAL:
                    own = child.returns()[0]
                    utility.append((own - self.utility_offset) / self.utility_scale)
                else:
                    utility.append(0.0)
                for p in PLAYERS:
                    known[p].append(self._step(p, before[p], mover, a, to_move, child))
        return Children(
            count=np.array(count, dtype=np.int32),
            action=np.array(action, dtype=np.int32),
            chance=np.array(chance),
            player=np.array(player, dtype=np.int8),
            infoset_ids=np.array(known, dtype=np.uint64),
            utility=np.array(utility),
            position=_array_of(states),
            forcing=np.zeros(len(states), dtype=np.bool_),
        )

    def evaluate(self, positions: Positions) -> FloatArray:
        """[n] the evaluator's values."""
        return self._evaluator(positions)

    def infosets(self, player: int, information_state: str) -> InfosetIds:
        """Identifiers of the decision infosets with this information state string."""
        # The one that does not depend on what was looked at before comes first.
        own = self._identify(player, None, NO_ACTION, True, information_state)
        others = self._decisions[player][information_state] - {own}
        return np.array([own, *sorted(others)], dtype=np.uint64)

    def informed(self, player: int, own: int, positions: Positions) -> InfosetIds:
        """[2, n] identifiers at states of which the opponent knows the whole history."""
        opponent = 1 - player
        known = np.empty((2, len(positions)), dtype=np.uint64)
        known[player] = own
        for i, state in enumerate(positions):
            told = state.information_state_string(opponent)
            # A key that no chain of observations can produce: the history itself.
            known[opponent, i] = self._note(opponent, ("informed", state.history()), False, told)
        return known

    def keys(self, positions: Positions) -> Sequence[Hashable]:
        """[n] the histories of the given states."""
        return [tuple(state.history()) for state in positions]

    def belief(self, player: int) -> Belief:
        """Every history the player cannot rule out."""
        from klss_spiel.algorithms.search.history_belief import HistoryBelief

        return HistoryBelief(
            self.game, player, limit=self._belief_limit, sample=self._sample_belief
        )

    def _step(self, p: int, before: int, mover: int, action: int, to_move: int, child: Any) -> int:
        """What player p knows after an action."""
        moved, moves = mover == p, to_move == p
        told = child.information_state_string(p)
        if not moved and not moves and self._told[before] == told:
            return before
        return self._identify(p, before, action if moved else NO_ACTION, moves, told)

    def _identify(self, p: int, before: int | None, action: int, moves: bool, told: str) -> int:
        return self._note(p, (before, action, moves, told), moves, told)

    def _note(self, p: int, content: tuple[object, ...], moves: bool, told: str) -> int:
        """The identifier of some knowledge of player p."""
        digest = hashlib.blake2b(repr((p, *content)).encode(), digest_size=8).digest()
        identifier = int.from_bytes(digest, "little")
        if identifier not in self._told:
            self._told[identifier] = told
            if moves:
                self._decisions[p].setdefault(told, set()).add(identifier)
        return identifier


def _array_of(states: list[Any]) -> Positions:
    """An array of objects; numpy would otherwise try to look inside them."""
    positions = np.empty(len(states), dtype=object)
    positions[:] = states
    return positions
