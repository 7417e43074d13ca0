"""Pictures of boards: nothing unseen is drawn, and the documented picture is up to date."""

import pathlib
import random
import re
import xml.etree.ElementTree as ElementTree

import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.games.chess import render, rules
from tests.helpers.chess_positions import positions
from tests.helpers.paths import ROOT

_SVG = "{http://www.w3.org/2000/svg}"


def _state(game: str, moves: str = "") -> pyspiel.State:
    state = pyspiel.load_game(game).new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    return state


def test_text_shows_the_true_board_or_a_view() -> None:
    state = _state("python_dark_chess(board=minimal4x3)", "d2b2")
    assert render.text(state) == "3 k . . .\n2 . R . .\n1 . . K .\n  a b c d"
    assert render.text(state, 0) == "3 ? . ? ?\n2 . R . .\n1 ? . K .\n  a b c d"
    # Black sits below rank 3, with the d-file on the left.
    assert render.text(state, 1) == "1 ? ? ? ?\n2 ? ? R .\n3 ? ? . k\n  d c b a"


def test_kriegspiel_shows_own_pieces_only() -> None:
    state = _state("python_kriegspiel(board=minimal4x3)")
    assert render.text(state, 0) == "3 ? ? ? ?\n2 ? ? ? R\n1 ? ? K ?\n  a b c d"


@given(positions(), st.sampled_from([rules.WHITE, rules.BLACK]), st.booleans())
def test_pictures_hold_what_is_seen_and_nothing_else(
    position: rules.Position, colour: int, black_below: bool
) -> None:
    seen = rules.visible_squares(position, colour)
    shown = [position.squares[s] for s in rules.squares_in(seen) if position.squares[s]]
    document = ElementTree.fromstring(render.draw_svg(position, seen, black_below))
    assert len(document.findall(f"{_SVG}rect")) == 1 + len(position.squares)
    letters = [path.find(f"{_SVG}title").text for path in document.findall(f"{_SVG}path")]
    assert sorted(letters) == sorted(" PNBRQK  pnbrqk"[code] for code in shown)
    board = render.draw_text(position, seen, black_below)
    rows = [line.split()[1:] for line in board.splitlines()[:-1]]
    marks = [mark for row in rows for mark in row]
    assert marks.count("?") == len(position.squares) - seen.bit_count()
    assert sorted(m for m in marks if m not in "?.") == sorted(letters)


def test_fog_hides_what_the_true_board_shows() -> None:
    rng = random.Random(0)
    state = _state("python_dark_chess")
    for _ in range(20):
        state.apply_action(rng.choice(state.legal_actions()))
    assert render.svg(state).count("<path") > render.svg(state, 0).count("<path")
    views = ElementTree.fromstring(render.svg_views(state))
    assert len(views.findall(f"{_SVG}svg")) == 3


def test_unknown_player_is_refused() -> None:
    with pytest.raises(ValueError, match="got 2"):
        render.text(_state("python_dark_chess"), 2)


def test_documented_command_draws_the_documented_picture(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "chess_rules.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    exec(code[1], {})
    drawn = (tmp_path / "docs" / "fog.svg").read_text()
    assert drawn == (ROOT / "docs" / "fog.svg").read_text()
