"""Players for tests of the server that think until a file appears: they live in workers."""

import os
import pathlib
import time
import uuid

from klss_spiel.matches.players import register_player
from klss_spiel.matches.sampling_players import Believer  # noqa: F401  (loads the players)
from klss_spiel.run.output import set_up_worker
from klss_spiel.veiled_state import VeiledState
from klss_spiel.web.catalogue import BotOffer

_SECONDS = 30.0
_OPEN = "open"
_THINKING = "thinking"
_CLOSED = "closed"


class Gate:
    """A folder through which a test and its players hear of each other."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def open(self):
        (self.folder / _OPEN).touch()

    def shut(self):
        """Closed again, and nobody has been seen yet."""
        for path in self.folder.iterdir():
            path.unlink()

    def is_open(self):
        return (self.folder / _OPEN).exists()

    def note(self, what):
        (self.folder / f"{what}-{os.getpid()}-{uuid.uuid4()}").touch()

    def count(self, what):
        return len(list(self.folder.glob(f"{what}-*")))

    @property
    def thinking(self):
        """How many turns have begun."""
        return self.count(_THINKING)

    @property
    def pids(self):
        """Processes in which somebody has been thinking."""
        return {int(path.name.split("-")[1]) for path in self.folder.glob(f"{_THINKING}-*")}

    @property
    def closed(self):
        return self.count(_CLOSED)

    def wait(self, what, least=1):
        """Until so many have been noted."""
        end = time.monotonic() + _SECONDS
        while self.count(what) < least and time.monotonic() < end:
            time.sleep(0.01)
        assert self.count(what) >= least

    def wait_for_thinking(self, least=1):
        self.wait(_THINKING, least)

    def wait_for_closed(self, least=1):
        self.wait(_CLOSED, least)


class Slow:
    """Thinks until the gate opens; closes if asked to."""

    def __init__(self, folder):
        self.gate = Gate(pathlib.Path(folder))

    def step(self, state):
        assert isinstance(state, VeiledState)
        self.gate.note(_THINKING)
        end = time.monotonic() + _SECONDS
        while not self.gate.is_open() and time.monotonic() < end:
            self.pass_time()
        return state.legal_actions()[0]

    def pass_time(self):
        time.sleep(0.01)

    def close(self):
        self.gate.note(_CLOSED)


class Busy(Slow):
    """Computes in Python, holding the interpreter's lock."""

    def pass_time(self):
        sum(range(100_000))


class Broken:
    def step(self, state):
        raise ValueError("secret position")


class Mortal:
    """Takes its process with it."""

    def step(self, state):
        os._exit(3)


register_player("slow_for_tests", lambda seat, folder: Slow(folder))
register_player("busy_for_tests", lambda seat, folder: Busy(folder))
register_player("broken_for_tests", lambda seat: Broken())
register_player("mortal_for_tests", lambda seat: Mortal())


def set_up():
    """For workers, which thereby import this module."""
    set_up_worker()


def bots(folder):
    """Offers of these players."""
    return (
        BotOffer("slow", "Slow", (f'slow_for_tests("{folder}")',)),
        BotOffer("busy", "Busy", (f'busy_for_tests("{folder}")',)),
        BotOffer("broken", "Broken", ("broken_for_tests",)),
        BotOffer("mortal", "Mortal", ("mortal_for_tests",)),
        BotOffer("searching", "Searching", ("search(nodes=60)",)),
    )
