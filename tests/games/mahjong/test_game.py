"""Mahjong in OpenSpiel: checks, playthroughs, sizes of small variants, views."""

import pickle
import random

import pyspiel
import pytest

from klss_spiel import testing, veiled_state
from klss_spiel.games.mahjong import actions, rules, tiles, views
from klss_spiel.games.mahjong.rules import Phase
from klss_spiel.games.mahjong.variant import Variant
from tests.helpers.paths import PLAYTHROUGHS

_NAME = "python_two_player_mahjong"
_SMALL = "ranks=3,honours=1,copies=3,sets=1,flowers=0,ting=False,kongs=False"
_MIDDLE = f"{_NAME}(ranks=4,honours=1,sets=1,flowers=2,separate_pass_hu=True)"


@pytest.mark.parametrize(
    ("game", "nodes"),
    [(f"{_NAME}({_SMALL},wall_limit=2)", 150), (_MIDDLE, 60), (_NAME, 20)],
    ids=["small", "middle", "full"],
)
def test_openspiel_accepts_the_game(game, nodes, capfd):
    testing.check_game(game, max_nodes=nodes, simulations=1)


@pytest.mark.parametrize("name", [_NAME, f"{_NAME}_small"])
def test_playthroughs_are_unchanged(name, capfd):
    path = PLAYTHROUGHS / f"{name}.txt"
    game = path.read_text().splitlines()[0].removeprefix("game: ")
    testing.check_game(
        game, max_nodes=5, simulations=1, playthrough=path, skip=["openspiel_partial_tree"]
    )


def _sizes(variant: Variant) -> tuple[int, int, list[int]]:
    """Nodes, deals, and infosets with a choice other than a forced win, by a plain walk."""
    infosets: list[set[object]] = [set(), set()]
    nodes, deals = 0, 0
    waiting = [rules.first_position(variant)]
    while waiting:
        position = waiting.pop()
        nodes += 1
        if position.phase == Phase.DEAL:
            left = position.unseen
            for hand in variant.hands:
                if all(have <= some for have, some in zip(hand, left, strict=True)):
                    deals += position.player
                    waiting.append(rules.deal_hand(position, hand))
        elif position.phase == Phase.DRAW:
            waiting += [rules.draw(position, k) for k in range(17) if position.unseen[k]]
        elif position.phase != Phase.OVER:
            legal = rules.legal_actions(position)
            if legal != [actions.HU] or not variant.forced_hu:
                infosets[position.player].add((position.own.start, position.own.told))
            waiting += [rules.after(position, action) for action in legal]
    return nodes, deals, [len(own) for own in infosets]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wall_limit", "forced_hu", "nodes", "infosets"),
    [
        (2, False, 183_502, [5_747, 3_584]),
        (3, True, 366_892, [17_151, 5_331]),
        (3, False, 1_335_421, [50_639, 16_901]),
    ],
)
def test_small_variants_have_the_sizes_counted_elsewhere(wall_limit, forced_hu, nodes, infosets):
    variant = Variant(3, 1, 3, 1, 0, wall_limit, forced_hu, ting=False, kongs=False)
    found, deals, own = _sizes(variant)
    # That count has a node for each of the 415 deals of both hands at once; here chance
    # deals one hand after the other: 1 + 31 nodes before the first draw.
    assert (len(variant.hands), deals) == (31, 415)
    assert found - (1 + 31) + 415 == nodes
    assert own == infosets


def test_the_tree_of_openspiel_has_the_nodes_of_the_rules():
    from klss_spiel import openspiel

    small = _SMALL.replace("honours=1", "honours=0")
    tree = openspiel.tree_from_game(f"{_NAME}({small})")
    nodes, _, infosets = _sizes(Variant(3, 0, 3, 1, 0, ting=False, kongs=False))
    assert tree.num_nodes == nodes
    assert [len(tree.infosets[player].decisions) for player in (0, 1)] == infosets


def _random_state(name: str, seed: int, moves: int) -> pyspiel.State:
    rng = random.Random(seed)
    state = pyspiel.load_game(name).new_initial_state()
    while not state.is_terminal() and moves:
        if state.is_chance_node():
            outcomes, weights = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, weights)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            moves -= 1
    while state.is_chance_node():
        outcomes, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(outcomes, weights)[0])
    return state


@pytest.mark.parametrize("name", [_NAME, _MIDDLE])
def test_the_own_view_is_recovered_from_the_information_state(name):
    """Everything a player may know is in the string, and nothing else is needed."""
    recovered = 0
    for seed in range(40):
        state = _random_state(name, seed, moves=seed)
        if state.is_terminal():
            continue
        position, player = state.position, state.current_player()
        view = views.own_view(position.variant, state.information_state_string())
        own, seen = position.sides[player], view.sides[player]
        assert (seen.hand, seen.melds, seen.river, seen.flowers) == (
            own.hand,
            own.melds,
            own.river,
            own.flowers,
        )
        assert (seen.ready, seen.waits, seen.told) == (own.ready, own.waits, own.told)
        theirs, known = position.sides[1 - player], view.sides[1 - player]
        assert [m.kind for m in known.melds] == [m.kind for m in theirs.melds]
        assert (known.river, known.flowers, known.ready) == (
            theirs.river,
            theirs.flowers,
            theirs.ready,
        )
        assert (view.phase, view.player, view.wall_left) == (
            position.phase,
            player,
            position.wall_left,
        )
        assert (view.tile, view.drawn, view.declaring) == (
            position.tile,
            position.drawn,
            position.declaring,
        )
        assert rules.legal_actions(view) == state.legal_actions()
        hidden = [
            left + kept for left, kept in zip(position.unseen, (*theirs.hand, 0), strict=True)
        ]
        for meld in theirs.melds:
            if meld.kind == 4:
                hidden[meld.tile] += 4
        assert list(view.unseen) == hidden
        recovered += 1
    assert recovered >= 15


def test_a_hand_reads_well():
    state = _random_state(_NAME, 3, moves=0)
    text = state.observation_string(0)
    hand = tiles.text_of(state.position.sides[0].hand)
    assert f"({hand})" in text
    symbols = {tiles.SYMBOLS[kind] for kind in tiles.expanded(state.position.sides[0].hand)}
    assert symbols <= set(text)
    names = [state.action_to_string(0, action) for action in state.legal_actions()]
    assert all(name.split()[0] in ("discard", "ting", "hu", "concealed") for name in names)


def test_names_and_symbols_are_one_per_kind():
    assert len(set(tiles.NAMES)) == len(set(tiles.SYMBOLS)) == 17
    assert tiles.SYMBOLS[0] == "🀇" and tiles.SYMBOLS[8] == "🀏"
    assert len(set(actions.NAMES)) == actions.NUM_ACTIONS == 105


def test_the_opponents_tiles_do_not_show_in_what_a_veil_lets_through():
    state = _random_state(_NAME, 8, moves=0)
    shown = veiled_state.veil(state, 0).information_state_string()
    assert shown == state.information_state_string(0)
    moved = state.clone()
    first, second = moved.position.sides
    swapped = second._replace(hand=second.hand[::-1], start=second.start[::-1])
    moved.position = moved.position._replace(sides=(first, swapped))
    assert moved.information_state_string(0) == shown
    assert moved.observation_string(0) == state.observation_string(0)
    assert moved.observation_tensor(0) == state.observation_tensor(0)


def test_illegal_actions_are_refused():
    state = _random_state(_NAME, 1, moves=0)
    with pytest.raises(ValueError, match=r"expected an action among .*discard"):
        state.apply_action(actions.PASS)


def test_bad_parameters_reach_the_user():
    with pytest.raises(ValueError, match="expected ting=False unless copies=4"):
        pyspiel.load_game(f"{_NAME}(copies=3,kongs=False)")


def test_states_can_be_pickled_in_the_middle_of_a_game():
    state = _random_state(_NAME, 5, moves=20)
    again = pickle.loads(pickle.dumps(state))
    assert str(again) == str(state)
    assert again.information_state_string(0) == state.information_state_string(0)
