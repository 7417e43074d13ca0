"""Trained files: pytrees of arrays with what they were trained for.

A file is safetensors (arrays and nothing that could be executed) whose header holds, as
JSON, what the arrays are (`Metadata`). Loading checks all of it, and a file that is of
another kind, for another game, of another version or shape, broken, or a pickle raises
`WeightsError` with what was expected and what came.

    save("net.safetensors", parameters, Metadata(kind="values", game="leduc_poker"))
    parameters = load("net.safetensors", kind="values", game="leduc_poker").tree
    parameters = load("shipped_name", kind="values").tree

A pytree is nested dicts (keys are texts), lists and tuples of arrays; None stands for
nothing. Names of arrays are the ways to them: "layers/0/bias". NamedTuples come back as
dicts unless `like` says what they were. Everything here is numpy: a file made with jax is
read without it.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import os
import pathlib
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from klss_spiel.array_trees import (
    Array,
    Tree,
    from_structure,
    named_arrays,
    replace_arrays,
    structure_of,
)
from klss_spiel.array_trees import shapes_of as shapes_of
from klss_spiel.row_files import write_atomically
from klss_spiel.versions import versions

Shapes = Mapping[str, tuple[int, ...]]

SUFFIX = ".safetensors"
_FOLDER = ("data", "weights")
_HEADER = "klss_spiel"
_FORMAT = 1
# Where pickles, torch's zip files and gzip files begin.
_PICKLES = (b"\x80", b"PK\x03\x04", b"\x1f\x8b")
_SECONDS_BETWEEN_SAVES = 60.0


class WeightsError(ValueError):
    """A file that is not what was asked for."""


@dataclasses.dataclass(frozen=True)
class Metadata:
    """What a file holds and how it was made.

    Attributes:
      kind: what reads it, e.g. "chess_network" or "range_values".
      game: OpenSpiel's game string, or "" if it serves several games.
      feature_version: of the encoding of inputs; raised whenever that changes.
      command: that made the file.
      seed: of that command.
      licence: of the file.
      extra: anything else that JSON knows, e.g. sizes of layers or figures reached.
      versions: of the packages that made it.
      shapes: of the arrays by name; filled in by `save`.
    """

    kind: str
    game: str = ""
    feature_version: int = 1
    command: str = dataclasses.field(default_factory=lambda: " ".join(sys.argv))
    seed: int | None = None
    licence: str = "Apache-2.0"
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    versions: Mapping[str, str] = dataclasses.field(default_factory=versions)
    shapes: Shapes = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Weights:
    """What was loaded.

    Attributes:
      tree: the arrays.
      metadata: what they are.
    """

    tree: Tree
    metadata: Metadata


def save(path: str | os.PathLike[str], tree: Tree, metadata: Metadata) -> None:
    """Writes a pytree of arrays, in place of an older file and in one step.

    Args:
      path: file named .safetensors.
      tree: arrays of numbers (numpy's, jax's, or numbers); at least one.
      metadata: what they are.

    Raises:
      WeightsError: if the tree or the name cannot be written.
    """
    path = pathlib.Path(path)
    if path.suffix != SUFFIX:
        raise WeightsError(f"expected a file named {SUFFIX}, got {str(path)!r}")
    try:
        arrays = named_arrays(tree)
        if not arrays:
            raise ValueError("expected at least one array, got none")
        shapes = {name: array.shape for name, array in arrays.items()}
        values = dataclasses.asdict(dataclasses.replace(metadata, shapes=shapes))
        header = json.dumps({"format": _FORMAT, **values, "structure": structure_of(tree)})
    except (TypeError, ValueError) as error:
        raise WeightsError(f"cannot be saved as weights: {error}") from error
    # One entry, as the order of several is not fixed and equal files should be equal.
    write_atomically(path, safetensors.numpy.save(arrays, {_HEADER: header}))


def load(
    path: str | os.PathLike[str],
    *,
    kind: str,
    game: str | None = None,
    feature_version: int | None = None,
    shapes: Shapes | None = None,
    like: Tree = None,
) -> Weights:
    """Reads a file of `save`, if it is what is expected.

    Args:
      path: a file, or the name of one that the package ships (see `shipped_names`).
      kind: what it must be.
      game: for which game; None for any.
      feature_version: of the inputs; None for any.
      shapes: of all arrays by name, as `shapes_of` gives them; None for any.
      like: a pytree of the same names, shapes and types of numbers whose containers are
        taken over, e.g. freshly initialised parameters.

    Raises:
      WeightsError: if it is anything else.
    """
    file = _find(path)
    arrays, header = _read(file)
    metadata = _metadata(file, header, arrays)
    _check_what(file, metadata, kind, game, feature_version)
    if shapes is not None:
        _check_same(file, "shapes", {name: tuple(s) for name, s in shapes.items()}, metadata.shapes)
    if like is not None:
        return Weights(_like(file, like, arrays), metadata)
    try:
        return Weights(from_structure(header.get("structure"), arrays), metadata)
    except ValueError as error:
        raise WeightsError(f"{file}: {error}") from error


def read_metadata(path: str | os.PathLike[str]) -> Metadata:
    """What a file or shipped name holds, whatever it is."""
    file = _find(path)
    arrays, header = _read(file)
    return _metadata(file, header, arrays)


def check_same_run(path: str | os.PathLike[str], expected: Metadata) -> None:
    """Refuses a file that another run has made.

    Args:
      path: of a file or a shipped name.
      expected: its kind, game, feature version, seed and settings (`extra["settings"]`, names
        and values that JSON knows) are those of the run.

    Raises:
      WeightsError: if the file says anything else.
    """
    file, metadata = _find(path), read_metadata(path)
    _check_what(file, metadata, expected.kind, expected.game, expected.feature_version)
    if metadata.seed != expected.seed:
        raise WeightsError(f"{file}: expected the seed {expected.seed}, got {metadata.seed}")
    # Through JSON, which knows no tuples.
    settings = json.loads(json.dumps(expected.extra.get("settings", {})))
    found = metadata.extra.get("settings")
    _check_same(file, "settings", _flat(settings), _flat(found) if isinstance(found, dict) else {})


def shipped_names() -> list[str]:
    """The names of files that come with the package."""
    folder = importlib.resources.files("klss_spiel").joinpath(*_FOLDER)
    if not folder.is_dir():
        return []
    return sorted(f.name.removesuffix(SUFFIX) for f in folder.iterdir() if f.name.endswith(SUFFIX))


class Checkpoint:
    """The state of a training run in a file, so that it can go on. Mutable."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        metadata: Metadata,
        seconds_between_saves: float = _SECONDS_BETWEEN_SAVES,
    ) -> None:
        """Names the file; nothing is read or written yet.

        Args:
          path: file named .safetensors.
          metadata: what is trained. Kind, game, feature version, seed and settings belong to
            the run: a file in which they differ is refused, not replaced; see
            `check_same_run`.
          seconds_between_saves: least time between two saves of `save_now_and_then`.
        """
        self.path = pathlib.Path(path)
        self._metadata = metadata
        self._seconds = seconds_between_saves
        self._next = time.monotonic() + seconds_between_saves

    def restore(self, like: Tree) -> tuple[int, Tree] | None:
        """The step and the state that were saved last; None if there is no file yet.

        Args:
          like: a state of the same containers and shapes, e.g. that of step 0.
        """
        if not self.path.exists():
            return None
        # Settings first: they say more than the shapes that follow from them.
        check_same_run(self.path, self._metadata)
        found = load(self.path, kind=self._metadata.kind, like=like)
        step = found.metadata.extra.get("step")
        if not isinstance(step, int):
            raise WeightsError(f"{self.path}: expected a checkpoint, got weights without a step")
        return step, found.tree

    def save(self, step: int, state: Tree) -> None:
        """Replaces the file in one step."""
        extra = {**self._metadata.extra, "step": int(step)}
        save(self.path, state, dataclasses.replace(self._metadata, extra=extra))
        self._next = time.monotonic() + self._seconds

    def save_now_and_then(self, step: int, state: Tree) -> bool:
        """Saves unless that was done a moment ago; returns whether it did."""
        due = time.monotonic() >= self._next
        if due:
            self.save(step, state)
        return due


def _find(path: str | os.PathLike[str]) -> pathlib.Path:
    text = os.fspath(path)
    if text.endswith(SUFFIX) or not re.fullmatch(r"[\w-][\w.-]*", text):
        file = pathlib.Path(text)
        if not file.is_file():
            raise WeightsError(f"expected a file, got {text!r}, which is none")
        return file
    if text not in shipped_names():
        raise WeightsError(
            f"expected a file named {SUFFIX} or a shipped name "
            f"({', '.join(shipped_names()) or 'there are none'}), got {text!r}"
        )
    folder = importlib.resources.files("klss_spiel").joinpath(*_FOLDER)
    return pathlib.Path(str(folder.joinpath(text + SUFFIX)))


def _read(file: pathlib.Path) -> tuple[dict[str, Array], dict[str, Any]]:
    try:
        with open(file, "rb") as opened:
            start = opened.read(8)
        if start.startswith(_PICKLES) and not _could_be_safetensors(start, file):
            raise WeightsError(
                f"{file} is a pickle or an archive: expected safetensors; pickles can run "
                "anything and are never loaded"
            )
        with safetensors.safe_open(str(file), framework="np") as opened_tensors:
            header = json.loads((opened_tensors.metadata() or {}).get(_HEADER, "null"))
            arrays = {name: opened_tensors.get_tensor(name) for name in opened_tensors.keys()}  # noqa: SIM118
    except WeightsError:
        raise
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise WeightsError(f"{file} is broken or not safetensors: {error}") from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        found = header.get("format") if isinstance(header, dict) else "none"
        raise WeightsError(
            f"{file}: expected weights of this package in format {_FORMAT}, got {found}"
        )
    return arrays, header


def _could_be_safetensors(start: bytes, file: pathlib.Path) -> bool:
    """Whether the first bytes make sense as the length of a header."""
    return 8 + int.from_bytes(start, "little") <= file.stat().st_size


def _metadata(
    file: pathlib.Path, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> Metadata:
    fields = {field.name for field in dataclasses.fields(Metadata)}
    try:
        values = {name: header[name] for name in fields}
        values["shapes"] = {name: tuple(shape) for name, shape in values["shapes"].items()}
    except (KeyError, AttributeError, TypeError) as error:
        raise WeightsError(f"{file}: expected the metadata {sorted(fields)}: {error!r}") from error
    _check_same(file, "shapes", values["shapes"], {name: a.shape for name, a in arrays.items()})
    return Metadata(**values)


def _check_what(
    file: pathlib.Path,
    metadata: Metadata,
    kind: str,
    game: str | None,
    feature_version: int | None,
) -> None:
    """Refuses what is of another kind, for another game or other inputs; None for any."""
    for what, expected, found in (
        ("kind", kind, metadata.kind),
        ("game", game, metadata.game),
        ("feature version", feature_version, metadata.feature_version),
    ):
        if expected is not None and expected != found:
            raise WeightsError(f"{file}: expected the {what} {expected!r}, got {found!r}")


def _check_same(
    file: pathlib.Path, what: str, expected: Mapping[str, Any], found: Mapping[str, Any]
) -> None:
    """Says where two mappings by names differ."""
    if dict(expected) == dict(found):
        return
    differing = [
        f"{name}: {expected.get(name, 'nothing')} expected, got {found.get(name, 'nothing')}"
        for name in dict.fromkeys([*expected, *found])
        if expected.get(name, "nothing") != found.get(name, "nothing")
    ]
    raise WeightsError(f"{file}: other {what} than expected: {'; '.join(differing)}")


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings within settings by names such as "loss.entropy"."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _like(file: pathlib.Path, like: Tree, arrays: Mapping[str, Array]) -> Tree:
    """The arrays in the containers of `like`, if they have its shapes and types."""
    wanted = named_arrays(like)
    for what, of in (("shapes", np.shape), ("types", lambda array: str(array.dtype))):
        expected, found = (
            {name: of(array) for name, array in some.items()} for some in (wanted, arrays)
        )
        _check_same(file, what, expected, found)
    return replace_arrays(like, arrays)
