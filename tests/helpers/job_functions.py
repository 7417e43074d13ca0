"""Functions of jobs, and scripts that run them in other processes."""

import contextlib
import os
import pathlib
import signal
import sys
import time

from klss_spiel.jobs import job_from_columns

# Functions of jobs. What they did is written to a file, for other processes see no lists.


def square(columns, log=None):
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{columns['k']}\n")
    if columns["k"] == 13:
        raise ValueError("13 is unlucky")
    return {"square": columns["k"] ** 2, "half": columns["k"] / 2}


def curve(columns):
    return [{"x": x, "y": x * columns["k"]} for x in (1, 2, 4)]


def interrupt_at_3(columns):
    if columns["k"] == 3:
        raise KeyboardInterrupt
    return {"square": columns["k"] ** 2}


def die(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']}\n")
    deaths = pathlib.Path(log).read_text().split().count(str(columns["k"]))
    if columns["k"] == 1 or (columns["k"] == 2 and deaths == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": columns["k"] ** 2}


def environment(columns):
    time.sleep(0.2)  # Long enough for both processes to get work.
    names = ("OMP_NUM_THREADS", "XLA_FLAGS", "SET_UP")
    return {"process": os.getpid(), **{name: os.environ.get(name) for name in names}}


def set_up():
    os.environ["SET_UP"] = "yes"


def fail_to_set_up():
    raise ValueError("no such precision")


def end_now(*_):
    os._exit(3)


def leave(columns):
    sys.exit("enough")


def bad_row(columns):
    return {"a": {1, 2}} if columns["k"] else {"key": 1}


def no_rows(columns):
    return []


def squares(numbers, log=None):
    return [job_from_columns(square, {"game": "g", "k": k}, log) for k in numbers]


def log_of(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


SCRIPT = """
import sys
from tests.helpers import job_functions
from klss_spiel.jobs import compute_rows, job_from_columns

if __name__ == "__main__":
    work = [job_from_columns(job_functions.slow_square, {"k": k}, sys.argv[3]) for k in range(40)]
    compute_rows(work, sys.argv[1], sys.argv[2])
"""


def slow_square(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']}\n")
    time.sleep(0.1 if columns["k"] < 8 else 60)
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def slow_square_with_process(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']} {os.getpid()}\n")
    time.sleep(0.1 if columns["k"] < 8 else 60)
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def short_square_with_process(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']} {os.getpid()}\n")
    time.sleep(0.1)
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def quick_square(columns, log):
    with open(log, "a") as file:
        file.write(f"{columns['k']}\n")
    return {"square": columns["k"] ** 2, "text": "row\n" * 2000}


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def processes_of_group(group):
    """Ids of living processes of a process group, zombies not counted."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group_of_process = path.read_text().rpartition(")")[2].split()[:3]
            if int(group_of_process) == group and state != "Z":
                found.append(int(path.parent.name))
    return found
