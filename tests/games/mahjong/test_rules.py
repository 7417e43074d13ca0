"""Rules by hand-made situations: claims, kongs, Ting, flowers, the end of the wall."""

import pytest

from klss_spiel.games.mahjong import actions, knowledge, rules, tiles, views
from klss_spiel.games.mahjong.fans import Fan
from klss_spiel.games.mahjong.melds import Meld, MeldKind
from klss_spiel.games.mahjong.rules import Phase, Position
from klss_spiel.games.mahjong.scoring import score
from klss_spiel.games.mahjong.variant import Variant
from tests.games.mahjong.test_scoring import _counts

_FULL = Variant()


def _kind(name: str) -> int:
    return tiles.NAMES.index(name)


def _start(first: str, second: str, variant: Variant = _FULL) -> Position:
    """After the deal of two hands; player 0 is about to draw."""
    position = rules.first_position(variant)
    for text in (first, second):
        position = rules.deal_hand(position, [*_counts(text), 0])
    assert position.phase == Phase.DRAW
    return position


def _draw(position: Position, name: str) -> Position:
    return rules.draw(position, _kind(name))


def _play(position: Position, *names: str) -> Position:
    for name in names:
        action = actions.NAMES.index(name)
        assert action in rules.legal_actions(position), (name, _names(position))
        position = rules.after(position, action)
    return position


def _names(position: Position) -> set[str]:
    return {actions.NAMES[action] for action in rules.legal_actions(position)}


_DULL = "147m 147m EwWwNwSwGdRdWd"  # waits for nothing, claims little


def test_who_can_claim_nothing_just_draws():
    position = _play(_draw(_start(_DULL, "258m 258m EwWwNwSwGdRdWd"), "9m"), "discard Ew")
    assert (position.phase, position.player) == (Phase.DRAW, 1)


def test_a_discard_can_be_ponged_konged_or_chowed():
    position = _play(_draw(_start(_DULL, "555m 46m EwWwNwSwGdRdWd 9m"), "5m"), "discard 5m")
    assert _names(position) == {"pass", "pong 5m", "kong 5m", "chow 4m <5m> 6m"}
    ponged = _play(position, "pong 5m")
    assert ponged.own.melds == (Meld(MeldKind.PONG, 4),)
    assert ponged.sides[0].river == ()
    # Neither a win nor a kong can follow a pong.
    assert all(name.startswith("discard") for name in _names(ponged))
    konged = _play(position, "kong 5m")
    assert (konged.phase, konged.player, konged.after_kong) == (Phase.DRAW, 1, True)


def test_after_a_pass_the_player_draws():
    position = _play(_draw(_start(_DULL, "555m 46m EwWwNwSwGdRdWd 9m"), "5m"), "discard 5m", "pass")
    assert (position.phase, position.player) == (Phase.DRAW, 1)


def test_passing_does_not_show_to_the_opponent():
    asked = _play(_draw(_start(_DULL, "555m 46m EwWwNwSwGdRdWd 9m"), "5m"), "discard 5m", "pass")
    not_asked = _play(_draw(_start(_DULL, "33m 46m 899m NwSwGdRdWdWd"), "5m"), "discard 5m", "pass")
    other = _play(_draw(_start(_DULL, "258m 258m EwWwNwSwGdRdWd"), "5m"), "discard 5m")
    told = {views.information_state(p, 0) for p in (asked, not_asked, other)}
    assert len(told) == 1
    assert views.observation(asked, 0) == views.observation(other, 0)
    assert "1:pass" in views.information_state(asked, 1)


def test_a_win_by_discard_pays_the_winner():
    position = _start(_DULL, "123m 456m 789m EwEwEw Gd")
    position = _play(_draw(position, "9m"), "discard Gd")
    assert "hu" in _names(position)
    won = _play(position, "hu")
    assert won.phase == Phase.OVER
    # Pure straight 16, half flush 6, concealed hand 2, single wait 1, dragon pair nothing,
    # humanly hand 88: it was the very first discard.
    assert won.points == -(16 + 6 + 2 + 1 + 88)


def test_seven_pairs_win_and_need_a_hand_without_melds():
    position = _draw(_start("1133557799m EwEwNw", _DULL), "Nw")
    assert "hu" in _names(position)
    small = Variant(sets=1, ranks=7, honours=0, flowers=0)
    assert not small.seven_pairs


def test_a_win_need_not_be_taken_unless_forced():
    hands = ("123m 456m 789m EwEwEw Gd", _DULL)
    assert "discard Gd" in _names(_draw(_start(*hands), "Gd"))
    forced = _start(*hands, variant=Variant(forced_hu=True))
    assert _names(_draw(forced, "Gd")) == {"hu"}


def test_a_separate_pass_of_a_win_leaves_the_other_options():
    variant = Variant(separate_pass_hu=True)
    position = _draw(_start("123m 456m 789m EwEwEw Gd", _DULL, variant), "Gd")
    assert {"hu", "pass hu", "discard Gd"} <= _names(position)
    passed = _play(position, "pass hu")
    assert not {"hu", "pass hu"} & _names(passed)
    assert "discard Gd" in _names(passed)
    # At a claim, with nothing else to do, the draw follows by itself.
    claim = _play(_draw(_start(_DULL, "123m 456m 789m EwEwEw Gd", variant), "9m"), "discard Gd")
    assert _names(claim) == {"pass", "hu", "pass hu"}
    assert _play(claim, "pass hu").phase == Phase.DRAW


def test_an_added_kong_can_be_robbed_and_is_then_none():
    position = _start("55m EwNwSwGdRdWd 1447m 9m", "1234m 6789m WwWwWw GdGd")
    position = _play(_draw(position, "Ww"), "discard Gd", "pass")
    position = _play(_draw(position, "5m"), "discard 5m", "pong 5m", "discard Ew")
    position = _draw(position, "Nw")
    position = _play(position, "discard Nw")
    position = _draw(position, "5m")
    assert "add kong 5m" in _names(position)
    robbing = _play(position, "add kong 5m")
    assert (robbing.phase, robbing.player) == (Phase.ROB, 1)
    assert _names(robbing) == {"hu", "pass"}
    win = rules.win_of(robbing)
    assert win.robbed and not win.self_drawn
    assert win.melds[0] == (Meld(MeldKind.PONG, 4),)
    points, fans = score(win)
    assert Fan.ROB_KONG in fans and Fan.LAST_TILE not in fans
    assert _play(robbing, "hu").points == -points
    passed = _play(robbing, "pass")
    assert (passed.phase, passed.player, passed.after_kong) == (Phase.DRAW, 0, True)
    assert views.information_state(robbing, 0) == views.information_state(
        robbing._replace(phase=Phase.DRAW, player=0), 0
    )


def test_a_concealed_kong_hides_its_tile_and_cannot_be_robbed():
    position = _draw(_start("1111m 47m EwWwNwSwGdRdWd", "23m 456m 789m WwWwWw GdGd"), "9m")
    konged = _play(position, "concealed kong 1m")
    assert (konged.phase, konged.player) == (Phase.DRAW, 0)
    assert "1m" not in views.information_state(konged, 1).rpartition("|")[2]
    assert "0:concealed kong 1m" in views.information_state(konged, 0)
    assert "1m" not in views.observation(konged, 1).partition("opponent")[2]
    after = _draw(konged, "Gd")
    assert rules.win_of(after).after_kong


def test_a_flower_drawn_after_a_kong_ends_the_kong():
    position = _draw(_start("1111m 47m EwWwNwSwGdRdWd", _DULL), "9m")
    konged = _play(position, "concealed kong 1m")
    flowered = _draw(konged, "Fl")
    assert (flowered.phase, flowered.player, flowered.sides[0].flowers) == (Phase.DRAW, 0, 1)
    assert not _draw(flowered, "Gd").after_kong
    assert "0:draw Fl" in views.information_state(flowered, 1)


def test_flowers_of_the_deal_are_replaced_first_player_first():
    position = rules.first_position(_FULL)
    position = rules.deal_hand(position, [*_counts("1447m EwWwNwSwGdRdWd"), 2])
    position = rules.deal_hand(position, [*_counts("1447m EwWwNwSwGdRdWd 9m"), 1])
    assert views.information_state(position, 0) == "P0 | not dealt"
    order = []
    for name in ("5m", "Fl", "5m", "6m"):
        order.append(position.player)
        position = _draw(position, name)
    assert order == [0, 0, 0, 1]
    assert position.start_flowers == (3, 1)
    assert (position.phase, position.player) == (Phase.DRAW, 0)
    assert position.wall_left == 72 - 26 - 4
    assert "flowers 3 1" in views.information_state(position, 1)
    assert knowledge.text_of(position.sides[0].told) == ""


def test_an_empty_wall_ends_the_game_in_a_draw():
    variant = Variant(wall_limit=1)
    position = _play(_draw(_start(_DULL, "258m 258m EwWwNwSwGdRdWd", variant), "9m"), "discard Ew")
    assert (position.phase, position.points) == (Phase.OVER, 0)
    konged = _start("1111m 47m EwWwNwSwGdRdWd", _DULL, variant)
    assert _play(_draw(konged, "9m"), "concealed kong 1m").phase == Phase.OVER


_READY = "123m 456m 78m EwEwEw Gd Gd"


def test_ting_is_offered_when_a_discard_leaves_a_wait():
    position = _draw(_start(_READY, _DULL), "Nw")
    assert "ting" in _names(position)
    declared = _play(position, "ting")
    assert declared.own.heavenly
    # 12345678 waits for 3, 6 and 9 beside the pair, and for no pair without it.
    assert _names(declared) == {"discard Nw"}
    assert "0:ting" in views.information_state(declared, 1)
    settled = _play(declared, "discard Nw")
    assert settled.sides[0].waits == {_kind("3m"), _kind("6m"), _kind("9m")}
    assert "ting" not in _names(_draw(_start(_DULL, _READY), "Nw"))


def test_a_ready_hand_discards_what_it_drew_and_claims_only_to_win():
    position = _play(_draw(_start(_READY, "258m 258m EwWwNwSwRdRdWd"), "Nw"), "ting", "discard Nw")
    position = _draw(position, "Gd")
    position = _play(position, "discard Gd")
    # Player 0 could pong Gd were it not ready, and cannot win with it.
    assert (position.phase, position.player) == (Phase.DRAW, 0)
    assert _names(_draw(position, "5m")) == {"discard 5m"}
    assert _names(_draw(position, "9m")) == {"hu", "discard 9m"}


def test_a_ready_hand_may_kong_only_if_a_declared_wait_stays():
    # 12345678 EwEwEw GdGd: a kong of Ew keeps all waits.
    position = _play(_draw(_start(_READY, _DULL), "Nw"), "ting", "discard Nw")
    position = position._replace(phase=Phase.DRAW, player=0)
    drew = _draw(position, "Ew")
    assert _names(drew) == {"discard Ew", "concealed kong Ew"}
    # 4445 with three pungs waits for 3, 5 and 6; after a kong of 4 still for 5.
    other = _start("4445m EwEwEw WwWwWw NwNwNw", _DULL)
    other = _play(_draw(other, "9m"), "ting", "discard 9m")
    assert other.sides[0].waits == {_kind("3m"), _kind("5m"), _kind("6m")}
    other = _draw(other._replace(phase=Phase.DRAW, player=0), "4m")
    assert _names(other) == {"discard 4m", "concealed kong 4m"}
    # 34445 66 waits for 4 and 6; without the 4s it waits for a fifth 4.
    other = _start("34445m 66m EwEwEw WwWwWw", _DULL)
    other = _play(_draw(other, "9m"), "ting", "discard 9m")
    assert other.sides[0].waits == {_kind("4m"), _kind("6m")}
    other = _draw(other._replace(phase=Phase.DRAW, player=0), "4m")
    assert _names(other) == {"hu", "discard 4m"}


def test_ting_after_an_own_action_is_not_heavenly():
    position = _start(_READY, "258m 258m EwWwNwSwRdRdWd")
    position = _play(_draw(position, "Nw"), "discard Nw")
    position = _play(_draw(position, "5m"), "discard 5m")
    if position.phase == Phase.CLAIM:
        position = _play(position, "pass")
    declared = _play(_draw(position, "Sw"), "ting")
    assert declared.own.ready and not declared.own.heavenly


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranks": 2}, "ranks from 3 to 9"),
        ({"ranks": 10}, "ranks from 3 to 9"),
        ({"honours": 8}, "honours from 0 to 7"),
        ({"copies": 0}, "copies from 1 to 4"),
        ({"copies": 5}, "copies from 1 to 4"),
        ({"sets": 5}, "sets from 1 to 4"),
        ({"sets": 0}, "sets from 1 to 4"),
        ({"flowers": 9}, "flowers from 0 to 8"),
        ({"wall_limit": 0}, "wall_limit from 1 to the 46 tiles left"),
        ({"wall_limit": 47}, "wall_limit from 1 to the 46 tiles left"),
        ({"copies": 3}, "kongs=False unless copies=4"),
        ({"copies": 3, "kongs": False}, "ting=False unless copies=4"),
        ({"ranks": 3, "honours": 0}, "at least 27 tiles beside flowers"),
        ({"deal": "cards"}, "deal among auto, multiset, tiles"),
        ({"deal": "multiset"}, "deal=tiles or auto for a game of so many hands"),
    ],
)
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Variant(**changes)
