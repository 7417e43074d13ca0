"""Progress lines of long loops."""

from absl import logging

from klss_spiel import progress


def test_a_line_comes_after_three_seconds_and_not_before(monkeypatch):
    now = [100.0]
    lines = []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logging, "info", lambda text, *values: lines.append(text % values))
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
    monkeypatch.setattr(logging, "info", lambda text, *values: lines.append(text % values))
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
