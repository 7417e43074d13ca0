"""A program that plays dark chess and Kriegspiel by text, as chess engines do.

    python -m klss_spiel.run.engine [--player="search(preset=obscuro)"]

It speaks UCI with views instead of positions; docs/view_protocol.md has a page about it.
A session:

    uci
    setoption name Game value python_dark_chess
    setoption name Colour value black
    ucinewgame
    position fog_fen rnbqkbnr/pppppppp/......../......../????????/????????/????????/???????? kq -
    go movetime 1000
    quit
"""

from __future__ import annotations

import sys

from absl import flags

import klss_spiel  # noqa: F401  (registers the games)
from klss_spiel.matches.view_engine import DEFAULT_PLAYER, ViewEngine
from klss_spiel.run import output


def define_flags() -> None:
    """Defines the flags of this binary."""
    flags.DEFINE_string("player", DEFAULT_PLAYER, "Specification of the player that thinks.")


def main() -> None:
    """Obeys standard input until `quit` or its end."""
    output.use_double_precision()

    def write(line: str) -> None:
        print(line, flush=True)

    engine = ViewEngine(write, flags.FLAGS.player)
    for line in sys.stdin:
        if not engine.command(line):
            return
    engine.close()


if __name__ == "__main__":
    output.run_binary(define_flags, main)
