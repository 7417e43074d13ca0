"""Flop hold'em by hands: hand ranks, suits that do not matter, sorted evaluation."""

import itertools
import re

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.subgame.public_refine import refine_by_hands
from klss_spiel.algorithms.subgame.recipes import parse_recipe
from klss_spiel.algorithms.subgame.solvers import LinearProgramming
from klss_spiel.games.poker.flop_holdem import (
    card_name,
    distinct_flops,
    flop_public_game,
    hand_strengths,
)
from klss_spiel.games.poker.leduc_family import CALL, FLOP_HOLDEM, PokerGame, leduc, public_tree
from klss_spiel.games.poker.public_poker import assemble
from klss_spiel.games.poker.sorted_hands import SortedHands
from klss_spiel.hand_payoffs import MatrixPairs
from klss_spiel.public_game import Stage
from klss_spiel.tree import PLAYERS

SMALL = PokerGame(
    "small",
    suits=2,
    ranks=4,
    hole_cards=2,
    board_cards=3,
    blinds=(1, 2),
    raise_sizes=(2, 2),
    first_players=(0, 1),
    max_raises=(1, 1),
)
HANDS = np.array(list(itertools.combinations(range(SMALL.num_cards), 2)))


def exchanges():
    """What each exchange of suits makes of each card."""
    for suits in itertools.permutations(range(SMALL.suits)):
        yield [card - card % SMALL.suits + suits[card % SMALL.suits] for card in range(8)]


def kind(*sets):
    """The same for sets of cards that an exchange of suits turns into each other."""
    return min(
        tuple(tuple(sorted(swap[card] for card in cards)) for cards in sets) for swap in exchanges()
    )


def by_cards():
    """The small game with all hands and flops apart, and pairs as matrices."""
    apart = np.array([[not set(a) & set(b) for b in HANDS] for a in HANDS], dtype=np.float64)
    before = apart / apart.sum()
    stages = [Stage("", MatrixPairs(before, np.zeros_like(before)), np.arange(len(HANDS)))]
    flops = list(itertools.combinations(range(SMALL.num_cards), 3))
    for flop in flops:
        possible = np.array([i for i, hand in enumerate(HANDS) if not set(hand) & set(flop)])
        pairs = apart[np.ix_(possible, possible)]
        strength = hand_strengths(
            SMALL, np.hstack([HANDS[possible], np.tile(flop, (len(possible), 1))])
        )
        probability = pairs / pairs.sum() / len(flops)
        stages.append(Stage("", MatrixPairs.of_strengths(probability, strength), possible))
    return assemble("cards", public_tree(SMALL), stages), flops


def lifted(small, large, flops, behaviors):
    """Strategies of the game by kinds in the game by cards."""
    hand_kinds = sorted({kind(tuple(hand)) for hand in HANDS.tolist()}, key=_before_order)
    number_before = {cards: i for i, cards in enumerate(hand_kinds)}
    # Of each stage of the game by kinds: the class of each kind of flop and hand.
    place = {}
    for number, (flop, _) in enumerate(zip(*distinct_flops(SMALL), strict=True), start=1):
        pairs = small.stages[number].pairs
        for cards, class_of in zip(pairs.cards.tolist(), pairs.class_of.tolist(), strict=True):
            place[kind(flop.tolist(), cards)] = number, class_of
    by_spot = {(spot.stage, spot.history): spot for spot in small.spots}
    result = [np.ones(t.num_sequences) for t in large.form.treeplexes]
    for spot in large.spots:
        stage = large.stages[spot.stage]
        for hand in range(stage.num_hands):
            cards = HANDS[stage.hand_before[hand]].tolist()
            if spot.stage == 0:
                where = 0, number_before[kind(cards)]
            else:
                where = place[kind(flops[spot.stage - 1], cards)]
            old = by_spot[where[0], spot.history]
            count = len(spot.actions)
            source = old.first_sequence + where[1] * count
            target = spot.first_sequence + hand * count
            result[spot.player][target : target + count] = behaviors[spot.player][
                source : source + count
            ]
    return tuple(result)


def _before_order(sets):
    """The order of hands before the flop: by ranks, then unsuited before suited."""
    (cards,) = sets
    ranks = sorted(card // SMALL.suits for card in cards)
    return (*ranks, cards[0] % SMALL.suits == cards[1] % SMALL.suits)


def random_behaviors(game, seed):
    rng = np.random.default_rng(seed)
    behaviors = []
    for treeplex in game.form.treeplexes:
        behavior = rng.random(treeplex.num_sequences)
        behavior[1:] /= treeplex.infoset_sums(behavior)[treeplex.sequence_infoset[1:]]
        behavior[0] = 1.0
        behaviors.append(behavior)
    return tuple(behaviors)


def test_suits_do_not_matter_to_values_and_exploitability():
    small = flop_public_game(SMALL)
    large, flops = by_cards()
    sizes = [game.form.treeplexes[0].num_sequences for game in (small, large)]
    assert sizes[0] < 0.6 * sizes[1]
    behaviors = random_behaviors(small, 0)
    same = lifted(small, large, flops, behaviors)
    value = large.form.expected_value(large.plans(same))
    assert small.form.expected_value(small.plans(behaviors)) == pytest.approx(value, abs=1e-9)
    assert small.nash_conv(behaviors) == pytest.approx(large.nash_conv(same), abs=1e-9)


def test_probabilities_sum_to_one():
    for game in (flop_public_game(SMALL), flop_public_game(SMALL, distinct_flops(SMALL)[0][:2])):
        met = [stage.pairs.matrices()[0] for stage in game.stages]
        assert met[0].sum() == pytest.approx(1.0, abs=1e-12)
        assert sum(matrix.sum() for matrix in met[1:]) == pytest.approx(1.0, abs=1e-12)


def test_flops_are_counted_up_to_suits():
    flops, counts = distinct_flops(FLOP_HOLDEM)
    assert (len(flops), counts.sum()) == (1755, 22100)
    flops, counts = distinct_flops(SMALL)
    kinds = [kind(flop) for flop in itertools.combinations(range(SMALL.num_cards), 3)]
    assert [kinds.count(kind(flop)) for flop in flops.tolist()] == counts.tolist()


def test_sorted_evaluation_is_the_matrix_product():
    rng = np.random.default_rng(0)
    cards = np.array(list(itertools.combinations(range(12), 2)))
    strength = rng.integers(12, size=len(cards))
    for class_of in (np.arange(len(cards)), rng.permutation(np.arange(len(cards)) % 30)):
        hands = SortedHands.create(cards, strength, class_of, 12, 0.25)
        plans = rng.random((5, hands.num_hands))
        # By definition, hand by hand.
        met, beaten = np.zeros_like(plans), np.zeros_like(plans)
        for i, j in itertools.product(range(len(cards)), repeat=2):
            if not set(cards[i]) & set(cards[j]):
                played = 0.25 * plans[:, class_of[j]]
                met[:, class_of[i]] += played
                beaten[:, class_of[i]] += np.sign(strength[i] - strength[j]) * played
        np.testing.assert_allclose(hands.meet(plans), met, atol=1e-11)
        np.testing.assert_allclose(hands.beat(plans), beaten, atol=1e-11)
        meet, beat = hands.matrices()
        np.testing.assert_allclose(plans @ meet, met, atol=1e-11)
        np.testing.assert_allclose(-plans @ beat, beaten, atol=1e-11)


def test_hands_rank_as_in_openspiel():
    game = pyspiel.load_game(FLOP_HOLDEM.game_string)
    names = {card_name(FLOP_HOLDEM, card): card for card in range(52)}
    rng = np.random.default_rng(7)
    outcomes = set()
    for _ in range(300):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(rng.choice(state.legal_actions())))
            else:
                state.apply_action(CALL)
        hands = []
        for p in PLAYERS:
            text = state.information_state_string(p)
            shown = (
                re.search(r"\[Private: (\w+)\]", text)[1] + re.search(r"\[Public: (\w+)\]", text)[1]
            )
            hands.append([names[shown[i : i + 2]] for i in range(0, 10, 2)])
        mine, yours = hand_strengths(FLOP_HOLDEM, np.array(hands))
        assert np.sign(state.returns()[0]) == np.sign(mine - yours), hands
        outcomes.add(int(np.sign(mine - yours)))
    assert outcomes == {-1, 0, 1} or outcomes == {-1, 1}


def test_every_kind_of_hand_is_in_its_place():
    # From worst to best, the last five being a wheel, a flush, ..., a straight flush.
    order = [
        "2c 4d 5h 7s 9c",
        "2c 2d 5h 7s 9c",
        "2c 2d 5h 5s 9c",
        "2c 2d 2h 7s 9c",
        "Ac 2d 3h 4s 5c",
        "2d 3d 4h 5s 6c",
        "2c 4c 5c 7c 9c",
        "2c 2d 2h 7s 7c",
        "2c 2d 2h 2s 9c",
        "2c 3c 4c 5c Ac",
        "2c 3c 4c 5c 6c",
    ]
    names = {card_name(FLOP_HOLDEM, card): card for card in range(52)}
    cards = np.array([[names[card] for card in hand.split()] for hand in order])
    assert np.all(np.diff(hand_strengths(FLOP_HOLDEM, cards)) > 0)


def test_subgames_behind_a_flop_can_be_solved():
    game = flop_public_game(SMALL, distinct_flops(SMALL)[0][:2])
    behaviors = random_behaviors(game, 1)
    before = game.nash_conv(behaviors)
    for name in ("maxmargin", "resolve", "safe-1-klss"):
        refined = refine_by_hands(
            game,
            behaviors,
            parse_recipe(name),
            player=0,
            solver=LinearProgramming(),
            closures=game.closures[:1],
        )
        assert not np.array_equal(refined, behaviors[0])
        assert game.nash_conv((refined, behaviors[1])) <= before + 1e-9


def test_other_games_are_refused():
    with pytest.raises(ValueError, match="two hole cards and a flop of three"):
        flop_public_game(leduc(2, 3, 1))
