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
    assert lines == ["counting: 12 of 40 (30%), 4 per second"]
    now[0] += 4.0
    reporter.update(21)
    assert len(lines) == 2
