"""Progress lines of long loops."""

import sys
import types

from absl import logging

from klss_spiel import progress


def test_a_line_comes_after_three_seconds_and_not_before(monkeypatch):
    now = [100.0]
    lines = []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logging, "log", lambda level, text, *values: lines.append(text % values))
    reporter = progress.Progress("counting", total=40)
    now[0] += 2.9
    reporter.update(10)
    assert lines == []
    now[0] += 0.1 + 1e-9
    reporter.update(12)
    reporter.update(13)
    assert lines == ["counting: 12 of 40 (30%), 4 per second, 7 s left"]
    now[0] += 4.0
    reporter.update(21)
    assert len(lines) == 2


def test_slow_loops_are_told_by_the_minute_or_hour(monkeypatch):
    now = [100.0]
    lines = []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logging, "log", lambda level, text, *values: lines.append(text % values))
    reporter = progress.Progress("games", total=1000)
    for seconds, done in ((60.0, 12), (300.0, 2), (3600.0, 20), (3.0, 0)):
        now[0] = reporter._start + seconds
        reporter._next_line = 0.0
        reporter.update(done)
    assert lines == [
        "games: 12 of 1000 (1%), 12 per minute, 82 min left",
        "games: 2 of 1000 (0%), 24 per hour, 41 h 35 min left",
        "games: 20 of 1000 (2%), 20 per hour, 49 h 0 min left",
        "games: 0 of 1000 (0%), 0 per hour",
    ]


class _Kernel:
    """Stands for the IPython module of a notebook."""

    kernel = "some"

    @classmethod
    def get_ipython(cls):
        return cls


def test_a_notebook_gets_a_bar_of_tqdm(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, **options):
            self.options, self.n, self.closed = options, 0, False
            bars.append(self)

        def update(self, steps):
            self.n += steps

        def close(self):
            self.closed = True

    tqdm = types.ModuleType("tqdm")
    tqdm.auto = types.SimpleNamespace(tqdm=Bar)
    monkeypatch.setitem(sys.modules, "IPython", _Kernel)
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    reporter = progress.Progress("counting", total=40)
    reporter.update(10)
    reporter.update(25)
    (bar,) = bars
    assert (bar.options["desc"], bar.options["total"], bar.n) == ("counting", 40, 25)
    assert bar.options["delay"] == 3.0
    assert not bar.closed
    reporter.update(40)
    assert bar.closed


def test_a_notebook_without_tqdm_gets_lines_that_it_shows(monkeypatch):
    now, levels = [100.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logging, "log", lambda level, *_: levels.append(level))
    monkeypatch.setitem(sys.modules, "IPython", _Kernel)
    monkeypatch.setitem(sys.modules, "tqdm", None)  # Makes its import fail.
    reporter = progress.Progress("counting")
    now[0] += 4.0
    reporter.update(10)
    assert levels == [logging.WARNING]
