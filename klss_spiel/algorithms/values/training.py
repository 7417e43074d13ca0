"""Training of value networks, deterministic for a seed.

Situations are ranges at all public states of a border with the values of nearly optimal
continuations. They come from random trunk strategies (Sestak's thesis, section 5.1.1),
from the iterates of CFR-D with exact bottoms, and from those of CFR-D with the network
itself (`on-policy`): a network is only ever asked about ranges that CFR visits, which are
far from random. Low loss on random situations does not make a good trunk.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from klss_spiel.algorithms.values.border import Border
from klss_spiel.algorithms.values.bottoms import Bottoms
from klss_spiel.algorithms.values.completion import trunk_exploitability
from klss_spiel.algorithms.values.depth_limited import RecordedValues, solve_trunk
from klss_spiel.algorithms.values.lane_kernels import LANES
from klss_spiel.algorithms.values.networks import (
    FNN,
    Architecture,
    NetworkValues,
    Parameters,
    Recipe,
    initial_parameters,
    make_slots,
    predict,
)
from klss_spiel.algorithms.values.ranges import Ranges, trunk_ranges
from klss_spiel.arrays import FloatArray
from klss_spiel.progress import Progress
from klss_spiel.search_game import ValueFunction
from klss_spiel.tree import PLAYERS

Pair = tuple[FloatArray, FloatArray]

_ADAM = optax.scale_by_adam()


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """How a network is trained.

    Attributes:
      architecture: the network's layers.
      recipe: what is done around it.
      counterfactual_loss: errors are measured in counterfactual values; otherwise, where
        ranges are normalised, per unit of the opponent's range.
      reach_weighted: errors are multiplied with the reach of their infosets (thesis,
        section 5.1.4).
      random_trunks: situations from this many random trunk strategies.
      iterates: situations from this many iterates of CFR-D with exact bottoms.
      on_policy_rounds: how often the ranges that CFR-D with the network meets are added
        and training goes on.
      on_policy_ranges: how many ranges each such round adds.
      stop_below: early stopping: no more rounds once the network's trunk is no more
        exploitable than this; None goes through all of them.
      label_iterations: of CFR+ for each situation's values.
      epochs: passes over all situations, in each round.
      batch: public states in one step.
      learning_rate: of Adam at the start; it falls to zero along a cosine.
      trunk_iterations: of CFR with the network, when its trunk is measured.
      completion_iterations: of CFR+ to measure a trunk where the exact program is too large;
        exploitabilities are then upper bounds. None for the exact program.
      validation: share of the situations that is not trained on.
    """

    architecture: Architecture = FNN
    recipe: Recipe = dataclasses.field(default_factory=Recipe)
    counterfactual_loss: bool = True
    reach_weighted: bool = False
    random_trunks: int = 77
    iterates: int = 0
    on_policy_rounds: int = 0
    on_policy_ranges: int = 50
    stop_below: float | None = None
    label_iterations: int = 500
    epochs: int = 200
    batch: int = 64
    learning_rate: float = 1e-3
    trunk_iterations: int = 500
    completion_iterations: int | None = None
    validation: float = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and how good it is.

    Attributes:
      values: the best network, by the exploitability of the trunk it makes.
      exploitability: of that trunk.
      last_exploitability: of the trunk of the last network.
      history: after each round, (situations, validation loss, exploitability).
    """

    values: NetworkValues
    exploitability: float
    last_exploitability: float
    history: tuple[tuple[int, float, float], ...]


def random_ranges(border: Border, count: int, rng: np.random.Generator) -> list[Pair]:
    """Ranges of trunk strategies drawn uniformly from the simplex at each infoset."""
    found = []
    for _ in range(count):
        trunk = []
        for p in PLAYERS:
            treeplex = border.trunk_part.form.treeplexes[p]
            drawn = rng.exponential(size=treeplex.num_sequences)
            sums = treeplex.infoset_sums(drawn)
            drawn[1:] /= sums[treeplex.sequence_infoset[1:]]
            trunk.append(drawn)
        found.append(trunk_ranges(border, (trunk[0], trunk[1])).reach)
    return found


def iterate_ranges(
    border: Border,
    values: ValueFunction,
    count: int,
    iterations: int,
    rng: np.random.Generator,
) -> list[Pair]:
    """Ranges that CFR with a value function meets, evenly over the logarithm of time."""
    questions = 2 * iterations  # one before each player's update
    times = np.unique((np.exp(np.linspace(0, np.log(questions), 2 * count)) - 1).astype(int))
    chosen = set(rng.permutation(times)[:count].tolist())
    recorded = RecordedValues(values, lambda number: number in chosen)
    solve_trunk(border, recorded, iterations)
    return recorded.questions


def label(border: Border, questions: Sequence[Pair], solver: ValueFunction) -> list[Pair]:
    """Values for ranges, with progress; bottoms are solved for several at once."""
    progress = Progress("situations labelled", len(questions))
    at_once = LANES if isinstance(solver, Bottoms) else 1
    answers: list[Pair] = []
    for start in range(0, len(questions), at_once):
        group = questions[start : start + at_once]
        answers += solver.many(group) if isinstance(solver, Bottoms) else [solver(group[0])]
        progress.update(len(answers))
    return answers


def train(
    border: Border,
    features: FloatArray,
    config: TrainingConfig,
    seed: int,
    bottoms: ValueFunction | None = None,
) -> Trained:
    """Trains a value network for a border.

    Args:
      border: the border.
      features: [P, F] or [P, C, ranks, files] what is public.
      config: how.
      seed: of all random numbers.
      bottoms: who labels situations; by default CFR+ on the bottoms. (A stack of networks
        has one here that solves to the next border and asks another network there.)
    """
    rng = np.random.default_rng(seed)
    slots = make_slots(border)
    solver = bottoms or Bottoms(border, config.label_iterations)
    questions = random_ranges(border, config.random_trunks, rng)
    if config.iterates:
        exact = Bottoms(border, 5, warm=True)
        questions += iterate_ranges(border, exact, config.iterates, config.trunk_iterations, rng)
    answers = label(border, questions, solver)
    parameters = initial_parameters(config.architecture, features, slots, seed)
    history = []
    best: tuple[float, Parameters] = (np.inf, parameters)
    found = np.inf
    for round_number in range(1 + config.on_policy_rounds):
        parameters, loss = _fit(border, features, config, parameters, questions, answers, rng)
        network = NetworkValues(border, parameters, config.recipe, features, slots)
        recorded = iterate_recorder(network, config, rng)
        solution = solve_trunk(border, recorded, config.trunk_iterations)
        found = trunk_exploitability(
            border, solution.average_behavior, iterations=config.completion_iterations
        )
        history.append((len(questions), loss, found))
        if found < best[0]:
            best = (found, parameters)
        if config.stop_below is not None and found <= config.stop_below:
            break
        if round_number < config.on_policy_rounds:
            answers += label(border, recorded.questions, solver)
            questions += recorded.questions
    values = NetworkValues(border, best[1], config.recipe, features, slots)
    return Trained(values, best[0], found, tuple(history))


def iterate_recorder(
    network: NetworkValues, config: TrainingConfig, rng: np.random.Generator
) -> RecordedValues:
    """The network, remembering some of the ranges it is asked about."""
    questions = 2 * config.trunk_iterations
    chosen = set(rng.permutation(questions)[: config.on_policy_ranges].tolist())
    return RecordedValues(network, lambda number: number in chosen)


def _fit(
    border: Border,
    features: FloatArray,
    config: TrainingConfig,
    parameters: Parameters,
    questions: Sequence[Pair],
    answers: Sequence[Pair],
    rng: np.random.Generator,
) -> tuple[Parameters, float]:
    """Trained parameters, and their loss on what was kept for validation."""
    data = _situations(border, questions, answers)
    situations = len(data.state)
    order = rng.permutation(situations)
    kept = int(config.validation * situations)
    batch = min(config.batch, situations - kept)
    steps = (situations - kept) // batch
    objective = _objective(config, data)
    # The learning rate falls to zero along a cosine.
    turns = np.linspace(0.0, np.pi, steps * config.epochs, endpoint=False, dtype=np.float32)
    rates = (0.5 * config.learning_rate * (1.0 + np.cos(turns))).reshape(config.epochs, steps)
    parameters = jax.tree_util.tree_map(jnp.asarray, parameters)
    state = _ADAM.init(parameters)
    public = jnp.asarray(features, jnp.float32)
    progress = Progress("epochs", config.epochs)
    for epoch in range(1, config.epochs + 1):
        batches = rng.permutation(order[kept:])[: steps * batch].reshape(steps, batch)
        parameters, state = _epoch(
            parameters, state, public, data, batches, rates[epoch - 1], objective
        )
        progress.update(epoch)
    validation = order[:kept] if kept else order
    loss = _validate(parameters, public, data, validation, objective)
    return jax.tree_util.tree_map(np.asarray, parameters), float(loss)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Situations:
    """M situations, each at one public state; pairs are of the players.

    Attributes:
      state: [M] the public state.
      ranges: pair of [M, W].
      values: pair of [M, W] counterfactual values.
      reach: pair of [M, W] probability that play comes to each infoset.
      used: pair of [M, W] 1 for slots with an infoset, 0 for others.
    """

    state: Any
    ranges: tuple[Any, Any]
    values: tuple[Any, Any]
    reach: tuple[Any, Any]
    used: tuple[Any, Any]


@dataclasses.dataclass(frozen=True)
class _Objective:
    """What is minimised; `scale` brings the values to the size of 1."""

    recipe: Recipe
    counterfactual: bool
    reach_weighted: bool
    scale: float


def _situations(border: Border, questions: Sequence[Pair], answers: Sequence[Pair]) -> _Situations:
    slots = make_slots(border)
    pairs: dict[str, list[Any]] = {"ranges": [], "values": [], "reach": [], "used": []}
    for p in PLAYERS:
        ranges = np.array([question[p] for question in questions], np.float32)
        values = np.array([answer[p] for answer in answers], np.float32)
        reach = np.array(
            [
                question[p] * Ranges.of(border, question).counterfactual_reach(p)
                for question in questions
            ],
            np.float32,
        )
        for name, array in (("ranges", ranges), ("values", values), ("reach", reach)):
            of_states = slots.split(array, p)
            pairs[name].append(of_states.reshape(-1, of_states.shape[-1]))
        pairs["used"].append(np.tile(slots.used[p].astype(np.float32), (len(questions), 1)))
    return _Situations(
        state=np.tile(np.arange(border.num_public_states), len(questions)),
        **{name: (pair[0], pair[1]) for name, pair in pairs.items()},
    )


def _objective(config: TrainingConfig, data: _Situations) -> _Objective:
    counterfactual = config.counterfactual_loss or not config.recipe.normalized
    scale = 1.0
    if config.recipe.normalized:
        targets = _targets(data.values, data.ranges, counterfactual)
        used = sum(float(u.sum()) for u in data.used)
        square = sum(float((np.asarray(t) ** 2).sum()) for t in targets) / used
        scale = 1.0 / max(float(np.sqrt(square)), 1e-6)
    return _Objective(config.recipe, counterfactual, config.reach_weighted, scale)


def _targets(values: tuple[Any, Any], ranges: tuple[Any, Any], counterfactual: bool) -> list[Any]:
    """Values in the units of the loss: as they are, or per unit of the opponent's range."""
    if counterfactual:
        return list(values)
    sums = [ranges[1 - p].sum(axis=1, keepdims=True) for p in PLAYERS]
    return [v / jnp.where(s > 0.0, s, 1.0) for v, s in zip(values, sums, strict=True)]


def _loss(parameters: Parameters, public: Any, data: _Situations, objective: _Objective) -> Any:
    """Huber loss (with delta 1) per infoset."""
    found = predict(parameters, objective.recipe, public[data.state], data.ranges, data.used)
    total = 0.0
    for p in PLAYERS:
        wanted = _targets(data.values, data.ranges, objective.counterfactual)[p]
        given = _targets(found, data.ranges, objective.counterfactual)[p]
        errors = optax.huber_loss(objective.scale * given, objective.scale * wanted)
        total = total + (errors * (data.reach[p] if objective.reach_weighted else 1.0)).sum()
    return total / sum(u.sum() for u in data.used)


_validate_loss = functools.partial(jax.jit, static_argnames=("objective",))(_loss)


def _validate(
    parameters: Parameters, public: Any, data: _Situations, chosen: Any, objective: _Objective
) -> Any:
    part = jax.tree_util.tree_map(lambda array: array[chosen], data)
    return _validate_loss(parameters, public, part, objective=objective)


@functools.partial(jax.jit, static_argnames=("objective",))
def _epoch(
    parameters: Parameters,
    state: Any,
    public: Any,
    data: _Situations,
    batches: Any,
    rates: Any,
    objective: _Objective,
) -> tuple[Parameters, Any]:
    """One step for each batch of situations ([steps, batch]), with its learning rate."""

    def step(carry: tuple[Parameters, Any], inputs: Any) -> tuple[tuple[Parameters, Any], None]:
        parameters, state = carry
        chosen, rate = inputs
        part = jax.tree_util.tree_map(lambda array: array[chosen], data)
        gradient = jax.grad(_loss)(parameters, public, part, objective)
        updates, state = _ADAM.update(gradient, state)
        updates = jax.tree_util.tree_map(lambda update: -rate * update, updates)
        return (optax.apply_updates(parameters, updates), state), None

    (parameters, state), _ = jax.lax.scan(step, (parameters, state), (batches, rates))
    return parameters, state
