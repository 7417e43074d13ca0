"""Tests of compiling before a clock runs."""

import os
import subprocess
import sys

import pytest

from klss_spiel.algorithms.search import cfr_kernels, readiness
from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.algorithms.search.player import compile_loops
from klss_spiel.budget import Budget
from klss_spiel.kernels import is_kept, kernel
from klss_spiel.openspiel import load_game

DICE = "liars_dice(numdice=1,dice_sides=2)"

# The loops that all games share are on disk although only another process compiled them.
_COLD = """
from klss_spiel.algorithms.search import cfr_kernels, readiness
from klss_spiel.kernels import is_kept

assert not is_kept(cfr_kernels.iterate)
with readiness._loops_compiled_beside():
    pass
assert is_kept(cfr_kernels.iterate)
assert not cfr_kernels.iterate.signatures
"""


@pytest.fixture
def processes(monkeypatch):
    """Two cores, and the commands of processes that are started; each ends at once."""
    started = []
    popen = subprocess.Popen

    def start(command, **options):
        started.append(command)
        return popen([sys.executable, "-c", "raise SystemExit(1)"], **options)

    monkeypatch.setattr(readiness.os, "sched_getaffinity", lambda process: {0, 1})
    monkeypatch.setattr(readiness.subprocess, "Popen", start)
    return started


def test_a_second_process_compiles_the_loops_where_nothing_is_kept(processes, monkeypatch):
    game = load_game(DICE)
    bot = SearchBot(game, 0, Budget(nodes=20))
    monkeypatch.setattr(readiness, "is_kept", lambda compiled: True)
    bot.warm_up(game)
    assert not processes
    monkeypatch.setattr(readiness, "is_kept", lambda compiled: False)
    bot.warm_up(game)  # that the other process fails does not matter
    assert len(processes) == 1
    monkeypatch.setattr(readiness.os, "sched_getaffinity", lambda process: {0})
    bot.warm_up(game)
    bot.warm_up()
    assert len(processes) == 1


def test_kernels_are_kept_once_they_are_compiled():
    compile_loops()
    assert is_kept(cfr_kernels.iterate)
    assert not is_kept(_never_called)


@kernel
def _never_called(value):
    return value


@pytest.mark.slow
def test_what_another_process_compiles_is_found_here(tmp_path):
    """Half a minute."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", _COLD], env=environment, check=True)
