"""Networks as value functions: from ranges at a public state to counterfactual values.

One network serves all public states of a border. Its input is what is public (features)
and both players' ranges there, its output the counterfactual values of both players'
border infosets (Moravcik et al. 2017; Sestak's thesis, chapter 5). `Recipe` names what is
done around the plain network:

    normalized   each player's range is divided by its sum, and the output multiplied with
                 the opponent's sum: values are linear in the opponent's range and do not
                 depend on the size of the own one, so the network need not learn that
    zero_sum     half of the sum of range times value is taken from each side, so that
                 predictions satisfy what optimal values do (proposition 9 of "Value
                 Functions for Depth-Limited Solving")

Parameters are plain dicts and lists of arrays; files go through `klss_spiel.weights`.
Needs jax; training (`training`) needs optax too.

Letters, besides those of `border`: W slots for a player's infosets in a public state (as
many as the largest one needs), F public features.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from klss_spiel import weights
from klss_spiel.algorithms.values.border import Border
from klss_spiel.arrays import BoolArray, FloatArray, IntArray
from klss_spiel.tree import PLAYERS

KIND = "range_values"
FEATURE_VERSION = 1
Parameters = Any
Pair = tuple[FloatArray, FloatArray]


@dataclasses.dataclass(frozen=True)
class Architecture:
    """The shape of a network.

    Attributes:
      hidden: widths of the fully connected hidden layers.
      filters: filters of each 3x3 convolution over public boards, whose results take the
        features' place; empty for none.
    """

    hidden: tuple[int, ...] = (128, 128)
    filters: tuple[int, ...] = ()


# Sestak's thesis, section 5.1: two hidden layers for Minimal4x3 and five for Mate2 (their
# widths are not given); section 5.2: two convolutions of five filters, one layer after.
FNN = Architecture()
DEEP_FNN = Architecture((128,) * 5)
CNN = Architecture((), (5, 5))


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What is done around the plain network; see the module."""

    normalized: bool = True
    zero_sum: bool = True


RAW = Recipe(normalized=False, zero_sum=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Slots:
    """Where each border infoset has its place in its public state's vectors.

    Attributes:
      infoset: for each player, [P, W] the border infoset in each slot, b for none.
      used: for each player, [P, W] whether there is one.
      place: for each player, [b] the slot of each border infoset, p * W + slot.
    """

    infoset: tuple[IntArray, IntArray]
    used: tuple[BoolArray, BoolArray]
    place: tuple[IntArray, IntArray]

    def split(self, of_infosets: Any, player: int) -> Any:
        """[..., P, W] vectors of public states of values of border infosets ([..., b])."""
        padding = np.zeros((*np.shape(of_infosets)[:-1], 1), of_infosets.dtype)
        return np.concatenate([of_infosets, padding], axis=-1)[..., self.infoset[player]]


def make_slots(border: Border) -> Slots:
    """The slots of a border's infosets, in the order of their numbers."""
    infoset, used, place = [], [], []
    for p in PLAYERS:
        state = border.infoset_public_state[p]
        counts = np.bincount(state, minlength=border.num_public_states)
        order = np.argsort(state, kind="stable")
        slot = np.empty(len(state), dtype=np.int64)
        slot[order] = np.arange(len(state)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((border.num_public_states, counts.max()), len(state), dtype=np.int64)
        table[state, slot] = np.arange(len(state))
        infoset.append(table)
        used.append(table < len(state))
        place.append(state * counts.max() + slot)
    return Slots((infoset[0], infoset[1]), (used[0], used[1]), (place[0], place[1]))


def one_hot_features(border: Border) -> FloatArray:
    """[P, P] the number of the public state, for games that offer nothing better."""
    return np.eye(border.num_public_states)


def state_features(border: Border, of_nodes: FloatArray) -> FloatArray:
    """[P, ...] features of public states from those of border nodes ([B, ...])."""
    if len(of_nodes) != len(border.nodes):
        raise ValueError(
            f"expected features of {len(border.nodes)} border nodes, got {len(of_nodes)}"
        )
    _, first = np.unique(border.public_state, return_index=True)
    return np.asarray(of_nodes[first])


def flat_features(features: FloatArray) -> FloatArray:
    """[P, F] features without those that are the same in all public states."""
    flat = features.reshape(len(features), -1)
    return np.asarray(flat[:, np.any(flat != flat[:1], axis=0)])


def initial_parameters(
    architecture: Architecture, features: FloatArray, slots: Slots, seed: int
) -> Parameters:
    """Random parameters (He et al. 2015), the output layer small.

    Args:
      architecture: layers.
      features: [P, F], or boards [P, C, ranks, files] for convolutions.
      slots: of the border.
      seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    ranges = sum(slots.infoset[p].shape[1] for p in PLAYERS)
    filters = []
    if architecture.filters:
        if features.ndim != 4:
            raise ValueError(
                f"expected boards [P, C, ranks, files] to convolve, got features of shape "
                f"{features.shape}"
            )
        channels = features.shape[1]
        for count in architecture.filters:
            scale = np.sqrt(2.0 / (9 * channels))
            filters.append(
                {
                    "kernel": scale * rng.standard_normal((count, channels, 3, 3)),
                    "bias": np.zeros(count),
                }
            )
            channels = count
        public = channels * features.shape[2] * features.shape[3]
    else:
        public = int(np.prod(features.shape[1:]))
    sizes = [public + ranges, *architecture.hidden, ranges]
    layers = []
    for i, (before, after) in enumerate(itertools.pairwise(sizes)):
        scale = np.sqrt(2.0 / before) * (0.1 if i == len(sizes) - 2 else 1.0)
        layers.append(
            {"kernel": scale * rng.standard_normal((before, after)), "bias": np.zeros(after)}
        )
    tree = {"filters": filters, "layers": layers}
    return jax.tree_util.tree_map(lambda array: np.asarray(array, np.float32), tree)


def predict(
    parameters: Parameters,
    recipe: Recipe,
    features: Any,
    ranges: tuple[Any, Any],
    used: tuple[Any, Any],
) -> tuple[Any, Any]:
    """Counterfactual values at a batch of n public states. Pure; runs inside jit.

    Args:
      parameters: of the network.
      recipe: what is done around it.
      features: [n, F] or [n, C, ranks, files].
      ranges: for each player, [n, W].
      used: for each player, [n, W] 1 for slots with an infoset, 0 for others.

    Returns:
      For each player, [n, W].
    """
    sums = [r.sum(axis=1, keepdims=True) for r in ranges]
    shares = [r / jnp.where(s > 0.0, s, 1.0) for r, s in zip(ranges, sums, strict=True)]
    inputs = shares if recipe.normalized else list(ranges)
    hidden = features
    for layer in parameters["filters"]:
        hidden = jax.lax.conv(hidden, layer["kernel"], (1, 1), "SAME")
        hidden = jax.nn.relu(hidden + layer["bias"][:, None, None])
    hidden = jnp.concatenate([hidden.reshape(len(hidden), -1), *inputs], axis=1)
    for layer in parameters["layers"][:-1]:
        hidden = jax.nn.relu(hidden @ layer["kernel"] + layer["bias"])
    last = parameters["layers"][-1]
    output = hidden @ last["kernel"] + last["bias"]
    width = ranges[0].shape[1]
    values = [output[:, :width] * used[0], output[:, width:] * used[1]]
    if not recipe.normalized:
        # The same correction needs values per unit of the opponent's range.
        values = (
            [
                v / jnp.where(s > 0.0, s, 1.0)
                for v, s in zip(values, (sums[1], sums[0]), strict=True)
            ]
            if recipe.zero_sum
            else values
        )
    if recipe.zero_sum:
        excess = sum(
            (s * v).sum(axis=1, keepdims=True) for s, v in zip(shares, values, strict=True)
        )
        values = [(v - 0.5 * excess) * u for v, u in zip(values, used, strict=True)]
    if recipe.normalized or recipe.zero_sum:
        values = [values[0] * sums[1], values[1] * sums[0]]
    return values[0], values[1]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class JitValues:
    """A network as a value function inside jit: a pytree. Attributes as of `NetworkValues`.

    Attributes:
      parameters: of the network.
      features: [P, F] or [P, C, ranks, files].
      infoset: for each player, [P, W] as in `Slots`.
      used: for each player, [P, W] 1 or 0.
      place: for each player, [b] as in `Slots`.
      recipe: what is done around the network.
    """

    parameters: Parameters
    features: Any
    infoset: tuple[Any, Any]
    used: tuple[Any, Any]
    place: tuple[Any, Any]
    recipe: Recipe = dataclasses.field(metadata={"static": True})

    def __call__(self, ranges: tuple[Any, Any]) -> tuple[Any, Any]:
        """Counterfactual values for ranges ([b_0], [b_1])."""
        zero = jnp.zeros(1, jnp.float32)
        first, second = (
            jnp.concatenate([ranges[p].astype(jnp.float32), zero])[self.infoset[p]] for p in PLAYERS
        )
        values = predict(self.parameters, self.recipe, self.features, (first, second), self.used)
        return values[0].reshape(-1)[self.place[0]], values[1].reshape(-1)[self.place[1]]


@jax.jit
def _call(values: JitValues, ranges: tuple[Any, Any]) -> tuple[Any, Any]:
    return values(ranges)


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkValues:
    """A network as the value function of a border.

    Attributes:
      border: the border.
      parameters: of the network.
      recipe: what is done around it.
      features: [P, F] or [P, C, ranks, files].
      slots: where the infosets are.
    """

    border: Border
    parameters: Parameters
    recipe: Recipe
    features: FloatArray
    slots: Slots

    def __post_init__(self) -> None:
        expected = sum(self.slots.infoset[p].shape[1] for p in PLAYERS)
        found = self.parameters["layers"][-1]["bias"].shape[0]
        if found != expected:
            raise ValueError(
                f"expected a network with {expected} outputs for {self.border}, got {found}"
            )
        if len(self.features) != self.border.num_public_states:
            raise ValueError(
                f"expected features of {self.border.num_public_states} public states, got "
                f"{len(self.features)}"
            )

    @functools.cached_property
    def jitted(self) -> JitValues:
        """The same as a pytree, for the jax engine."""
        features, first, second = (
            jnp.asarray(array, jnp.float32) for array in (self.features, *self.slots.used)
        )
        return JitValues(
            parameters=jax.tree_util.tree_map(jnp.asarray, self.parameters),
            features=features,
            infoset=(jnp.asarray(self.slots.infoset[0]), jnp.asarray(self.slots.infoset[1])),
            used=(first, second),
            place=(jnp.asarray(self.slots.place[0]), jnp.asarray(self.slots.place[1])),
            recipe=self.recipe,
        )

    def __call__(self, ranges: Pair) -> Pair:
        """Counterfactual values for ranges ([b_0], [b_1])."""
        self.border.check_values(ranges, "ranges")
        first, second = _call(self.jitted, (np.asarray(ranges[0]), np.asarray(ranges[1])))
        return np.asarray(first, np.float64), np.asarray(second, np.float64)

    def save(self, path: str | os.PathLike[str], command: str, seed: int, **extra: Any) -> None:
        """Writes the network with what it takes to use it again.

        Args:
          path: file named .safetensors.
          command: that trained it.
          seed: of that command.
          **extra: figures reached and the like, for the file's metadata.
        """
        weights.save(
            path,
            {"network": self.parameters, "features": np.asarray(self.features, np.float32)},
            weights.Metadata(
                kind=KIND,
                game=self.border.tree.name,
                feature_version=FEATURE_VERSION,
                command=command,
                seed=seed,
                extra={"recipe": dataclasses.asdict(self.recipe), **extra},
            ),
        )


def load_network(path: str | os.PathLike[str], border: Border) -> NetworkValues:
    """Reads a network of `NetworkValues.save`, or one that is shipped, by its name.

    Args:
      path: a file or a shipped name.
      border: the border it is for, cut as it was in training.
    """
    found = weights.load(path, kind=KIND, game=border.tree.name, feature_version=FEATURE_VERSION)
    return NetworkValues(
        border=border,
        parameters=found.tree["network"],
        recipe=Recipe(**found.metadata.extra["recipe"]),
        features=found.tree["features"],
        slots=make_slots(border),
    )
