"""Objects in processes: what they answer, how they fail, and that they end."""

import os
import pathlib
import threading
import time

import pytest

from klss_spiel.web.workers import WorkerError, Workers

_SECONDS = 30.0


class Recorder:
    """Writes down that it was closed; can be slow to make, to answer, or die."""

    def __init__(self, path=None, slow=False):
        if slow:
            time.sleep(_SECONDS)
        self._path = path

    def add(self, first, second):
        return first + second

    def pid(self):
        return os.getpid()

    def environment(self, name):
        return os.environ.get(name)

    def fail(self):
        raise KeyError("nothing here")

    def unpicklable(self):
        return lambda: None

    def die(self):
        os._exit(3)

    def sleep(self):
        time.sleep(_SECONDS)

    def close(self):
        if self._path is not None:
            pathlib.Path(self._path).touch()


def _mark():
    os.environ["MARK_OF_WORKERS"] = "set up"


@pytest.fixture(params=[True, False], ids=["apart", "here"])
def workers(request):
    return Workers(request.param)


def test_methods_answer_and_errors_are_raised(workers):
    worker = workers.start(Recorder)
    worker.ready()
    assert worker.call("add", 2, 3) == 5
    with pytest.raises((WorkerError, KeyError), match="nothing here"):
        worker.call("fail")
    assert worker.call("add", "a", "b") == "ab"  # it has survived
    worker.close()


def test_only_workers_apart_have_a_process_and_its_setup(workers):
    worker = Workers(workers.apart, _mark).start(Recorder)
    worker.ready()
    assert (worker.call("pid") != os.getpid()) == workers.apart
    assert worker.call("environment", "MARK_OF_WORKERS") == ("set up" if workers.apart else None)
    worker.close()


def test_closing_reaches_the_object(workers, tmp_path):
    worker = workers.start(Recorder, tmp_path / "closed")
    worker.ready()
    worker.close()
    assert (tmp_path / "closed").exists()


def test_an_object_that_is_asked_hears_that_it_ends(tmp_path):
    worker = Workers().start(Recorder, tmp_path / "closed")
    worker.ready()
    failures = []

    def ask():
        try:
            worker.call("sleep")
        except WorkerError as error:
            failures.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.1)
    worker.close()
    asking.join(_SECONDS / 2)  # sooner than the method returns
    assert (tmp_path / "closed").exists()
    assert failures == ["the process has ended"]


def test_one_that_is_still_being_made_can_be_closed():
    worker = Workers().start(Recorder, None, True)
    worker.close()
    with pytest.raises(WorkerError, match="has ended"):
        worker.ready()


def test_a_process_that_dies_is_noticed_then_and_later():
    worker = Workers().start(Recorder)
    worker.ready()
    for method in ("die", "pid"):
        with pytest.raises(WorkerError, match="has ended"):
            worker.call(method)
    worker.close()


def test_an_answer_that_cannot_be_sent_is_an_error():
    worker = Workers().start(Recorder)
    with pytest.raises(WorkerError, match="pickle"):
        worker.call("unpicklable")
    assert worker.call("add", 1, 1) == 2
    worker.close()


def test_an_object_that_cannot_be_made_says_why(workers):
    worker = workers.start(Recorder, 1, 2, 3)
    with pytest.raises((WorkerError, TypeError), match="positional"):
        worker.ready()
