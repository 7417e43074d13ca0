"""Play any registered two-player zero-sum game against a bot, in a terminal.

    python -m klss_spiel.run.play --game=leduc_poker --bot=search
    python -m klss_spiel.run.play --game=python_dark_chess --bot=search --budget_seconds=5

You see what your player is told and nothing else. Type an action as the game writes it
or by its number; `?` lists the legal ones, `quit` leaves. With --human=none the bot
plays against --opponent, and both reports are shown.

The dialogue goes to standard output, the bot's reports (--reports) to standard error;
the result is one row, with --json as JSON in place of the dialogue.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.settings import PRESETS, parse_settings
from klss_spiel.budget import Budget
from klss_spiel.openspiel import check_supported, load_game, turn_based
from klss_spiel.run import output

HUMAN = "human"
BOTS = ("search", "random")
_QUIT = ("quit", "q", "exit")
_LIST = ("?", "help")


@dataclasses.dataclass(frozen=True)
class Config:
    """A game to be played.

    Attributes:
      game: game string.
      players: who plays for player 0 and for player 1: HUMAN or one of BOTS.
      preset: settings of the search.
      budget: of each of its decisions.
      seed: of chance and of the bots.
    """

    game: str
    players: tuple[str, str]
    preset: str = "obscuro"
    budget: Budget = dataclasses.field(default_factory=lambda: Budget(seconds=2.0))
    seed: int = 0


class Quit(Exception):
    """The human player has left."""


def run(
    config: Config,
    read: Callable[[], str],
    show: Callable[[str], None],
    report: Callable[[str], None],
) -> dict[str, Any]:
    """Plays one game.

    Args:
      config: the game.
      read: returns what the human types next; raises EOFError when there is no more.
      show: gets the text that the human is to see.
      report: gets what bots say about their decisions.

    Returns:
      One row: the game, who played, how many moves, and the returns (None if a human
      left before the end).
    """
    game = turn_based(load_game(config.game))
    check_supported(game)
    rng = np.random.default_rng(config.seed)
    bots = {p: _bot(config, game, p) for p in (0, 1) if config.players[p] != HUMAN}
    state = game.new_initial_state()
    moves = 0
    returns: list[float] | None = None
    try:
        while not state.is_terminal():
            player = state.current_player()
            if player == pyspiel.PlayerId.CHANCE:
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                action = int(rng.choice(actions, p=np.array(weights) / sum(weights)))
            elif player in bots:
                action = bots[player].step(state)
                said = getattr(bots[player], "report", None)
                if said is not None:
                    report(f"player {player}: {said}")
            else:
                show(_view(state, player))
                action = _ask(state, player, read, show)
            moves += player != pyspiel.PlayerId.CHANCE
            state.apply_action(action)
        returns = list(state.returns())
        for p in (0, 1):
            if config.players[p] == HUMAN:
                show(f"The game is over; you get {returns[p]:g}.")
    except (Quit, EOFError):
        show("You left the game.")
    return {
        "game": config.game,
        "player_0": config.players[0],
        "player_1": config.players[1],
        "moves": moves,
        "return_0": None if returns is None else returns[0],
        "return_1": None if returns is None else returns[1],
    }


def _bot(config: Config, game: Any, player: int) -> Any:
    kind = config.players[player]
    if kind == "search":
        settings = parse_settings(config.preset)
        return SearchBot(game, player, config.budget, settings, seed=config.seed)
    if kind == "random":
        return pyspiel.make_uniform_random_bot(player, config.seed + player)
    raise ValueError(f"expected players among {(HUMAN, *BOTS)}, got {kind!r}")


def _view(state: Any, player: int) -> str:
    """What the player is told: a board where the game is chess, else the game's words."""
    moment = getattr(state, "moment", None)
    if moment is not None:
        from klss_spiel.games.chess import render

        # The words say what a board cannot: what an umpire announced.
        return f"\n{render.text(state, player)}\n{state.observation_string(player)}"
    if state.get_game().get_type().provides_observation_string:
        return f"\n{state.observation_string(player)}"
    return f"\n{state.information_state_string(player)}"


def _ask(state: Any, player: int, read: Callable[[], str], show: Callable[[str], None]) -> int:
    """The action the human chooses."""
    legal = {state.action_to_string(player, action): action for action in state.legal_actions()}
    show(f"Your move, player {player} ({len(legal)} legal; ? lists them):")
    while True:
        typed = read().strip()
        if typed in _QUIT:
            raise Quit
        if typed in legal:
            return int(legal[typed])
        if typed.isdigit() and int(typed) in legal.values():
            return int(typed)
        if typed and typed not in _LIST:
            show(f"{typed!r} is not a legal action.")
        show("  ".join(f"{action}: {text}" for text, action in legal.items()))


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_bool("json", False, "Print the result as JSON; the dialogue goes to stderr.")
    flags.DEFINE_string("game", "kuhn_poker", "OpenSpiel game string.")
    flags.DEFINE_enum("bot", "search", BOTS, "Who plays against you.")
    flags.DEFINE_enum("human", "0", ["0", "1", "none"], "For which player you play, if any.")
    flags.DEFINE_enum("opponent", "random", BOTS, "The bot's opponent with --human=none.")
    flags.DEFINE_enum("preset", "obscuro", list(PRESETS), "Settings of the search.")
    flags.DEFINE_float("budget_seconds", 2.0, "Seconds per decision.", lower_bound=0.0)
    flags.DEFINE_integer(
        "budget_nodes", None, "Nodes per decision instead of seconds: can be repeated exactly."
    )
    flags.DEFINE_integer("seed", 0, "Seed of chance and of the bots.")
    flags.DEFINE_bool("reports", True, "Show what the bot says about its decisions.")


def main() -> None:
    """Reads the flags, plays, prints."""
    output.use_double_precision()
    values = flags.FLAGS
    if values.human == "none":
        players = (values.bot, values.opponent)
    else:
        players = (HUMAN, values.bot) if values.human == "0" else (values.bot, HUMAN)
    nodes = values.budget_nodes
    budget = Budget(seconds=values.budget_seconds) if nodes is None else Budget(nodes=nodes)
    config = Config(values.game, players, values.preset, budget, values.seed)
    stream = sys.stderr if values.json else sys.stdout

    def show(text: str) -> None:
        print(text, file=stream, flush=True)

    def report(text: str) -> None:
        if values.reports:
            print(text, file=sys.stderr, flush=True)

    row = run(config, input, show, report)
    if values.json or values.human == "none":
        output.emit([row], values.json)


if __name__ == "__main__":
    output.run_binary(define_flags, main)
