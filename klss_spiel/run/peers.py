"""Seconds per CFR+ iteration of other packages, in an environment of their own.

Their pins of jax clash with ours, so they run in another interpreter: that which the
environment variable KLSS_SPIEL_PEERS names (`make peers` sets one up), otherwise this one.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

INTERPRETER = "KLSS_SPIEL_PEERS"

# Best of rounds of at least .05 s, as our own measurement; prints one JSON object.
_MEASURE = """
import contextlib, io, json, sys, time

def run(start, game, rounds):
    began = time.perf_counter()
    step = start(game)
    step()
    setup = time.perf_counter() - began
    chunk = 1
    def seconds():
        began = time.perf_counter()
        for _ in range(chunk):
            step()
        return time.perf_counter() - began
    while (taken := seconds()) < .05:
        chunk = max(2 * chunk, int(.5 * chunk * .05 / taken))
    return {"seconds": min(seconds() for _ in range(rounds)) / chunk, "setup_seconds": setup}

try:
    import pyspiel
    game = pyspiel.load_game(sys.argv[1])
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(sys.argv[3])
        answer = run(start, game, int(sys.argv[2]))
except ImportError as error:
    answer = {"missing": str(error)}
except Exception as error:
    answer = {"failed": f"{type(error).__name__}: {error}"}
print(json.dumps(answer))
"""

_OPENSPIEL_JAX = """
from open_spiel.python.jax.cfr.jax_cfr import JaxCFR

def start(game):
    return JaxCFR(game).step
"""

_LITE_EFG = """
import LiteEFG
import LiteEFG.baselines.CFRplus as baseline

def start(game):
    graph = baseline.graph()
    environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate", regenerate=True)
    environment.set_graph(graph)

    def step():
        graph.update_graph(environment)
        environment.update_strategy(graph.current_strategy())

    return step
"""

# Script that defines `start(game) -> step` by the name shown.
PEERS = {"openspiel_jax": _OPENSPIEL_JAX, "LiteEFG": _LITE_EFG}


class Unavailable(Exception):
    """A peer that cannot run here or not on this game, with the reason."""


@dataclasses.dataclass(frozen=True)
class PeerTime:
    """What a peer needs.

    Attributes:
      seconds: per iteration of both players.
      setup_seconds: until its first iteration is done.
    """

    seconds: float
    setup_seconds: float


def measure(peer: str, game: str, rounds: int, timeout: float = 600.0) -> PeerTime:
    """Runs a peer in a process of its own.

    Args:
      peer: a name out of PEERS.
      game: an OpenSpiel game string.
      rounds: the best of so many measurements counts.
      timeout: seconds after which it is given up.

    Raises:
      Unavailable: it is not installed, fails on this game or takes too long.
    """
    interpreter = os.environ.get(INTERPRETER, sys.executable)
    arguments = [interpreter, "-c", _MEASURE, game, str(rounds), PEERS[peer]]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"not done after {timeout:g} s") from None
    except OSError as error:
        raise Unavailable(f"{INTERPRETER} names no interpreter: {error}") from None
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise Unavailable(f"its process ended with {done.returncode}")
    answer = json.loads(lines[-1])
    if "missing" in answer:
        raise Unavailable(f"needs the extra 'peers', here or by `make peers` ({answer['missing']})")
    if "failed" in answer:
        raise Unavailable(f"does not run on this game ({answer['failed']})")
    return PeerTime(**answer)
