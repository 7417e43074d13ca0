"""A residual network from features to logits of actions and a value.

    h = relu(W x + b);  h = h + relu(W_i h + b_i), i = 1..blocks;  heads linear in h

Parameters are a dict of float32 arrays. Letters: n rows, f features, a actions.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

Parameters = dict[str, Any]

_ILLEGAL = -1e9


def init_parameters(
    key: jax.Array, num_features: int, num_actions: int, width: int, blocks: int
) -> Parameters:
    """Random weights: He et al. for hidden layers, near 0 for heads."""
    keys = jax.random.split(key, blocks + 3)

    def layer(key: jax.Array, inputs: int, outputs: int, scale: float) -> Parameters:
        weight = scale * jax.random.normal(key, (inputs, outputs), jnp.float32)
        return {"weight": weight, "bias": jnp.zeros(outputs, jnp.float32)}

    hidden = (2.0 / width) ** 0.5
    return {
        "input": layer(keys[0], num_features, width, (2.0 / num_features) ** 0.5),
        # Blocks start small, so that the network starts as its first layer.
        "blocks": [layer(keys[2 + i], width, width, 0.3 * hidden) for i in range(blocks)],
        "policy": layer(keys[1], width, num_actions, 0.01),
        "value": layer(keys[blocks + 2], width, 1, 0.01),
    }


def apply(parameters: Parameters, features: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Logits [n, a] and values [n] of features [n, f]."""

    def linear(layer: Parameters, x: jax.Array) -> jax.Array:
        outputs: jax.Array = x @ layer["weight"] + layer["bias"]
        return outputs

    hidden = jax.nn.relu(linear(parameters["input"], features))
    for block in parameters["blocks"]:
        hidden = hidden + jax.nn.relu(linear(block, hidden))
    return linear(parameters["policy"], hidden), linear(parameters["value"], hidden)[:, 0]


def masked(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Logits with illegal actions far below all others."""
    return jnp.where(legal, logits, jnp.float32(_ILLEGAL))


@jax.jit
def evaluate(
    parameters: Parameters, features: jax.Array, legal: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Probabilities [n, a] of legal actions and values [n]."""
    logits, values = apply(parameters, features)
    return jax.nn.softmax(masked(logits, legal)), values


@functools.partial(jax.jit, static_argnames="greedy")
def choose(
    parameters: Parameters,
    features: jax.Array,
    legal: jax.Array,
    key: jax.Array,
    greedy: bool = False,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Actions [n], sampled or most likely; their probabilities [n]; values [n]."""
    logits, values = apply(parameters, features)
    logits = masked(logits, legal)
    if greedy:
        actions = jnp.argmax(logits, axis=1)
    else:
        actions = jax.random.categorical(key, logits)
    log_probability = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probability, actions[:, None], axis=1)[:, 0]
    return actions, jnp.exp(chosen), values
