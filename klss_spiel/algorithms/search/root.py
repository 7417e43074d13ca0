"""Where a search starts: the opponent's choice among his root infosets.

The searching player (▲ in Obscuro) refines a strategy; at each of the opponent's
root infosets J a gadget game compares what the opponent can get now with the
*alternate value* of J, what the searching player was worth there before:

    maxmargin   the opponent picks the J with the least margin
    resolve     chance picks J with probability prior[J]; the opponent enters, or
                leaves with the alternate value

Both share the tree below node 0. `BLEND` moves from one to the other as Obscuro's
Figure 10 does: with weight p, the largest probability of entering anywhere in
resolve, the opponent's reach of J is prior[J] * enter[J], else it is maxmargin's.
So maxmargin rules while no infoset is worth entering, that is, while all margins
are at least 0 (Obscuro, C.1).
"""

from __future__ import annotations

import dataclasses
import enum
from typing import NamedTuple

import numpy as np

from klss_spiel.algorithms.search.tree import SearchTree
from klss_spiel.arrays import FloatArray
from klss_spiel.search_game import RootPositions, SearchGame


class RootGadget(enum.Enum):
    """Which gadget game is solved. The values are those of `cfr_kernels`."""

    MAXMARGIN = 0
    RESOLVE = 1
    BLEND = 2


class RootArrays(NamedTuple):
    """One row per root infoset of the opponent.

    Attributes:
      alternate: [m] alternate value, as the searching player's payoff.
      prior: [m] alpha(J) of Obscuro C.3; sums to 1.
      maxmargin: [m] current strategy of maxmargin.
      enter: [m] current probability of entering in resolve.
      enter_regret: [m] regret of not having entered.
      leave_regret: [m] regret of having entered.
    """

    alternate: FloatArray
    prior: FloatArray
    maxmargin: FloatArray
    enter: FloatArray
    enter_regret: FloatArray
    leave_regret: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class Roots:
    """The starting positions of a search, grouped by the opponent's infosets.

    Attributes:
      positions: the positions, one group after another.
      probabilities: for each of the m groups, the probability of each position in it
        given that the opponent is there: chance's and the searching player's doing.
        They sum to 1 unless margins are to be scaled.
      alternate: [m] alternate value of each group.
      prior: [m] weight of each group in resolve.
    """

    positions: RootPositions
    probabilities: list[FloatArray]
    alternate: FloatArray
    prior: FloatArray

    def __post_init__(self) -> None:
        m = len(self.probabilities)
        if not m or len(self.alternate) != m or len(self.prior) != m:
            raise ValueError(
                f"expected as many alternate values and priors as root infosets, at least one, "
                f"got {m}, {len(self.alternate)} and {len(self.prior)}"
            )
        counts = [len(probability) for probability in self.probabilities]
        weights = np.concatenate(self.probabilities)
        group = np.repeat(np.arange(m), counts)
        lacking = np.bincount(group, weights=weights, minlength=m) <= 0.0
        lacking[group[~(weights >= 0.0)]] = True
        if np.any(lacking):
            wrong = self.probabilities[int(np.argmax(lacking))]
            raise ValueError(f"expected weights that sum to more than 0, got {wrong}")


def initial_roots(game: SearchGame) -> Roots:
    """The start of the game: one root, nothing to compare with."""
    return Roots(game.initial(), [np.ones(1)], np.zeros(1), np.ones(1))


def tree_of_roots(player: int, roots: Roots, values: FloatArray) -> tuple[SearchTree, RootArrays]:
    """A tree that consists of its roots.

    Args:
      player: the searching player.
      roots: where the search starts.
      values: [n] player 0's payoff at each root position, by evaluation or because
        the game is over there.
    """
    tree = SearchTree(player, roots.positions.position)
    tree.add_root_layers(roots.probabilities, roots.positions)
    m = tree.num_roots
    starts = slice(1 + m, tree.num_nodes)
    tree.nodes.value[starts] = values
    tree.nodes.evaluation[starts] = values
    return tree, root_arrays(roots.alternate, roots.prior)


def root_arrays(alternate: FloatArray, prior: FloatArray) -> RootArrays:
    """Gadgets that have not been played yet."""
    m = len(alternate)
    return RootArrays(
        alternate=np.asarray(alternate, dtype=np.float64).copy(),
        prior=np.asarray(prior, dtype=np.float64).copy(),
        maxmargin=np.full(m, 1.0 / m),
        enter=np.zeros(m),
        enter_regret=np.zeros(m),
        leave_regret=np.zeros(m),
    )
