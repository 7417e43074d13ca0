"""What a player is told: events, as numbers and as text.

An event is something a player did or drew. Everybody sees discards, claims, open kongs,
Ting, that somebody drew, and flowers. Only who did it sees the tile that was drawn, the
tile of a concealed kong, and that a claim or a win was passed: nobody learns whether the
opponent was asked at all.

An event's number is 128 * player + what:

    0-104    an action; see `actions`
    105      a concealed kong of an unknown kind
    106-122  drew a kind, or a flower
    123      drew something
"""

from __future__ import annotations

from typing import Final

from klss_spiel.games.mahjong import actions, tiles

HIDDEN_KONG: Final = actions.NUM_ACTIONS
DREW: Final = HIDDEN_KONG + 1
HIDDEN_DRAW: Final = DREW + tiles.NUM_KINDS + 1
NUM_EVENTS: Final = HIDDEN_DRAW + 1
_STRIDE: Final = 128

_PRIVATE: Final = (actions.PASS, actions.PASS_HU)


def action_event(player: int, action: int) -> int:
    """A player's action."""
    return _STRIDE * player + action


def draw_event(player: int, kind: int) -> int:
    """A player's draw of a kind or a flower."""
    return _STRIDE * player + DREW + kind


def split(event: int) -> tuple[int, int]:
    """Who, and what."""
    return divmod(event, _STRIDE)


def as_seen(event: int, observer: int) -> tuple[int, ...]:
    """An event as a player sees it: nothing, or one event."""
    player, what = split(event)
    if player == observer:
        return (event,)
    if what in _PRIVATE:
        return ()
    if actions.CONCEALED_KONG <= what < actions.ADD_KONG:
        return (_STRIDE * player + HIDDEN_KONG,)
    if DREW <= what < DREW + tiles.FLOWER:
        return (_STRIDE * player + HIDDEN_DRAW,)
    return (event,)


def _text(event: int) -> str:
    player, what = split(event)
    if what < actions.NUM_ACTIONS:
        return f"{player}:{actions.NAMES[what]}"
    if what == HIDDEN_KONG:
        return f"{player}:concealed kong"
    if what == HIDDEN_DRAW:
        return f"{player}:draw"
    return f"{player}:draw {tiles.NAMES[what - DREW]}"


_TEXTS: Final = {
    _STRIDE * player + what: _text(_STRIDE * player + what)
    for player in (0, 1)
    for what in range(NUM_EVENTS)
}


def text_of(told: tuple[int, ...]) -> str:
    """Events as text, in order."""
    return ", ".join(_TEXTS[event] for event in told)
