"""The README's example runs, and its tables name things that exist."""

import doctest
import importlib.util
import pathlib
import re

import pytest

_README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_example_prints_what_it_says():
    failed, tried = doctest.testfile(str(_README), module_relative=False)
    assert tried > 5
    assert failed == 0


def test_every_module_and_test_named_in_the_tables_exists():
    text = _README.read_text("utf-8")
    modules = set(re.findall(r"python -m (klss_spiel\.run\.\w+)", text))
    assert len(modules) >= 5
    for module in modules:
        assert importlib.util.find_spec(module) is not None, module
    assert len(_paths_in(text)) >= 10


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_exists(name):
    paths = _paths_in((_README.parent / name).read_text("utf-8"))
    assert len(paths) >= 10
    for path in paths:
        root = _README.parent
        # Folders of the package may be named without it.
        assert (root / path).exists() or (root / "klss_spiel" / path).exists(), path


def _paths_in(text: str) -> set[str]:
    folders = "klss_spiel|algorithms|games|run|matches|tests|docs"
    return set(re.findall(rf"[`(]((?:{folders})/[\w/]+\.\w+)[`)]", text))
