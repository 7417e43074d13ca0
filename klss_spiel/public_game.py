"""Games in which only hands are hidden: a public tree times hands.

Too large for a tree of histories, such a game has a small tree of public states, and
in each of them a player has one infoset per hand. A `PublicGame` lists the decisions of
that tree (`Spot`), the hands that are possible before and after public cards (`Stage`)
and where it ends (`hand_payoffs.HandOutcomes`); its `form` is a `SequenceForm` whose
payoffs are an operator, on which CFR, best responses and exploitability run as on any
other.

The sequence of hand h and the a-th of A actions at a spot is first_sequence + h A + a.
Spots come after those before them, and all spots of a `Closure` follow each other, so
that the sequences of one player in a closure are one range.

Shapes: H hands of a stage, S sequences of a player.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, IntArray
from klss_spiel.hand_payoffs import HandOutcomes, HandPairs, HandPayoffs
from klss_spiel.sequence_form import SequenceForm, Treeplex
from klss_spiel.tree import EMPTY_SEQUENCE, NO_ACTION, PLAYERS
from klss_spiel.treeplex_kernels import best_response_value, realization_plan

NO_SPOT = -1
FIRST_STAGE = 0


@dataclasses.dataclass(frozen=True, eq=False)
class Stage:
    """What the public cards leave open.

    Attributes:
      name: the public cards; empty before them.
      pairs: the hands and how likely two of them are dealt, together with these cards.
      hand_before: [H] the hand of the first stage that each hand was there.
      hands: [H] names of hands, or none where there are too many.
    """

    name: str
    pairs: HandPairs
    hand_before: IntArray
    hands: tuple[str, ...] = ()

    @property
    def num_hands(self) -> int:
        """H."""
        return self.pairs.num_hands


@dataclasses.dataclass(frozen=True)
class Spot:
    """A public state at which a player moves.

    Attributes:
      player: who.
      stage: number of the stage.
      history: the betting so far.
      actions: OpenSpiel's.
      first_sequence: of the first hand.
      before: the player's spot before this one, or NO_SPOT.
      action_before: which of its actions led here, counted from 0.
    """

    player: int
    stage: int
    history: str
    actions: tuple[int, ...]
    first_sequence: int
    before: int
    action_before: int

    @property
    def num_sequences(self) -> int:
        """Per hand."""
        return len(self.actions)


@dataclasses.dataclass(frozen=True, eq=False)
class Closure:
    """A public state right after public cards: a common-knowledge closure.

    Attributes:
      stage: number of the stage.
      history: the betting that led here.
      spots: numbers of all spots at or below it.
      begin: for each player, the first of his sequences in it.
      end: for each player, the one after his last.
      outcomes: where it ends; sequences have the game's numbers.
    """

    stage: int
    history: str
    spots: tuple[int, ...]
    begin: tuple[int, int]
    end: tuple[int, int]
    outcomes: HandOutcomes


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PublicGame:
    """A two-player zero-sum game as a public tree times hands.

    Attributes:
      name: for messages.
      stages: the first without public cards, then one for each board.
      spots: all public states at which somebody moves.
      outcomes: all public states at which the game ends, by stage.
      closures: all public states right after public cards.
    """

    name: str
    stages: tuple[Stage, ...]
    spots: tuple[Spot, ...]
    outcomes: tuple[HandOutcomes, ...]
    closures: tuple[Closure, ...]

    def __repr__(self) -> str:
        rows, columns = (treeplex.num_sequences for treeplex in self.form.treeplexes)
        return f"<PublicGame {self.name}: {len(self.spots)} spots, {rows} by {columns} sequences>"

    @functools.cached_property
    def form(self) -> SequenceForm:
        """The sequence form of the whole game."""
        none = np.zeros(0, dtype=np.int32)
        return SequenceForm(
            treeplexes=(self._treeplex(0), self._treeplex(1)),
            row=none,
            column=none,
            value=np.zeros(0),
            operator=HandPayoffs(self.outcomes),
        )

    def _treeplex(self, player: int) -> Treeplex:
        spots = [spot for spot in self.spots if spot.player == player]
        first, parent, count = [], [], []
        size = 1
        for spot in spots:
            hands = np.arange(self.stages[spot.stage].num_hands, dtype=np.int32)
            first.append(np.int32(spot.first_sequence) + np.int32(len(spot.actions)) * hands)
            parent.append(self.sequences_before(spot))
            count.append(np.full(len(hands), len(spot.actions), dtype=np.int32))
            size += len(hands) * len(spot.actions)
        return Treeplex(
            parent_sequence=np.concatenate(parent),
            first_sequence=np.concatenate(first),
            num_actions=np.concatenate(count),
            num_sequences=size,
        )

    def sequences_before(self, spot: Spot) -> IntArray:
        """[H] the sequence by which the player comes to a spot with each hand."""
        stage = self.stages[spot.stage]
        if spot.before == NO_SPOT:
            return np.full(stage.num_hands, EMPTY_SEQUENCE, dtype=np.int32)
        above = self.spots[spot.before]
        hands = stage.hand_before if above.stage != spot.stage else np.arange(stage.num_hands)
        sequences = above.first_sequence + hands * len(above.actions) + spot.action_before
        return sequences.astype(np.int32)

    def entry_sequences(self, closure: Closure, player: int) -> IntArray:
        """[H] the sequence by which a player comes to a closure with each hand."""
        own = [self.spots[k] for k in closure.spots if self.spots[k].player == player]
        return self.sequences_before(own[0])

    @functools.cached_property
    def sequence_actions(self) -> tuple[IntArray, IntArray]:
        """For each player, [S] OpenSpiel's action of each sequence; NO_ACTION for 0."""
        actions = []
        for p in PLAYERS:
            parts = [np.array([NO_ACTION], dtype=np.int8)]
            parts += [
                np.tile(np.array(spot.actions, dtype=np.int8), self.stages[spot.stage].num_hands)
                for spot in self.spots
                if spot.player == p
            ]
            actions.append(np.concatenate(parts))
        return actions[0], actions[1]

    def plans(
        self, behaviors: tuple[npt.ArrayLike, npt.ArrayLike]
    ) -> tuple[FloatArray, FloatArray]:
        """For each player, [S] the realization plan of behaviour probabilities ([S])."""
        first, second = (
            realization_plan(
                self.form.treeplexes[p], self.form.treeplexes[p].vector(behaviors[p], "behavior")
            )
            for p in PLAYERS
        )
        return first, second

    def nash_conv(self, behaviors: tuple[npt.ArrayLike, npt.ArrayLike]) -> float:
        """What both players together could gain by deviating: as `best_response.nash_conv`."""
        total = 0.0
        for p in PLAYERS:
            treeplex = self.form.treeplexes[1 - p]
            plan = realization_plan(treeplex, treeplex.vector(behaviors[1 - p], "behavior"))
            gradient = self.form.gradient(p, plan)
            del plan  # In games that fill the memory.
            total += best_response_value(self.form.treeplexes[p], gradient)
        return total

    def label(self, spot: Spot, hand: int) -> str:
        """The infoset's name, as trees by ranks have it."""
        stage = self.stages[spot.stage]
        board = f"[board: {stage.name}]" if stage.name else ""
        return f"[player: {spot.player}][hand: {stage.hands[hand]}]{board}[betting: {spot.history}]"
