"""Refining a blueprint of a public tree times hands, right after public cards.

The counterpart of `refine.refine(schedule=Schedule.SEPARATE)` at
`refine.infosets_after_chance`: every subgame is solved from the original blueprint.
"""

from __future__ import annotations

from collections.abc import Sequence

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.algorithms.subgame.public_subgames import PublicSubgame, PublicSubgameBuilder
from klss_spiel.algorithms.subgame.recipes import SubgameRecipe
from klss_spiel.algorithms.subgame.solvers import SubgameSolver
from klss_spiel.arrays import FloatArray
from klss_spiel.public_game import Closure, PublicGame

# Subgames with about so many sequences together fit a core's cache, where an iteration
# takes half the time.
_SEQUENCES_TOGETHER = 20_000


def refine_by_hands(
    game: PublicGame,
    behaviors: tuple[FloatArray, FloatArray],
    recipe: SubgameRecipe,
    *,
    player: int,
    solver: SubgameSolver,
    opponent_behaviors: Sequence[FloatArray] | None = None,
    closures: Sequence[Closure] | None = None,
) -> FloatArray:
    """[S] the player's side of a blueprint, refined after public cards.

    Args:
      game: the game.
      behaviors: the blueprint of both players.
      recipe: the method; its `opponent_strategies` are given here instead.
      player: whose side.
      solver: of the subgames.
      opponent_behaviors: as in `PublicSubgameBuilder`.
      closures: where to refine; everywhere unless given.
    """
    builder = PublicSubgameBuilder(game, behaviors, player, opponent_behaviors)
    refined = behaviors[player].copy()
    where = game.closures if closures is None else closures
    # Closures of one board share their pairs of hands, which is worth larger batches.
    whole = recipe.order == COMMON_KNOWLEDGE
    for group in _by_stage(where) if whole else [[closure] for closure in where]:
        built = [subgame for closure in group for subgame in builder.build(closure, recipe)]
        for batch in [built] if whole and built else _batches(built):
            found = solver.solve(batch, [None] * len(batch))
            for subgame, behavior in zip(batch, found, strict=True):
                kept = subgame.is_reached.copy()
                kept[0] = False
                refined[subgame.sequences[kept]] = behavior[kept]
    return refined


def _by_stage(closures: Sequence[Closure]) -> list[list[Closure]]:
    """Closures of one board together."""
    groups: dict[int, list[Closure]] = {}
    for closure in closures:
        groups.setdefault(closure.stage, []).append(closure)
    return list(groups.values())


def _batches(subgames: Sequence[PublicSubgame]) -> list[list[PublicSubgame]]:
    """Subgames to be solved together, in order."""
    batches: list[list[PublicSubgame]] = []
    room = 0
    for subgame in subgames:
        copies = len(subgame.root_weights) if subgame.root_weights.ndim > 1 else 1
        size = subgame.game.treeplex.num_sequences + copies * len(subgame.game.root)
        if size > room or not batches:
            batches.append([])
            room = _SEQUENCES_TOGETHER
        batches[-1].append(subgame)
        room -= size
    return batches
