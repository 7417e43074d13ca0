"""Speed-up by more processes: the games of a match, the rows of a table.

Each task is the same list of jobs done by `processes:1`, by `processes:2`, and by one
process for each core where there are more than two. `ratio` is the time of one process
over the row's, `target` what two processes are meant to reach on two idle cores. Times are
those of the wall, from the first job to the last row, and include starting the processes;
everything is compiled before. The tasks take a minute, so that starting the processes (about
two seconds of processor time each) weighs as it does in short runs of users.

`processor_seconds` is what all processes used, `cores` that over the time: where it is below
the number of processes something else ran on the machine and `ratio` says nothing.
`--executor=in_process` only: these processes need the cores.
"""

from __future__ import annotations

import dataclasses
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from klss_spiel.jobs import Job, compute_rows
from klss_spiel.matches.match import Match, jobs_of
from klss_spiel.run import olss_tables, output
from klss_spiel.thread_limits import num_cores

Row = dict[str, Any]

_SUITE: Final = "scale"
COLUMNS: Final = (
    *("suite", "task", "game", "contender", "jobs", "seconds", "ratio"),
    *("target", "processor_seconds", "cores", "same_rows"),
)
MATCH: Final = "match"
TABLE: Final = "table"
TARGET: Final = 1.7

_MATCH_GAME: Final = "python_dark_chess(board=silverman4x4)"
_TABLE_GAME: Final = "leduc231"


def parts(quick: bool) -> Sequence[str]:
    """Names of what can be measured by itself."""
    del quick
    return (MATCH, TABLE)


def rows(part: str, quick: bool) -> Iterator[Row]:
    """Measures a part."""
    name, jobs = _match(quick) if part == MATCH else _table(quick)
    _seconds_and_rows(jobs[:2], 1)  # compiles what is not in the caches yet
    alone, expected = _seconds_and_rows(jobs, 1)
    for count in sorted({1, 2, num_cores()}):
        taken, got = (alone, expected) if count == 1 else _seconds_and_rows(jobs, count)
        yield {
            "suite": _SUITE,
            "task": part,
            "game": name,
            "contender": f"processes:{count}",
            "jobs": len(jobs),
            "seconds": taken.wall,
            "ratio": alone.wall / taken.wall,
            "target": TARGET if count == 2 else None,
            "processor_seconds": taken.processor,
            "cores": taken.processor / taken.wall,
            "same_rows": got == expected,
        }


def _match(quick: bool) -> tuple[str, list[Job]]:
    players = ("search(nodes=2000)", "search(nodes=2000,preset=zs21)")
    match = Match(_MATCH_GAME, players, games=8 if quick else 80)
    return _MATCH_GAME, jobs_of(match)


def _table(quick: bool) -> tuple[str, list[Job]]:
    recipes = ("1-klss", "maxmargin")
    config = olss_tables.Config(games=(_TABLE_GAME,), recipes=recipes, seeds=2 if quick else 16)
    return _TABLE_GAME, olss_tables.make_jobs(config)


@dataclasses.dataclass(frozen=True)
class _Taken:
    """Seconds of the wall, and of processors in all workers together."""

    wall: float
    processor: float


def _seconds_and_rows(jobs: Sequence[Job], count: int) -> tuple[_Taken, list[Row]]:
    """What `count` processes need for all jobs, and the rows without times."""
    start, before = time.monotonic(), _processor_seconds_of_workers()
    found = compute_rows(
        jobs, f"processes:{count}", progress=None, strict=True, setup=output.use_double_precision
    )
    taken = _Taken(time.monotonic() - start, _processor_seconds_of_workers() - before)
    return taken, [_without_times(row) for row in found]


def _processor_seconds_of_workers() -> float:
    """Of all that have ended: an executor's end with its last job."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _without_times(row: Mapping[str, Any]) -> Row:
    times = ("seconds", "longest")
    return {name: value for name, value in row.items() if not any(t in name for t in times)}
