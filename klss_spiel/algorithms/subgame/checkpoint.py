"""Finished solves of a refinement on disk."""

from __future__ import annotations

import os
import time

import numpy as np

from klss_spiel.arrays import FloatArray
from klss_spiel.npz_files import BrokenFileError, load_arrays

_SECONDS_BETWEEN_SAVES = 10.0


class Checkpoint:
    """A file of solutions by infoset. Mutable.

    Attributes:
      solutions: those of an earlier run; for each infoset, behaviour in its region.
    """

    def __init__(self, path: str | os.PathLike[str], key: str) -> None:
        self._path = os.fspath(path)
        self._key = key
        self._next = time.monotonic() + _SECONDS_BETWEEN_SAVES
        self.solutions: dict[int, FloatArray] = {}
        if not os.path.exists(self._path):
            return
        data = load_arrays(
            self._path, ("key", "infosets", "lengths", "behaviors"), "a refinement's solves"
        )
        if str(data["key"]) != self._key:
            raise ValueError(
                f"{self._path} holds another refinement (game, blueprint, method, infosets, "
                "solver or bounds differ); remove it or choose another file"
            )
        if len(data["infosets"]) != len(data["lengths"]) or len(data["behaviors"]) != int(
            data["lengths"].sum()
        ):
            raise BrokenFileError(f"{self._path} holds solves of other lengths than it says")
        parts = np.split(data["behaviors"], np.cumsum(data["lengths"])[:-1])
        self.solutions = dict(zip(data["infosets"].tolist(), parts, strict=False))

    def save_now_and_then(self, solutions: dict[int, FloatArray]) -> None:
        """Saves unless it was done a moment ago."""
        if time.monotonic() >= self._next:
            self.save(solutions)
            self._next = time.monotonic() + _SECONDS_BETWEEN_SAVES

    def save(self, solutions: dict[int, FloatArray]) -> None:
        """Replaces the file in one step."""
        new_path = self._path + ".new"
        with open(new_path, "wb") as file:
            np.savez_compressed(
                file,
                key=np.array(self._key),
                infosets=np.array(list(solutions), dtype=np.int32),
                lengths=np.array([len(b) for b in solutions.values()], dtype=np.int64),
                behaviors=np.concatenate([np.zeros(0), *solutions.values()]),
            )
        os.replace(new_path, self._path)
