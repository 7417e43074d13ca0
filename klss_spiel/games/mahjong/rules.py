"""The rules: positions are immutable values, `legal_actions` and `after` the moves.

A game is a deal, then draws (chance), discards and claims. One end of the wall serves
every draw; a drawn flower is laid aside and replaced at once; a draw that an empty wall
cannot serve ends the game in a draw.

Whoever has drawn may win, declare Ting, lay out a kong or discard. The opponent may claim
the discard to win or for a pong, a kong or a chow; without any such option he just draws,
and nobody else can tell whether he had one. After a pong or a chow only Ting or a discard
can follow. Ting (a ready hand) is public and binds: the discard must leave a wait, later
discards are the tile just drawn, and a kong must leave one of the declared waits.

What each player is told is kept as a tuple of events; see `knowledge`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final, NamedTuple

from klss_spiel.games.mahjong import actions, knowledge, scoring, shapes, tiles
from klss_spiel.games.mahjong.melds import Meld, MeldKind
from klss_spiel.games.mahjong.variant import Variant

_NOBODY: Final = frozenset[int]()
_NO_TILES: Final = (0,) * tiles.NUM_KINDS


class Phase(enum.IntEnum):
    """What happens next."""

    DEAL = 0  # chance deals hands, and replaces their flowers
    DRAW = 1  # chance gives `player` a tile
    DISCARD = 2  # `player` has a tile too many
    CLAIM = 3  # `player` may claim `tile`, which the opponent discarded
    ROB = 4  # `player` may win with `tile`, which the opponent adds to a pong
    OVER = 5


CHANCE_PHASES: Final = (Phase.DEAL, Phase.DRAW)


class Side(NamedTuple):
    """What belongs to one player.

    Attributes:
        hand: [16] concealed tiles.
        melds: in the order they were laid out.
        river: discards that nobody claimed, in order.
        flowers: flowers laid aside.
        ready: whether Ting is declared.
        heavenly: whether at the first own action.
        acted: whether the player has discarded or claimed anything.
        waits: kinds declared to complete the hand.
        told: events as the player sees them.
        start: [16] the hand as dealt, flowers replaced.
    """

    hand: tiles.Counts = _NO_TILES
    melds: tuple[Meld, ...] = ()
    river: tuple[int, ...] = ()
    flowers: int = 0
    ready: bool = False
    heavenly: bool = False
    acted: bool = False
    waits: frozenset[int] = _NOBODY
    told: tuple[int, ...] = ()
    start: tiles.Counts = _NO_TILES


class Position(NamedTuple):
    """A moment of the game.

    Attributes:
        variant: which Mahjong.
        phase: what happens next.
        player: whose move it is, or who gets the next tile.
        sides: what belongs to each player.
        unseen: [17] tiles in the wall, and beyond its limit, by kind.
        wall_left: how many can still be drawn.
        tile: the discard or the added tile in question, in CLAIM and ROB.
        drawn: the tile just drawn, in DISCARD; NO_TILE after a claim.
        after_kong: whether that tile replaces a kong's.
        may_win: whether Hu is still on offer in this phase.
        may_kong: whether kongs are on offer in this DISCARD.
        declaring: whether Ting was just declared and its discard is due.
        points: what player 0 has won.
        start_flowers: flowers of both players after the deal.
    """

    variant: Variant
    phase: Phase
    player: int
    sides: tuple[Side, Side]
    unseen: tuple[int, ...]
    wall_left: int
    tile: int = tiles.NO_TILE
    drawn: int = tiles.NO_TILE
    after_kong: bool = False
    may_win: bool = True
    may_kong: bool = True
    declaring: bool = False
    points: int = 0
    start_flowers: tuple[int, int] = (0, 0)

    @property
    def own(self) -> Side:
        """The side of who moves."""
        return self.sides[self.player]


def first_position(variant: Variant) -> Position:
    """Before the deal."""
    return Position(variant, Phase.DEAL, 0, (Side(), Side()), variant.deck, variant.wall_size)


def _replace_side(position: Position, player: int, side: Side) -> tuple[Side, Side]:
    first, second = position.sides
    return (side, second) if player == 0 else (first, side)


# Chance.


def tiles_to_deal(position: Position) -> int:
    """Tiles that the hand of `player` still lacks in DEAL, flowers counted as tiles."""
    side = position.own
    return position.variant.hand_size - sum(side.hand) - side.flowers


def deal_hand(position: Position, counts: Sequence[int]) -> Position:
    """Gives `player` several tiles at once, flowers among them ([17])."""
    side = position.own
    dealt = side._replace(
        hand=tuple(have + new for have, new in zip(side.hand, counts, strict=False)),
        flowers=side.flowers + counts[tiles.FLOWER],
    )
    unseen = tuple(left - new for left, new in zip(position.unseen, counts, strict=True))
    sides = _replace_side(position, position.player, dealt)
    after = position._replace(sides=sides, unseen=unseen)
    if tiles_to_deal(after) > 0:
        return after
    if position.player == 0:
        return after._replace(player=1)
    return _replace_flowers(after, 0)


def _replace_flowers(position: Position, player: int) -> Position:
    """Lets the next player whose hand is short draw, or begins the game."""
    for candidate in range(player, 2):
        if sum(position.sides[candidate].hand) < position.variant.hand_size:
            return _draw_for(position, candidate)
    first, second = (side._replace(start=side.hand) for side in position.sides)
    flowers = (first.flowers, second.flowers)
    begun = position._replace(sides=(first, second), start_flowers=flowers)
    return _draw_for(begun, 0)


def _draw_for(position: Position, player: int, after_kong: bool = False) -> Position:
    if position.wall_left == 0:
        return position._replace(phase=Phase.OVER, player=player)
    return position._replace(
        phase=Phase.DRAW, player=player, tile=tiles.NO_TILE, after_kong=after_kong
    )


def is_replacing(position: Position) -> bool:
    """Whether a DRAW replaces a flower of the deal."""
    return sum(position.sides[1].start) == 0


def draw(position: Position, kind: int) -> Position:
    """Gives `player` the next tile of the wall."""
    player, side = position.player, position.own
    replacing = is_replacing(position)
    unseen = tiles.with_change(position.unseen, [(kind, -1)])
    position = position._replace(unseen=unseen, wall_left=position.wall_left - 1)
    if not replacing:
        position = _tell(position, knowledge.draw_event(player, kind))
        side = position.own
    if kind == tiles.FLOWER:
        laid = side._replace(flowers=side.flowers + 1)
        position = position._replace(sides=_replace_side(position, player, laid))
        return _draw_for(position, player)
    taken = side._replace(hand=tiles.with_change(side.hand, [(kind, 1)]))
    position = position._replace(sides=_replace_side(position, player, taken))
    if replacing:
        return _replace_flowers(position, player)
    return position._replace(
        phase=Phase.DISCARD, drawn=kind, may_win=True, may_kong=True, declaring=False
    )


def _tell(position: Position, event: int) -> Position:
    """Adds an event to what both players have seen."""
    first, second = (
        side._replace(told=(*side.told, *knowledge.as_seen(event, player)))
        for player, side in enumerate(position.sides)
    )
    return position._replace(sides=(first, second))


# Options.


def _sets_wanted(position: Position, side: Side) -> int:
    return position.variant.sets - len(side.melds)


def _wins(position: Position, side: Side, extra: int = tiles.NO_TILE) -> bool:
    hand = side.hand if extra == tiles.NO_TILE else tiles.with_change(side.hand, [(extra, 1)])
    return shapes.wins(hand, _sets_wanted(position, side), position.variant.seven_pairs)


def _waits(position: Position, side: Side, without: int) -> frozenset[int]:
    """What the hand waits for once a kind is discarded."""
    hand = tiles.with_change(side.hand, [(without, -1)])
    return shapes.waits(hand, _sets_wanted(position, side), position.variant.seven_pairs)


def _waiting_discards(position: Position) -> dict[int, frozenset[int]]:
    """Discards that leave a wait, with what they wait for."""
    side = position.own
    found = {
        kind: _waits(position, side, kind) for kind in range(tiles.NUM_KINDS) if side.hand[kind]
    }
    return {kind: waits for kind, waits in found.items() if waits}


def _kong_keeps_wait(position: Position, kind: int, number: int) -> bool:
    """Whether a ready hand may turn `number` own tiles into a kong."""
    side = position.own
    if not side.ready:
        return True
    hand = tiles.with_change(side.hand, [(kind, -number)])
    left = shapes.waits(hand, _sets_wanted(position, side) - 1, position.variant.seven_pairs)
    return bool((left & side.waits) - {kind})


def _discard_phase_actions(position: Position) -> list[int]:
    side, variant = position.own, position.variant
    ready_before = side.ready and not position.declaring
    waiting = _waiting_discards(position) if variant.ting and not ready_before else {}
    if ready_before:
        discards = [position.drawn]
    elif position.declaring:
        discards = [kind for kind in waiting if waiting[kind] & side.waits]
    else:
        discards = [kind for kind in range(tiles.NUM_KINDS) if side.hand[kind]]
    found = [actions.DISCARD + kind for kind in discards]
    if position.may_win and _wins(position, side):
        found.append(actions.HU)
    if waiting and not side.ready:
        found.append(actions.TING)
    if variant.kongs and position.may_kong:
        found += [
            actions.CONCEALED_KONG + kind
            for kind in range(tiles.NUM_KINDS)
            if side.hand[kind] == tiles.MAX_COPIES
            and _kong_keeps_wait(position, kind, tiles.MAX_COPIES)
        ]
        addable = discards if side.ready else range(tiles.NUM_KINDS)
        found += [
            actions.ADD_KONG + kind
            for kind in addable
            if side.hand[kind] and Meld(MeldKind.PONG, kind) in side.melds
        ]
    return found


def _claims(position: Position) -> list[int]:
    """What `player` can do with the discard, passing apart."""
    side, tile, variant = position.own, position.tile, position.variant
    found = []
    if position.may_win and _wins(position, side, tile):
        found.append(actions.HU)
    number = side.hand[tile]
    if variant.kongs and number == 3 and _kong_keeps_wait(position, tile, 3):
        found.append(actions.KONG + tile)
    if side.ready:
        return found
    if number >= 2:
        found.append(actions.PONG + tile)
    if tiles.is_suited(tile):
        for head in range(max(tile - 2, 0), min(tile, tiles.NUM_RANKS - 3) + 1):
            if all(side.hand[head + i] for i in range(3) if head + i != tile):
                found.append(actions.chow_action(head, tile))
    return found


def legal_actions(position: Position) -> list[int]:
    """Actions of `player`, ascending; none where chance moves or the game is over."""
    if position.phase == Phase.DISCARD:
        found = _discard_phase_actions(position)
    elif position.phase == Phase.CLAIM:
        found = [actions.PASS, *_claims(position)]
    elif position.phase == Phase.ROB:
        separate = position.variant.separate_pass_hu and not position.variant.forced_hu
        found = [actions.HU] if separate else [actions.HU, actions.PASS]
    else:
        return []
    if actions.HU in found:
        if position.variant.forced_hu:
            return [actions.HU]
        if position.variant.separate_pass_hu:
            found.append(actions.PASS_HU)
    return sorted(found)


# Moves.


def after(position: Position, action: int) -> Position:
    """The position after a legal action of `player`."""
    player = position.player
    position = _tell(position, knowledge.action_event(player, action))
    if action == actions.HU:
        return _won(position)
    if action == actions.PASS_HU:
        return _win_passed(position)
    if action == actions.PASS:
        if position.phase == Phase.ROB:
            return _draw_for(position, 1 - player, after_kong=True)
        return _draw_for(position, player)
    side = position.own
    if action == actions.TING:
        waits = frozenset[int]().union(*_waiting_discards(position).values())
        ready = side._replace(ready=True, heavenly=not side.acted, waits=waits)
        sides = _replace_side(position, player, ready)
        return position._replace(sides=sides, may_win=False, declaring=True)
    if actions.is_discard(action):
        return _discarded(position, actions.kind_of(action))
    if actions.CONCEALED_KONG <= action < actions.CHOW:
        return _own_kong(position, action)
    return _claimed(position, action)


def _win_passed(position: Position) -> Position:
    if position.phase == Phase.ROB:
        return _draw_for(position, 1 - position.player, after_kong=True)
    passed = position._replace(may_win=False)
    if position.phase == Phase.CLAIM and not _claims(passed):
        return _draw_for(passed, position.player)
    return passed


def _discarded(position: Position, kind: int) -> Position:
    player, side = position.player, position.own
    waits = _waits(position, side, kind) & side.waits if side.ready else _NOBODY
    side = side._replace(
        hand=tiles.with_change(side.hand, [(kind, -1)]),
        river=(*side.river, kind),
        acted=True,
        waits=waits,
    )
    offered = position._replace(
        phase=Phase.CLAIM,
        player=1 - player,
        sides=_replace_side(position, player, side),
        tile=kind,
        drawn=tiles.NO_TILE,
        after_kong=False,
        may_win=True,
        declaring=False,
    )
    return offered if _claims(offered) else _draw_for(offered, 1 - player)


def _own_kong(position: Position, action: int) -> Position:
    player, side, kind = position.player, position.own, actions.kind_of(action)
    concealed = action < actions.ADD_KONG
    if concealed:
        melds = (*side.melds, Meld(MeldKind.CONCEALED_KONG, kind))
    else:
        pong, kong = Meld(MeldKind.PONG, kind), Meld(MeldKind.KONG, kind)
        melds = tuple(kong if meld == pong else meld for meld in side.melds)
    hand = tiles.with_change(side.hand, [(kind, -tiles.MAX_COPIES if concealed else -1)])
    side = side._replace(hand=hand, melds=melds, acted=True)
    sides = _replace_side(position, player, side)
    position = position._replace(sides=sides, drawn=tiles.NO_TILE, declaring=False)
    opponent = sides[1 - player]
    if not concealed and _wins(position, opponent, kind):
        return position._replace(phase=Phase.ROB, player=1 - player, tile=kind, may_win=True)
    return _draw_for(position, player, after_kong=True)


def _claimed(position: Position, action: int) -> Position:
    player, side, tile = position.player, position.own, position.tile
    if action >= actions.CHOW:
        head = actions.chow_head(action)
        meld = Meld(MeldKind.CHOW, head)
        used = [(head + i, -1) for i in range(3) if head + i != tile]
    else:
        kong = action >= actions.KONG
        meld = Meld(MeldKind.KONG if kong else MeldKind.PONG, tile)
        used = [(tile, -3 if kong else -2)]
    side = side._replace(
        hand=tiles.with_change(side.hand, used), melds=(*side.melds, meld), acted=True
    )
    position = _tile_taken(position)._replace(
        sides=_replace_side(_tile_taken(position), player, side)
    )
    if meld.kind == MeldKind.KONG:
        return _draw_for(position, player, after_kong=True)
    return position._replace(
        phase=Phase.DISCARD,
        tile=tiles.NO_TILE,
        drawn=tiles.NO_TILE,
        may_win=False,
        may_kong=False,
        declaring=False,
    )


def _tile_taken(position: Position) -> Position:
    """The discard in question leaves the opponent's river."""
    opponent = position.sides[1 - position.player]
    river = opponent._replace(river=opponent.river[:-1])
    return position._replace(sides=_replace_side(position, 1 - position.player, river))


def _won(position: Position) -> Position:
    points, _ = scoring.score(win_of(position))
    paid = points if position.player == 0 else -points
    return position._replace(phase=Phase.OVER, points=paid)


def win_of(position: Position) -> scoring.Win:
    """The win that Hu would be for `player`."""
    player, side, phase = position.player, position.own, position.phase
    self_drawn = phase == Phase.DISCARD
    if phase == Phase.CLAIM:
        position = _tile_taken(position)
    tile = position.drawn if self_drawn else position.tile
    melds = [s.melds for s in position.sides]
    if phase == Phase.ROB:  # the kong has not come about
        kong, pong = Meld(MeldKind.KONG, tile), Meld(MeldKind.PONG, tile)
        melds[1 - player] = tuple(pong if meld == kong else meld for meld in melds[1 - player])
    river = list(_NO_TILES)
    for kind in position.sides[0].river + position.sides[1].river:
        river[kind] += 1
    return scoring.Win(
        winner=player,
        hand=side.hand if self_drawn else tiles.with_change(side.hand, [(tile, 1)]),
        melds=(melds[0], melds[1]),
        win_tile=tile,
        self_drawn=self_drawn,
        robbed=phase == Phase.ROB,
        wall_left=position.wall_left,
        flowers=side.flowers,
        ready=side.ready,
        heavenly_ready=side.heavenly,
        after_kong=self_drawn and position.after_kong,
        river=tuple(river),
        river_size=sum(river),
        sets=position.variant.sets,
    )
