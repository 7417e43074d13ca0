"""Behaviour strategies of both players, bound to a tree."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import html
import json
import os
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, read_only
from klss_spiel.npz_files import BrokenFileError, load_arrays
from klss_spiel.sequence_form import treeplex_from_tree
from klss_spiel.tree import EMPTY_SEQUENCE, PLAYERS, GameTree

_FORMAT = "klss_spiel.policy/1"
_TOLERANCE = 1e-6
_DIGITS = 9
_ROWS_SHOWN = 10


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BehaviorPolicy:
    """What both players do at each of their infosets.

    Attributes:
      tree: the game.
      probabilities: for each player, [S] the probability of each sequence's last
        action at its infoset; 1 for the empty sequence. Read-only.
    """

    tree: GameTree
    probabilities: tuple[FloatArray, FloatArray]

    def __repr__(self) -> str:
        return (
            f"<BehaviorPolicy of {self.tree.name}: {self.tree.num_decision_infosets} decision "
            "infosets>"
        )

    def _repr_html_(self) -> str:
        """The first infosets of each player as a table, for notebooks."""
        rows = [
            f"<tr><td>{p}</td><td><code>{html.escape(label)}</code></td><td>{html.escape(text)}"
            "</td></tr>"
            for p, label, text in self._first_rows()
        ]
        more = self.tree.num_decision_infosets - len(rows)
        return (
            f"<p>{html.escape(repr(self)[1:-1])}</p><table><thead><tr><th>player</th>"
            "<th>information state</th><th>action: probability</th></tr></thead><tbody>"
            + "".join(rows)
            + f"</tbody></table>{f'<p>and {more} more</p>' if more else ''}"
        )

    def _first_rows(self) -> list[tuple[int, str, str]]:
        rows = []
        for p in PLAYERS:
            infosets = self.tree.infosets[p]
            for infoset in infosets.decisions[:_ROWS_SHOWN].tolist():
                played = zip(
                    infosets.actions(infoset),
                    self.probabilities[p][infosets.sequences(infoset)],
                    strict=True,
                )
                text = ", ".join(f"{action}: {share:.4g}" for action, share in played)
                rows.append((p, infosets.labels[infoset], text))
        return rows

    def __post_init__(self) -> None:
        if not isinstance(self.tree, GameTree):
            raise ValueError(f"expected a GameTree, got {type(self.tree).__name__}")
        if len(self.probabilities) != len(PLAYERS):
            raise ValueError(
                f"expected probabilities of two players, got {len(self.probabilities)}"
            )
        checked = []
        for p in PLAYERS:
            treeplex = treeplex_from_tree(self.tree, p)
            probabilities = treeplex.vector(
                self.probabilities[p], f"player {p}'s probabilities in {self.tree.name}"
            )
            checked.append(read_only(probabilities))
            if not np.all(probabilities >= -_TOLERANCE):
                raise ValueError(f"player {p} has a negative or undefined probability")
            sums = treeplex.infoset_sums(probabilities)
            if np.any(np.abs(sums - 1.0) > _TOLERANCE):
                worst = int(np.argmax(np.abs(sums - 1.0)))
                label = self.tree.infosets[p].labels[self.tree.infosets[p].decisions[worst]]
                raise ValueError(
                    f"player {p}'s probabilities at {label!r} sum to {sums[worst]}, expected 1"
                )
        object.__setattr__(self, "probabilities", (checked[0], checked[1]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are checked and read-only like the policy itself."""
        return type(self), (self.tree, self.probabilities)

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

    def replace(self, player: int, probabilities: npt.ArrayLike) -> BehaviorPolicy:
        """The same policy with one player's probabilities ([S]) exchanged."""
        if player not in PLAYERS:
            raise ValueError(f"expected player 0 or 1, got {player}")
        pair: list[Any] = list(self.probabilities)
        pair[player] = probabilities
        return BehaviorPolicy(self.tree, (pair[0], pair[1]))

    def mix(self, other: BehaviorPolicy, weight: float) -> BehaviorPolicy:
        """(1 - weight) of this policy's strategies and `weight` of the other's.

        Mixed as strategies, not per infoset: the realization plans are averaged,
        so that payoffs against any opponent average too.
        """
        check_same_game(self.tree, other.tree, "cannot mix policies of two games")
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
        """Reads a policy saved for the same game; refuses one of another game.

        Raises:
          BrokenFileError: the file is no npz file, or not a whole one, or not a policy's.
          ValueError: it is a policy of another game.
        """
        meta = _read_meta(path, str(load_arrays(path, ("meta",), "a policy")["meta"]))
        if meta["fingerprint"] != fingerprint(tree):
            raise ValueError(
                f"{path} holds a policy of {meta['game']}, which is not the game {tree.name}"
            )
        data = load_arrays(path, ("player0", "player1"), "a policy")
        return cls(tree, (data["player0"], data["player1"]))


def _read_meta(path: str | os.PathLike[str], text: str) -> Mapping[str, Any]:
    try:
        meta = json.loads(text)
    except ValueError as error:
        raise BrokenFileError(f"{path} is not a policy file of this package: {error}") from error
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
        got = meta.get("format") if isinstance(meta, dict) else meta
        raise BrokenFileError(f"expected a file of format {_FORMAT} in {path}, got {got}")
    if not {"game", "fingerprint"} <= set(meta):
        raise BrokenFileError(f"expected the game and its fingerprint in {path}, got {meta}")
    return meta


def same_game(first: GameTree, second: GameTree) -> bool:
    """Whether two trees are the same game with the same numbers, built once or twice."""
    return first is second or fingerprint(first) == fingerprint(second)


def check_same_game(expected: GameTree, got: GameTree, problem: str) -> None:
    """Raises ValueError, naming both games, unless they are the same."""
    if not same_game(expected, got):
        raise ValueError(
            f"{problem}: expected the game {expected.name} ({expected.num_nodes} nodes), got "
            f"{got.name} ({got.num_nodes} nodes)"
        )


_FINGERPRINTS: weakref.WeakKeyDictionary[GameTree, str] = weakref.WeakKeyDictionary()


def fingerprint(tree: GameTree) -> str:
    """A digest of the game: nodes, payoffs, infosets, labels and actions."""
    if tree not in _FINGERPRINTS:
        _FINGERPRINTS[tree] = _digest(tree)
    return _FINGERPRINTS[tree]


def _digest(tree: GameTree) -> str:
    digest = hashlib.sha256()
    for nodes in (tree.parent, tree.action, tree.player, tree.infoset):
        digest.update(np.ascontiguousarray(nodes, dtype=np.int64).tobytes())
    for floats in (tree.chance, tree.utility):
        # Rounded, so that the last bits of another machine do not make another game.
        digest.update((np.round(floats, _DIGITS) + 0.0).tobytes())
    for infosets in tree.infosets:
        for values in (infosets.parent_sequence, infosets.num_actions, infosets.sequence_action):
            digest.update(np.ascontiguousarray(values, dtype=np.int64).tobytes())
        digest.update("\0".join(infosets.labels).encode())
    return digest.hexdigest()
