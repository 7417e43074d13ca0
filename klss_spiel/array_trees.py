"""Pytrees of arrays: nested dicts, lists and tuples, taken apart and put together.

Names of arrays are the ways to them: "layers/0/bias". A NamedTuple is taken apart like a
dict of its fields, and None is nothing. This is plain numpy; jax's own pytrees of these
containers are the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

# Nested dicts, lists and tuples of arrays.
Tree = Any
Array = npt.NDArray[Any]

_ARRAY = "array"
_NUMBERS = "biuf"


def named_arrays(tree: Tree) -> dict[str, Array]:
    """All arrays by name, as dense little-endian numbers.

    Raises:
      ValueError: if there is anything but numbers of at most 64 bits.
    """
    return dict(_named(tree, ""))


def shapes_of(tree: Tree) -> dict[str, tuple[int, ...]]:
    """The shapes of all arrays by name."""
    return {name: array.shape for name, array in named_arrays(tree).items()}


def structure_of(tree: Tree) -> Any:
    """The containers of a pytree as what JSON knows."""
    children = _children(tree)
    if children is None:
        return _ARRAY
    if tree is None:
        return None
    if isinstance(tree, Mapping) or hasattr(tree, "_fields"):
        return {"dict": {key: structure_of(item) for key, item in children}}
    return {"list" if isinstance(tree, list) else "tuple": [structure_of(i) for _, i in children]}


def from_structure(structure: Any, arrays: Mapping[str, Array], name: str = "") -> Tree:
    """The arrays in containers that `structure_of` described; NamedTuples become dicts.

    Args:
      structure: of the part of the tree that is called `name`.
      arrays: all arrays by name.
      name: of the part.

    Raises:
      ValueError: if the structure does not fit the arrays.
    """

    def below(key: str, item: Any) -> Tree:
        return from_structure(item, arrays, _join(name, key))

    match structure:
        case None:
            return None
        case "array" if name in arrays:
            return arrays[name]
        case {"dict": dict(items)}:
            return {key: below(key, item) for key, item in items.items()}
        case {"list": list(items)}:
            return [below(str(number), item) for number, item in enumerate(items)]
        case {"tuple": list(items)}:
            return tuple(below(str(number), item) for number, item in enumerate(items))
    raise ValueError(f"the structure does not fit the arrays at {name!r}")


def replace_arrays(tree: Tree, arrays: Mapping[str, Array], name: str = "") -> Tree:
    """The containers of a pytree with other arrays of the same names."""
    children = _children(tree)
    if children is None:
        return arrays[name]
    if tree is None:
        return None
    items = {key: replace_arrays(item, arrays, _join(name, key)) for key, item in children}
    if isinstance(tree, Mapping):
        return items
    make: Callable[..., Tree] = type(tree)
    return make(**items) if hasattr(tree, "_fields") else make(items.values())


def _join(name: str, key: str) -> str:
    return f"{name}/{key}" if name else key


def _children(tree: Tree) -> list[tuple[str, Tree]] | None:
    """Names and values inside a container; None for an array."""
    if isinstance(tree, Mapping):
        for key in tree:
            if not isinstance(key, str) or not key or "/" in key:
                raise ValueError(f"expected keys that are texts without slashes, got {key!r}")
        return list(tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(zip(tree._fields, tree, strict=True))
    if isinstance(tree, list | tuple):
        return [(str(number), item) for number, item in enumerate(tree)]
    return [] if tree is None else None


def _named(tree: Tree, name: str) -> Iterator[tuple[str, Array]]:
    children = _children(tree)
    if children is None:
        yield name, _as_array(tree, name)
        return
    for key, item in children:
        yield from _named(item, _join(name, key))


def _as_array(value: Any, name: str) -> Array:
    if not hasattr(value, "__array__") and not isinstance(value, int | float):
        raise ValueError(f"expected an array at {name!r}, got {type(value).__name__}")
    try:
        array = np.asarray(value)
    except TypeError as error:  # jax's keys of random numbers, for one
        raise ValueError(f"expected an array of numbers at {name!r}: {error}") from error
    if array.dtype.kind not in _NUMBERS or array.dtype.itemsize > 8:
        raise ValueError(f"expected numbers of at most 64 bits at {name!r}, got {array.dtype}")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
