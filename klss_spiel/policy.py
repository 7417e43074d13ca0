"""Behaviour strategies of both players, bound to a tree."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.sequence_form import treeplex_from_tree
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, GameTree

_FORMAT = "klss_spiel.policy/1"
_TOLERANCE = 1e-6
_DIGITS = 9


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BehaviorPolicy:
    """What both players do at each of their infosets.

    Attributes:
      tree: the game.
      probabilities: for each player, [S] the probability of each sequence's last
        action at its infoset; 1 for the empty sequence.
    """

    tree: GameTree
    probabilities: tuple[FloatArray, FloatArray]

    def __repr__(self) -> str:
        return f"<BehaviorPolicy of {self.tree.name}>"

    def __post_init__(self) -> None:
        for p in PLAYERS:
            treeplex = treeplex_from_tree(self.tree, p)
            probabilities = self.probabilities[p]
            if probabilities.shape != (treeplex.num_sequences,):
                raise ValueError(
                    f"player {p} has {treeplex.num_sequences} sequences in {self.tree.name}, "
                    f"got probabilities of shape {probabilities.shape}"
                )
            if not np.all(probabilities >= -_TOLERANCE):
                raise ValueError(f"player {p} has a negative or undefined probability")
            sums = treeplex.infoset_sums(probabilities)
            if np.any(np.abs(sums - 1.0) > _TOLERANCE):
                worst = int(np.argmax(np.abs(sums - 1.0)))
                label = self.tree.infosets[p].labels[self.tree.infosets[p].decisions[worst]]
                raise ValueError(
                    f"player {p}'s probabilities at {label!r} sum to {sums[worst]}, expected 1"
                )

    @classmethod
    def uniform(cls, tree: GameTree) -> BehaviorPolicy:
        """Every action equally likely."""
        first, second = (treeplex_from_tree(tree, p).uniform() for p in PLAYERS)
        return cls(tree, (first, second))

    @classmethod
    def random(cls, tree: GameTree, rng: np.random.Generator) -> BehaviorPolicy:
        """Probabilities drawn uniformly from the simplex at each infoset."""
        drawn = []
        for p in PLAYERS:
            treeplex = treeplex_from_tree(tree, p)
            weights = rng.exponential(size=treeplex.num_sequences)
            owner = treeplex.sequence_infoset
            sums = treeplex.infoset_sums(weights)
            owned = owner >= 0
            weights[owned] /= sums[owner[owned]]
            weights[EMPTY_SEQUENCE] = 1.0
            drawn.append(weights)
        return cls(tree, (drawn[0], drawn[1]))

    @functools.cached_property
    def realization_plans(self) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] the product of own probabilities along each sequence."""
        first, second = (
            treeplex_from_tree(self.tree, p).realization_plan(self.probabilities[p])
            for p in PLAYERS
        )
        return first, second

    def reach(self, player: int) -> FloatArray:
        """[N] probability that the player alone plays to each node: x(h) in ZS21."""
        reach: FloatArray = self.realization_plans[player][self.tree.sequence[player]]
        return reach

    def replace(self, player: int, probabilities: FloatArray) -> BehaviorPolicy:
        """The same policy with one player's probabilities ([S]) exchanged."""
        pair = list(self.probabilities)
        pair[player] = probabilities
        return BehaviorPolicy(self.tree, (pair[0], pair[1]))

    def mix(self, other: BehaviorPolicy, weight: float) -> BehaviorPolicy:
        """(1 - weight) of this policy's strategies and `weight` of the other's.

        Mixed as strategies, not per infoset: the realization plans are averaged,
        so that payoffs against any opponent average too.
        """
        if other.tree is not self.tree:
            raise ValueError(f"cannot mix policies of {self.tree.name} and {other.tree.name}")
        if not 0.0 <= weight <= 1.0:
            raise ValueError(f"expected 0 <= weight <= 1, got {weight}")
        mixed = []
        for p in PLAYERS:
            plan = (1.0 - weight) * self.realization_plans[p] + weight * other.realization_plans[p]
            fallback = (1.0 - weight) * self.probabilities[p] + weight * other.probabilities[p]
            mixed.append(treeplex_from_tree(self.tree, p).behavior(plan, fallback))
        return BehaviorPolicy(self.tree, (mixed[0], mixed[1]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy as npz, with the game's name and fingerprint."""
        meta = {"format": _FORMAT, "game": self.tree.name, "fingerprint": fingerprint(self.tree)}
        with open(path, "wb") as file:
            np.savez_compressed(
                file,
                meta=np.array(json.dumps(meta)),
                player0=self.probabilities[0],
                player1=self.probabilities[1],
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], tree: GameTree) -> BehaviorPolicy:
        """Reads a policy saved for the same game; refuses one of another game."""
        with np.load(path, allow_pickle=False) as data:
            if "meta" not in data:
                raise ValueError(f"{path} is not a policy file of this package")
            meta = json.loads(str(data["meta"]))
            if meta.get("format") != _FORMAT:
                raise ValueError(f"expected a file of format {_FORMAT}, got {meta.get('format')}")
            if meta["fingerprint"] != fingerprint(tree):
                raise ValueError(
                    f"{path} holds a policy of {meta['game']}, which is not the game {tree.name}"
                )
            return cls(tree, (data["player0"], data["player1"]))


def fingerprint(tree: GameTree) -> str:
    """A digest of the game: nodes, payoffs, infosets, labels and actions."""
    digest = hashlib.sha256()
    for nodes in (tree.parent, tree.action, tree.player):
        digest.update(np.ascontiguousarray(nodes, dtype=np.int64).tobytes())
    for floats in (tree.chance, tree.utility):
        # Rounded, so that the last bits of another machine do not make another game.
        digest.update((np.round(floats, _DIGITS) + 0.0).tobytes())
    for infosets in tree.infosets:
        for values in (infosets.parent_sequence, infosets.num_actions, infosets.sequence_action):
            digest.update(np.ascontiguousarray(values, dtype=np.int64).tobytes())
        digest.update("\0".join(infosets.labels).encode())
    return digest.hexdigest()
