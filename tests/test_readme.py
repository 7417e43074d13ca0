"""The README's example runs, and its tables name things that exist."""

import doctest
import importlib.util
import pathlib
import re

_README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_example_prints_what_it_says():
    failed, tried = doctest.testfile(str(_README), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_every_module_and_test_named_in_the_tables_exists():
    text = _README.read_text("utf-8")
    modules = set(re.findall(r"python -m (klss_spiel\.run\.\w+)", text))
    assert len(modules) >= 5
    for module in modules:
        assert importlib.util.find_spec(module) is not None, module
    paths = set(re.findall(r"`((?:klss_spiel|algorithms|games|tests|docs)/[\w/]+\.\w+)`", text))
    assert len(paths) >= 10
    for path in paths:
        assert (_README.parent / path).exists(), path
