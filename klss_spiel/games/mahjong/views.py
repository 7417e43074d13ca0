"""What a player sees of a position, as texts and tensors. Nothing here leaks.

The information state is everything a player has been told:

    P0 | 1m 1m 2m 5m ... | flowers 1 0 | 0:draw 5m, 0:discard 1m, 1:draw, 1:discard Ew

the own hand as dealt (flowers replaced; nothing before that is told, as the order of a deal
means nothing), both players' flowers then, and the events since (see `knowledge`). Whether
the opponent has been asked to claim a tile does not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from klss_spiel.games.mahjong import actions, knowledge, rules, tiles
from klss_spiel.games.mahjong.melds import Meld, MeldKind
from klss_spiel.games.mahjong.rules import Phase, Position, Side
from klss_spiel.games.mahjong.variant import Variant

Shapes = dict[str, tuple[int, ...]]
Tensors = Mapping[str, npt.NDArray[np.float32]]

_K: Final = tiles.NUM_KINDS
_COPIES: Final = tiles.MAX_COPIES
_MAX_FLOWERS: Final = 8
_MAX_MELDS: Final = 4
# A history longer than this has no tensor: it would be mostly zeros.
_LONGEST_TENSOR: Final = 80
SEPARATOR: Final = " | "
NOT_DEALT: Final = "not dealt"


def has_begun(position: Position) -> bool:
    """Whether hands are dealt and flowers replaced."""
    return sum(position.sides[0].start) > 0


def decides(position: Position, player: int) -> bool:
    """Whether it is the player's decision."""
    return position.player == player and Phase.DISCARD <= position.phase <= Phase.ROB


def information_state(position: Position, player: int) -> str:
    """Everything the player has been told."""
    if not has_begun(position):
        return f"P{player}{SEPARATOR}{NOT_DEALT}"
    side = position.sides[player]
    flowers = " ".join(str(number) for number in position.start_flowers)
    parts = (
        f"P{player}",
        tiles.text_of(side.start),
        f"flowers {flowers}",
        knowledge.text_of(side.told),
    )
    return SEPARATOR.join(parts)


def _side_text(side: Side, own: bool) -> str:
    melds = " ".join(meld.text(hidden=not own, symbols=True) for meld in side.melds) or "none"
    river = "".join(tiles.SYMBOLS[kind] for kind in sorted(side.river)) or "empty"
    ready = ", ready" if side.ready else ""
    return f"melds {melds}, river {river}, flowers {side.flowers}{ready}"


def public_text(position: Position) -> str:
    """What anybody sees now."""
    if not has_begun(position):
        return NOT_DEALT
    sides = "; ".join(
        f"P{player}: {_side_text(side, own=False)}" for player, side in enumerate(position.sides)
    )
    return f"wall {position.wall_left}; {sides}"


def observation(position: Position, player: int) -> str:
    """What the player sees now, with tiles to look at."""
    if not has_begun(position):
        return f"P{player}: {NOT_DEALT}"
    side = position.sides[player]
    symbols = "".join(tiles.SYMBOLS[kind] for kind in tiles.expanded(side.hand))
    lines = [
        f"P{player} hand {symbols} ({tiles.text_of(side.hand)})",
        f"own {_side_text(side, own=True)}",
        f"opponent {_side_text(position.sides[1 - player], own=False)}",
        f"wall {position.wall_left}",
    ]
    if decides(position, player):
        lines.append(_question(position))
    return "; ".join(lines)


def _question(position: Position) -> str:
    if position.phase == Phase.DISCARD:
        drawn = "" if position.drawn == tiles.NO_TILE else f"drew {tiles.NAMES[position.drawn]}, "
        return f"{drawn}to discard" + (" with Ting" if position.declaring else "")
    verb = "claim" if position.phase == Phase.CLAIM else "rob the kong of"
    return f"to {verb} {tiles.NAMES[position.tile]} or pass"


# Tensors.


def longest_history(variant: Variant) -> int:
    """No player is told more events than this."""
    return variant.wall_size + variant.max_game_length


def has_information_tensor(variant: Variant) -> bool:
    """Whether histories are short enough to be shown as a tensor."""
    return longest_history(variant) <= _LONGEST_TENSOR


def information_shapes(variant: Variant) -> Shapes:
    """Pieces of the information state tensor."""
    return {
        "player": (2,),
        "dealt": (1,),
        "hand_at_start": (_K, _COPIES),
        "flowers_at_start": (2, _MAX_FLOWERS),
        "events": (longest_history(variant), 2 + knowledge.NUM_EVENTS),
    }


def write_information(position: Position, player: int, tensors: Tensors) -> None:
    """Fills the information state tensor's pieces, which are 0."""
    tensors["player"][player] = 1.0
    if not has_begun(position):
        return
    side = position.sides[player]
    tensors["dealt"][0] = 1.0
    _write_counts(side.start, tensors["hand_at_start"])
    for row, number in zip(tensors["flowers_at_start"], position.start_flowers, strict=True):
        row[:number] = 1.0
    for row, event in zip(tensors["events"], side.told, strict=False):
        who, what = knowledge.split(event)
        row[who] = 1.0
        row[2 + what] = 1.0


_PUBLIC_SIDE: Final[Shapes] = {
    "river": (_K, _COPIES),
    "chows": (actions.NUM_CHOW_HEADS, _MAX_MELDS),
    "pongs": (_K,),
    "kongs": (_K,),
    "concealed_kongs": (_MAX_MELDS,),
    "flowers": (_MAX_FLOWERS,),
    "ready": (1,),
}


def public_shapes() -> Shapes:
    """Pieces of the public observation tensor."""
    shapes: Shapes = {"wall": (1,)}
    for player in (0, 1):
        shapes |= {f"player{player}_{name}": shape for name, shape in _PUBLIC_SIDE.items()}
    return shapes


def private_shapes() -> Shapes:
    """Pieces of what one player sees beyond the public."""
    return {
        "hand": (_K, _COPIES),
        "own_concealed_kongs": (_K,),
        "drawn": (_K,),
        "tile": (_K,),
        "phase": (len(Phase),),
        "declaring": (1,),
    }


def write_public(position: Position, tensors: Tensors) -> None:
    """Fills the public pieces, which are 0."""
    if not has_begun(position):
        return
    tensors["wall"][0] = position.wall_left / position.variant.wall_size
    for player, side in enumerate(position.sides):
        pieces = {name: tensors[f"player{player}_{name}"] for name in _PUBLIC_SIDE}
        _write_counts([side.river.count(kind) for kind in range(_K)], pieces["river"])
        heads = [meld.tile for meld in side.melds if meld.kind == MeldKind.CHOW]
        _write_counts([heads.count(h) for h in range(actions.NUM_CHOW_HEADS)], pieces["chows"])
        for name, kind in (("pongs", MeldKind.PONG), ("kongs", MeldKind.KONG)):
            for meld in side.melds:
                if meld.kind == kind:
                    pieces[name][meld.tile] = 1.0
        hidden = sum(meld.kind == MeldKind.CONCEALED_KONG for meld in side.melds)
        pieces["concealed_kongs"][:hidden] = 1.0
        pieces["flowers"][: side.flowers] = 1.0
        pieces["ready"][0] = float(side.ready)


def write_private(position: Position, player: int, tensors: Tensors) -> None:
    """Fills a player's own pieces, which are 0."""
    if not has_begun(position):
        return
    side = position.sides[player]
    _write_counts(side.hand, tensors["hand"])
    for meld in side.melds:
        if meld.kind == MeldKind.CONCEALED_KONG:
            tensors["own_concealed_kongs"][meld.tile] = 1.0
    if decides(position, player):
        for name, kind in (("drawn", position.drawn), ("tile", position.tile)):
            if kind != tiles.NO_TILE:
                tensors[name][kind] = 1.0
        tensors["phase"][position.phase] = 1.0
        tensors["declaring"][0] = float(position.declaring)


def _write_counts(counts: tiles.Counts | list[int], tensor: npt.NDArray[np.float32]) -> None:
    for row, count in zip(tensor, counts, strict=True):
        row[:count] = 1.0


# Back from an information state.


_KINDS: Final = {name: kind for kind, name in enumerate(tiles.NAMES)}
_EVENTS: Final = {
    knowledge.text_of((event,)): event
    for player in (0, 1)
    for event in (
        *(knowledge.action_event(player, what) for what in range(actions.NUM_ACTIONS)),
        *(knowledge.draw_event(player, kind) for kind in range(_K + 1)),
        *knowledge.as_seen(knowledge.action_event(player, actions.CONCEALED_KONG), 1 - player),
        *knowledge.as_seen(knowledge.draw_event(player, 0), 1 - player),
    )
}


def own_view(variant: Variant, text: str) -> Position:
    """A position as the player of an information state knows it, at the own decision.

    The opponent's hand is empty and the tiles that are hidden from the player are all in
    `unseen`: the opponent's and those of the wall alike. A concealed kong of the opponent
    is one of no tile.
    """
    try:
        name, hand, flowers, history = text.split(SEPARATOR)
        player = int(name.removeprefix("P"))
        start = [0] * _K
        for tile in hand.split():
            start[_KINDS[tile]] += 1
        counts = [int(number) for number in flowers.removeprefix("flowers ").split()]
        events = tuple(_EVENTS[event] for event in history.split(", ")) if history else ()
    except (KeyError, ValueError) as error:
        raise ValueError(f"expected an information state of Mahjong, got {text!r}") from error
    sides = tuple(
        Side(
            hand=tuple(start) if p == player else Side().hand, flowers=counts[p], start=tuple(start)
        )
        for p in (0, 1)
    )
    unseen = tuple(
        have - taken for have, taken in zip(variant.deck, [*start, sum(counts)], strict=True)
    )
    # Each flower of the deal was replaced from the wall, and so were flowers among those
    # tiles: one tile drawn for each.
    position = Position(
        variant,
        Phase.DRAW,
        0,
        (sides[0], sides[1]),
        unseen,
        variant.wall_size - sum(counts),
        start_flowers=(counts[0], counts[1]),
    )
    for event in events:
        position = _seen(position, player, event)
    own = position.sides[player]._replace(told=events)
    other = position.sides[1 - player]
    return position._replace(sides=(own, other) if player == 0 else (other, own))


def _seen(position: Position, player: int, event: int) -> Position:
    """The own view after one more event; `rules` cannot play what is hidden."""
    who, what = knowledge.split(event)
    if what >= knowledge.DREW and what != knowledge.HIDDEN_DRAW:
        at_draw = position._replace(phase=Phase.DRAW, player=who, tile=tiles.NO_TILE)
        return rules.draw(at_draw, what - knowledge.DREW)
    if who == player:
        at_own = position._replace(player=player)
        return rules.after(at_own, what)
    return _seen_of_opponent(position, who, what)


def _seen_of_opponent(position: Position, who: int, what: int) -> Position:
    side = position.sides[who]
    own = position.sides[1 - who]
    changes: dict[str, object] = {}
    if what == knowledge.HIDDEN_DRAW:
        return position._replace(
            phase=Phase.DISCARD,
            player=who,
            wall_left=position.wall_left - 1,
            tile=tiles.NO_TILE,
        )
    if what == actions.TING:
        side = side._replace(ready=True)
    elif actions.is_discard(what):
        kind = actions.kind_of(what)
        side = side._replace(river=(*side.river, kind))
        changes = {"phase": Phase.CLAIM, "player": 1 - who, "tile": kind, "may_win": True}
        position = _take(position, [kind])
    elif what == knowledge.HIDDEN_KONG:
        hidden = Meld(MeldKind.CONCEALED_KONG, tiles.NO_TILE)
        side = side._replace(melds=(*side.melds, hidden))
    elif actions.ADD_KONG <= what < actions.CHOW:
        kind = actions.kind_of(what)
        pong, kong = Meld(MeldKind.PONG, kind), Meld(MeldKind.KONG, kind)
        side = side._replace(melds=tuple(kong if meld == pong else meld for meld in side.melds))
        changes = {"phase": Phase.ROB, "player": 1 - who, "tile": kind, "may_win": True}
        position = _take(position, [kind])
    else:
        tile = own.river[-1]
        own = own._replace(river=own.river[:-1])
        if what >= actions.CHOW:
            meld = Meld(MeldKind.CHOW, actions.chow_head(what))
        else:
            meld = Meld(MeldKind.KONG if what >= actions.KONG else MeldKind.PONG, tile)
        side = side._replace(melds=(*side.melds, meld))
        laid = list(meld.tiles)
        laid.remove(tile)
        position = _take(position, laid)
        changes = {"phase": Phase.DISCARD, "player": who, "tile": tiles.NO_TILE}
    sides = (side, own) if who == 0 else (own, side)
    return position._replace(sides=sides, **changes)  # type: ignore[arg-type]


def _take(position: Position, kinds: list[int]) -> Position:
    """Tiles that were hidden have been shown."""
    unseen = tiles.with_change(position.unseen, [(kind, -1) for kind in kinds])
    return position._replace(unseen=unseen)
