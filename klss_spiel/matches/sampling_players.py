"""Players that sample positions from what they hold possible: greedy, PIMC, ISMCTS.

All keep a belief made of their own information states only. Past its limit the belief is a
sample; a sample that has died out leaves nothing to reason about, and the player then moves
at random and says so in its report.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame, search_game
from klss_spiel.arrays import FloatArray
from klss_spiel.matches.players import Seat, register_player
from klss_spiel.matches.referee import Player
from klss_spiel.matches.world_engines import WorldEngine, make_engine
from klss_spiel.search_game import Positions, SearchGame
from klss_spiel.specification import Specification, Value

_ANYTHING = "belief lost; moved at random"


class Believer:
    """What a player holds possible, decision by decision. Mutable."""

    def __init__(self, game: SearchGame, player: int) -> None:
        self._belief = game.belief(player)
        self._last: int | None = None
        self._lost = False

    def see(self, told: str) -> Positions:
        """[n] the positions that fit what the player is told now; none if all are lost.

        Raises:
          ValueError: certainly none fits, or too many do and the game does not sample.
        """
        if self._lost:
            return np.empty(0)
        self._belief.advance(self._last, told)
        positions = self._belief.positions
        self._lost = not len(positions)
        return positions

    @property
    def weights(self) -> FloatArray | None:
        """[n] how likely the positions are; None if all alike."""
        return self._belief.weights

    def remember(self, action: int) -> None:
        """Says which action the player has chosen."""
        self._last = action


def sample_worlds(
    positions: Positions,
    count: int,
    rng: np.random.Generator,
    weights: FloatArray | None = None,
) -> tuple[Positions, FloatArray]:
    """At most `count` different ones of the positions in their order, and what each counts.

    If there are more, likely ones are drawn again and again, but looked at once.

    Args:
      positions: [n].
      count: how many.
      rng: of the choice.
      weights: [n] how likely they are; None if all alike.

    Returns:
      [m] positions, [m] how much each of them counts, 1 on average.
    """
    if len(positions) <= count:
        counts = np.ones(len(positions)) if weights is None else weights
        return positions, counts / counts.mean() if len(positions) else counts
    if weights is None:
        drawn = rng.choice(len(positions), size=count, replace=False)
    else:
        drawn = rng.choice(len(positions), size=count, p=weights / weights.sum())
    chosen, times = np.unique(drawn, return_counts=True)
    return positions[chosen], times / times.mean()


class VotingPlayer:
    """Scores every action in sampled worlds as if all could be seen, and adds up.

    Perfect-information Monte Carlo: the flaw is known (it takes for granted that it will
    know later what it does not know now), the strength too.

    Attributes:
      report: what happened at the last decision.
    """

    def __init__(
        self, seat: Seat, game: SearchGame, engine: WorldEngine, worlds: int, votes: bool
    ) -> None:
        """A player at the start of a game.

        Args:
          seat: where it sits.
          game: the game, for the belief.
          engine: scores all actions of one position.
          worlds: positions to look at.
          votes: each world votes for its best action; else the scores are averaged.
        """
        if worlds < 1:
            raise ValueError(f"expected at least 1 world, got {worlds}")
        self._engine = engine
        self._worlds = worlds
        self._votes = votes
        self._believer = Believer(game, seat.player)
        self._player = seat.player
        self._rng = np.random.default_rng(seat.seed)
        self.report: str | None = None

    def step(self, state: Any) -> int:
        """The action with most votes; the mean score decides between equals."""
        legal, told = state.legal_actions(), state.information_state_string()
        positions = self._believer.see(told)
        weights = self._believer.weights
        worlds, counts = sample_worlds(positions, self._worlds, self._rng, weights)
        self.report = f"{len(worlds)} of {len(positions)} positions"
        if len(legal) == 1:
            action = int(legal[0])
        elif not len(worlds):
            self.report = _ANYTHING
            action = int(legal[self._rng.integers(len(legal))])
        else:
            scores = self._engine(worlds, self._player, told, legal)
            action = int(legal[self._choose(scores, counts)])
        self._believer.remember(action)
        return action

    def _choose(self, scores: FloatArray, counts: FloatArray) -> int:
        """The number of the action to play, of scores [worlds, actions].

        Each world counts as often as `counts` [worlds] says.
        """
        mean = np.average(scores, axis=0, weights=counts)
        if self._votes:
            best = np.isclose(scores, scores.max(axis=1, keepdims=True), atol=1e-9)
            votes = counts @ (best / best.sum(axis=1, keepdims=True))
            mean = votes + 1e-3 * (mean - mean.min()) / max(float(np.ptp(mean)), 1e-9)
        tied = np.flatnonzero(np.isclose(mean, mean.max(), atol=1e-12))
        return int(tied[self._rng.integers(len(tied))])


class IsmctsPlayer:
    """OpenSpiel's information-set MCTS on states drawn from the player's own belief."""

    def __init__(self, seat: Seat, simulations: int, exploration: float, limit: int | None) -> None:
        from open_spiel.python.algorithms import ismcts, mcts

        rng = np.random.RandomState(seat.seed % 2**32)
        game = _through_states(seat, limit)
        self._believer = Believer(game, seat.player)
        self._rng = np.random.default_rng(seat.seed)
        self._states: Positions = np.empty(0)
        self.report: str | None = None
        self._bot = ismcts.ISMCTSBot(
            game=seat.game,
            evaluator=mcts.RandomRolloutEvaluator(1, rng),
            uct_c=exploration,
            max_simulations=simulations,
            random_state=rng,
        )
        self._bot.set_resampler(self._draw)

    def step(self, state: Any) -> int:
        """The action that the search visited most."""
        self._states = self._believer.see(state.information_state_string())
        legal = state.legal_actions()
        if len(self._states):
            self.report = f"{len(self._states)} histories"
            action = int(legal[0]) if len(legal) == 1 else int(self._bot.step(state))
        else:
            self.report = _ANYTHING
            action = int(legal[self._rng.integers(len(legal))])
        self._believer.remember(action)
        return action

    def _draw(self, state: Any, player: int) -> Any:
        del state, player
        # Histories of generic games have no weights.
        return self._states[self._rng.integers(len(self._states))].clone()


def _through_states(seat: Seat, limit: int | None) -> OpenSpielSearchGame:
    return OpenSpielSearchGame(seat.game, belief_limit=limit)


def _searchable(seat: Seat, limit: int | None) -> SearchGame:
    return search_game(seat.game, belief_limit=limit)


def _make_pimc(
    seat: Seat,
    worlds: int = 64,
    depth: int = 4,
    engine: Value | Specification = "alphabeta",
    votes: bool = True,
    limit: int | None = None,
) -> Player:
    game = _searchable(seat, limit)
    return VotingPlayer(seat, game, make_engine(engine, game, depth), worlds, votes)


def _make_greedy(seat: Seat, worlds: int = 64, limit: int | None = None) -> Player:
    game = _searchable(seat, limit)
    return VotingPlayer(seat, game, make_engine("one_ply", game, 1), worlds, votes=False)


def _make_ismcts(
    seat: Seat, simulations: int = 1000, exploration: float = 2.0, limit: int | None = None
) -> Player:
    return IsmctsPlayer(seat, simulations, exploration, limit)


register_player("pimc", _make_pimc)
register_player("greedy", _make_greedy)
register_player("ismcts", _make_ismcts)
