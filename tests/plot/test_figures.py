"""Tests of figures drawn by matplotlib: what is on them, and what files they make."""

import math
import sys

import numpy as np
import pytest

from klss_spiel import plot
from klss_spiel.plot import figures

pytest.importorskip("matplotlib")


def rows_of(values, **columns):
    """Rows of two budgets, one for each seed's pair of exploitabilities."""
    return [
        {
            "game": "kuhn_poker",
            "budget_nodes": nodes,
            "exploitability": y,
            "preset": line,
            **columns,
        }
        for line, pair in values
        for nodes, y in zip((100, 1000), pair, strict=True)
    ]


def test_seeds_make_one_curve_with_a_band_around_their_geometric_mean():
    rows = rows_of([("obscuro", (0.4, 0.1)), ("obscuro+seed=1", (0.1, 0.1))])
    panel = plot.exploitability_curves(rows).axes[0]
    (curve,) = panel.lines
    assert curve.get_label() == "obscuro"
    np.testing.assert_allclose(curve.get_xdata(), [100, 1000])
    np.testing.assert_allclose(curve.get_ydata(), [0.2, 0.1])  # sqrt(.4 * .1)
    (band,) = panel.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() < 0.2 < heights.max()
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


def test_a_single_seed_has_no_band_and_a_zero_lies_on_the_floor():
    panel = plot.exploitability_curves(rows_of([("zs21", (0.4, 0.0))]), floor=1e-6).axes[0]
    assert not panel.collections
    np.testing.assert_allclose(panel.lines[0].get_ydata(), [0.4, 1e-6])


def test_panels_are_games_with_short_names_and_the_legend_lies_outside():
    rows = rows_of([("obscuro", (0.4, 0.1)), ("openspiel_cfr+", (0.3, 0.2))])
    rows += [{**row, "game": "python_dark_chess(board=minimal4x3,horizon=6)"} for row in rows]
    drawn = plot.exploitability_curves(rows, levels={"kuhn_poker": 0.5})
    assert [panel.get_title() for panel in drawn.axes] == [
        "kuhn poker",
        "dark chess minimal4x3, horizon 6",
    ]
    assert [line.get_linestyle() for line in drawn.axes[1].lines] == ["-", "--"]
    assert drawn.axes[0].lines[2].get_ydata()[0] == 0.5
    (legend,) = drawn.legends
    assert [t.get_text() for t in legend.get_texts()] == ["obscuro", "openspiel_cfr+", "blueprint"]
    assert all(panel.get_legend() is None for panel in drawn.axes)


def test_several_horizontal_axes_make_a_row_for_each_game():
    rows = [{**row, "seconds": 0.1 * i} for i, row in enumerate(rows_of([("a", (0.4, 0.1))]), 1)]
    drawn = plot.exploitability_curves(rows, ("budget_nodes", "seconds"))
    assert [panel.get_xlabel() for panel in drawn.axes] == ["nodes per decision", "seconds"]


@pytest.mark.parametrize(
    ("ending", "magic"), [(".svg", b"<?xml"), (".pdf", b"%PDF"), (".png", b"\x89PNG")]
)
def test_files_are_what_their_names_say_and_the_same_every_time(tmp_path, ending, magic):
    rows = rows_of([("obscuro", (0.4, 0.1))])
    for name in ("first", "second"):
        plot.exploitability_curves(rows, path=tmp_path / f"{name}{ending}")
    first = (tmp_path / f"first{ending}").read_bytes()
    assert first.startswith(magic)
    assert first == (tmp_path / f"second{ending}").read_bytes()


def test_figures_show_in_notebooks():
    shown = plot.exploitability_curves(rows_of([("obscuro", (0.4, 0.1))]))._repr_svg_()
    assert "<svg" in shown
    assert "obscuro" in shown  # letters stay letters


def test_other_files_and_no_rows_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.svg, \.pdf, \.png, got 'a.gif'"):
        plot.exploitability_curves(rows_of([("a", (1, 1))]), path="a.gif")
    with pytest.raises(ValueError, match="expected rows"):
        plot.exploitability_curves([])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    figures._figure_class.cache_clear()
    with pytest.raises(ImportError, match=r"klss_spiel\[plot\]"):
        plot.ratings([{"player": "a", "elo": 0, "elo_low": -1, "elo_high": 1}])


def test_ratings_have_bars_and_the_strongest_on_top():
    rows = [
        {"player": "search", "elo": 50.0, "elo_low": 20.0, "elo_high": math.inf},
        {"player": "random*", "elo": -50.0, "elo_low": -80.0, "elo_high": -20.0},
    ]
    panel = plot.ratings(rows, "kuhn_poker").axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["random*", "search"]
    (bars,) = panel.containers[0].lines[2]
    ends = [path.vertices[:, 0].tolist() for path in bars.get_paths()]
    assert ends == [[-80.0, -20.0], [20.0, 50.0]]


def test_scattered_points_are_grouped():
    rows = [{"domain": "d", "recipe": r, "loss": 0.1, "gap": e} for r, e in (("a", 0.0), ("b", 2))]
    panel = plot.scatter(rows, "loss", "gap", ("domain", "recipe"), floor=1e-7).axes[0]
    assert {line.get_label(): line.get_ydata()[0] for line in panel.lines} == {
        "d a": 1e-7,
        "d b": 2.0,
    }


def test_belief_maps_show_each_kind_that_may_stand_somewhere():
    heat = {"P": [0.0] * 12, "K": [0.0] * 9 + [0.25, 0.75, 0.0]}
    drawn = plot.belief_maps(heat, width=3, black_below=True)
    panel = drawn.axes[0]
    assert panel.get_title() == "king"
    assert [axes.get_title() for axes in drawn.axes] == ["king", ""]  # the bar of colours
    np.testing.assert_allclose(panel.images[0].get_array()[3], [0.25, 0.75, 0.0])
    assert sorted(text.get_text() for text in panel.texts) == [".25", ".75"]
    assert panel.yaxis_inverted() != plot.belief_maps(heat, width=3).axes[0].yaxis_inverted()
    with pytest.raises(ValueError, match="some enemy piece"):
        plot.belief_maps({"K": [0.0]}, width=1)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("leduc_poker", "leduc poker"),
        (
            "goofspiel(imp_info=True,num_cards=4,points_order=random)",
            "goofspiel imp info, num cards 4, …",
        ),
        ("liars_dice(dice_sides=5,players=2)", "liars dice dice sides 5"),
        ("a free text: with (brackets", "a free text: with (brackets"),
    ],
)
def test_names_of_games_are_short(name, short):
    assert figures.short_game_name(name) == short
    assert len(short) <= 34


def test_bars_stand_beside_each_other_and_missing_ones_are_left_out():
    rows = [
        {"game": "kuhn_poker", "blueprint": 0.2, "after": 0.1},
        {"game": "leduc_poker", "blueprint": 0.3, "after": None},
    ]
    panel = plot.bars(rows, "game", ("blueprint", "after"), "exploitability").axes[0]
    assert [text.get_text() for text in panel.get_yticklabels()] == ["kuhn poker", "leduc poker"]
    assert [[bar.get_width() for bar in group] for group in panel.containers] == [[0.2, 0.3], [0.1]]
    first, second = (group[0] for group in panel.containers)
    assert first.get_y() + first.get_height() == pytest.approx(second.get_y())
