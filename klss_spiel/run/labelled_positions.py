"""The data of `train_evaluation`: blocks of labelled chess positions, each one job.

A block is a file in a folder that all workers see. What is in it depends on the seed, the
teacher, the player and the block's number alone, so that blocks are the same whoever makes
them, and those that are there are not made again.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from klss_spiel import weights
from klss_spiel.executors import IN_PROCESS
from klss_spiel.jobs import Job, compute_rows, job_from_columns

BLOCK = 250_000
HANDMADE = "handmade"
_KIND = "chess_positions"


@dataclasses.dataclass(frozen=True)
class LabelledPositions:
    """Where positions come from and are kept.

    Attributes:
      folder: of the blocks.
      teacher: file of the teacher, or None for that of an installed Stockfish.
      teacher_name: what it is called.
      seed: of everything.
      command: that is written into the files.
      executor: where blocks are made; see `executors.parse_executor`.
    """

    folder: pathlib.Path
    teacher: str | None
    teacher_name: str
    seed: int
    command: str
    executor: str = IN_PROCESS

    def jobs(self, name: str, count: int, network: str | None = None) -> list[Job]:
        """A job for each block of `count` positions.

        Args:
          name: of the files, and of the stream of random numbers.
          count: how many positions.
          network: file of the network that plays; None for the hand-made evaluation.
        """
        player = HANDMADE
        if network is not None:
            from klss_spiel.games.chess.networks.network import digest_of

            player = f"network {digest_of(_network(network))}"
        sizes = [min(BLOCK, count - done) for done in range(0, count, BLOCK)]
        return [
            job_from_columns(
                make_block,
                {
                    "name": name,
                    "number": number,
                    "positions": size,
                    "seed": self.seed,
                    "teacher": self.teacher_name,
                    "player": player,
                },
                str(self.folder),
                self.teacher,
                network,
                self.command,
            )
            for number, size in enumerate(sizes)
        ]

    def make(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Makes the blocks that are missing; a row for each of all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        is_there = [_path(str(self.folder), job.columns).exists() for job in jobs]
        # Here, so that one of another run ends this one at once.
        rows = [
            {**job.columns, **make_block(*job.arguments)}
            for job, there in zip(jobs, is_there, strict=True)
            if there
        ]
        missing = [job for job, there in zip(jobs, is_there, strict=True) if not there]
        return rows + compute_rows(
            missing, self.executor, progress="blocks of positions", strict=True
        )

    def read(self, name: str, count: int, network: str | None = None) -> Any:
        """`training.Labelled` positions; what is missing is made. Arguments as of `jobs`."""
        jobs = self.jobs(name, count, network)
        self.make(jobs)
        blocks = [_read_block(_path(str(self.folder), job.columns), job.columns) for job in jobs]
        return joined(blocks)


def make_block(
    columns: Mapping[str, Any], folder: str, teacher: str | None, network: str | None, command: str
) -> dict[str, Any]:
    """Makes a block unless it is there; one that is there must be the same."""
    path = _path(folder, columns)
    if path.exists():
        _read_block(path, columns)
        return {"file": path.name, "was_there": True}
    from klss_spiel.games.chess.networks import noisy_play
    from klss_spiel.games.chess.packed import positions as packed

    labels = _teacher(teacher)
    if labels.name != columns["teacher"]:
        raise ValueError(f"expected the teacher {columns['teacher']} here too, got {labels.name}")
    evaluation = packed.evaluate if network is None else _network(network).evaluate
    rng = np.random.default_rng([columns["seed"], *columns["name"].encode(), columns["number"]])
    quiet = noisy_play.quiet_positions(columns["positions"], evaluation, rng)
    values = labels.network.evaluate(packed.layout(8, 8), quiet.positions, quiet.sides)
    targets = np.where(quiet.sides, -values, values).astype(np.float32)
    arrays = {"positions": quiet.positions, "sides": quiet.sides, "targets": targets}
    metadata = weights.Metadata(
        _KIND, seed=columns["seed"], command=command, extra=_identity(columns)
    )
    weights.save(path, arrays, metadata)
    return {"file": path.name, "was_there": False}


def joined(parts: Sequence[Any]) -> Any:
    """`training.Labelled` positions one after another."""
    from klss_spiel.games.chess.networks.training import Labelled

    names = [field.name for field in dataclasses.fields(Labelled)]
    return Labelled(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _path(folder: str, columns: Mapping[str, Any]) -> pathlib.Path:
    return pathlib.Path(folder) / f"{columns['name']}_{columns['number']:04d}{weights.SUFFIX}"


def _identity(columns: Mapping[str, Any]) -> dict[str, Any]:
    """What a block's file says of it, besides the seed."""
    return {key: columns[key] for key in ("teacher", "player", "positions")}


def _read_block(path: pathlib.Path, columns: Mapping[str, Any]) -> Any:
    from klss_spiel.games.chess.networks.training import Labelled

    expected, seed = _identity(columns), columns["seed"]
    found = weights.load(path, kind=_KIND)
    kept = {key: found.metadata.extra.get(key) for key in expected}
    if kept != expected or found.metadata.seed != seed:
        raise ValueError(
            f"expected {path} to hold {expected} of seed {seed}, got {kept} of seed "
            f"{found.metadata.seed}: delete {path.parent} or name another output"
        )
    return Labelled(**found.tree)


@functools.lru_cache(maxsize=1)
def _teacher(path: str | None) -> Any:
    from klss_spiel.games.chess.networks.teacher import load_teacher

    return load_teacher(path)


def _network(path: str) -> Any:
    # A file that was replaced is another network.
    return _loaded_network(path, os.stat(path).st_mtime_ns)


@functools.lru_cache(maxsize=1)
def _loaded_network(path: str, changed: int) -> Any:
    del changed
    from klss_spiel.games.chess.networks.network import load_network

    return load_network(path)
