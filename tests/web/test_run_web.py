"""The binary: says where it serves, warns, stops cleanly and says where games are."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from klss_spiel.web import preparation
from tests.helpers.interrupts import heed_interrupts
from tests.helpers.paths import ROOT
from tests.web import live_server

_SECONDS = 240.0


def _start(*flags):
    return subprocess.Popen(
        [sys.executable, "-m", "klss_spiel.run.web", "--port=0", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def test_everything_is_imported_before_there_are_threads_and_mahjong_if_it_is_offered(monkeypatch):
    imported = []
    monkeypatch.setattr(preparation.importlib, "import_module", imported.append)
    preparation.import_all(["search", "mahjong_greedy"])
    assert "klss_spiel.matches.mahjong_players" in imported
    assert "klss_spiel.games.chess.packed.kriegspiel_search_game" in imported
    imported.clear()
    preparation.import_all(["search", "random"])
    assert imported and "klss_spiel.matches.mahjong_players" not in imported


def test_what_workers_are_forked_with_exists_and_does_not_import_jax():
    code = (
        "import importlib, sys\n"
        "from klss_spiel.web.preparation import FORKABLE_MODULES\n"
        "for name in FORKABLE_MODULES:\n"
        "    importlib.import_module(name)\n"
        "from klss_spiel.matches.players import player_names\n"
        "before = len(sys.modules)\n"
        "assert 'search' in player_names() and len(sys.modules) == before\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_ctrl_c_keeps_a_running_game_and_says_where(tmp_path):
    records = tmp_path / "games.jsonl"
    process = _start(f"--records={records}", "--bot=only=random")
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        bots = json.load(urllib.request.urlopen(f"{address}api/catalogue"))["bots"]
        assert bots == [{"name": "only", "title": "only"}]
        wanted = {"game": "dark-microchess", "bot": "only", "colour": "first"}
        request = urllib.request.Request(
            f"{address}api/games", json.dumps(wanted).encode(), {"Content-Type": "application/json"}
        )
        session = json.load(urllib.request.urlopen(request))["session"]
        with live_server.open_socket(address, session) as socket:
            assert live_server.hear(socket)["type"] == "view"
            process.send_signal(signal.SIGINT)
            said, complained = process.communicate(timeout=_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0
    assert f"Finished games are in {records}" in said
    assert "Traceback" not in complained
    assert json.loads(records.read_text())["termination"] == "abandoned"


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--bot=nobody"], "nobody"),
        (["--game=dark_chess"], "information state"),
        (["--host=203.0.113.7"], "cannot listen"),
    ],
)
def test_bad_flags_end_in_one_line(flags, error):
    process = _start(*flags)
    try:
        _, complained = process.communicate(timeout=_SECONDS)
    finally:
        process.kill()
    (line,) = [text for text in complained.splitlines() if text.startswith("error: ")]
    assert error in line and "Traceback" not in complained
