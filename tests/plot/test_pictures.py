"""Tests of trees and knowledge graphs: the structure of their SVG."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import klss_spiel as ks
from klss_spiel import plot
from klss_spiel.algorithms import knowledge

_SVG = "{http://www.w3.org/2000/svg}"


def shapes(picture, tag, kind):
    """Elements of a class."""
    root = ElementTree.fromstring(picture.svg)
    return [e for e in root.iter(_SVG + tag) if kind in (e.get("class") or "").split()]


def texts(picture):
    return [e.text for e in ElementTree.fromstring(picture.svg).iter(_SVG + "text")]


def test_the_whole_tree_of_a_small_game_is_drawn_with_values_and_probabilities():
    tree = ks.tree_from_game("kuhn_poker")
    exact = ks.solve_lp(tree)
    picture = plot.game_tree(tree, exact.policy, depth=5)
    assert len(shapes(picture, "circle", "node")) == tree.num_nodes
    assert len(shapes(picture, "path", "edge")) == tree.num_nodes - 1
    assert f"[{exact.value:+.3f}]" in picture.text.splitlines()[1]
    assert "Bet 0.00" in texts(picture)
    assert picture._repr_svg_() == picture.svg


def test_a_bounded_tree_counts_what_is_left_out():
    tree = ks.tree_from_game("leduc_poker")
    picture = plot.game_tree(tree, depth=2, children=2)
    assert len(shapes(picture, "circle", "node")) == 1 + 2 + 4
    assert "(+4 not shown)" in picture.text  # six cards are dealt
    with pytest.raises(ValueError, match="lower depth or children"):
        plot.game_tree(tree, depth=8)


def test_the_search_of_a_bot_is_drawn_with_the_values_it_reports():
    bot = ks.SearchBot("kuhn_poker", 0, ks.Budget(nodes=200))
    with pytest.raises(ValueError, match="has searched"):
        plot.search_tree(bot)
    state = ks.load_game("kuhn_poker").new_initial_state()
    for card in (1, 0):
        state.apply_action(card)
    bot.step(state)
    picture = plot.search_tree(bot, depth=4, children=3)
    nodes = shapes(picture, "circle", "node")
    assert 5 < len(nodes) <= 400
    assert any(words.startswith(("Bet", "Pass")) for words in texts(picture))
    edges = shapes(picture, "path", "edge")
    assert len(edges) == len(nodes) - 1
    assert "SearchReport" in bot.report._repr_html_()
    assert f"<td>{bot.report.nodes}</td>" in bot.report._repr_html_()


def test_orders_of_knowledge_are_those_of_the_definition():
    # ZS21's Figure 1: R_1 holds outcomes 1 and 2; its order-2 set adds 3, as C_2 = {2, 3};
    # order 3 adds 4 by R_3. The fifth outcome is common knowledge.
    tree = ks.tree_from_game("python_klss_example")
    first = tree.infosets[0].labels[int(tree.infosets[0].decisions[0])]
    picture = plot.knowledge_graph(tree, 0, first)
    assert picture.text.splitlines()[1:] == [
        "order 1: 2 nodes",
        "order 2: 1 nodes",
        "order 3: 1 nodes",
        "no order: 1 nodes",
    ]
    start = tree.infoset[0] == tree.infosets[0].index_of_label[first]
    for k, added in ((1, 2), (2, 1), (3, 1)):
        assert len(shapes(picture, "circle", f"order-{k}")) == added
        level = np.zeros(tree.num_nodes, bool)
        level[tree.level_start[1] : tree.level_start[2]] = True
        assert (knowledge.knowledge_set(tree, start, k) & level).sum() == k + 1
    assert len(shapes(picture, "rect", "player-0")) == 3  # R_1, R_3, e
    assert len(shapes(picture, "rect", "player-1")) == 4  # C_0, C_2, C_4, e


def test_graphs_that_nobody_could_read_are_refused():
    tree = ks.tree_from_game("python_hidden_pennies(n=100)")
    with pytest.raises(ValueError, match="at most 60 infosets"):
        plot.knowledge_graph(tree)
    with pytest.raises(ValueError, match="never decides at 'nowhere'"):
        plot.knowledge_graph(tree, 0, "nowhere")
    small = plot.knowledge_graph(ks.tree_from_game("kuhn_poker"))
    assert shapes(small, "circle", "order-0")
    assert len(small.text.splitlines()) == 1
