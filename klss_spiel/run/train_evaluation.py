r"""Trains the package's own evaluation network of 8x8 chess.

python -m klss_spiel.run.train_evaluation --output=network.safetensors
python -m klss_spiel.run.train_evaluation --output=network.safetensors --teacher=FILE.nnue

Positions come from noisy one-ply play by the hand-made evaluation, captures resolved; the
second half comes from play by a network that was trained on the first half. They are
labelled by the teacher: the network of an installed Stockfish (15.1 of Debian's package
`stockfish`, whose network is CC0), or a file of the kind HalfKAv2_hm.

The defaults take about a quarter of an hour of one core and 1 GB of disk. Positions are
kept in NAME.positions beside the output, the state of training in NAME.training.safetensors,
and the same command goes on from there after Ctrl-C or a kill; both may be deleted
afterwards. The same flags and teacher give the same network. --tune fits it to results of
Fog-of-War games.

Positions are made and labelled in blocks, on more processes or machines that see the folder
(--executor), with the same result. --shard=i/n makes every n-th block and does not train:
those of the second half once a run without it has trained the first network.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from absl import flags, logging

from klss_spiel import jobs as job_module
from klss_spiel import weights
from klss_spiel.executors import IN_PROCESS, parse_executor
from klss_spiel.progress import Progress
from klss_spiel.run import job_flags, output
from klss_spiel.run.labelled_positions import LabelledPositions, joined


@dataclasses.dataclass(frozen=True)
class Config:
    """What to train.

    Attributes:
      output: file of the network.
      teacher: file of the teacher, or None for that of an installed Stockfish.
      teacher_licence: of a teacher whose licence is not known; written into the file.
      positions: to train on.
      test_positions: of other games, to measure on.
      epochs: passes over the positions.
      batch: positions per step.
      rate: of learning at the beginning.
      seed: of everything.
      licence: that is written into the file.
      tune: files of games (run.match) to whose results a trained network is fitted.
      network: that is tuned, a file or a shipped name.
      executor: where positions are made.
      shard: "i/n" to make every n-th block of positions only.
      command: that is written into the file.
    """

    output: str
    teacher: str | None = None
    teacher_licence: str | None = None
    positions: int = 24_000_000
    test_positions: int = 250_000
    epochs: int = 6
    batch: int = 1024
    rate: float = 3e-3
    seed: int = 0
    licence: str = "Apache-2.0"
    tune: tuple[str, ...] = ()
    network: str = "chess_network"
    executor: str = IN_PROCESS
    shard: str | None = None
    command: str = "python -m klss_spiel.run.train_evaluation"

    def __post_init__(self) -> None:
        if not self.output.endswith(weights.SUFFIX):
            raise ValueError(f"expected an output named *{weights.SUFFIX}, got {self.output!r}")
        if min(self.positions // 2, self.test_positions) < 1:
            raise ValueError(
                "expected at least 2 positions to train on and 1 to test on, "
                f"got {self.positions} and {self.test_positions}"
            )
        parse_executor(self.executor)
        if self.shard is not None:
            job_flags.parse_shard(self.shard)


def run(config: Config) -> list[dict[str, Any]]:
    """Trains or tunes, saves, and returns rows of what was reached."""
    if config.tune:
        return [_tune(config)]
    from klss_spiel.games.chess.networks.network import Network
    from klss_spiel.games.chess.networks.teacher import load_teacher

    teacher = load_teacher(config.teacher, config.teacher_licence)
    logging.info(
        "the teacher is %s, %d wide, %s", teacher.name, teacher.network.width, teacher.source
    )
    start, cpu_start = time.monotonic(), time.process_time()
    data = LabelledPositions(
        folder=pathlib.Path(config.output).with_suffix(".positions"),
        teacher=config.teacher,
        teacher_name=teacher.name,
        seed=config.seed,
        command=config.command,
        executor=config.executor,
    )
    half = config.positions // 2
    player = str(data.folder / f"player{weights.SUFFIX}")
    if config.shard is not None:
        return _make_shard(config, data, player)
    test = data.read("test", config.test_positions)
    first = data.read("handmade", half)
    early = _train(config, "first", max(1, config.epochs // 3), first)
    _save_player(config, player, Network.rounded(early.parameters))
    second = data.read("network", config.positions - half, player)
    trainer = _train(config, "training", config.epochs, joined([first, second]))
    network = Network.rounded(trainer.parameters)
    row = {
        "positions": config.positions,
        "epochs": config.epochs,
        "seed": config.seed,
        "teacher": teacher.name,
        "test_positions": config.test_positions,
        **_figures(network, trainer.parameters, test),
        "minutes_of_last_run": (time.monotonic() - start) / 60.0,
        "cpu_minutes_of_last_run": (time.process_time() - cpu_start) / 60.0,
    }
    origin = {"teacher_source": teacher.source, "teacher_licence": teacher.licence}
    _save(config, network, {**row, **origin, "data": _DATA})
    return [row]


def _make_shard(config: Config, data: LabelledPositions, player: str) -> list[dict[str, Any]]:
    """Rows of the blocks that a shard has made, or found."""
    half = config.positions // 2
    blocks = [*data.jobs("test", config.test_positions), *data.jobs("handmade", half)]
    if pathlib.Path(player).exists():
        blocks += data.jobs("network", config.positions - half, player)
    index, count = job_flags.parse_shard(str(config.shard))
    return data.make(job_module.shard(blocks, index, count))


def _save_player(config: Config, path: str, network: Any) -> None:
    """Writes the network that plays the second half, for all workers, unless it is there."""
    from klss_spiel.games.chess.networks.network import digest_of, load_network, save_network

    if pathlib.Path(path).exists() and digest_of(load_network(path)) == digest_of(network):
        return
    save_network(path, network, config.seed, config.command, config.licence, {})


_DATA = "quiet ends of noisy one-ply play, half by handmade, half by a first network"


def _train(config: Config, name: str, epochs: int, data: Any) -> Any:
    """Trains for some epochs; goes on from a checkpoint, which is replaced after each."""
    from klss_spiel.games.chess.networks.training import Settings, Trainer

    settings = Settings(epochs=epochs, batch=config.batch, rate=config.rate)
    trainer = Trainer(settings, config.seed)
    checkpoint = weights.Checkpoint(
        pathlib.Path(config.output).with_suffix(f".{name}{weights.SUFFIX}"),
        weights.Metadata(
            f"chess_network_{name}_{epochs}_{config.batch}_{config.rate}_{len(data)}",
            seed=config.seed,
            command=config.command,
        ),
    )
    found = checkpoint.restore(trainer.state())
    if found is not None:
        trainer.restore(*found)
    while trainer.epochs < epochs:
        progress = Progress(f"epoch {trainer.epochs + 1} of {epochs}", len(data))
        loss = trainer.epoch(data, progress.update)
        checkpoint.save(trainer.epochs, trainer.state())
        logging.info("epoch %d of %d: error %.4f", trainer.epochs, epochs, loss**0.5)
    return trainer


def _figures(network: Any, parameters: Any, test: Any) -> dict[str, float]:
    """How near a network and the hand-made evaluation come to the teacher."""
    from klss_spiel.games.chess.networks.training import predict
    from klss_spiel.games.chess.packed import positions as packed

    def to_mover(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(test.sides, -values, values)

    board = packed.layout(8, 8)
    values = to_mover(network.evaluate(board, test.positions, test.sides))
    handmade = to_mover(packed.evaluate(board, test.positions, test.sides))

    def correlation(found: npt.NDArray[Any]) -> float:
        return float(np.corrcoef(found, test.targets)[0, 1])

    def error(found: npt.NDArray[Any]) -> float:
        return float(np.sqrt(np.mean((found - test.targets) ** 2)))

    return {
        "correlation": correlation(values),
        "error": error(values),
        "error_before_rounding": error(predict(parameters, test)),
        "handmade_correlation": correlation(handmade),
        "handmade_error": error(handmade),
    }


def _save(config: Config, network: Any, extra: dict[str, Any]) -> None:
    from klss_spiel.games.chess.networks.network import save_network

    save_network(config.output, network, config.seed, config.command, config.licence, extra)


def _tune(config: Config) -> dict[str, Any]:
    """Fits a network to results of games, and says what that does to games left out."""
    from klss_spiel.games.chess.networks import tuning
    from klss_spiel.games.chess.networks.network import load_network

    network = load_network(config.network)
    games = [game for path in config.tune for game in _games(path)]
    played = tuning.played_positions(games)
    held_out = played.games % 5 == 0
    if held_out.all() or not held_out.any():
        raise ValueError(f"expected at least 2 games to tune on, got {len(games)}")
    kept, left = (_some(played, which) for which in (~held_out, held_out))
    checked = tuning.scaled(network, tuning.fit_gains(network, kept))
    gains = tuning.fit_gains(network, played)
    row = {
        "network": config.network,
        "games": len(games),
        "tuned_positions": len(played.sides),
        "error_on_games_left_out": tuning.error_of(network, left),
        "error_there_after_tuning_on_others": tuning.error_of(checked, left),
        "gains": [round(float(gain), 3) for gain in gains],
    }
    before = dict(weights.read_metadata(config.network).extra)
    _save(config, tuning.scaled(network, gains), {**before, "tuning": row})
    return row


def _games(path: str) -> list[tuple[list[str], float]]:
    """Moves and White's result of the games of a match that ended by the rules."""
    from klss_spiel.row_files import read_rows

    return [
        (str(row["moves"]).split(), float(row["return_0"]))
        for row in read_rows(path)
        if row.get("termination") == "rules"
    ]


def _some(played: Any, which: npt.NDArray[np.bool_]) -> Any:
    fields = {field.name: getattr(played, field.name) for field in dataclasses.fields(played)}
    return dataclasses.replace(played, **{name: array[which] for name, array in fields.items()})


def define_flags() -> None:
    """Defines the flags of this binary."""
    defaults = Config(output=f"x{weights.SUFFIX}")
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    flags.DEFINE_string("output", None, "File of the network (.safetensors).", required=True)
    flags.DEFINE_string("teacher", None, "Network file (.nnue); else that of `stockfish`.")
    flags.DEFINE_string(
        "teacher_licence", None, "Of a --teacher of which it is not known; written into the file."
    )
    flags.DEFINE_integer("positions", defaults.positions, "To train on.")
    flags.DEFINE_integer("test_positions", defaults.test_positions, "Of other games, to measure.")
    flags.DEFINE_integer("epochs", defaults.epochs, "Passes over the positions.")
    flags.DEFINE_integer("batch", defaults.batch, "Positions per step of training.")
    flags.DEFINE_float("rate", defaults.rate, "Of learning at the beginning.")
    flags.DEFINE_integer("seed", defaults.seed, "Of everything.")
    flags.DEFINE_string("licence", defaults.licence, "Written into the file.")
    flags.DEFINE_multi_string(
        "tune",
        [],
        "File of Fog-of-War games (--output of klss_spiel.run.match, from the standard start); "
        "fits --network to their results instead of training one.",
    )
    flags.DEFINE_string("network", defaults.network, "What --tune starts from: file or name.")
    flags.DEFINE_string(
        "executor",
        defaults.executor,
        "Where positions are made: in_process, processes:N, ray:auto or ray:HOST:PORT.",
    )
    flags.DEFINE_string(
        "shard",
        None,
        "i/n: only make every n-th block of positions from number i on, for one of n machines.",
    )


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, runs, prints."""
    values = flags.FLAGS
    names = [field.name for field in dataclasses.fields(Config) if field.name != "command"]
    given: dict[str, Any] = {name: values[name].value for name in names}
    given["tune"] = tuple(given["tune"])
    command = f"{Config.command} {' '.join(sys.argv[1:])}".strip()
    output.emit(run(Config(**given, command=command)), values.json)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
