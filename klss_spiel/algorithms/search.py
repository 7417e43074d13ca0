"""Search on a growing tree: an equilibrium of what has been seen, and seeing more.

The loop of Obscuro (section 3) and of ZS21 (Algorithm 15):

    until the budget is spent:
        improve the strategies on the tree     (CFR, or an exact equilibrium)
        expand leaves                          (`expansion`)

on any `SearchGame`, from any `Roots`. Without a budget that would end it, with all
the game as root, the average strategies of one-sided and of two-sided expansion
become an equilibrium of the game (Obscuro, Theorem 1).

What can go wrong in a game's own code does not end a search: an evaluator that raises
an error, or whose values are not numbers, counts as saying 0 there; one that raises
TimeoutError ends the growth of the tree. The report says how often. KeyboardInterrupt
passes through and leaves the tree as it was before the last batch of leaves.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from klss_spiel.algorithms import search_kernels as kernels
from klss_spiel.algorithms import search_reference as reference
from klss_spiel.algorithms.expansion import ExpansionState
from klss_spiel.algorithms.regret import PRM_PLUS
from klss_spiel.algorithms.search_game import Children, Positions, SearchGame
from klss_spiel.algorithms.search_root import RootArrays, RootGadget, Roots, initial_roots, plant
from klss_spiel.algorithms.search_settings import Equilibrium, Iterate, SearchSettings
from klss_spiel.algorithms.search_tree import PENDING, UNEXPANDED, SearchTree
from klss_spiel.budget import Budget, Clock
from klss_spiel.tree import PLAYERS, TERMINAL, FloatArray, IntArray


@dataclasses.dataclass
class Effort:
    """What a search has spent and what went wrong. Mutable.

    Attributes:
      iterations: of the equilibrium algorithm.
      new_nodes: nodes added.
      seconds: in all.
      expanding: seconds spent choosing leaves and making their children.
      evaluating: seconds spent in the evaluator.
      solving: seconds spent on the equilibrium.
      faults: what went wrong, and how often.
    """

    iterations: int = 0
    new_nodes: int = 0
    seconds: float = 0.0
    expanding: float = 0.0
    evaluating: float = 0.0
    solving: float = 0.0
    faults: dict[str, int] = dataclasses.field(default_factory=dict)

    def fault(self, what: str) -> None:
        """Counts a fault."""
        self.faults[what] = self.faults.get(what, 0) + 1


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
      effort: what was spent since the search was made.
      information: reward for learning, or None.
      halfway: iterations done when half the budget was spent (T_1/2 in Obscuro, C.8).
    """

    def __init__(
        self,
        game: SearchGame,
        settings: SearchSettings,
        tree: SearchTree,
        root: RootArrays,
        seed: int,
    ) -> None:
        self.game = game
        self.settings = settings
        self.tree = tree
        self.root = root
        self.effort = Effort()
        self.information: Information | None = None
        self.halfway = 0
        self._expansion = ExpansionState(seed, explorer=tree.player)
        self._growing = True

    @property
    def gadget(self) -> RootGadget:
        """The gadget at the root; with a single root there is nothing to choose."""
        return RootGadget.MAXMARGIN if self.tree.num_roots == 1 else self.settings.gadget

    def run(self, budget: Budget) -> None:
        """Searches until the budget is spent. A zero budget changes nothing."""
        clock = budget.start()
        try:
            while not clock.exhausted:
                if self.settings.equilibrium == Equilibrium.CFR:
                    self._round_of_cfr(clock)
                else:
                    self._round_of_exact(clock)
                if clock.fraction < 0.5:
                    self.halfway = self.effort.iterations
        finally:
            self.effort.seconds += clock.seconds

    def iterate(self, count: int = 1) -> None:
        """Runs iterations of CFR on the tree as it is."""
        start = time.perf_counter()
        tree, settings = self.tree, self.settings
        if settings.minimizer is PRM_PLUS:
            kernels.iterate(
                count,
                self.effort.iterations,
                settings.averaging,
                settings.pruning,
                self.gadget.value,
                tree.player,
                tree.num_roots,
                self.root,
                tree.nodes,
                tree.families,
                tree.num_families,
                tree.infosets[0],
                tree.num_infosets[0],
                tree.sequences[0],
                tree.num_sequences[0],
                tree.infosets[1],
                tree.num_infosets[1],
                tree.sequences[1],
                tree.num_sequences[1],
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
        self._expansion.solved_nodes = tree.num_nodes
        self.effort.solving += time.perf_counter() - start

    def grow(self, attempts: int) -> int:
        """Chooses and expands leaves; returns how many leaves there were."""
        start = time.perf_counter()
        leaves = self.settings.expansion.choose(
            self.tree, self._expansion, attempts, self.settings.exploration
        )
        evaluating = self.effort.evaluating
        try:
            if len(leaves):
                self._expand(leaves)
        except BaseException:
            pending = leaves[self.tree.nodes.first_child[leaves] == PENDING]
            self.tree.nodes.first_child[pending] = UNEXPANDED
            raise
        spent = time.perf_counter() - start
        self.effort.expanding += spent - (self.effort.evaluating - evaluating)
        return len(leaves)

    def _round_of_cfr(self, clock: Clock) -> None:
        """One iteration, then as many leaves as the growth rate asks for."""
        tree, settings = self.tree, self.settings
        self.iterate()
        wanted = max(1, round(settings.growth * tree.num_nodes))
        if clock.fraction >= 1.0 - settings.settling or not self._growing or not tree.num_leaves:
            # An iteration without growth costs what growth would have cost.
            clock.spend(iterations=1, nodes=wanted)
            return
        family_size = max(1.0, tree.num_nodes / tree.num_families)
        attempts = max(1, round(wanted / family_size))
        before = tree.num_nodes
        expanded = self.grow(attempts)
        added = tree.num_nodes - before
        clock.spend(iterations=1, nodes=added + attempts - expanded)

    def _round_of_exact(self, clock: Clock) -> None:
        """An exact equilibrium, then one round of deepening."""
        from klss_spiel.algorithms import search_equilibrium

        start = time.perf_counter()
        if self.information is not None:
            search_equilibrium.reward_information(
                self.tree, self.information.own_id, self.information.weight
            )
        search_equilibrium.solve_exactly(self.tree, self.root, self.gadget)
        self.effort.solving += time.perf_counter() - start
        self.effort.iterations += 1
        self._expansion.solved_nodes = self.tree.num_nodes
        before = self.tree.num_nodes
        expanded = self.grow(1) if self._growing else 0
        if not expanded:
            # Nothing to expand: this is an equilibrium of all there is to see.
            limit = clock.budget.nodes
            clock.spend(nodes=limit if limit is not None else 0, iterations=2**31)
            return
        clock.spend(iterations=1, nodes=self.tree.num_nodes - before)

    def _expand(self, leaves: IntArray) -> None:
        tree = self.tree
        children = self.game.expand(tree.positions[leaves], tree.nodes.knowledge[leaves].T)
        values = self._values(children)
        before = tree.num_nodes
        tree.expand(leaves, children, values, self.settings.best_child)
        self.effort.new_nodes += tree.num_nodes - before

    def _values(self, children: Children) -> FloatArray:
        values = children.utility.copy()
        unfinished = np.flatnonzero(children.player != TERMINAL)
        if len(unfinished):
            values[unfinished] = self.evaluate(children.position[unfinished])
        return values

    def evaluate(self, positions: Positions) -> FloatArray:
        """[n] the evaluator's values of unfinished positions, whatever it does."""
        start = time.perf_counter()
        try:
            values = np.asarray(self.game.evaluate(positions), dtype=np.float64)
            if values.shape != (len(positions),):
                raise ValueError(f"expected {len(positions)} values, got shape {values.shape}")
        except TimeoutError:
            self.effort.fault("evaluator timed out")
            self._growing = False
            values = np.zeros(len(positions))
        except Exception as error:
            self.effort.fault(f"evaluator raised {type(error).__name__}: {error}")
            values = np.zeros(len(positions))
        finally:
            self.effort.evaluating += time.perf_counter() - start
        wrong = ~np.isfinite(values)
        if np.any(wrong):
            self.effort.fault("evaluator returned values that are not numbers")
            values = np.where(wrong, 0.0, values)
        return np.clip(values, -1.0, 1.0)

    def behavior(self, player: int) -> FloatArray:
        """[S] behaviour probabilities of the iterate that is to be played."""
        if self.settings.play == Iterate.AVERAGE:
            return self.tree.average(player)
        return self.tree.sequences[player].strategy[: self.tree.num_sequences[player]].copy()


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
    search = unplanted(game, settings, player, roots.positions.position, seed)
    unfinished = roots.positions.player != TERMINAL
    values = np.zeros(len(unfinished))
    values[unfinished] = search.evaluate(roots.positions.position[unfinished])
    search.tree, search.root = plant(player, roots, values)
    return search


def unplanted(
    game: SearchGame, settings: SearchSettings, player: int, positions: Positions, seed: int
) -> Search:
    """A search that has no tree yet, but can evaluate; `positions` are only looked at."""
    if player not in PLAYERS:
        raise ValueError(f"expected player 0 or 1, got {player}")
    no_roots = RootArrays(*(np.zeros(0) for _ in RootArrays._fields))
    return Search(game, settings, SearchTree(player, positions), no_roots, seed)


def search_from_start(
    game: SearchGame, settings: SearchSettings, player: int = 0, seed: int = 0
) -> Search:
    """A search from the start of the game that has not begun."""
    return search_from(game, settings, player, initial_roots(game), seed)
