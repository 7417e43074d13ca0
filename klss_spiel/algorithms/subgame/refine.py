"""Refining a blueprint at many infosets of a game.

Subgame solving at one infoset is `subgame` and `solvers`; here is what it
adds up to over a whole game, as a full strategy whose exploitability can be measured.
A `Schedule` says which blueprint each solve starts from:

    NESTED            the solution of the solve before it on the way (ZS21, section 3);
                      this is what an agent plays that solves at every turn. Solves
                      beside each other know nothing of each other
    SEPARATE          always the original blueprint. No theorem covers solves that know
                      nothing of each other, not even those of Safe-1-KLSS: in four of
                      90 random cases it made the strategy lose more
    UPDATED           all solves before it, anywhere (ZS21, algorithm 13, theorem 4). The
                      guarantee is for the next game: where to solve must not depend on
                      how this one goes
    INDEPENDENT_SET   nested, but only at infosets that do not share an opponent infoset
                      (ZS21, algorithm 14, theorem 5); see `independent_set`

The strategy played at an infoset is that of the last solve at or before it; the
blueprint's where there is none, or where the blueprint never comes.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import itertools
import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.algorithms.subgame.blueprint_values import Change
from klss_spiel.algorithms.subgame.checkpoint import Checkpoint
from klss_spiel.algorithms.subgame.independent_set import independent_set
from klss_spiel.algorithms.subgame.recipes import SubgameRecipe, recipe_from
from klss_spiel.algorithms.subgame.regions import Region, RegionIndex
from klss_spiel.algorithms.subgame.solvers import LinearProgramming, SubgameSolver
from klss_spiel.algorithms.subgame.subgame import Subgame, SubgameBuilder
from klss_spiel.arrays import FloatArray, IntArray, as_floats
from klss_spiel.policy import BehaviorPolicy, fingerprint
from klss_spiel.progress import Progress
from klss_spiel.tree import CHANCE, EMPTY_SEQUENCE, NO_INFOSET, TERMINAL, GameTree

_LARGEST_BATCH = 256


class Schedule(enum.Enum):
    """Which blueprint each solve starts from; see the module's text."""

    NESTED = "nested"
    SEPARATE = "separate"
    UPDATED = "updated"
    INDEPENDENT_SET = "independent_set"


@dataclasses.dataclass(frozen=True, eq=False)
class Refinement:
    """A refined strategy and how it came about.

    Attributes:
      policy: the blueprint with the player's side refined.
      solved: infosets at which a subgame was solved, in order.
      skipped: infosets at which the blueprint was kept since it never comes there.
    """

    policy: BehaviorPolicy
    solved: tuple[int, ...]
    skipped: tuple[int, ...]


def refine(
    blueprint: BehaviorPolicy,
    recipe: SubgameRecipe | str,
    *,
    player: int = 0,
    where: npt.ArrayLike | None = None,
    schedule: Schedule = Schedule.NESTED,
    solver: SubgameSolver | None = None,
    lower_bounds: npt.ArrayLike | None = None,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Refinement:
    """Refines one player's side of a blueprint.

    Args:
      blueprint: strategies of both players.
      recipe: the method: a value of `recipes`, or its name, such as "1-klss".
      player: whose strategy is refined.
      where: infosets of the player; by default all at which he moves. See
        `infosets_after_chance`.
      schedule: which blueprint each solve starts from.
      solver: by default linear programming with ties broken by the sum of margins.
      lower_bounds: [S] least probabilities of the player's actions, which hold in every
        solve but at the root, that is, at the player's first decisions in the region
        (ZS21, section 6).
      seed: of the independent set.
      checkpoint: a file to keep finished solves in. If it exists and belongs to the
        same refinement, its solves are not repeated.
      progress: what to report the number of solves to.
    """
    solver = solver or LinearProgramming()
    refiner = Refiner(blueprint, recipe, player, schedule, solver, lower_bounds)
    infosets = _targets(refiner, where)
    if schedule == Schedule.INDEPENDENT_SET:
        infosets = independent_set(refiner.builder.index, infosets, np.random.default_rng(seed))
    store = (
        Checkpoint(checkpoint, _refinement_key(refiner, infosets))
        if checkpoint is not None
        else None
    )
    progress = progress or Progress(f"refining {refiner.tree.name}", len(infosets))
    done = 0
    for batch in _batches(refiner, infosets):
        refiner.solve(batch, store.solutions if store else {})
        done += len(batch)
        progress.update(done)
        if store:
            store.save_now_and_then(refiner.behaviors())
    if store:
        store.save(refiner.behaviors())
    return Refinement(
        policy=blueprint.replace(player, refiner.behavior()),
        solved=tuple(i for i, s in refiner.solutions.items() if s is not None),
        skipped=tuple(i for i, s in refiner.solutions.items() if s is None),
    )


def infosets_after_chance(tree: GameTree, player: int) -> IntArray:
    """The player's infosets right after chance events, those before any move left out.

    In poker: after each community card, whoever moves then, but not after the deal.
    """
    moved = np.zeros(tree.num_nodes, dtype=np.bool_)
    after = np.zeros(tree.num_nodes, dtype=np.bool_)
    for level in tree.levels(skip_root=True):
        above = tree.parent[level]
        moved[level] = moved[above] | (tree.player[above] >= 0)
        after[level] = moved[level] & (tree.player[above] == CHANCE)
    # Several chance events in a row are one.
    after &= (tree.player >= 0) | (tree.player == TERMINAL)
    infosets: IntArray = np.unique(tree.infoset[player, after])
    deciding: IntArray = infosets[RegionIndex(tree, player).decides[infosets]]
    return deciding


@dataclasses.dataclass(eq=False)
class _Solution:
    """What was found at an infoset; `change` is filled in when it is first needed."""

    region: Region
    behavior: FloatArray
    change: Change | None = None


class Refiner:
    """Solves infosets of one player, each in the light of those before it. Mutable.

    Attributes:
      builder: makes the subgames.
      solutions: what was found at each infoset solved so far; None where the
        blueprint never comes.
    """

    def __init__(
        self,
        blueprint: BehaviorPolicy,
        recipe: SubgameRecipe | str,
        player: int,
        schedule: Schedule,
        solver: SubgameSolver,
        lower_bounds: npt.ArrayLike | None = None,
    ) -> None:
        self.builder = SubgameBuilder(blueprint, player)
        self.tree = blueprint.tree
        self.blueprint = blueprint
        self.recipe = recipe_from(recipe)
        self.player = player
        self.schedule = Schedule(schedule)
        self.solver = solver
        self.lower_bounds: FloatArray | None = None
        if lower_bounds is not None:
            size = self.tree.infosets[player].num_sequences
            self.lower_bounds = as_floats(lower_bounds, size, "lower_bounds")
        self.solutions: dict[int, _Solution | None] = {}
        # Infosets whose solutions are in force now, with what takes them back.
        self._in_force: list[tuple[int, Change]] = []
        # The first infoset solved of each number that `_same_subgame` gives.
        self._first_of: dict[int, int] = {}

    def way_to(self, infoset: int) -> list[int]:
        """The solved infosets on the player's way to an infoset, first to last."""
        parent = self.tree.infosets[self.player].parent
        way: list[int] = []
        above = int(parent[infoset])
        while above != NO_INFOSET:
            if self.solutions.get(above) is not None:
                way.append(above)
            above = int(parent[above])
        return way[::-1]

    def solve(self, infosets: Sequence[int], known: dict[int, FloatArray] | None = None) -> None:
        """Solves at infosets none of which is before another, ancestors already solved.

        Args:
          infosets: infosets of the player.
          known: solutions found earlier, which are taken over.
        """
        known = known or {}
        position = self.builder.index.own.position
        subgames: dict[int, Subgame] = {}
        same_as: dict[int, int] = {}
        for infoset in sorted(infosets, key=lambda i: int(position[i])):
            if infoset in self.solutions:
                continue
            self._put_in_force(self.way_to(infoset))
            values = self.builder.values
            before = self.tree.infosets[self.player].parent_sequence[infoset]
            if values.plan[before] <= 0.0:
                self.solutions[infoset] = None
                continue
            key = self._same_subgame(infoset)
            if self._first_of.setdefault(key, infoset) != infoset:
                same_as[infoset] = self._first_of[key]
                continue
            subgame = self.builder.build(infoset, self.recipe)
            if subgame.is_empty:
                self.solutions[infoset] = None
            else:
                subgames[infoset] = subgame
        self._keep({i: known[i] for i in subgames if i in known}, subgames)
        waiting = [i for i in subgames if i not in known]
        found = self.solver.solve(
            [subgames[i] for i in waiting], [self._bounds(subgames[i]) for i in waiting]
        )
        self._keep(dict(zip(waiting, found, strict=True)), subgames)
        for infoset, other in same_as.items():
            self.solutions[infoset] = self.solutions[other]
        if self.schedule == Schedule.UPDATED:
            self._make_permanent(infosets)

    def behaviors(self) -> dict[int, FloatArray]:
        """The solutions by infoset, each [S of its region]."""
        return {i: s.behavior for i, s in self.solutions.items() if s is not None}

    def behavior(self) -> FloatArray:
        """[S] the player's refined strategy."""
        if self.schedule == Schedule.UPDATED:
            return self.builder.values.behavior.copy()
        order = self.builder.index.own
        behavior = self.blueprint.probabilities[self.player].copy()
        for infoset in sorted(self.solutions, key=lambda i: int(order.position[i])):
            solution = self.solutions[infoset]
            if solution is None:
                continue
            # Of a larger region only what lies at or below the infoset is played.
            region = solution.region
            mine = (order.position[region.infosets] >= order.position[infoset]) & (
                order.position[region.infosets] < order.end[infoset]
            )
            chosen = np.flatnonzero(mine[region.treeplex.sequence_infoset[1:]]) + 1
            behavior[region.sequences[chosen]] = solution.behavior[chosen]
        return behavior

    def behavior_at(self, infoset: int) -> FloatArray:
        """[actions] what is played at one infoset, by the solves on the way to it."""
        sequences = self.tree.infosets[self.player].sequences(infoset)
        if self.schedule == Schedule.UPDATED:
            return self.builder.values.behavior[sequences].copy()
        way = self.way_to(infoset)
        if self.solutions.get(infoset) is not None:
            way.append(infoset)
        if not way:
            return self.blueprint.probabilities[self.player][sequences].copy()
        solution = self.solutions[way[-1]]
        assert solution is not None
        where = np.searchsorted(solution.region.infosets, infoset)
        first = int(solution.region.treeplex.first_sequence[where])
        return solution.behavior[first : first + sequences.stop - sequences.start].copy()

    def _same_subgame(self, infoset: int) -> int:
        """A number that infosets share whose subgames are one and the same."""
        if self.recipe.order != COMMON_KNOWLEDGE or self.schedule == Schedule.UPDATED:
            return infoset
        return -1 - self.builder.index.closure_of(infoset)

    def _bounds(self, subgame: Subgame) -> FloatArray | None:
        if self.lower_bounds is None:
            return None
        region = subgame.region
        bounds = self.lower_bounds[region.sequences]
        bounds[EMPTY_SEQUENCE] = 0.0
        first = region.treeplex.parent_sequence == EMPTY_SEQUENCE
        bounds[1:][first[region.treeplex.sequence_infoset[1:]]] = 0.0
        return bounds

    def _keep(self, found: dict[int, FloatArray], subgames: dict[int, Subgame]) -> None:
        for infoset, behavior in found.items():
            subgame = subgames[infoset]
            kept = np.where(subgame.is_reached, behavior, subgame.blueprint)
            self.solutions[infoset] = _Solution(subgame.region, kept)

    def _put_in_force(self, way: list[int]) -> None:
        """Makes the blueprint's tables those after the given solves and no others."""
        if self.schedule in (Schedule.UPDATED, Schedule.SEPARATE):
            return
        values = self.builder.values
        common = 0
        while (
            common < min(len(way), len(self._in_force)) and self._in_force[common][0] == way[common]
        ):
            common += 1
        while len(self._in_force) > common:
            values.apply(self._in_force.pop()[1])
        for infoset in way[common:]:
            solution = self.solutions[infoset]
            assert solution is not None
            if solution.change is None:
                solution.change = values.change(
                    solution.region, solution.behavior, above=self.recipe.reach
                )
            self._in_force.append((infoset, values.apply(solution.change)))

    def _make_permanent(self, infosets: Sequence[int]) -> None:
        values = self.builder.values
        for infoset in infosets:
            solution = self.solutions[infoset]
            if solution is not None:
                values.apply(values.change(solution.region, solution.behavior, above=True))


def _refinement_key(refiner: Refiner, infosets: IntArray) -> str:
    """A digest of everything the solves depend on, the other solves included."""
    recipe = refiner.recipe(opponent_strategies=None)
    digest = hashlib.sha256(fingerprint(refiner.tree).encode())
    digest.update(f"{recipe} {refiner.schedule} {refiner.player} {refiner.solver}".encode())
    strategies = refiner.recipe.opponent_strategies or ()
    for policy in (refiner.blueprint, *strategies):
        for probabilities in policy.probabilities:
            digest.update(probabilities.tobytes())
    digest.update(infosets.astype(np.int64).tobytes())
    if refiner.lower_bounds is not None:
        digest.update(refiner.lower_bounds.tobytes())
    return digest.hexdigest()


def _targets(refiner: Refiner, where: npt.ArrayLike | None) -> IntArray:
    index = refiner.builder.index
    if where is None:
        return refiner.tree.infosets[refiner.player].decisions
    chosen = np.unique(np.asarray(where, dtype=np.int32))
    count = len(index.decides)
    wrong = chosen[(chosen < 0) | (chosen >= count) | ~index.decides[chosen % count]]
    if len(wrong):
        raise ValueError(
            f"expected infosets of player {refiner.player} (0 to {count - 1}) at or below which "
            f"he moves, got {wrong[:5].tolist()} among them"
        )
    return chosen


def _batches(refiner: Refiner, infosets: IntArray) -> list[list[int]]:
    """The infosets in groups with equally many others of them on the way, fewest first."""
    size = 1 if refiner.schedule == Schedule.UPDATED else _LARGEST_BATCH
    parent = refiner.tree.infosets[refiner.player].parent
    number = np.zeros(len(parent), dtype=np.int64)
    number[infosets] = 1
    depth = refiner.builder.index.own.depth
    order = np.argsort(depth, kind="stable")
    starts = np.searchsorted(depth[order], np.arange(depth.max() + 2))
    for start, stop in itertools.pairwise(starts[1:]):
        level = order[start:stop]
        number[level] += number[parent[level]]
    batches = []
    for group in np.unique(number[infosets]):
        members = infosets[number[infosets] == group].tolist()
        batches += [members[i : i + size] for i in range(0, len(members), size)]
    return batches
