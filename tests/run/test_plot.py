"""Tests of drawing rows of files."""

import importlib
import pathlib

import pytest
from absl import flags

from klss_spiel.plot import curves
from klss_spiel.row_files import write_rows
from klss_spiel.run import (
    demo,
    mahjong_exact,
    mahjong_tables,
    merge,
    olss_report,
    plot,
    train_blueprint,
)

pytest.importorskip("matplotlib")


def rows(line, *values, **columns):
    return [
        {"key": f"{line}{i}", "game": "kuhn_poker", "preset": line, "budget_nodes": 10**i,
         "exploitability": y, **columns}
        for i, y in enumerate(values, 1)
    ]  # fmt: skip


def test_files_of_several_runs_are_drawn_together(tmp_path):
    write_rows(tmp_path / "a.jsonl", rows("obscuro", 0.4, 0.1))
    write_rows(tmp_path / "b.csv", rows("obscuro+seed=1", 0.2, 0.1) + rows("zs21", 0.5, 0.5))
    files = (str(tmp_path / "a.jsonl"), str(tmp_path / "b.csv"))
    panel = plot.run(plot.Config(files, str(tmp_path / "out.svg"))).axes[0]
    assert [line.get_label() for line in panel.lines] == ["obscuro", "zs21"]
    assert len(panel.collections) == 1  # a band around the curve of two seeds
    assert (tmp_path / "out.svg").read_text("utf-8").count("obscuro") >= 1


def test_what_cannot_be_drawn_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    write_rows(path, rows("obscuro", 0.4))
    with pytest.raises(ValueError, match="column 'margin'"):
        plot.run(plot.Config((str(path),), "out.svg", y="margin"))
    with pytest.raises(ValueError, match="which is none"):
        plot.run(plot.Config((str(tmp_path / "b.jsonl"),), "out.svg"))
    write_rows(path, [{"key": "a", "game": "kuhn_poker"}])
    with pytest.raises(ValueError, match="give --x"):
        plot.run(plot.Config((str(path),), "out.svg"))


def test_binaries_with_arguments_can_be_called_from_a_notebook(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("klss_spiel.run.output.compilation_cache.enable", lambda: None)
    write_rows(tmp_path / "a.jsonl", rows("obscuro", 0.4))
    write_rows(tmp_path / "b.jsonl", rows("zs21", 0.5))
    files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    merge.main([*files, f"--output={tmp_path / 'all.jsonl'}"])
    plot.main([str(tmp_path / "all.jsonl"), f"--plot={tmp_path / 'out.svg'}"])
    assert "zs21" in (tmp_path / "out.svg").read_text("utf-8")
    assert str(tmp_path / "out.svg") in capsys.readouterr().out


_RUN = pathlib.Path(plot.__file__).parent
_MAKE_ROWS = sorted(
    path.stem
    for path in _RUN.glob("*.py")
    if "output.run_binary(" in (source := path.read_text("utf-8"))
    and ("computed_rows(" in source or "_row(" in source)
    and path.stem not in ("play", "merge")  # one game; rows of others
)


@pytest.mark.parametrize("name", _MAKE_ROWS)
def test_every_binary_that_makes_rows_draws_them(name):
    known = flags.FlagValues()
    module = importlib.import_module(f"klss_spiel.run.{name}")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("bool", "string", "enum", "integer", "float", "list", "boolean", "alias",
                     "multi", "multi_enum", "multi_string", "multi_integer",
                     "multi_float"):  # fmt: skip
            defined = getattr(flags, f"DEFINE_{kind}")
            patch.setattr(
                flags,
                f"DEFINE_{kind}",
                lambda *a, _defined=defined, **k: _defined(*a, **{**k, "flag_values": known}),
            )
        module.define_flags()
    assert "plot" in known


def test_the_list_of_binaries_is_not_empty_by_accident():
    assert {"match", "klss_tables", "mahjong_tables", "train_blueprint"} <= set(_MAKE_ROWS)


@pytest.mark.parametrize(
    ("draw", "row", "bars"),
    [
        (
            mahjong_tables.plot,
            {"opponent": "PPO", "setting": "R", "fan": 0.3, "half_width": 0.2,
             "paper_fan": 0.22, "paper_half_width": 0.13},
            2,
        ),
        (mahjong_exact.plot, {"opponents": "R", "exploitability": 0.2}, 1),
        (
            train_blueprint.plot,
            {"opponent": "greedy", "plays": "sampled", "points": 1.5, "half_width": 0.5},
            1,
        ),
        (
            train_blueprint.plot,
            {"game": "python_two_player_mahjong", "cross_entropy": 1.0,
             "blind_cross_entropy": 2.0},
            2,
        ),
        (demo.plot, {"game": "kuhn_poker", "ours seconds": 0.1, "OpenSpiel seconds": 0.3}, 2),
        (
            olss_report.draw,
            {"game": "leduc231", "recipe": "olss-1", "gift_scale": 1.0, "opponent_strategies": 4,
             "iterations": 1000, "blueprint": 0.15, "after": 0.1, "paper_after": 0.091,
             "seconds": 1.0, "blueprint_seconds": 1.0},
            3,
        ),
    ],
)  # fmt: skip
def test_tables_are_drawn_as_bars_with_their_intervals(tmp_path, monkeypatch, draw, row, bars):
    drawn = []
    shown = curves.bars
    monkeypatch.setattr(
        "klss_spiel.plot.bars", lambda *a, **k: drawn.append(shown(*a, **k)) or drawn[0]
    )
    draw([row], str(tmp_path / "bars.svg"))
    (panel,) = drawn[0].axes
    lengths = [patch.get_width() for patch in panel.patches]
    assert len(lengths) == bars and set(lengths) <= set(row.values())
    intervals = sum("half_width" in name for name in row)
    spans = [line.get_segments()[0][:, 0] for line in panel.collections]
    assert len(spans) == intervals
    if intervals:
        centre, half = lengths[0], row["half_width"]
        assert spans[0] == pytest.approx([centre - half, centre + half])
    assert (tmp_path / "bars.svg").exists()
