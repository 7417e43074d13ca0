"""Tests of compiling before a clock runs."""

import json
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

# Decisions of a random game by a bot that was made where nothing is compiled. Its belief holds
# so few positions that it becomes a sample and has to be renewed.
_FIRST_MOVES = """
import json, random, sys

import pyspiel

import klss_spiel as ks
from klss_spiel.algorithms.search import cfr_kernels
from klss_spiel.algorithms.search.compilation import CompilationTimer
from klss_spiel.algorithms.search.settings import STRONG
from klss_spiel.kernels import is_kept

name, player, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
assert not is_kept(cfr_kernels.iterate)
actor = ks.SearchBot(name, player, ks.Budget(seconds=0.5), STRONG, belief_limit=30).search_player
foreseen = []
kind, foresight = type(actor.game), type(actor.game).foresight
kind.foresight = lambda self, held, later: foreseen.append(len(later)) or foresight(
    self, held, later
)
state, rng, reports = pyspiel.load_game(name).new_initial_state(), random.Random(seed), []
for _ in range(28):
    if state.is_terminal():
        break
    action = rng.choice(state.legal_actions())
    if state.current_player() == player:
        told = state.information_state_string(player)
        with CompilationTimer() as timer:
            report = actor.decide(told, state.legal_actions()).report
        actor.record_action(told, action)
        row = {"compiling": report.compiling, "complete": report.belief_complete}
        reports.append({**row, "loops": timer.functions})
    state.apply_action(action)
print(json.dumps({"reports": reports, "foreseen": foreseen}))
"""


@pytest.fixture
def processes(monkeypatch):
    """Two cores, and the commands of processes that are started; each ends at once."""
    started = []
    popen = subprocess.Popen

    def start(command, **options):
        started.append(command)
        return popen([sys.executable, "-c", "raise SystemExit(1)"], **options)

    monkeypatch.setattr(readiness, "num_cores", lambda: 2)
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
    monkeypatch.setattr(readiness, "num_cores", lambda: 1)
    bot.warm_up(game)
    bot.warm_up()
    assert len(processes) == 1


def test_a_system_that_does_not_say_which_cores_may_be_used_gets_ready(monkeypatch):
    """Such as macOS: the number of all cores counts."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    asked = []
    monkeypatch.setattr(os, "cpu_count", lambda: asked.append("cores") or 1)
    game = load_game(DICE)
    SearchBot(game, 0, Budget(nodes=20)).warm_up(game)
    assert asked


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "player", "seed"), [("python_dark_chess", 1, 2), ("python_kriegspiel", 1, 17)]
)
def test_nothing_is_compiled_in_the_first_moves_of_a_game(tmp_path, name, player, seed):
    """A minute each: all is compiled while the bot is made, what renews samples included."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _FIRST_MOVES, name, str(player), str(seed)]
    ended = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    assert [r for r in found["reports"] if r["loops"]] == []
    assert len(found["reports"]) >= 6
    # Else little would have been asked for: samples were followed again, by what came later.
    assert sum(not r["complete"] for r in found["reports"]) >= 4
    assert max(found["foreseen"]) >= 1
