"""What a player could know in a finished chess game: where the enemy's pieces may stand.

The belief is the one that a search of the game keeps (`klss_spiel.search_game.Belief`): the
set of all positions that fit the player's own moves and observations, each counted once,
up to a limit, and a weighted sample past it. That of Kriegspiel is followed one position at
a time while it is small, tries of both players included, and then as a search does, from
one own turn to the next, if a search keeps packed positions; else it gives up. All say so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from klss_spiel.arrays import FloatArray, U64Array
from klss_spiel.games.chess import rules
from klss_spiel.openspiel import load_game
from klss_spiel.search_game import Belief

if TYPE_CHECKING:
    from klss_spiel.games.chess.packed.position_sets import PositionSet

DARK_CHESS_LIMIT: Final = 200_000
KRIEGSPIEL_LIMIT: Final = 1_500
_SAMPLED_POSITIONS: Final = 2_000
_SAMPLED_KRIEGSPIEL_POSITIONS: Final = 60
_KINDS: Final = (rules.PAWN, rules.KNIGHT, rules.BISHOP, rules.ROOK, rules.QUEEN, rules.KING)
_LETTERS: Final = "PNBRQK"

Codes = npt.NDArray[np.uint8]


@dataclasses.dataclass(frozen=True)
class Reveal:
    """What a move of the player would tell.

    Attributes:
      move: in UCI.
      bits: entropy of what the player would see after it, positions being as likely as believed.
      left: expected share of the positions that would still be possible.
      outcomes: how many different things the player may see.
      takes: probability that it captures something.
    """

    move: str
    bits: float
    left: float
    outcomes: int
    takes: float


@dataclasses.dataclass(frozen=True)
class BeliefAt:
    """A player's belief after one action of a game.

    Attributes:
      step: actions made so far, both players' tries included.
      size: positions held possible; None where they were not followed any further.
      complete: whether these are all.
      weighted: whether positions count by how likely they are, not all alike.
      between: whether there is no size because it is followed at own turns only.
      heat: letter of a kind -> [squares] probability that an enemy piece of that kind
        stands there, the first rank first.
      reveals: for each own move what it would tell, the most first; none unless it is
        the player's turn.
    """

    step: int
    size: int | None
    complete: bool = True
    weighted: bool = False
    between: bool = False
    heat: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict)
    reveals: tuple[Reveal, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the page."""
        return dataclasses.asdict(self)


def beliefs_of(row: Mapping[str, Any], player: int) -> Iterator[BeliefAt]:
    """A player's belief at the start of a recorded game and after every action.

    Raises:
      ValueError: the game is not one of chess, or players look only now and then.
    """
    game = load_game(row["game"])
    name = game.get_type().short_name
    if name == "python_dark_chess":
        yield from _dark_chess_beliefs(game, row["actions"], player)
    elif name == "python_kriegspiel":
        yield from _kriegspiel_beliefs(game, row["actions"], player)
    else:
        raise ValueError(f"expected a chess game, got {row['game']}")


def heat_of(
    codes: Codes, player: int, weights: FloatArray | None = None
) -> dict[str, tuple[float, ...]]:
    """Where enemy pieces stand, as probabilities.

    Args:
      codes: [n, squares] piece codes of `rules`.
      player: whose enemies.
      weights: [n] how likely the positions are, in any unit; None if all alike.
    """
    found = {}
    for kind, letter in zip(_KINDS, _LETTERS, strict=True):
        share = np.average(codes == rules.piece(kind, 1 - player), axis=0, weights=weights)
        found[letter] = tuple(round(float(q), 4) for q in share)
    return found


def _reveal(
    text: str, counts: npt.NDArray[np.int64] | npt.NDArray[np.float64], takes: float
) -> Reveal:
    share = counts / counts.sum()
    return Reveal(
        text,
        round(float(-(share * np.log2(share)).sum()) + 0.0, 3),
        round(float((share**2).sum()), 4),
        len(counts),
        round(takes, 4),
    )


def _dark_chess_beliefs(game: Any, actions: Sequence[int], player: int) -> Iterator[BeliefAt]:
    """Beliefs as a search of the game keeps them, after every ply."""
    from klss_spiel.games.chess.packed.counted_positions import boards_of
    from klss_spiel.games.chess.packed.position_sets import PositionSet

    searched = game.search_game(belief_limit=DARK_CHESS_LIMIT)
    if searched is None:
        raise ValueError("expected rules by which players look at the board after every ply")
    belief: Belief = searched.belief(player)
    state = game.new_initial_state()
    for step in range(len(actions) + 1):
        if step:
            state.apply_action(actions[step - 1])
        if state.is_terminal():
            # The end is told to both: nothing is left to be believed.
            yield BeliefAt(step, None)
            return
        # The own action is in the information state.
        belief.advance(None, state.information_state_string(player))
        if not len(belief.positions):  # a sample that has died out
            yield BeliefAt(step, None, False)
            return
        mover = state.current_player()
        words = boards_of(belief.positions)
        held = PositionSet(
            searched.transition, player, mover, words, belief.complete, weights=belief.weights
        )
        yield dark_chess_belief(held, step, with_reveals=mover == player)


def dark_chess_belief(held: PositionSet, step: int, with_reveals: bool) -> BeliefAt:
    """What a set of positions says of the enemy's pieces and of own moves.

    Args:
      held: what its viewer holds possible; not empty. Its weights count, if it has any.
      step: actions made so far.
      with_reveals: it is the viewer's turn: say what moves would tell.
    """
    codes = _plain_codes(held.board, held.positions, held.side)
    reveals: tuple[Reveal, ...] = ()
    if with_reveals:
        words, weights = held.positions, held.weights
        if len(words) > _SAMPLED_POSITIONS:
            words, weights = words[_chosen(len(words), weights, _SAMPLED_POSITIONS)], None
        reveals = _dark_chess_reveals(held.transition, words, held.viewer, weights)
    heat = heat_of(codes, held.viewer, held.weights)
    weighted = held.weights is not None
    return BeliefAt(step, len(held), held.complete, weighted, heat=heat, reveals=reveals)


def _plain_codes(board: Any, words: U64Array, side: int) -> Codes:
    """[n, squares] piece codes of packed boards [n, 4] in which `side` is to move."""
    from klss_spiel.games.chess.packed import positions as packed

    found = packed.codes_of(board, words)
    for colour in (rules.WHITE, rules.BLACK):
        found[found == packed.CASTLING_ROOK[colour]] = rules.piece(rules.ROOK, colour)
    found[found == packed.PASSING_PAWN] = rules.piece(rules.PAWN, 1 - side)
    return found


def _dark_chess_reveals(
    transition: Any, words: U64Array, player: int, weights: FloatArray | None
) -> tuple[Reveal, ...]:
    """What each move would show; it must be the player's turn in all of [n, 4] positions.

    The weights [n] say how likely the positions are; None if all alike.
    """
    from klss_spiel.games.chess.actions import action_table
    from klss_spiel.games.chess.packed import positions as packed

    board = transition.board
    after = transition.successors(words, player)
    enemies = (packed.codes_of(board, words) >> 3 == 1 - player) & (
        packed.codes_of(board, words) != 0
    )
    # Codes 7, 8 and 15 are rooks that may castle and a pawn that may be captured in passing.
    passing = packed.codes_of(board, words) == packed.PASSING_PAWN
    enemies = (enemies | passing).sum(axis=1)
    left = packed.codes_of(board, after.positions)
    alive = ((left >> 3 == 1 - player) & (left != 0) & (left != packed.PASSING_PAWN)).sum(axis=1)
    parent = np.repeat(np.arange(len(words)), np.diff(after.moves.starts))
    takes = alive < enemies[parent]
    names = action_table(board.width, board.height).names
    found = []
    for action in np.unique(after.moves.actions):
        mine = after.moves.actions == action
        _, outcome = np.unique(after.keys[mine, player], return_inverse=True)
        likely = None if weights is None else weights[parent[mine]]
        taking = float(np.average(takes[mine], weights=likely))
        found.append(_reveal(names[action], np.bincount(outcome, likely), taking))
    return tuple(sorted(found, key=lambda reveal: -reveal.bits))


def _kriegspiel_beliefs(game: Any, actions: Sequence[int], player: int) -> Iterator[BeliefAt]:
    state = game.new_initial_state()
    positions = state.moment.possible_positions(player)
    yield _kriegspiel_belief(0, positions, state, player)
    for step, action in enumerate(actions, start=1):
        if len(positions) > KRIEGSPIEL_LIMIT:
            yield from _searchers_beliefs(game, actions, player, step)
            return
        state.apply_action(action)
        if state.is_terminal():
            yield BeliefAt(step, None)
            return
        positions = state.moment.possible_positions(player)
        yield _kriegspiel_belief(step, positions, state, player)


def _searchers_beliefs(
    game: Any, actions: Sequence[int], player: int, first: int
) -> Iterator[BeliefAt]:
    """Beliefs from the step `first` on, as a search of the game keeps them at own turns."""
    searched = game.search_game() if hasattr(game, "search_game") else None
    if searched is None:  # followed history by history, tries and all: no picture of a board
        yield BeliefAt(first, None, False)
        return
    belief: Belief = searched.belief(player)
    state = game.new_initial_state()
    last: int | None = None
    for step in range(len(actions) + 1):
        if step:
            last = actions[step - 1] if state.current_player() == player else last
            state.apply_action(actions[step - 1])
        if state.is_terminal():
            yield BeliefAt(step, None)
            return
        if state.current_player() != player:
            if step >= first:
                yield BeliefAt(step, None, belief.complete, between=True)
            continue
        belief.advance(last, state.information_state_string(player))
        if not len(belief.positions):  # a sample that has died out
            yield BeliefAt(max(step, first), None, False)
            return
        if step < first:
            continue
        yield kriegspiel_belief(game.setup, belief, player, state.legal_actions(), step)


def kriegspiel_belief(
    setup: Any, belief: Belief, player: int, legal: Sequence[int], step: int
) -> BeliefAt:
    """What a search's belief of Kriegspiel says of the enemy's pieces and of own tries.

    Args:
      setup: the game.
      belief: of packed positions, not empty; its weights count, if it has any.
      player: whose belief; it is his turn.
      legal: his actions.
      step: actions made so far.
    """
    from klss_spiel.games.chess.packed import positions as packed
    from klss_spiel.games.chess.packed.counted_positions import boards_of

    weights: FloatArray | None = getattr(belief, "weights", None)
    board = packed.layout(setup.start.width, setup.start.height)
    words = boards_of(belief.positions)
    chosen = _chosen(len(words), weights, _SAMPLED_KRIEGSPIEL_POSITIONS)
    looked_at = packed.unpack(board, words[chosen], player)
    return BeliefAt(
        step,
        len(words),
        belief.complete,
        weights is not None,
        heat=heat_of(_plain_codes(board, words, player), player, weights),
        reveals=_kriegspiel_reveals(setup, legal, looked_at, player),
    )


def _chosen(count: int, weights: FloatArray | None, most: int) -> npt.NDArray[np.int64]:
    """Numbers of at most so many of the positions, the likely ones more often."""
    if weights is None and count <= most:
        return np.arange(count)
    rng = np.random.default_rng(0)
    share = None if weights is None else weights / weights.sum()
    return rng.choice(count, most, replace=share is not None, p=share)


def _kriegspiel_belief(step: int, positions: Any, state: Any, player: int) -> BeliefAt:
    found = sorted(positions)
    codes = np.array([list(position.squares) for position in found], dtype=np.uint8)
    reveals: tuple[Reveal, ...] = ()
    if not state.is_terminal() and state.current_player() == player:
        reveals = _kriegspiel_reveals(state.get_game().setup, state.legal_actions(), found, player)
    return BeliefAt(step, len(found), heat=heat_of(codes, player), reveals=reveals)


def _kriegspiel_reveals(
    setup: Any, legal: Sequence[int], positions: Sequence[rules.Position], player: int
) -> tuple[Reveal, ...]:
    from klss_spiel.games.chess import kriegspiel_umpire as umpire

    rng = np.random.default_rng(0)
    if len(positions) > _SAMPLED_KRIEGSPIEL_POSITIONS:
        chosen = rng.choice(len(positions), _SAMPLED_KRIEGSPIEL_POSITIONS, replace=False)
        positions = [positions[i] for i in chosen]
    found = []
    for action in legal:
        name, move = setup.table.names[action], setup.table.moves[action]
        steps = [umpire.step_of(position, move, setup.are_there_any) for position in positions]
        heard = ["illegal" if s is None else s.announcement.heard[player] for s in steps]
        _, counts = np.unique(heard, return_counts=True)
        takes = [s is not None and s.announcement.square is not None for s in steps]
        found.append(_reveal(name, counts, float(np.mean(takes))))
    return tuple(sorted(found, key=lambda reveal: -reveal.bits))
