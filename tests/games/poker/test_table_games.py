"""The poker games behind OLSS's Table 2: sizes, trees, payoffs, what fits."""

import re

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.knowledge import COMMON_KNOWLEDGE
from klss_spiel.algorithms.subgame.refine import infosets_after_chance
from klss_spiel.algorithms.subgame.regions import RegionIndex
from klss_spiel.best_response import nash_conv
from klss_spiel.games.poker import leduc_family
from klss_spiel.games.poker.leduc_family import (
    CALL,
    FLOP_HOLDEM,
    FOLD,
    game_size,
    leduc,
    parse_game,
)
from klss_spiel.games.poker.rank_trees import hand_strength, poker_tree, ranks_tree
from klss_spiel.linear_program import equilibrium
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy
from klss_spiel.run import olss_tables
from klss_spiel.sequence_form import sequence_form_from_tree
from klss_spiel.tree import PLAYERS

RANK_LETTERS = "23456789TJQKA"


def config(*games, **options):
    """A small table: exact solutions, one early blueprint."""
    return olss_tables.Config(games=games, **{"solver": "lp", "seeds": 1, "target": 0.5, **options})


def rank_label(text):
    """Our label of one of universal_poker's information states."""
    fields = dict(re.findall(r"\[(\w+):? ([^\]]*)\]", text))
    hand = sorted(RANK_LETTERS.index(card) for card in fields["Private"][::2])
    history = fields["Sequences"].replace("|", "/")
    board = fields["Public"]
    shown = f"[board: {RANK_LETTERS.index(board[0])}]" if board else ""
    own = " ".join(str(rank) for rank in hand)
    player = fields["Player"]
    return f"[player: {player}][hand: {own}]{shown}[betting: {history}]"


def test_sizes_after_the_board_are_the_papers():
    # OLSS, appendix B.
    printed = {
        "leduc231": (4, 20),
        "leduc2131": (24, 600),
        "leduc2132": (253, 75900),
        "leduc2133": (1540, 3542000),
        "fhp": (1081, 1271256),
    }
    for name, sizes in printed.items():
        size = game_size(parse_game(name))
        assert (size.infoset, size.closure) == sizes


@pytest.mark.parametrize("player", PLAYERS)
def test_subgames_start_where_infosets_have_the_papers_sizes(player):
    tree = poker_tree(leduc(2, 3, 1))
    index = RegionIndex(tree, player)
    where = infosets_after_chance(tree, player)
    # Six cards, five ways to bet, five boards.
    assert len(where) == 6 * 5 * 5
    for infoset in where[::10]:
        assert len(index.knowledge_set(int(infoset), 1)) == 4
        assert len(index.knowledge_set(int(infoset), COMMON_KNOWLEDGE)) == 20


@pytest.mark.parametrize("game", [leduc(2, 3, 1), leduc(1, 4, 1), leduc(2, 3, 2), leduc(3, 3, 3)])
def test_nodes_are_counted_right(game):
    assert game_size(game).nodes == poker_tree(game).num_nodes


def test_one_hole_card_and_three_ranks_are_leduc_poker():
    ours = equilibrium(sequence_form_from_tree(poker_tree(leduc(2, 3, 1))))
    theirs = equilibrium(sequence_form_from_tree(tree_from_game("leduc_poker")))
    assert ours.value == pytest.approx(theirs.value, abs=1e-9)


def test_names_are_read_and_bad_ones_refused():
    assert parse_game("leduc2131") == parse_game("leduc(2,13,1)") == leduc(2, 13, 1)
    assert parse_game("FHP") is FLOP_HOLDEM
    for name in ("leduc", "leduc23", "chess", "leduc(2,3)"):
        with pytest.raises(ValueError, match="expected fhp or a name"):
            parse_game(name)
    with pytest.raises(ValueError, match="cannot be dealt"):
        parse_game("leduc222")


@pytest.mark.parametrize(
    "game", [leduc(2, 3, 1), leduc(2, 13, 2), leduc(2, 13, 3), leduc(3, 4, 3), leduc(4, 5, 2)]
)
def test_random_games_pay_what_universal_poker_pays(game):
    rng = np.random.default_rng(0)
    loaded = pyspiel.load_game(game.game_string)
    public = leduc_family.public_tree(game)
    showdowns = 0
    for _ in range(200):
        state = loaded.new_initial_state()
        node = public[0]
        while not state.is_terminal():
            action = int(rng.choice(state.legal_actions()))
            if state.is_chance_node():
                if node.player == leduc_family.CHANCE:
                    node = public[node.children[0]]
            else:
                assert state.current_player() == node.player
                assert tuple(state.legal_actions()) == node.actions
                if action == FOLD:  # Otherwise few games come to a showdown.
                    action = CALL if rng.random() < 0.8 else FOLD
                node = public[node.children[node.actions.index(action)]]
            state.apply_action(action)
        assert node.player == leduc_family.TERMINAL
        if node.folded != leduc_family.NO_ONE:
            sign = 1 if node.folded == 1 else -1
        else:
            showdowns += 1
            cards = re.findall(r"P\d Cards: (\w+)|BoardCards (\w+)", str(state))
            first, second, board = (
                tuple(RANK_LETTERS.index(card) for card in "".join(found)[::2]) for found in cards
            )
            mine, yours = (hand_strength(hand, board[0]) for hand in (first, second))
            sign = (mine > yours) - (mine < yours)
        assert state.returns() == [sign * min(node.paid), -sign * min(node.paid)]
    assert showdowns > 50


@pytest.mark.parametrize("game", [leduc(2, 3, 1), leduc(2, 3, 2)])
def test_strategies_on_ranks_are_as_exploitable_as_on_cards(game):
    tree = ranks_tree(game)
    policy = BehaviorPolicy.random(tree, np.random.default_rng(3))
    table = pyspiel.UniformRandomPolicy(pyspiel.load_game(game.game_string)).policy_table()
    seen = set()
    for text, entries in table.items():
        label = rank_label(text)
        player = int(label[len("[player: ")])
        infosets = tree.infosets[player]
        infoset = infosets.index_of_label[label]
        assert [action for action, _ in entries] == infosets.actions(infoset).tolist()
        probabilities = policy.probabilities[player][infosets.sequences(infoset)]
        table[text] = list(zip((a for a, _ in entries), probabilities.tolist(), strict=True))
        seen.add(label)
    assert len(seen) == tree.num_decision_infosets
    exact = pyspiel.nash_conv(pyspiel.load_game(game.game_string), table)
    assert nash_conv(policy) == pytest.approx(exact, abs=1e-9)


def test_ranks_give_the_value_of_cards():
    cards = equilibrium(sequence_form_from_tree(poker_tree(leduc(2, 3, 1))))
    ranks = equilibrium(sequence_form_from_tree(ranks_tree(leduc(2, 3, 1))))
    assert ranks.value == pytest.approx(cards.value, abs=1e-9)


def test_games_that_do_not_fit_are_refused_with_an_estimate():
    nodes = f"{game_size(parse_game('leduc2133')).nodes:,} nodes.*GB of memory"
    with pytest.raises(ValueError, match=nodes):
        olss_tables.Config(games=("leduc231", "leduc2133"), gigabytes=16.0, layout="nodes")
    with pytest.raises(ValueError, match=r"1,755 boards.*GB of memory"):
        olss_tables.Config(games=("leduc231", "fhp"), gigabytes=8.0)
    common = {"games": ("fhp",), "gigabytes": 64.0, "recipes": ("unsafe",)}
    olss_tables.Config(**common)
    with pytest.raises(ValueError, match=r"unsafe in fhp takes about .* minutes"):
        olss_tables.Config(**common, minutes=5.0)
    order_1 = {**common, "recipes": ("olss-1",)}
    with pytest.raises(ValueError, match=r"olss-1 in fhp takes about .* a sample of --boards"):
        olss_tables.Config(**order_1)
    olss_tables.Config(**order_1, boards=48)
    with pytest.raises(ValueError, match=r"olss-1 in fhp takes about .* minutes"):
        olss_tables.Config(**order_1, boards=48, minutes=5.0)


def test_large_games_are_laid_out_by_hands():
    names = ("leduc231", "leduc2131", "leduc232", "leduc2132", "leduc2133", "fhp")
    layouts = {name: olss_tables.default_layout(parse_game(name)) for name in names}
    assert [name for name, layout in layouts.items() if layout == "hands"] == [*names[3:]]


def test_rows_by_hands_are_those_by_nodes():
    recipes = ("unsafe", "olss-1")
    by_nodes, by_hands = (
        olss_tables.run(
            config("leduc232", recipes=recipes, solver="cfr", iterations=(5,), layout=layout)
        )
        for layout in ("nodes", "hands")
    )
    assert [row["layout"] for row in by_hands] == ["hands"] * len(recipes)
    for one, other in zip(by_nodes, by_hands, strict=True):
        assert other["blueprint"] == pytest.approx(one["blueprint"], abs=1e-9)
        # Where regrets tie at 0, rounding decides what is played.
        assert other["after"] == pytest.approx(one["after"], abs=1e-3)
        assert abs(other["after"] - other["blueprint"]) > 0.01


def test_hands_of_five_cards_have_no_tree():
    with pytest.raises(ValueError, match="hands of at most 4 cards"):
        poker_tree(leduc(2, 5, 4))
    with pytest.raises(ValueError, match="at most 4 cards"):
        hand_strength((0, 1, 2, 3), 4)
