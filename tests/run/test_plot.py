"""Tests of drawing rows of files."""

import pytest

from klss_spiel.row_files import write_rows
from klss_spiel.run import plot

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
