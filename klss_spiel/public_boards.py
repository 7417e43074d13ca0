"""A public tree times hands, board by board.

Behind different public cards nothing is shared but the betting before them. What a best
response gets is therefore a sum over boards: with `Boards` a game of one board at a time
is laid out, refined and answered, a board's answer is a vector over the responder's
sequences of the first round, and the sum of these vectors decides what he does there.
A few numbers per board are kept instead of strategies that fill the memory.

Shapes: B boards, H hands, S sequences of a player in the whole game, P those of the
first round.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.hand_payoffs import HandOutcomes, HandPayoffs
from klss_spiel.public_game import FIRST_STAGE, Closure, PublicGame
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS
from klss_spiel.treeplex_kernels import add_best_responses, best_response_value, realization_plan

_BOARD_STAGE = FIRST_STAGE + 1

Pair = tuple[FloatArray, FloatArray]


class Boards:
    """The boards of a game, numbered from 0 in the order of its stages.

    Attributes:
      game: the whole game; its sequence form is not looked at.
      first: its first round alone, whose sequences have the game's numbers.
    """

    def __init__(self, game: PublicGame) -> None:
        self.game = game
        self._num_spots = next(
            (k for k, spot in enumerate(game.spots) if spot.stage != FIRST_STAGE), len(game.spots)
        )
        self.first = PublicGame(
            name=f"{game.name}, first round",
            stages=game.stages[:1],
            spots=game.spots[: self._num_spots],
            outcomes=game.outcomes[:1],
            closures=(),
        )
        self._closures: list[list[Closure]] = [[] for _ in game.stages[1:]]
        for closure in game.closures:
            self._closures[closure.stage - 1].append(closure)

    @property
    def count(self) -> int:
        """B."""
        return len(self._closures)

    @functools.cached_property
    def probabilities(self) -> FloatArray:
        """[B] of each board, those that mean the same counted once."""
        all_hands = (np.ones((1, stage.num_hands)) for stage in self.game.stages[1:])
        return np.array(
            [
                stage.pairs.meet(ones).sum()
                for stage, ones in zip(self.game.stages[1:], all_hands, strict=True)
            ]
        )

    def num_first(self, player: int) -> int:
        """P of a player."""
        return self.first.form.treeplexes[player].num_sequences

    def game_at(self, board: int) -> PublicGame:
        """The game in which only one board is dealt, as often as in the whole game.

        Sequences of the first round keep their numbers, those behind the board follow.
        """
        closures = self._closures[board]
        shift = self._shift(board)
        first_spot, num_spots = closures[0].spots[0], self._num_spots
        last_spot = closures[-1].spots[-1] + 1
        spots = [
            dataclasses.replace(
                spot,
                stage=_BOARD_STAGE,
                first_sequence=spot.first_sequence - shift[spot.player],
                before=spot.before - (first_spot - num_spots if spot.before >= first_spot else 0),
            )
            for spot in self.game.spots[first_spot:last_spot]
        ]
        moved = [
            Closure(
                stage=_BOARD_STAGE,
                history=closure.history,
                spots=tuple(k - first_spot + num_spots for k in closure.spots),
                begin=(closure.begin[0] - shift[0], closure.begin[1] - shift[1]),
                end=(closure.end[0] - shift[0], closure.end[1] - shift[1]),
                outcomes=_shifted(closure.outcomes, shift),
            )
            for closure in closures
        ]
        outcomes = self.game.outcomes[1 + board]
        return PublicGame(
            name=f"{self.game.name}, board {self.game.stages[1 + board].name}",
            stages=(self.game.stages[0], self.game.stages[1 + board]),
            spots=(*self.first.spots, *spots),
            outcomes=(self.game.outcomes[0], _shifted(outcomes, shift)),
            closures=tuple(moved),
        )

    def _shift(self, board: int) -> tuple[int, int]:
        """What sequences behind a board are numbered lower alone than in the whole game."""
        begin = self._closures[board][0].begin
        return begin[0] - self.num_first(0), begin[1] - self.num_first(1)

    def behaviors_at(self, board: int, behaviors: tuple[npt.ArrayLike, npt.ArrayLike]) -> Pair:
        """For each player, the part of behaviour probabilities ([S]) that `game_at` has."""
        parts = []
        for p in PLAYERS:
            behavior = np.asanyarray(behaviors[p])  # May be mapped from a file.
            begin, end = self._closures[board][0].begin[p], self._closures[board][-1].end[p]
            part = [behavior[: self.num_first(p)], behavior[begin:end]]
            parts.append(np.concatenate(part).astype(np.float64))
        return parts[0], parts[1]

    def answer(self, at_board: PublicGame, behavior: FloatArray, responder: int) -> FloatArray:
        """[P] what best answers behind one board add to the responder's sequences before it.

        Args:
          at_board: the game of `game_at`.
          behavior: the other player's behaviour probabilities in it.
          responder: who answers.
        """
        treeplexes = at_board.form.treeplexes
        plan = realization_plan(treeplexes[1 - responder], behavior)
        gradient = np.zeros(treeplexes[responder].num_sequences)
        HandPayoffs(at_board.outcomes[1:]).add_gradient(responder, plan, gradient)
        before = self.first.form.treeplexes[responder].num_infosets
        add_best_responses(treeplexes[responder], gradient, before)
        return gradient[: self.num_first(responder)].copy()

    def response_value(
        self, responder: int, answers: FloatArray, behaviors: tuple[npt.ArrayLike, npt.ArrayLike]
    ) -> float:
        """What the responder gets in the whole game.

        Args:
          responder: who answers.
          answers: [P] the sum of `answer` over all boards.
          behaviors: probabilities of both players, of which those of the first round count.
        """
        other = 1 - responder
        first = np.asarray(np.asanyarray(behaviors[other])[: self.num_first(other)])
        plan = realization_plan(self.first.form.treeplexes[other], first.astype(np.float64))
        gradient = self.first.form.gradient(responder, plan) + answers
        return best_response_value(self.first.form.treeplexes[responder], gradient)


def _shifted(outcomes: HandOutcomes, shift: tuple[int, int]) -> HandOutcomes:
    """Outcomes of one board whose sequences have lower numbers."""

    def lower(start: IntArray, by: int) -> IntArray:
        return np.where(start == EMPTY_SEQUENCE, EMPTY_SEQUENCE, start - by)

    start = lower(outcomes.start[0], shift[0]), lower(outcomes.start[1], shift[1])
    return dataclasses.replace(outcomes, start=start)
