"""What a player of a game without a chess board is told, in words that people read.

A few games have words of their own; all others show what the game says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

_KUHN_CARDS: Final = ("Jack", "Queen", "King")
_KUHN_ACTIONS: Final = {"p": "pass", "b": "bet"}
_LEDUC_ACTIONS: Final = ("fold", "call", "raise")
_LEDUC_RANKS: Final = ("Jack", "Queen", "King")

_SHOWN_EVENTS: Final = 6


class _Told(Protocol):
    @property
    def player(self) -> int: ...
    @property
    def information_state(self) -> str: ...
    @property
    def observation(self) -> str | None: ...
    @property
    def over(self) -> bool: ...


def text_view(short_name: str, told: _Told) -> dict[str, Any]:
    """The lines, and for dark hex the grid, that a player is shown."""
    describe = _DESCRIPTIONS.get(short_name)
    if describe is not None:
        return describe(told)
    text = told.observation if told.observation is not None else told.information_state
    lines = text.splitlines() or ["Nothing has happened yet."]
    if told.observation is not None and told.information_state != told.observation:
        lines += ["", "So far:", *told.information_state.splitlines()]
    return {"lines": lines}


def _in_turn(said: Sequence[str], told: _Told) -> str:
    """What two players have said one after the other, player 0 first, with who it was."""
    names = ("you", "opponent") if told.player == 0 else ("opponent", "you")
    return "; ".join(f"{names[turn % 2]}: {what}" for turn, what in enumerate(said))


def _kuhn(told: _Told) -> dict[str, Any]:
    text = told.information_state
    if not text or not text[0].isdigit():
        return {"lines": ["The cards are being dealt."]}
    card = _KUHN_CARDS[int(text[0])] if int(text[0]) < len(_KUHN_CARDS) else text[0]
    bets = [_KUHN_ACTIONS.get(letter, letter) for letter in text[1:]]
    return {"lines": [f"Your card: {card}", f"Betting: {_in_turn(bets, told) or 'nothing yet'}"]}


def _leduc(told: _Told) -> dict[str, Any]:
    fields = dict(re.findall(r"\[(\w+):? ?([^\]]*)\]", told.information_state))

    def card(text: str) -> str:
        number = int(text)
        return "none yet" if number < 0 else _LEDUC_RANKS[number // 2 % len(_LEDUC_RANKS)]

    def bets(text: str) -> str:
        return _in_turn([_LEDUC_ACTIONS[int(a)] for a in text.split()], told) or "nothing yet"

    try:
        lines = [
            f"Your card: {card(fields['Private'])}",
            f"Card on the table: {card(fields.get('Public', '-1'))}",
            # Once the game is over the pot has been paid out.
            *([] if told.over else [f"Pot: {fields['Pot']}"]),
            f"First round: {bets(fields.get('Round1', ''))}",
            f"Second round: {bets(fields.get('Round2', ''))}",
        ]
    except (KeyError, ValueError, IndexError):  # another version of the game
        lines = [told.information_state]
    return {"lines": lines}


def _liars_dice(told: _Told) -> dict[str, Any]:
    dice, *bids = told.information_state.split()
    lines = [
        f"Your dice: {', '.join(dice)}",
        f"Bids: {_in_turn(bids, told) or 'none yet'}",
        "A bid such as 2-5 says that both players' dice show at least two fives. "
        "The highest face counts as any.",
    ]
    return {"lines": lines}


def _dark_hex(told: _Told) -> dict[str, Any]:
    text = told.observation if told.observation is not None else told.information_state
    rows = [row for row in text.splitlines() if row and set(row) <= set("xo.")]
    mark, ends = ("x", "top and bottom") if told.player == 0 else ("o", "left and right")
    return {
        "lines": [f"You are {mark} and join {ends}. A taken cell shows its stone and you go on."],
        "hex": rows,
    }


def _mahjong(told: _Told) -> dict[str, Any]:
    hand, own, opponent, *rest = (told.observation or "").split("; ")[:5] + [""] * 3
    if "hand" not in hand:
        return {"lines": ["The tiles are being dealt."]}
    hand = hand.partition(" hand ")[2]
    events = told.information_state.rpartition(" | ")[2].split(", ")[-_SHOWN_EVENTS:]
    names = {f"{told.player}": "you", f"{1 - told.player}": "opponent"}
    said = [f"{names[who]}: {what}" for who, _, what in (e.partition(":") for e in events) if what]
    question = "" if told.over or not rest[1] else f"You {rest[1]}."
    lines = [
        f"Your hand: {hand}",
        f"Yours: {own.removeprefix('own ')}",
        f"Opponent: {opponent.removeprefix('opponent ')}",
        f"Tiles left: {rest[0].removeprefix('wall ')}",
        f"Last: {'; '.join(said) or 'nothing yet'}",
        *(
            [question.replace("You to ", "You are to ").replace(", to ", " and are to ")]
            if question
            else []
        ),
        "1m to 9m are characters; Gd, Rd, Wd dragons; Ew, Sw, Ww, Nw winds; Fl a flower.",
    ]
    return {"lines": lines}


_DESCRIPTIONS: Mapping[str, Callable[[_Told], dict[str, Any]]] = {
    "kuhn_poker": _kuhn,
    "leduc_poker": _leduc,
    "liars_dice": _liars_dice,
    "dark_hex": _dark_hex,
    "python_two_player_mahjong": _mahjong,
}
