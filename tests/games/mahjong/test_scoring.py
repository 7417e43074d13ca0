"""Scores of wins: every fan by hand, and a file of wins scored elsewhere."""

import dataclasses
import json
import os
import pathlib
import re

import numpy as np
import pytest

from klss_spiel.games.mahjong import fans, score_record, scoring, shapes, tiles
from klss_spiel.games.mahjong.compiled import scoring_kernels
from klss_spiel.games.mahjong.fans import Fan
from klss_spiel.games.mahjong.melds import Meld, MeldKind

_MELDS = {
    "chow": MeldKind.CHOW,
    "pong": MeldKind.PONG,
    "kong": MeldKind.KONG,
    "ckong": MeldKind.CONCEALED_KONG,
}


def _melds(text: str) -> tuple[Meld, ...]:
    """ "chow 1m, pong Ew" """
    words = [meld.split() for meld in text.split(",") if meld.strip()]
    return tuple(Meld(_MELDS[kind], tiles.NAMES.index(tile)) for kind, tile in words)


def _counts(text: str) -> tiles.Counts:
    """ "111m 99m GdGd": digits before an m are ranks."""
    counts = [0] * 16
    for word in text.split():
        if word.endswith("m"):
            for digit in word[:-1]:
                counts[int(digit) - 1] += 1
        else:
            for i in range(0, len(word), 2):
                counts[tiles.NAMES.index(word[i : i + 2])] += 1
    return tuple(counts)


def _win(hand: str, tile: str, melds: str = "", theirs: str = "", **facts: object) -> scoring.Win:
    """A win by discard, late in the game and without any flags, unless said otherwise."""
    defaults = {
        "winner": 0,
        "self_drawn": False,
        "robbed": False,
        "wall_left": 10,
        "flowers": 0,
        "ready": False,
        "heavenly_ready": False,
        "after_kong": False,
        "river": (0,) * 16,
        "river_size": 20,
    }
    values = {**defaults, **facts}
    own, other = _melds(melds), _melds(theirs)
    return scoring.Win(
        hand=_counts(hand),
        win_tile=tiles.NAMES.index(tile),
        melds=(own, other) if values["winner"] == 0 else (other, own),
        **values,
    )


# fan: (win, all fans that count). What is excluded is in the comments.
_CASES = {
    "pure_double_chow": (
        _win("123m 789m GdGd", "7m", "chow 1m, pong Ew"),
        "PURE_DOUBLE_CHOW TWO_TERMINAL_CHOWS EDGE_WAIT OUTSIDE_HAND HALF_FLUSH",
    ),
    "short_straight": (
        _win("234m 567m NwNw", "2m", "pong Ew, chow 3m"),
        "SHORT_STRAIGHT HALF_FLUSH",
    ),
    "two_terminal_chows": (
        _win("123m 789m 55m", "1m", "pong Ew, pong Nw"),
        "TWO_TERMINAL_CHOWS HALF_FLUSH",
    ),
    "melded_kong": (
        _win("234m 88m 345m", "4m", "kong Ew, chow 6m"),
        # 345 and 678 are a short straight; 4 is the middle of 345 but also ends 234.
        "SHORT_STRAIGHT MELDED_KONG HALF_FLUSH",
    ),
    "edge_wait": (
        _win("123m 55m", "3m", "pong Ew, pong Nw, chow 4m"),
        "SHORT_STRAIGHT EDGE_WAIT HALF_FLUSH",
    ),
    "closed_wait": (
        _win("234m 55m", "3m", "pong Ew, pong Nw, chow 6m"),
        "CLOSED_WAIT HALF_FLUSH",
    ),
    "single_wait": (
        _win("234m EwEw", "Ew", "pong 8m, chow 4m, pong 9m"),
        "SINGLE_WAIT HALF_FLUSH",
    ),
    "self_draw": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", self_drawn=True),
        "SELF_DRAW HALF_FLUSH",
    ),
    "flower_tiles": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", flowers=3),
        "FLOWER_TILES HALF_FLUSH",
    ),
    "ready_hand": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", ready=True),
        "READY_HAND HALF_FLUSH",
    ),
    "dragon_pung": (
        _win("234m EwEw", "2m", "pong Rd, chow 4m, pong 9m"),
        "DRAGON_PUNG HALF_FLUSH",
    ),
    "concealed_hand": (
        _win("123m 345m 666m NwNw EwEwEw", "1m"),
        "CONCEALED_HAND TWO_CONCEALED_PUNGS HALF_FLUSH",
    ),
    "all_chows": (
        _win("345m 99m", "5m", "chow 1m, chow 4m, chow 6m"),
        # 123+456, 345+678: short straight; 5 ends 345.
        "SHORT_STRAIGHT ALL_CHOWS FULL_FLUSH",
    ),
    "tile_hog": (
        _win("222m 234m NwNw", "4m", "pong Ew, pong 9m"),
        # Two of the pungs are melded, so only one is concealed.
        "TILE_HOG HALF_FLUSH",
    ),
    "two_concealed_pungs": (
        _win("222m 888m 456m NwNw", "6m", "pong 9m"),
        "TWO_CONCEALED_PUNGS HALF_FLUSH",
    ),
    "concealed_kong": (
        _win("234m 456m NwNw", "4m", "ckong Ew, pong 9m"),
        "CONCEALED_KONG HALF_FLUSH",
    ),
    "all_simples": (
        _win("234m 345m 77m", "2m", "pong 8m, pong 6m"),
        "ALL_SIMPLES FULL_FLUSH",
    ),
    "outside_hand": (
        _win("123m 99m", "1m", "pong Ew, pong Nw, pong Sw"),
        # Three wind pungs: big_three_winds; 9 is a terminal.
        "OUTSIDE_HAND HALF_FLUSH BIG_THREE_WINDS",
    ),
    "fully_concealed_hand": (
        _win("123m 345m 666m NwNw EwEwEw", "1m", self_drawn=True),
        # Excludes self draw and concealed hand.
        "TWO_CONCEALED_PUNGS FULLY_CONCEALED_HAND HALF_FLUSH",
    ),
    "two_melded_kongs": (
        _win("234m 456m NwNw", "4m", "kong Ew, kong 9m"),
        # Excludes melded kong.
        "TWO_MELDED_KONGS HALF_FLUSH",
    ),
    "last_tile": (
        _win("234m NwNw", "2m", "pong 8m, chow 4m, pong 9m", "pong 2m"),
        "LAST_TILE HALF_FLUSH",
    ),
    "little_three_winds": (
        _win("234m EwEw", "2m", "pong Nw, chow 4m, pong Sw"),
        "LITTLE_THREE_WINDS HALF_FLUSH",
    ),
    "all_pungs": (
        _win("222m EwEw", "2m", "pong Nw, pong 5m, pong 9m"),
        "ALL_PUNGS HALF_FLUSH",
    ),
    "half_flush": (_win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m"), "HALF_FLUSH"),
    "two_dragon_pungs": (
        _win("234m EwEw", "2m", "pong Rd, chow 4m, pong Gd"),
        # Excludes dragon pung.
        "HALF_FLUSH TWO_DRAGON_PUNGS",
    ),
    "two_concealed_kongs": (
        _win("234m 456m NwNw", "4m", "ckong Ew, ckong 9m"),
        # Excludes concealed kong and two concealed pungs.
        "CONCEALED_HAND HALF_FLUSH TWO_CONCEALED_KONGS",
    ),
    "melded_hand": (
        _win("EwEw", "Ew", "pong 8m, chow 4m, pong 9m, chow 1m"),
        # Excludes single wait. 123+456 are a short straight.
        "SHORT_STRAIGHT HALF_FLUSH MELDED_HAND",
    ),
    "out_with_replacement_tile": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, kong 9m", self_drawn=True, after_kong=True),
        # Excludes self draw.
        "MELDED_KONG HALF_FLUSH OUT_WITH_REPLACEMENT_TILE",
    ),
    "rob_kong": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", "pong 2m", robbed=True),
        # Excludes last tile.
        "HALF_FLUSH ROB_KONG",
    ),
    "last_tile_claim": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", wall_left=0),
        "HALF_FLUSH LAST_TILE_CLAIM",
    ),
    "pure_straight": (
        _win("123m 456m EwEw", "1m", "chow 7m, pong Nw"),
        # Excludes short straight and two terminal chows. 4 would win, too, but 1 came.
        "HALF_FLUSH PURE_STRAIGHT",
    ),
    "pure_shifted_chows": (
        _win("123m 234m EwEw", "1m", "chow 3m, pong Nw"),
        "HALF_FLUSH PURE_SHIFTED_CHOWS",
    ),
    "all_flowers": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", flowers=8),
        # Excludes flower tiles.
        "HALF_FLUSH ALL_FLOWERS",
    ),
    "three_concealed_pungs": (
        _win("222m 888m NwNwNw 456m SwSw", "6m"),
        # Excludes two concealed pungs.
        "CONCEALED_HAND HALF_FLUSH THREE_CONCEALED_PUNGS",
    ),
    "four_honour_pungs": (
        _win("EwEwEw 55m", "Ew", "pong Nw, pong Gd, pong Rd"),
        # Excludes all pungs.
        "HALF_FLUSH TWO_DRAGON_PUNGS FOUR_HONOUR_PUNGS",
    ),
    "big_three_winds": (
        _win("234m 88m", "2m", "pong Ew, pong Nw, pong Sw"),
        "HALF_FLUSH BIG_THREE_WINDS",
    ),
    "seven_pairs": (
        _win("11m 33m 55m 77m 88m EwEw NwNw", "3m"),
        # Excludes concealed hand and single wait.
        "HALF_FLUSH SEVEN_PAIRS",
    ),
    "pure_triple_chow": (
        _win("234m 234m EwEw", "2m", "chow 2m, pong Nw"),
        # Excludes pure double chow.
        "HALF_FLUSH PURE_TRIPLE_CHOW",
    ),
    "pure_shifted_pungs": (
        _win("333m 345m EwEw", "5m", "pong 4m, pong 5m"),
        # Four 3s, 4s and 5s without a kong: tile hog; the other 5s are all in the own pong.
        "TILE_HOG LAST_TILE HALF_FLUSH PURE_SHIFTED_PUNGS",
    ),
    "four_pure_shifted_chows": (
        _win("123m 88m", "1m", "chow 2m, chow 3m, chow 4m"),
        # Excludes pure shifted chows and the short straight 123+456.
        "ALL_CHOWS FOUR_PURE_SHIFTED_CHOWS FULL_FLUSH",
    ),
    "three_kongs": (
        _win("234m EwEw", "2m", "kong Nw, ckong 5m, kong 9m"),
        # Excludes both two melded kongs and concealed kong.
        "HALF_FLUSH THREE_KONGS",
    ),
    "all_terminals_and_honours": (
        _win("111m EwEw", "1m", "pong 9m, pong Nw, pong Gd"),
        # Excludes all pungs and outside hand.
        "DRAGON_PUNG HALF_FLUSH ALL_TERMINALS_AND_HONOURS",
    ),
    "heavenly_ready_hand": (
        _win("234m EwEw", "2m", "pong 8m, chow 4m, pong 9m", ready=True, heavenly_ready=True),
        # Excludes ready hand.
        "HALF_FLUSH HEAVENLY_READY_HAND",
    ),
    "quadruple_chow": (
        _win("234m EwEw", "2m", "chow 2m, chow 2m, chow 2m"),
        # Excludes pure triple and double chow and tile hog; the other 2s lie open.
        "LAST_TILE HALF_FLUSH QUADRUPLE_CHOW",
    ),
    "four_pure_shifted_pungs": (
        _win("222m EwEw", "2m", "pong 3m, pong 4m, pong 5m"),
        # Excludes pure shifted pungs and all pungs.
        "HALF_FLUSH FOUR_PURE_SHIFTED_PUNGS",
    ),
    "four_winds_seven_pairs": (
        _win("11m 33m 55m EwEw WwWw NwNw SwSw", "3m"),
        "HALF_FLUSH FOUR_WINDS_SEVEN_PAIRS",
    ),
    "three_dragons_seven_pairs": (
        _win("11m 33m 55m 77m GdGd RdRd WdWd", "3m"),
        "HALF_FLUSH THREE_DRAGONS_SEVEN_PAIRS",
    ),
    "little_four_winds": (
        _win("234m SwSw", "2m", "pong Ew, pong Nw, pong Ww"),
        # Excludes big and little three winds.
        "HALF_FLUSH LITTLE_FOUR_WINDS",
    ),
    "little_three_dragons": (
        _win("234m WdWd", "2m", "pong Gd, pong Rd, chow 4m"),
        # Excludes two dragon pungs.
        "HALF_FLUSH LITTLE_THREE_DRAGONS",
    ),
    "all_honours": (
        _win("EwEwEw SwSw", "Ew", "pong Gd, pong Rd, pong Nw"),
        # Excludes four honour pungs, all terminals and honours, all pungs.
        "LITTLE_THREE_WINDS TWO_DRAGON_PUNGS ALL_HONOURS",
    ),
    "four_concealed_pungs": (
        _win("222m 444m 888m NwNwNw SwSw", "Sw"),
        # Excludes all pungs, concealed hand and fewer concealed pungs.
        "SINGLE_WAIT HALF_FLUSH FOUR_CONCEALED_PUNGS",
    ),
    "pure_terminal_chows": (
        _win("123m 55m", "1m", "chow 1m, chow 7m, chow 7m"),
        # Excludes all chows, full flush, pure double chow and two terminal chows.
        "PURE_TERMINAL_CHOWS",
    ),
    "big_four_winds": (
        _win("EwEwEw 55m", "Ew", "pong Nw, pong Sw, pong Ww"),
        # Excludes three winds, four honour pungs and all pungs.
        "HALF_FLUSH BIG_FOUR_WINDS",
    ),
    "big_three_dragons": (
        _win("234m 88m", "2m", "pong Gd, pong Rd, pong Wd"),
        # Excludes fewer dragon pungs.
        "HALF_FLUSH BIG_THREE_DRAGONS",
    ),
    "nine_gates": (
        _win("1112345678999m 5m", "5m"),
        # 111+234+55+678+999: excludes full flush and concealed hand. Two concealed pungs
        # are worth more than what reading it as chows would give.
        "TWO_CONCEALED_PUNGS NINE_GATES",
    ),
    "four_kongs": (
        _win("55m", "5m", "kong Ew, kong 9m, ckong 2m, kong Gd"),
        # Excludes all fewer kongs, single wait and all pungs.
        "DRAGON_PUNG HALF_FLUSH FOUR_KONGS",
    ),
    "seven_shifted_pairs": (
        _win("22334455667788m", "5m"),
        # Excludes seven pairs, full flush; all simples still counts.
        "ALL_SIMPLES SEVEN_SHIFTED_PAIRS",
    ),
    "upper_four": (
        _win("678m 789m 99m", "8m", "pong 6m, chow 7m"),
        # 789 twice, four 6s and four 9s; 8 is the middle of 789 and the end of 678.
        "PURE_DOUBLE_CHOW TILE_HOG UPPER_FOUR FULL_FLUSH",
    ),
    "lower_four": (
        _win("123m 234m 44m", "2m", "chow 2m, chow 1m"),
        "PURE_DOUBLE_CHOW ALL_CHOWS TILE_HOG LOWER_FOUR FULL_FLUSH",
    ),
    "big_seven_honours": (
        _win("GdGd RdRd WdWd EwEw WwWw NwNw SwSw", "Ew"),
        # Excludes seven pairs of all kinds, all honours and outside hand.
        "BIG_SEVEN_HONOURS",
    ),
    "heavenly_hand": (
        _win("123m 345m 666m NwNw EwEwEw", "Nw", self_drawn=True, river_size=0),
        # Excludes self draw; no single wait, as nobody knows which tile came last.
        "TWO_CONCEALED_PUNGS FULLY_CONCEALED_HAND HALF_FLUSH HEAVENLY_HAND",
    ),
    "earthly_hand": (
        _win("123m 345m 666m NwNw EwEwEw", "1m", self_drawn=True, river_size=1, winner=1),
        "TWO_CONCEALED_PUNGS FULLY_CONCEALED_HAND HALF_FLUSH EARTHLY_HAND",
    ),
    "humanly_hand": (
        _win("123m 345m 666m NwNw EwEwEw", "1m", river_size=0, winner=1),
        "CONCEALED_HAND TWO_CONCEALED_PUNGS HALF_FLUSH HUMANLY_HAND",
    ),
    "full_flush": (_win("234m 99m", "2m", "pong 8m, chow 4m, pong 1m"), "FULL_FLUSH"),
}


def test_every_fan_has_a_case():
    assert {name.upper() for name in _CASES} == {fan.name for fan in Fan}


@pytest.mark.parametrize("name", _CASES)
def test_a_hand_made_win_has_exactly_these_fans(name):
    win, expected = _CASES[name]
    points, counted = scoring.score(win)
    assert {fan.name for fan in counted} == set(expected.split())
    assert name.upper() in expected
    values = [win.flowers if fan == Fan.FLOWER_TILES else fans.POINTS[fan] for fan in counted]
    assert points == sum(values)


def test_points_are_those_of_the_table():
    by_worth = {1: 9, 2: 8, 4: 4, 6: 6, 8: 3, 16: 5, 24: 5, 32: 4, 48: 4, 64: 5, 88: 11}
    assert {worth: fans.POINTS.count(worth) for worth in set(fans.POINTS)} == by_worth
    assert fans.POINTS[Fan.FULL_FLUSH] == 16
    assert fans.POINTS[Fan.NINE_GATES] == 88
    assert fans.POINTS[Fan.QUADRUPLE_CHOW] == 48


def test_a_discarded_tile_does_not_complete_a_concealed_triplet():
    by_discard = _win("222m 888m 456m NwNw", "8m", "pong 9m")
    drawn = dataclasses.replace(by_discard, self_drawn=True)
    assert Fan.TWO_CONCEALED_PUNGS not in scoring.score(by_discard)[1]
    assert Fan.TWO_CONCEALED_PUNGS in scoring.score(drawn)[1]


def test_the_reading_worth_most_is_taken():
    # 22334455667788 is seven shifted pairs (88 + 2) or chows 234 234 567 567 88.
    points, counted = scoring.score(_win("22334455667788m", "5m"))
    assert (points, len(counted)) == (90, 2)


def test_last_tile_counts_the_river_unless_told_to_count_as_the_reference():
    win = _win("234m NwNw", "2m", "pong 8m, chow 4m, pong 9m")
    win = dataclasses.replace(win, river=_counts("222m"))
    assert Fan.LAST_TILE in scoring.score(win)[1]
    assert Fan.LAST_TILE not in scoring.score(win, reference_quirks=True)[1]


def test_four_equal_tiles_are_two_pairs():
    hand = _counts("1111m 33m 55m 77m EwEwNwNw")
    assert [shape.is_seven_pairs for shape in shapes.shapes(hand, 4, True)] == [True]
    assert not shapes.wins(hand, 4, False)


def test_hands_that_other_splitters_miss_are_won():
    # Counts 2, 4, 4, 2 are 123 123 234 234 only.
    (shape,) = shapes.shapes(_counts("112222333344m EwEw"), 4, seven_pairs=False)
    assert shape.chows == (0, 0, 1, 1)


def test_a_hand_that_has_not_won_is_refused():
    with pytest.raises(ValueError, match="expected 4 sets and a pair or seven pairs, got 1m 2m"):
        scoring.score(_win("1245m 99m", "1m", "pong Ew, pong Nw"))


def test_a_row_that_is_not_a_record_is_refused():
    with pytest.raises(ValueError, match="expected a record of a win"):
        score_record({"winner": 0})


def _facts(win: scoring.Win) -> np.ndarray:
    facts = np.zeros(scoring_kernels.NUM_FACTS, np.int64)
    open_melds = [m for melds in win.melds for m in melds if m.kind != MeldKind.CONCEALED_KONG]
    visible = [tile for meld in open_melds for tile in meld.tiles].count(win.win_tile)
    facts[:] = [
        win.winner,
        win.win_tile,
        win.self_drawn,
        win.robbed,
        win.wall_left,
        win.flowers,
        win.ready,
        win.heavenly_ready,
        win.after_kong,
        win.river_size,
        visible + win.river[win.win_tile],
        bool(open_melds),
        win.sets,
    ]
    return facts


@pytest.mark.parametrize("name", _CASES)
def test_compiled_scores_are_the_same(name):
    win, _ = _CASES[name]
    kinds, firsts = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for i, meld in enumerate(win.own):
        kinds[i], firsts[i] = meld.kind, meld.tile
    hand = np.array(win.hand, np.int64)
    found = scoring_kernels.win_points(_facts(win), hand, kinds, firsts, len(win.own))
    assert found == scoring.score(win)[0]


def _text_of_data(name):
    """A file of the folder that KLSS_SPIEL_DATA names; skips the test without it."""
    path = pathlib.Path(os.environ.get("KLSS_SPIEL_DATA", "")) / name
    if not path.is_file():
        pytest.skip(f"KLSS_SPIEL_DATA does not name a folder with {name}")
    return path.read_text("utf-8")


def test_wins_scored_elsewhere_have_the_same_points_and_fans():
    rows = [json.loads(line) for line in _text_of_data("mahjong_scores.jsonl").splitlines()]
    assert len(rows) >= 500
    for row in rows:
        # Nothing of the answer is handed over.
        record = {name: row[name] for name in row if name not in ("score", "fans", "values")}
        assert score_record(record, reference_quirks=True) == (row["score"], row["fans"])


def test_fans_listed_elsewhere_have_the_same_points():
    text = _text_of_data("mahjong_fans.md")
    listed = re.findall(r"^(\d+) (\w+) (\d+) excludes:", text, re.MULTILINE)
    assert len(listed) == len(Fan) == 64
    assert {int(number): (name.upper(), int(points)) for number, name, points in listed} == {
        fan.value: (fan.name, fans.POINTS[fan]) for fan in Fan
    }
