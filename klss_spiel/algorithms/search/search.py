"""Search on a growing tree: an equilibrium of what has been seen, and seeing more.

The loop of Obscuro (section 3) and of ZS21 (Algorithm 15):

    until the budget is spent:
        improve the strategies on the tree     (CFR, or an exact equilibrium)
        expand leaves                          (`expansion`)

on any `SearchGame`, from any `Roots`. Without a budget that would end it, with all
the game as root, the average strategies of one-sided and of two-sided expansion
become an equilibrium of the game (Obscuro, Theorem 1).

What an evaluator may do wrong is in `evaluation`. An error that passes through, and
KeyboardInterrupt, leave the tree as it was before the last batch of leaves.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import time

import numpy as np

from klss_spiel.algorithms.regret import PRM_PLUS
from klss_spiel.algorithms.search import cfr_kernels as kernels
from klss_spiel.algorithms.search import cfr_reference as reference
from klss_spiel.algorithms.search import repetition
from klss_spiel.algorithms.search.evaluation import CheckedEvaluator, Effort
from klss_spiel.algorithms.search.expansion import ExpansionState
from klss_spiel.algorithms.search.revaluation import Revaluation
from klss_spiel.algorithms.search.root import (
    RootArrays,
    RootGadget,
    Roots,
    initial_roots,
    tree_of_roots,
)
from klss_spiel.algorithms.search.settings import EquilibriumMethod, Iterate, SearchSettings
from klss_spiel.algorithms.search.tree import PENDING, UNEXPANDED, SearchTree
from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.budget import Budget, Meter, Now
from klss_spiel.search_game import (
    Children,
    InfosetIds,
    Positions,
    RepeatingGame,
    SearchGame,
)
from klss_spiel.tree import PLAYERS, TERMINAL

# Iterations on a tree that does not grow are done in batches of at most this many, and
# of few milliseconds.
_ROUNDS_AT_ONCE = 16
_NODES_AT_ONCE = 200_000
# How many times the nodes that are asked for there may be after all: leaves differ.
_LARGEST_BATCH = 4
# Positions of an infoset that is looked at though no walk has come to it.
_LOOKED_AT = 16


@dataclasses.dataclass(frozen=True)
class Information:
    """A reward for actions whose outcome tells much (ZS21, D.3).

    Attributes:
      own_id: identifier of the infoset whose actions are rewarded.
      weight: |I| / M.
    """

    own_id: int
    weight: float


class Search:
    """A tree, the strategies on it, and how to improve both. Mutable.

    Attributes:
      game: the game.
      settings: how to search.
      tree: what has been seen.
      root: the opponent's choice at node 0.
      evaluator: the game's evaluator, which also counts what was spent.
      information: reward for learning, or None.
      seen_twice: views that are draws if they come again; see `repetition`.
      halfway: iterations done when half the budget was spent (T_1/2 in Obscuro, C.8).
    """

    def __init__(
        self,
        game: SearchGame,
        settings: SearchSettings,
        tree: SearchTree,
        root: RootArrays,
        seed: int,
        evaluator: CheckedEvaluator,
    ) -> None:
        self.game = game
        self.settings = settings
        self.tree = tree
        self.root = root
        self.evaluator = evaluator
        self.information: Information | None = None
        self.seen_twice: InfosetIds = np.zeros(0, dtype=np.uint64)
        self.halfway = 0
        self._node_values: FloatArray | None = None
        self._owed = 0.0
        self._expansion = ExpansionState(seed, explorer=tree.player)
        self._worker: concurrent.futures.Executor | None = None
        self._revaluation = Revaluation.of(game, tree.player)

    @property
    def effort(self) -> Effort:
        """What was spent since the search was made."""
        return self.evaluator.effort

    @property
    def gadget(self) -> RootGadget:
        """The gadget at the root; with a single root there is nothing to choose."""
        return RootGadget.MAXMARGIN if self.tree.num_roots == 1 else self.settings.gadget

    def run(self, budget: Budget, now: Now = time.monotonic) -> None:
        """Searches until the budget is spent. A zero budget changes nothing."""
        clock = budget.start(now)
        if budget.nodes is not None:
            self.tree.reserve(budget.nodes)
        if self.settings.worker and self.settings.equilibrium == EquilibriumMethod.CFR:
            self._worker = concurrent.futures.ThreadPoolExecutor(1, "expansion")
        try:
            goes_on, early = True, True
            while goes_on and not clock.exhausted:
                if self.settings.equilibrium == EquilibriumMethod.CFR:
                    self._round_of_cfr(clock)
                else:
                    goes_on = self._round_of_exact(clock)
                if clock.fraction < 0.5:
                    self.halfway = self.effort.iterations
                elif early:
                    early = False
                    if self.settings.play == Iterate.RECENT:
                        self._forget_average()
        finally:
            if self._worker is not None:
                self._worker.shutdown()
                self._worker = None
            self.effort.seconds += clock.seconds

    def iterate(self, count: int = 1) -> None:
        """Runs iterations of CFR on the tree as it is."""
        if self._revaluation is not None:
            for _ in range(count):
                self._revaluation.apply(self.tree)
                self._iterate(1)
        else:
            self._iterate(count)

    def _iterate(self, count: int) -> None:
        start = time.perf_counter()
        tree, settings = self.tree, self.settings
        if settings.minimizer == PRM_PLUS:
            rules = kernels.Rules(
                settings.averaging, settings.pruning, self.gadget.value, tree.player
            )
            kernels.iterate(
                count,
                self.effort.iterations,
                rules,
                self.root,
                tree.nodes,
                tree.families,
                tree.num_families,
                tree.players,
            )
        else:
            for step in range(count):
                reference.iterate(
                    tree,
                    self.root,
                    self.gadget,
                    settings.minimizer,
                    self.effort.iterations + step + 1,
                    settings.averaging,
                    settings.pruning,
                )
        self.effort.iterations += count
        self._node_values = None
        self._expansion.solved_nodes = tree.num_nodes
        self.effort.solving += time.perf_counter() - start

    def grow(self, attempts: int) -> int:
        """Chooses and expands leaves; returns how many leaves there were.

        With a worker thread, an iteration of CFR is run while it makes the children.
        """
        start, solving = time.perf_counter(), self.effort.solving
        evaluating = self.effort.evaluating
        tree = self.tree
        leaves = self.settings.expansion.choose(
            tree, self._expansion, attempts, self.settings.exploration
        )
        if self._revaluation is not None:
            leaves = self._revaluation.whole_public_states(tree, leaves)
            tree.nodes.first_child[leaves] = PENDING
        try:
            positions, infoset_ids = tree.positions[leaves], tree.nodes.infoset_ids[leaves].T
            if self._worker is not None:
                expanding = self._worker.submit(self.children_of, positions, infoset_ids)
                self.iterate()
                children, values = expanding.result()
            else:
                children, values = self.children_of(positions, infoset_ids)
            self._node_values = None
            if len(leaves):
                self._add(leaves, children, values)
        except BaseException:
            pending = leaves[tree.nodes.first_child[leaves] == PENDING]
            tree.nodes.first_child[pending] = UNEXPANDED
            raise
        elsewhere = self.effort.evaluating - evaluating + self.effort.solving - solving
        self.effort.expanding += max(0.0, time.perf_counter() - start - elsewhere)
        return len(leaves)

    def _add(self, leaves: IntArray, children: Children, values: FloatArray) -> None:
        """Puts the children of some leaves into the tree, repetitions as draws."""
        tree, settings = self.tree, self.settings
        before = tree.num_nodes
        closed = None
        if settings.repetitions and isinstance(self.game, RepeatingGame):
            closed, values = repetition.draws(
                self.game, tree, leaves, children, values, self.seen_twice, settings.contempt
            )
        tree.expand(leaves, children, values, settings.best_child, closed)
        self.effort.new_nodes += tree.num_nodes - before

    def _round_of_cfr(self, clock: Meter) -> None:
        """Iterations, then as many leaves as the growth rate asks for or make a batch."""
        tree, settings = self.tree, self.settings
        growth = settings.growth * tree.num_nodes
        wanted = max(1, round(growth))
        at_once = round(min(float(settings.batch), settings.batch_share * tree.num_nodes))
        most = _LARGEST_BATCH * max(wanted, at_once)
        if (
            clock.fraction >= 1.0 - settings.settling
            or self.evaluator.timed_out
            or not tree.num_leaves
            or tree.seconds_to_add(most) > clock.seconds_left
        ):
            # An iteration without growth costs what growth would have cost.
            count = _rounds_left(clock, wanted, tree.num_nodes)
            self.iterate(count)
            clock.spend(iterations=count, nodes=count * wanted)
            return
        count = max(1, int(self._owed))
        if clock.budget.iterations is not None:
            count = min(count, clock.budget.iterations - clock.iterations)
        if self._worker is not None:
            count -= 1  # the last one is done while children are made
        if count:
            self.iterate(count)
        family_size = max(1.0, tree.num_nodes / tree.num_families)
        attempts = max(1, round(max(wanted, at_once) / family_size))
        before, iterations = tree.num_nodes, self.effort.iterations
        expanded = self.grow(attempts)
        added = tree.num_nodes - before
        count += self.effort.iterations - iterations
        # What was added beyond the growth of one iteration is owed some more of them.
        self._owed = max(0.0, self._owed - count) + added / growth if at_once > wanted else 0.0
        clock.spend(iterations=count, nodes=added + attempts - expanded)

    def _round_of_exact(self, clock: Meter) -> bool:
        """An exact equilibrium, then one round of deepening.

        Returns:
          Whether there was anything left to expand. If not, this is an equilibrium of
          all there is to see.
        """
        from klss_spiel.algorithms.search import equilibrium as search_equilibrium

        start = time.perf_counter()
        if self.information is not None:
            search_equilibrium.reward_information(
                self.tree, self.information.own_id, self.information.weight
            )
        if self._revaluation is not None:
            self._revaluation.apply(self.tree)
        search_equilibrium.solve_exactly(self.tree, self.root, self.gadget)
        self.effort.solving += time.perf_counter() - start
        self.effort.iterations += 1
        self._node_values = None
        self._expansion.solved_nodes = self.tree.num_nodes
        before = self.tree.num_nodes
        expanded = 0 if self.evaluator.timed_out else self.grow(1)
        clock.spend(iterations=1, nodes=self.tree.num_nodes - before)
        return expanded > 0

    def _forget_average(self) -> None:
        for sequences in self.tree.sequences:
            sequences.average[:] = 0.0

    def look_at(self, own_id: int) -> None:
        """Expands some positions of an infoset of the player to which no walk has come.

        A budget may be too small for the walks to reach the decision that is due.
        """
        tree, nodes = self.tree, self.tree.nodes
        count = tree.num_nodes
        own = nodes.infoset_ids[:count, tree.player] == np.uint64(own_id)
        own &= (nodes.player[:count] == tree.player) & (nodes.first_child[:count] == UNEXPANDED)
        leaves = np.flatnonzero(own)[:_LOOKED_AT].astype(np.int32)
        if not len(leaves):
            return
        if self._revaluation is not None:
            leaves = self._revaluation.whole_public_states(tree, leaves)
        children, values = self.children_of(tree.positions[leaves], nodes.infoset_ids[leaves].T)
        self._add(leaves, children, values)
        self.iterate(_ROUNDS_AT_ONCE)

    def children_of(
        self, positions: Positions, infoset_ids: InfosetIds
    ) -> tuple[Children, FloatArray]:
        """The children of some leaves and their values; does not touch the tree."""
        children = self.game.expand(positions, infoset_ids)
        return children, self.evaluator.child_values(children)

    def behavior(self, player: int) -> FloatArray:
        """[S] behaviour probabilities of the iterate that is to be played."""
        if self.settings.play != Iterate.LAST:
            return self.tree.average(player)
        return self.tree.sequences[player].strategy[: self.tree.num_sequences[player]].copy()

    @property
    def behaviors(self) -> tuple[FloatArray, FloatArray]:
        """Both players' `behavior`."""
        return self.behavior(0), self.behavior(1)

    @property
    def node_values(self) -> FloatArray:
        """[N] player 0's expected payoff at each node under `behaviors`; 0 at node 0.

        Computed once for the strategies and the tree as they are.
        """
        if self._node_values is None:
            values = kernels.expected_values(self.tree.nodes, self.tree.num_nodes, *self.behaviors)
            values.setflags(write=False)
            self._node_values = values
        return self._node_values

    @property
    def margins(self) -> FloatArray:
        """[m] what the searching player gains on the alternate value at each root infoset."""
        sign = 1.0 if self.tree.player == 0 else -1.0
        margins: FloatArray = sign * self.node_values[1 : 1 + self.tree.num_roots]
        return margins - self.root.alternate

    @property
    def safe(self) -> bool:
        """Whether the player may mix: the strategy loses nothing worth mentioning anywhere.

        Either it is that of maxmargin (Obscuro, C.8), or what it loses against the alternate
        values, as resolve's chance picks the root infosets, is within the tolerance.
        """
        if self.gadget_in_use != RootGadget.RESOLVE:
            return True
        if self.settings.loss_tolerance == 0.0:
            return False
        loss = float(self.root.prior @ np.maximum(-self.margins, 0.0))
        return loss <= self.settings.loss_tolerance

    @property
    def gadget_in_use(self) -> RootGadget:
        """The gadget game that the strategies belong to.

        With `BLEND`, maxmargin while the strategy is safe: while no margin is negative by
        more than the settings' tolerance (Obscuro, C.1). Whether the opponent's current
        strategy enters anywhere does not tell: where a margin is 0, entering is as good
        as leaving.
        """
        if self.gadget != RootGadget.BLEND:
            return self.gadget
        safe = bool(self.margins.min() >= -self.settings.margin_tolerance)
        return RootGadget.MAXMARGIN if safe else RootGadget.RESOLVE


def _rounds_left(clock: Meter, nodes: int, size: int) -> int:
    """How many rounds of one iteration and `nodes` nodes to do before looking at the clock."""
    rounds = min(_ROUNDS_AT_ONCE, _NODES_AT_ONCE // size)
    if clock.budget.nodes is not None:
        rounds = min(rounds, math.ceil((clock.budget.nodes - clock.nodes) / nodes))
    if clock.budget.iterations is not None:
        rounds = min(rounds, clock.budget.iterations - clock.iterations)
    return max(1, rounds)


def search_from(
    game: SearchGame, settings: SearchSettings, player: int, roots: Roots, seed: int
) -> Search:
    """A search that has not begun.

    Args:
      game: the game.
      settings: how to search.
      player: who searches.
      roots: where from.
      seed: of the random choices.
    """
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    evaluator = CheckedEvaluator(game)
    unfinished = roots.positions.player != TERMINAL
    values = np.zeros(len(unfinished))
    values[unfinished] = evaluator.values(roots.positions.position[unfinished])
    tree, root = tree_of_roots(player, roots, values)
    return Search(game, settings, tree, root, seed, evaluator)


def search_from_start(
    game: SearchGame, settings: SearchSettings, player: int = 0, seed: int = 0
) -> Search:
    """A search from the start of the game that has not begun."""
    return search_from(game, settings, player, initial_roots(game), seed)
