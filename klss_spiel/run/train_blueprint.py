r"""Trains a blueprint by self-play, or a model of what a blueprint does.

python -m klss_spiel.run.train_blueprint --game=python_two_player_mahjong --minutes=45 \
    --output=mahjong.safetensors
python -m klss_spiel.run.train_blueprint --game=python_two_player_mahjong --minutes=5 \
    --model_of=mahjong.safetensors --output=mahjong_model.safetensors

Any game with a compiled environment can be trained (a `pyspiel.Game` with a method
`trainable_game`). The state of training is kept beside the output, as NAME.training.safetensors,
and the same command goes on from there, with other --minutes, --updates and --pairs if they are
wanted; other settings are refused, and so is an --output that another run has made. The same seed
and --updates give the same network; --minutes only stops, counting time of this process.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from absl import flags, logging

from klss_spiel import openspiel, weights
from klss_spiel import plot as figures
from klss_spiel.run import job_flags, output

_LOSSES = ("ach", "ppo")
_SECONDS_BETWEEN_LINES = 300.0
_SECONDS_BETWEEN_SAVES = 180.0


@dataclasses.dataclass(frozen=True)
class Config:
    """What to train.

    Attributes:
      game: OpenSpiel's string.
      loss: "ach" or "ppo".
      output: file of the blueprint.
      minutes: when to stop, or None.
      updates: when to stop, or None.
      start: file of a blueprint whose weights to start with, or None for random ones.
      clone_updates: updates that learn from the game's simple player first.
      clone_batch: decisions per step of Adam in these updates; 0 for all of an update.
      width: of the network.
      blocks: residual layers of the network.
      num_games: games side by side.
      steps: decisions per game and update.
      learning_rate: of Adam.
      last_learning_rate: reached after `decay_updates`, linearly.
      decay_updates: see there; 0 keeps the rate.
      entropy: weight of the entropy, or None for the loss's own.
      probability_floor: see `losses.Loss`, or None for the loss's own.
      pairs: deals of the final measurement against each simple opponent.
      seed: of everything.
      model_of: file of a blueprint; a model of its moves is trained instead.
      command: that is written into the file.
    """

    game: str
    loss: str
    output: str
    minutes: float | None
    updates: int | None
    start: str | None
    clone_updates: int
    clone_batch: int
    width: int
    blocks: int
    num_games: int
    steps: int
    learning_rate: float
    last_learning_rate: float
    decay_updates: int
    entropy: float | None
    probability_floor: float | None
    pairs: int
    seed: int
    model_of: str | None
    command: str


def trainable_game(name: str) -> Any:
    """The game of a string as training sees it.

    Raises:
      ValueError: if it has no compiled environment.
    """
    game = openspiel.load_game(name)
    offer = getattr(game, "trainable_game", None)
    if offer is None:
        raise ValueError(f"expected a game with a compiled environment to train on, got {game}")
    return offer()


def run(config: Config) -> list[dict[str, Any]]:
    """Trains, saves, and returns one row per simple opponent."""
    from klss_spiel.algorithms.blueprints import losses, training
    from klss_spiel.algorithms.blueprints.blueprint import (
        KIND,
        NetworkBlueprint,
        load_blueprint,
        save_blueprint,
    )

    if config.minutes is None and config.updates is None:
        raise ValueError("expected --minutes or --updates to say when to stop, got neither")
    game = trainable_game(config.game)
    if config.model_of is not None:
        return [_train_model(config, game)]
    loss = losses.LOSSES[config.loss]
    if config.entropy is not None:
        loss = dataclasses.replace(loss, entropy=config.entropy)
    if config.probability_floor is not None:
        loss = dataclasses.replace(loss, probability_floor=config.probability_floor)
    settings = training.Settings(
        loss=loss,
        clone_updates=config.clone_updates,
        clone_batch=config.clone_batch,
        num_games=config.num_games,
        steps=config.steps,
        width=config.width,
        blocks=config.blocks,
        learning_rate=config.learning_rate,
        last_learning_rate=config.last_learning_rate,
        decay_updates=config.decay_updates,
        seed=config.seed,
    )
    trainer = training.Trainer(game, settings)
    if config.start is not None:
        trainer.start_from(load_blueprint(config.start, game).parameters)
    path = pathlib.Path(config.output)
    start_name = None if config.start is None else pathlib.Path(config.start).stem
    run_settings = {**dataclasses.asdict(settings), "start": start_name}
    metadata = weights.Metadata(
        kind=f"blueprint_training_{config.loss}",
        game=game.name,
        feature_version=game.feature_version,
        seed=config.seed,
        command=config.command,
        extra={"settings": run_settings},
    )
    training_path = path.with_suffix(f".training{weights.SUFFIX}")
    checkpoint = weights.Checkpoint(training_path, metadata, _SECONDS_BETWEEN_SAVES)
    found = checkpoint.restore(trainer.state())
    if path.exists():
        weights.check_same_run(path, dataclasses.replace(metadata, kind=KIND))
        if found is None:
            raise weights.WeightsError(
                f"{path}: expected a new file, or one with the state of its training in "
                f"{training_path}, got one without"
            )
    if found is not None:
        trainer.restore(*found)
        logging.info("goes on after %d updates", trainer.updates)
    start, cpu_start, first = time.monotonic(), time.process_time(), trainer.updates
    deadline = start + 60.0 * (math.inf if config.minutes is None else config.minutes)
    last = math.inf if config.updates is None else config.updates
    next_line = start

    def blueprint() -> NetworkBlueprint:
        return NetworkBlueprint(config.output, trainer.average, game.reward_scale)

    def progress() -> dict[str, Any]:
        """Figures that a file carries."""
        return {
            "updates": trainer.updates,
            "decisions": trainer.updates * settings.num_games * settings.steps,
            "minutes_of_last_run": (time.monotonic() - start) / 60.0,
            "cpu_minutes_of_last_run": (time.process_time() - cpu_start) / 60.0,
            "settings": run_settings,
        }

    while trainer.updates < last and time.monotonic() < deadline:
        report = trainer.update()
        if time.monotonic() >= next_line:
            points = {
                name: float(
                    game.strength(blueprint().chooser(0, sampled=False), name, 250, 1).mean()
                )
                for name in game.opponents
            }
            rate = (trainer.updates - first) * settings.num_games * settings.steps
            logging.info(
                "update %d: policy %.4f, value %.4f, entropy %.3f; points per game %s; "
                "%.0f decisions per CPU second",
                trainer.updates,
                *report,
                ", ".join(f"{value:+.2f} v {name}" for name, value in points.items()),
                rate / (time.process_time() - cpu_start),
            )
            next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
        if checkpoint.save_now_and_then(trainer.updates, trainer.state()):
            save_blueprint(path, game, trainer.average, config.seed, progress(), config.command)
    checkpoint.save(trainer.updates, trainer.state())
    spent = progress()
    rows = [
        _strength_row(game, blueprint(), opponent, sampled, config, spent)
        for opponent in game.opponents
        for sampled in (True, False)
    ]
    shown = ("opponent", "plays", "games", "points", "half_width")
    figures = [{name: row[name] for name in shown} for row in rows]
    extra = {**spent, "strength": figures}
    save_blueprint(path, game, trainer.average, config.seed, extra, config.command)
    return rows


def _train_model(config: Config, game: Any) -> dict[str, Any]:
    """Trains a model of what the blueprint's opponents see of it."""
    from klss_spiel.algorithms.blueprints import opponent_model
    from klss_spiel.algorithms.blueprints.blueprint import load_blueprint

    blueprint = load_blueprint(str(config.model_of), game)
    settings = opponent_model.Settings(
        num_games=config.num_games,
        batch=32 * config.num_games,
        width=config.width,
        blocks=config.blocks,
        seed=config.seed,
    )
    if pathlib.Path(config.output).exists():
        raise weights.WeightsError(
            f"{config.output}: expected a new file, since training of models does not go on, "
            "got one that is there"
        )
    trainer = opponent_model.ModelTrainer(game, blueprint, settings)
    start = time.monotonic()
    deadline = start + 60.0 * (math.inf if config.minutes is None else config.minutes)
    last = math.inf if config.updates is None else config.updates
    recent: list[tuple[float, float]] = []
    while trainer.updates < last and time.monotonic() < deadline:
        recent = [*recent[-19:], trainer.update()]
        if trainer.updates % 50 == 0:
            logging.info("update %d: cross-entropy %.4f, blind %.4f", trainer.updates, *recent[-1])
    figures = {
        "updates": trainer.updates,
        "moves": trainer.updates * settings.batch,
        "minutes": (time.monotonic() - start) / 60.0,
        "cross_entropy": sum(found for found, _ in recent) / len(recent),
        "blind_cross_entropy": sum(blind for _, blind in recent) / len(recent),
    }
    extra = {
        **figures,
        "model_of": pathlib.Path(str(config.model_of)).name,
        "settings": dataclasses.asdict(settings),
    }
    opponent_model.save_model(
        config.output, game, trainer.parameters, config.seed, extra, config.command
    )
    return {"game": config.game, "model_of": config.model_of, "seed": config.seed, **figures}


def _strength_row(
    game: Any,
    blueprint: Any,
    opponent: str,
    sampled: bool,
    config: Config,
    spent: dict[str, Any],
) -> dict[str, Any]:
    choose = blueprint.chooser(config.seed, sampled)
    points = game.strength(choose, opponent, config.pairs, config.seed + 1)
    return {
        "game": config.game,
        "loss": config.loss,
        "seed": config.seed,
        "updates": spent["updates"],
        "decisions": spent["decisions"],
        "minutes": spent["minutes_of_last_run"],
        "opponent": opponent,
        "plays": "sampled" if sampled else "most likely",
        "games": 2 * config.pairs,
        "points": float(points.mean()),
        "half_width": float(1.96 * points.std(ddof=1) / math.sqrt(len(points))),
    }


def plot(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """Draws points per game with 95% intervals, or the cross-entropies of a model."""
    if "points" in rows[0]:
        title = "points per game; bars are 95% intervals"
        halves = {"points": "half_width"}
        figures.bars(rows, ("opponent", "plays"), ("points",), title, half_widths=halves, path=path)
        return
    shown = ("cross_entropy", "blind_cross_entropy")
    figures.bars(rows, "game", shown, "nats per move", path=path)


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_bool("json", False, "Print one JSON list instead of a table.")
    flags.DEFINE_string("game", "python_two_player_mahjong", "OpenSpiel's string of the game.")
    flags.DEFINE_enum("loss", "ach", _LOSSES, "What is minimised.")
    flags.DEFINE_string("output", None, "File of the blueprint (.safetensors).", required=True)
    flags.DEFINE_float("minutes", None, "When to stop, in minutes of this process.")
    flags.DEFINE_integer("updates", None, "When to stop, in updates of all runs together.")
    flags.DEFINE_string("start", None, "Blueprint whose weights to start with.")
    flags.DEFINE_integer("width", 256, "Of the network.")
    flags.DEFINE_integer("blocks", 2, "Residual layers of the network.")
    flags.DEFINE_float("last_learning_rate", 1e-4, "Reached after --decay_updates, linearly.")
    flags.DEFINE_integer(
        "decay_updates", 0, "Steps of Adam of a falling learning rate; 0 for none."
    )
    flags.DEFINE_integer("clone_batch", 0, "Decisions per step of Adam while cloning; 0: all.")
    flags.DEFINE_integer("clone_updates", 0, "Updates that learn the game's simple player first.")
    flags.DEFINE_integer("num_games", 256, "Games side by side.")
    flags.DEFINE_integer("steps", 16, "Decisions per game and update.")
    flags.DEFINE_float("learning_rate", 1e-3, "Of Adam.")
    flags.DEFINE_float("entropy", None, "Weight of the entropy; by default that of the loss.")
    flags.DEFINE_float("probability_floor", None, "Least probability that ACH divides by.")
    flags.DEFINE_integer("pairs", 2000, "Deals of the final measurement, each played twice.")
    flags.DEFINE_integer("seed", 0, "Of everything.")
    job_flags.define_plot_flag("points against simple opponents")
    flags.DEFINE_string("model_of", None, "Blueprint of whose moves a model is trained instead.")


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, runs, prints."""
    values = flags.FLAGS
    names = [field.name for field in dataclasses.fields(Config) if field.name != "command"]
    arguments = " ".join(sys.argv[1:])
    command = f"python -m klss_spiel.run.train_blueprint {arguments}"
    given: dict[str, Any] = {name: values[name].value for name in names}
    config = Config(**given, command=command)
    job_flags.check_plot(values.plot)
    rows = run(config)
    output.emit(rows, values.json)
    if values.plot:
        plot(rows, values.plot)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
