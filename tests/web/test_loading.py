"""Games that clients bring: PGN there and back, records, and what is refused."""

import json
import random

import pytest

from klss_spiel.matches.pgn import pgn_of
from klss_spiel.matches.referee import play_game
from klss_spiel.openspiel import load_game
from klss_spiel.web.catalogue import RefusedError
from klss_spiel.web.loading import load_text
from klss_spiel.web.replay import replay_of


class _Random:
    def __init__(self, seed):
        self._rng = random.Random(seed)

    def step(self, state):
        return self._rng.choice(state.legal_actions())


def _row(game_string, seed=0):
    record = play_game(load_game(game_string), [_Random(seed), _Random(seed + 1)])
    names = {"player_0": "Anna", "player_1": 'B"ob'}
    return {"game": game_string, "number": 0, "clock": None, **names, **record.row()}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "game",
    [
        "python_dark_chess",
        "python_dark_chess(board=microchess)",
        "python_kriegspiel(board=silverman4x4)",
    ],
)
def test_pgn_and_rows_of_matches_come_back_as_they_were(game, seed):
    row = _row(game, seed)
    for text in (pgn_of(row), json.dumps(row), json.dumps([row])):
        (loaded,) = load_text(text, ())
        assert loaded["actions"] == row["actions"]
        assert loaded["player_1"] == 'B"ob'
        assert loaded["return_0"] == row["return_0"]
        replay = replay_of(loaded)
        assert [step["move"] for step in replay["steps"][1:]] == row["moves"].split()


def test_pgn_of_other_programs_has_no_uci_and_is_read_all_the_same():
    row = _row("python_dark_chess", 5)
    lines = [line for line in pgn_of(row).splitlines() if not line.startswith("[UCI")]
    (loaded,) = load_text("\n".join(lines), ())
    assert loaded["actions"] == row["actions"]


def test_movetext_may_have_comments_variations_and_marks():
    text = '[Variant "Fog of War"]\n\n1. e4! {a king\'s pawn} (1. d4 d5) e5 2. Nf3+ $1 1-0'
    (loaded,) = load_text(text, ())
    names = load_game("python_dark_chess").setup.table.names
    assert [names[action] for action in loaded["actions"]] == ["e2e4", "e7e5", "g1f3"]


def test_several_games_are_told_apart():
    rows = [_row("python_dark_chess(board=microchess)", seed) for seed in range(3)]
    for text in ("\n".join(map(pgn_of, rows)), "\n".join(map(json.dumps, rows))):
        assert [row["actions"] for row in load_text(text, ())] == [row["actions"] for row in rows]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "empty_text"),
        ("hello", "bad_text"),
        ("3", "bad_record"),
        ("[]", "no_games"),
        ("[" * 100_000, "bad_text"),
        ('{"game": "kuhn_poker", "actions": []}', "unknown_game"),
        ('{"game": "efg_game(filename=/etc/passwd)", "actions": []}', "unknown_game"),
        ('{"game": "python_dark_chess(path=/etc/passwd)", "actions": []}', "unknown_game"),
        ('{"game": "python_dark_chess(fen=k2/3/2K w - -,x=efg())", "actions": []}', "unknown_game"),
        ('{"game": "python_dark_chess(board=nowhere)", "actions": []}', "bad_record"),
        ('{"game": "python_dark_chess", "actions": [true]}', "bad_record"),
        ('{"game": "python_dark_chess", "actions": [99999]}', "bad_record"),
        ('{"game": "python_dark_chess", "actions": "e2e4"}', "bad_record"),
        ('[Variant "Atomic"]\n\n1. e4 *', "unknown_game"),
        ('[Variant "Fog of War"]\n[FEN "k2/3/2K) w - -"]\n\n*', "bad_fen"),
        ('[Variant "Fog of War"]\n\n1. e5 *', "bad_pgn"),
        ('[Variant "Fog of War"]\n\n1. e4 (1. d4 *', "bad_pgn"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(text, error):
    with pytest.raises(RefusedError) as refusal:
        load_text(text, ())
    assert refusal.value.name == error


def test_games_that_are_offered_may_be_brought():
    row = {"game": "kuhn_poker", "actions": [0, 1, 0, 0]}
    assert load_text(json.dumps(row), {"kuhn_poker"})[0]["actions"] == [0, 1, 0, 0]
