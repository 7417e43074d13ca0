"""The script that shows a new user around runs anywhere and finds what it says."""

import os
import re
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    result = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "first_steps.py")],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def test_games_are_worth_what_they_are_worth(printed):
    assert "kuhn_poker is worth -0.055556 to player 0" in printed
    # Who sees heads claims heads; q is how often he does so with tails, d how often heads is
    # doubted. He gets (1/2) (1 + d) + (1/2) q (1 - 3 d), which player 1 makes smallest by
    # d = 1/3: then lying does not pay, and (1/2) (4/3) = 2/3 are left.
    assert "python_coin_claim is worth 0.666667 to player 0" in printed


def test_refinement_by_safe_methods_loses_less(printed):
    losses = re.findall(r"(\S+): player 0 loses ([\d.]+) instead of ([\d.]+)", printed)
    assert [name for name, _, _ in losses] == ["maxmargin", "safe-1-klss"]
    for _, after, before in losses:
        assert float(after) <= float(before)


def test_every_pair_of_bots_has_played(printed):
    results = re.findall(r"(\w+) against (\w+): ([+-][\d.]+) a game", printed)
    assert len(results) == 9
    assert all(-2.0 <= float(mean) <= 2.0 for _, _, mean in results)


def test_there_is_something_to_see(printed):
    lengths = re.search(r"would show 3 things of \[(\d+), (\d+), (\d+)\]", printed).groups()
    assert all(int(length) > 200 for length in lengths)
    assert printed.rstrip().endswith("a b c d")
    assert "1 R B N K" in printed
