"""The games that value functions are learned on, cut where Sestak's thesis cuts them."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pyspiel

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.algorithms.values.border import Border
from klss_spiel.algorithms.values.bottoms import Bottoms
from klss_spiel.algorithms.values.cuts import (
    cut_after_rounds,
    cut_after_turns,
    cut_at_depth,
    make_border,
)
from klss_spiel.algorithms.values.networks import (
    DEEP_FNN,
    FNN,
    Architecture,
    flat_features,
    one_hot_features,
    state_features,
)
from klss_spiel.algorithms.values.resolving import Gadget, continual_resolving
from klss_spiel.arrays import BoolArray, FloatArray
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.tree import PLAYERS, GameTree

DARK_CHESS = "python_dark_chess(board=minimal4x3,horizon=6)"
KRIEGSPIEL = "python_kriegspiel(board=minimal4x3,horizon=6,tries=possible)"
MATE2 = "python_dark_chess(board=mate2,horizon=6,rules=thesis)"


@dataclasses.dataclass(frozen=True)
class Thesis:
    """What Tables 5.1 and 5.2 of the thesis print.

    Attributes:
      public_states: at the border.
      public_features: of the input.
      range_size: of the input and of the output.
      exploitability: of the best of 20 networks.
    """

    public_states: int
    public_features: int
    range_size: int
    exploitability: float


@dataclasses.dataclass(frozen=True)
class Domain:
    """A game and where it is cut.

    Attributes:
      game: OpenSpiel's game string.
      cut: "depth", "turns" or "rounds", and how many.
      architecture: of its networks.
      thesis: the printed figures, if there are any.
    """

    game: str
    cut: tuple[str, int]
    architecture: Architecture = FNN
    thesis: Thesis | None = None


DOMAINS = {
    "kuhn": Domain("kuhn_poker", ("depth", 3)),
    "leduc": Domain("leduc_poker", ("rounds", 1)),
    "kriegspiel_2": Domain(KRIEGSPIEL, ("turns", 2), thesis=Thesis(3, 26, 226, 0.0651)),
    "dark_2": Domain(DARK_CHESS, ("depth", 2), thesis=Thesis(13, 24, 12, 0.0009)),
    "dark_4": Domain(DARK_CHESS, ("depth", 4), thesis=Thesis(407, 48, 97, 0.0084)),
    "mate2": Domain(MATE2, ("depth", 2), DEEP_FNN, thesis=Thesis(77, 50, 27, 0.0960)),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """A domain's border with what is public there.

    Attributes:
      border: with public states as the game shows them, common knowledge elsewhere.
      features: [P, F] for fully connected networks.
      boards: [P, C, ranks, files] for convolutions; None where there are none.
    """

    border: Border
    features: FloatArray
    boards: FloatArray | None


@functools.lru_cache(maxsize=2)
def tree_of(game: str) -> GameTree:
    """The tree of a game string."""
    return tree_from_game(pyspiel.load_game(game))


@functools.lru_cache(maxsize=4)
def cut_domain(name: str) -> Cut:
    """The border of a domain, by its name."""
    if name not in DOMAINS:
        raise ValueError(f"expected a domain among {', '.join(DOMAINS)}, got {name!r}")
    domain = DOMAINS[name]
    game, tree = pyspiel.load_game(domain.game), tree_of(domain.game)
    trunk = _trunk(tree, domain.cut)
    border = make_border(tree, trunk)
    if not hasattr(game, "public_partition"):
        return Cut(border, one_hot_features(border), None)
    nodes = np.zeros(tree.num_nodes, dtype=np.bool_)
    nodes[border.nodes] = True
    border = make_border(tree, trunk, game.public_partition(tree, nodes))
    planes = state_features(border, game.public_planes(tree, nodes))
    return Cut(border, flat_features(planes), planes if planes.ndim == 4 else None)


def resolving_policy(tree: GameTree, iterations: int) -> BehaviorPolicy:
    """What two players by continual re-solving with exact values play in the whole game.

    Args:
      tree: of a domain's game; it is cut as the first such domain says.
      iterations: of CFR in the trunk.
    """
    for domain in DOMAINS.values():
        if str(pyspiel.load_game(domain.game)) == tree.name:
            border = make_border(tree, _trunk(tree, domain.cut))
            first, second = (
                continual_resolving(
                    [border], p, lambda b: Bottoms(b, 5, warm=True), iterations, Gadget.MAXMARGIN
                )
                for p in PLAYERS
            )
            return BehaviorPolicy(tree, (first, second))
    known = ", ".join(domain.game for domain in DOMAINS.values())
    raise ValueError(f"expected a game that is cut somewhere ({known}), got {tree.name}")


def _trunk(tree: GameTree, cut: tuple[str, int]) -> BoolArray:
    kind, number = cut
    by_kind = {"depth": cut_at_depth, "turns": cut_after_turns, "rounds": cut_after_rounds}
    return by_kind[kind](tree, number)
