"""A player who searches at every decision, and what the search reports.

The player is told information states and nothing else. Each decision continues from
the tree of the last one (`carry_over`); the random numbers of a decision depend on
the seed and on the information state only, so with a budget of nodes or iterations
the same observations always lead to the same probabilities.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import time
from collections.abc import Sequence

import numpy as np

from klss_spiel.algorithms.search import equilibrium as search_equilibrium
from klss_spiel.algorithms.search.carry_over import NoFittingPosition, expected_value, next_search
from klss_spiel.algorithms.search.compilation import CompilationTimer
from klss_spiel.algorithms.search.purification import play_probabilities
from klss_spiel.algorithms.search.report import NO_GADGET, effective_size
from klss_spiel.algorithms.search.report import Decision as Decision
from klss_spiel.algorithms.search.report import SearchReport as SearchReport
from klss_spiel.algorithms.search.search import Information, Search, search_from_start
from klss_spiel.algorithms.search.settings import EquilibriumMethod, SearchSettings
from klss_spiel.algorithms.search.timing import GameTimer, MoveTimer, Pondering
from klss_spiel.arrays import IntArray
from klss_spiel.budget import Budget, Clock, Now
from klss_spiel.search_game import (
    Belief,
    GuessingBelief,
    RetryingGame,
    SearchGame,
    TimedBelief,
    WeighingGame,
)
from klss_spiel.tree import NO_INFOSET, PLAYERS

# Of the time of the first decision, what the search from the start of the game gets.
_OPENING_SHARE = 0.5
# Of the time of a decision, what the update of the belief may take.
_BELIEF_SHARE = 0.5
# Of the longest time of a decision, what it may take if nothing were held possible otherwise.
_RESCUE_SHARE = 0.9
# Why a decision was made without a search.
_EMPTY_BELIEF = "belief incomplete and empty"


class SearchPlayer:
    """Decides for one player, from one information state to the next. Mutable.

    Attributes:
      game: the game.
      player: for whom.
      settings: how to search.
      seed: of the random choices.
      ponder: search on while the other player thinks; results then depend on how long.
    """

    def __init__(
        self,
        game: SearchGame,
        player: int,
        settings: SearchSettings,
        budget: Budget | Clock,
        seed: int = 0,
        ponder: bool = False,
        now: Now = time.monotonic,
    ) -> None:
        if player not in PLAYERS:
            raise ValueError(f"expected player 0 or 1, got {player}")
        self.game = game
        self.player = player
        self.settings = settings
        self.seed = seed
        self.ponder = ponder
        self._timer = GameTimer(budget, now)
        self._pondering: Pondering | None = None
        # The search before the first decision; the same in every game.
        self._opening: Search | None = None
        self.restart()

    def restart(self) -> None:
        """Forgets the game that was played; the search of the opening is kept."""
        self._stop_pondering()
        self._closed = False
        self._timer.restart()
        # The search of the last decision, and that of one still to be acted on.
        self._search: Search | None = None
        self._pending: Search | None = None
        # Decisions so far: what was told and what was done about it.
        self._told: list[str] = []
        self._taken: list[int] = []
        # The belief, and what it has been told so far.
        self._belief: Belief | None = None
        self._believed: list[str] = []

    def close(self) -> None:
        """The game is over: ends pondering, which begins again only after `restart`.

        May be called while another thread is still deciding.
        """
        self._closed = True
        self._stop_pondering()

    @property
    def budget(self) -> Budget | Clock:
        """Of every decision, or the clock of every game."""
        return self._timer.budget

    @budget.setter
    def budget(self, budget: Budget | Clock) -> None:
        self._timer.budget = budget
        self._timer.restart()

    @property
    def remaining(self) -> float | None:
        """Seconds left on the clock; None without one."""
        return self._timer.remaining

    def fork(self) -> SearchPlayer:
        """A player who will go on from here on its own."""
        self._stop_pondering()
        other = copy.copy(self)
        other._timer = copy.copy(self._timer)
        other._belief = self._belief.copy() if self._belief is not None else None
        other._told = list(self._told)
        other._taken = list(self._taken)
        other._believed = list(self._believed)
        return other

    def __getstate__(self) -> dict[str, object]:
        self._stop_pondering()
        return self.__dict__

    def _stop_pondering(self) -> None:
        pondering, self._pondering = self._pondering, None
        if pondering is not None:
            pondering.stop()

    def share_opening(self, other: SearchPlayer) -> None:
        """Takes over the search of the opening of a fork, if there was one."""
        self._opening = other._opening

    @property
    def search(self) -> Search | None:
        """The last search, for a look at its tree."""
        return self._search if self._pending is None else self._pending

    def record_action(self, information_state: str, action: int) -> None:
        """Notes what the player did."""
        self._told.append(information_state)
        self._taken.append(action)
        if self._pending is not None:
            self._search, self._pending = self._pending, None
        self._timer.move()
        self._stop_pondering()
        if self.ponder and self._search is not None and not self._closed:
            self._pondering = Pondering(self._search)
            if self._closed:  # meanwhile, by another thread
                self._stop_pondering()

    def decide(self, information_state: str, legal_actions: Sequence[int]) -> Decision:
        """Searches, and says what to play; `record_action` must follow.

        Asked again before that, it says the same again (with a budget that is not of
        time).

        Args:
          information_state: what the player has been told, being to move.
          legal_actions: the player's actions, as OpenSpiel lists them.

        Raises:
          ValueError: no actions, or a belief past its limit.
        """
        if isinstance(self.game, RetryingGame) and self.game.refused(information_state):
            self._timer.refuse()
        self._timer.begin()
        self._stop_pondering()
        try:
            return self._decide(information_state, legal_actions)
        finally:
            self._timer.end()

    def _decide(self, information_state: str, legal_actions: Sequence[int]) -> Decision:
        actions = tuple(int(a) for a in legal_actions)
        self._pending = None
        if not actions:
            raise ValueError("expected at least one legal action, got none")
        if len(actions) == 1:
            return self._forced_decision(information_state, actions)
        start = time.perf_counter()
        compile_loops()
        loading = time.perf_counter() - start
        try:
            with CompilationTimer() as compiling:
                search, own_id, belief = self._search_at(information_state)
                self._timer.search_ends()
        except NoFittingPosition:
            if self._belief is None or self._belief.complete:
                raise
            uniform = np.full(len(actions), 1.0 / len(actions))
            report = SearchReport(
                belief_complete=False,
                support=len(actions),
                seconds=max(0.0, self._timer.elapsed - loading - compiling.seconds),
                compiling=loading + compiling.seconds,
                degraded=(f"{_EMPTY_BELIEF}; playing uniformly",),
            )
            return Decision(actions, uniform, report)
        self._pending = search
        return self._decision(search, own_id, actions, belief, loading, compiling.seconds)

    def _forced_decision(self, information_state: str, actions: tuple[int, ...]) -> Decision:
        """Carries the last tree over without searching, so that it stays fresh."""
        if self._search is None:
            return Decision(actions, np.ones(1), SearchReport(forced=True))
        timer = self._timer.timer()
        belief = self.advance_belief(information_state, timer)
        try:
            self._pending, _ = self._next_search(information_state, belief, timer)
        except NoFittingPosition:
            if belief.complete:
                raise
            report = SearchReport(forced=True, belief_complete=False, degraded=(_EMPTY_BELIEF,))
            return Decision(actions, np.ones(1), report)
        self._timer.search_ends()
        tree = self._pending.tree
        report = SearchReport(
            forced=True,
            nodes=tree.num_nodes,
            roots=tree.num_roots,
            infosets=sum(tree.num_infosets) - 1,
            belief_size=len(belief.positions),
            belief_complete=belief.complete,
            belief_effective=effective_size(belief),
        )
        return Decision(actions, np.ones(1), report)

    def _search_at(self, information_state: str) -> tuple[Search, int, Belief]:
        """A finished search, the identifier of the own infoset in it, and the belief."""
        timer = self._timer.timer()
        belief = self.advance_belief(information_state, timer)
        search, own_id = self._next_search(information_state, belief, timer)
        if self.settings.information_scale < np.inf:
            weight = len(belief.positions) / self.settings.information_scale
            search.information = Information(own_id, weight)
        search.run(timer.part(), self._timer.now)
        unseen = search.tree.infoset_of(self.player, own_id) == NO_INFOSET
        if (
            unseen
            and self.settings.equilibrium == EquilibriumMethod.CFR
            and search.effort.iterations
        ):
            search.look_at(own_id)
        return search, own_id, belief

    def advance_belief(self, information_state: str, timer: MoveTimer | None = None) -> Belief:
        """The belief at a decision, brought up to date; in any time without a timer."""
        told = [*self._told, information_state]
        known = len(self._believed)
        if self._belief is None or self._believed != told[:known]:
            self._belief, self._believed = self._first_belief(), []
        if isinstance(self._belief, TimedBelief):
            if timer is None or timer.budget.seconds is None:
                self._belief.allow(None, self._timer.now)
            else:
                usual = _BELIEF_SHARE * timer.budget.seconds
                self._belief.allow(usual, self._timer.now, _RESCUE_SHARE * timer.longest)
        for decision in range(len(self._believed), len(told)):
            action = self._taken[decision - 1] if decision else None
            self._belief.advance(action, told[decision])
            self._believed.append(told[decision])
        return self._belief

    def _first_belief(self) -> Belief:
        """The belief before the game starts."""
        if self.settings.belief_weights and isinstance(self.game, WeighingGame):
            return self.game.weighted_belief(self.player)
        return self.game.belief(self.player)

    def _next_search(
        self, information_state: str, belief: Belief, timer: MoveTimer
    ) -> tuple[Search, int]:
        game, settings = self.game, self.settings
        seed = _seed(self.seed, self.player, information_state)
        old = self._search
        if old is None:
            start = game.initial()
            own_id = start.infoset_ids[self.player, 0]
            if start.player[0] == self.player and np.isin(
                own_id, game.infosets(self.player, information_state)
            ):
                return search_from_start(game, settings, self.player, seed), int(own_id)
            if settings.opening_search and settings.carry_over.order > 0:
                old = self._search_opening(timer)
        return next_search(game, settings, self.player, old, information_state, belief, seed)

    def _search_opening(self, timer: MoveTimer) -> Search:
        if self._opening is None:
            seed = _seed(self.seed, self.player, "")
            opening = search_from_start(self.game, self.settings, self.player, seed)
            opening.run(timer.part(_OPENING_SHARE), self._timer.now)
            self._opening = opening
        return self._opening

    def _decision(
        self,
        search: Search,
        own_id: int,
        actions: tuple[int, ...],
        belief: Belief,
        loading: float,
        compiling: float,
    ) -> Decision:
        tree = search.tree
        degraded = [f"{what} ({n}x)" for what, n in search.effort.faults.items()]
        effective = effective_size(belief)
        if not belief.complete:
            degraded.append(
                f"belief incomplete, a sample of {len(belief.positions)} worth {effective:.0f}"
            )
        if isinstance(belief, GuessingBelief) and belief.guessed:
            degraded.append("belief guessed, may not fit what was told long ago")
        infoset = tree.infoset_of(self.player, own_id)
        if infoset == NO_INFOSET:
            probabilities = np.full(len(actions), 1.0 / len(actions))
            degraded.append("own infoset never expanded; playing uniformly")
        else:
            probabilities = play_probabilities(search, infoset)
            first = int(tree.infosets[self.player].first_sequence[infoset])
            known = tree.sequences[self.player].action[first : first + len(probabilities)]
            _check_actions(known, actions)
        scale, offset = self.game.utility_scale, self.game.utility_offset
        gadget = search.gadget_in_use
        gap = search_equilibrium.nash_gap(tree, search.root, gadget)
        effort = search.effort
        report = SearchReport(
            iterations=effort.iterations,
            nodes=tree.num_nodes,
            new_nodes=effort.new_nodes,
            infosets=sum(tree.num_infosets) - 1,
            depth=int(tree.nodes.depth[: tree.num_nodes].max()),
            belief_size=len(belief.positions),
            belief_complete=belief.complete,
            belief_effective=effective,
            roots=tree.num_roots,
            gadget=NO_GADGET if tree.num_roots == 1 else gadget.name.lower(),
            margin=scale * float(search.margins.min()),
            enter=float(search.root.enter.max()),
            value=scale * expected_value(search) + offset,
            nash_gap=scale * max(gap, 0.0),
            support=int(np.sum(probabilities > 0.0)),
            seconds=max(0.0, self._timer.elapsed - loading - compiling),
            compiling=loading + compiling,
            expanding=effort.expanding,
            evaluating=effort.evaluating,
            solving=effort.solving,
            degraded=tuple(degraded),
        )
        return Decision(actions, probabilities, report)


@functools.cache
def compile_loops() -> None:
    """Compiles the loops of the search, or loads them; once per process.

    Two decisions of Kuhn poker use all of them. A budget of seconds should be spent on
    searching.
    """
    from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame

    with CompilationTimer():
        game = OpenSpielSearchGame("kuhn_poker")
        player = SearchPlayer(game, 1, SearchSettings(), Budget(nodes=40))
        search, own_id, _ = player._search_at("0p")
        search_equilibrium.nash_gap(search.tree, search.root, search.gadget_in_use)
        play_probabilities(search, search.tree.infoset_of(1, own_id))


def _check_actions(known: IntArray, actions: tuple[int, ...]) -> None:
    if known.tolist() != list(actions):
        raise ValueError(
            f"the search found the actions {known.tolist()} where the game offers {list(actions)}"
        )


def _seed(seed: int, player: int, information_state: str) -> int:
    digest = hashlib.sha256(f"{seed}/{player}/{information_state}".encode()).digest()
    return int.from_bytes(digest[:8], "little")
