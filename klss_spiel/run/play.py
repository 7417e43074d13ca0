"""Play any registered two-player zero-sum game against a bot, in a terminal.

    python -m klss_spiel.run.play --game=leduc_poker
    python -m klss_spiel.run.play --game=python_dark_chess --bot="search(nodes=2000)" --clock=3+2

You see what your player is told and nothing else. Type an action as the game writes it,
in any case, or by its number; chess takes UCI and SAN. These are no actions:

    ?             lists the legal actions
    help          lists these words
    hint          asks a search that knows what you know
    undo          takes your last move back (without a clock)
    save [FILE]   writes the game when it is over: .pgn for chess, .json for any game
    resign        loses the game
    quit          leaves it

With --human=none two bots play and the moves are printed. Bots are specifications as in
`klss_spiel.run.match`. The dialogue goes to standard output, bots' reports (--reports; off
while a human plays, as they tell what the bot knows) to standard error; the result is one
row, with --json as JSON in place of the dialogue.
"""

from __future__ import annotations

import sys
from typing import Final

from absl import flags, logging

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.algorithms.search.settings import PRESETS
from klss_spiel.run import output
from klss_spiel.run.dialogue import HUMAN as HUMAN
from klss_spiel.run.dialogue import Config as Config
from klss_spiel.run.dialogue import run as run

# Games that are too large to list what is possible have a search of their own.
_OWN_SEARCHES: Final = {"python_two_player_mahjong": "mahjong_search(simulations=400)"}


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_bool("json", False, "Print the result as JSON; the dialogue goes to stderr.")
    flags.DEFINE_string("game", "kuhn_poker", "OpenSpiel game string.")
    flags.DEFINE_string("bot", "search", "Who plays against you: a specification.")
    flags.DEFINE_enum("human", "0", ["0", "1", "none"], "For which player you play, if any.")
    flags.DEFINE_string("opponent", "random", "The bot's opponent with --human=none.")
    flags.DEFINE_enum("preset", "strong", list(PRESETS), "Settings of a plain `search`.")
    flags.DEFINE_float("budget_seconds", 2.0, "Seconds per decision.", lower_bound=0.0)
    flags.DEFINE_integer(
        "budget_nodes",
        None,
        "Nodes per decision of a plain `search` instead: can be repeated exactly.",
    )
    flags.DEFINE_string("clock", None, "Minutes+seconds such as 3+2, or seconds as in 9s+0.1.")
    flags.DEFINE_integer("seed", 0, "Seed of chance and of the bots.")
    flags.DEFINE_string("save", None, "File for the game: .pgn for chess, .json for any.")
    flags.DEFINE_bool(
        "reports", None, "Show what bots say about their decisions; by default if no human plays."
    )


def config_from_flags() -> Config:
    """What the flags ask for."""
    values = flags.FLAGS

    def completed(bot: str) -> str:
        if bot != "search":
            return bot
        if values.game.partition("(")[0] in _OWN_SEARCHES:
            return _OWN_SEARCHES[values.game.partition("(")[0]]
        nodes = "" if values.budget_nodes is None else f",nodes={values.budget_nodes}"
        return f"search(preset={values.preset}{nodes})"

    bot, opponent = completed(values.bot), completed(values.opponent)
    players = {"none": (bot, opponent), "0": (HUMAN, bot), "1": (bot, HUMAN)}[values.human]
    return Config(
        game=values.game,
        players=players,
        seconds=values.budget_seconds,
        clock=values.clock,
        seed=values.seed,
        hints=completed("search"),
        save=values.save,
    )


@output.callable_with_flags(define_flags)
def main() -> None:
    """Reads the flags, plays, prints."""
    output.use_double_precision()
    values = flags.FLAGS
    config = config_from_flags()
    stream = sys.stderr if values.json else sys.stdout
    reports = HUMAN not in config.players if values.reports is None else values.reports

    def show(text: str) -> None:
        print(text, file=stream, flush=True)

    def report(text: str) -> None:
        if reports:
            print(text, file=sys.stderr, flush=True)

    verbosity = logging.get_verbosity()
    if HUMAN in config.players and values["verbosity"].using_default_value:
        logging.set_verbosity(logging.WARNING)  # news of the search are no help amid a board
    try:
        row = run(config, input, show, report)
    finally:
        logging.set_verbosity(verbosity)
    if values.json or values.human == "none":
        shown = [column for column in row if column not in ("moves", "actions")]
        output.emit([row], values.json, output.format_table([row], shown))


if __name__ == "__main__":
    output.run_binary(define_flags, main)
