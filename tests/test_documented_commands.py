"""Commands and code of the README and the site: flags, values and names that exist."""

import ast
import doctest
import functools
import importlib
import importlib.util
import pathlib
import re
import shlex
import sys

import pytest
from absl import flags

import klss_spiel as ks

_ROOT = pathlib.Path(__file__).parent.parent
_PAGES = [
    _ROOT / "README.md",
    *sorted(
        path
        for path in (_ROOT / "docs").rglob("*.md")
        if not {"_build", "results", "tutorials"} & set(path.relative_to(_ROOT).parts)
    ),
]
_COMMAND = re.compile(r"python -m (klss_spiel\.run\.\w+)((?:\\\n|[^\n`;|&>])*)")
# Some binaries take files; flags may follow them. Any other word begins the prose.
_FILE = re.compile(r"[\w/*.-]+\.(csv|json|jsonl|pgn)")


def _commands(text):
    """(module, arguments) of commands; what stands for something else is left out."""
    for module, rest in _COMMAND.findall(text):
        rest = re.sub(r"\s#.*", "", rest.replace("\\\n", " "))
        try:
            words = shlex.split(rest)
        except ValueError:  # prose with an apostrophe
            words = []
        arguments = []
        for word in words:
            if _FILE.fullmatch(word):
                continue
            if not word.startswith("--"):
                break
            arguments.append(_without_prose(word))
        # `--output=FILE` and `--games=N` tell what to put there.
        arguments = [a for a in arguments if not re.search(r"=[A-Z]+$|\.\.\.|[{}$]", a)]
        if arguments:  # else it is merely named
            yield module, arguments


def _without_prose(word):
    """An argument without the stop or the bracket that ends a sentence behind it."""
    word = word.rstrip(".,:")
    return word[:-1] if word.count(")") > word.count("(") else word


@functools.cache
def _refusal(module, arguments):
    """What a binary's flags say against a command; None if nothing."""
    define = importlib.import_module(module).define_flags
    values = flags.FLAGS
    known = set(values)
    was_parsed = values.is_parsed()
    define()
    try:
        values(["test", *arguments])
    except flags.Error as error:
        return str(error)
    finally:
        for name in set(values) - known:
            delattr(values, name)
        if not was_parsed:
            values.unparse_flags()
    return None


def test_commands_are_found():
    found = [c for page in _PAGES for c in _commands(page.read_text("utf-8"))]
    assert len(found) > 60
    assert len({module for module, _ in found}) > 12
    assert sum(len(arguments) for _, arguments in found) > 100


@pytest.mark.parametrize("page", _PAGES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_flags_of_commands_exist_and_take_their_values(page):
    wrong = [
        (module, arguments, refusal)
        for module, arguments in _commands(page.read_text("utf-8"))
        if "--help" not in arguments and (refusal := _refusal(module, tuple(arguments))) is not None
    ]
    assert wrong == []


def test_flags_after_files_are_read():
    """Those of `analyse` and `merge`, on their pages, too."""
    text = "python -m klss_spiel.run.analyse game.pgn --ply=4 --playr=0 and so on"
    assert list(_commands(text)) == [("klss_spiel.run.analyse", ["--ply=4", "--playr=0"])]
    assert "playr" in _refusal("klss_spiel.run.analyse", ("--ply=4", "--playr=0"))
    assert "non-negative" in _refusal("klss_spiel.run.analyse", ("--ply=-4",))
    found = dict(_commands((_ROOT / "docs" / "agent.md").read_text("utf-8")))
    assert "klss_spiel.run.analyse" in found


def test_a_wrong_flag_and_a_wrong_value_are_noticed():
    assert "openn" in _refusal("klss_spiel.run.web", ("--openn",))
    assert "magic" in _refusal("klss_spiel.run.web", ("--workers=magic",))
    assert _refusal("klss_spiel.run.web", ("--workers=threads",)) is None


def _blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [page for page in _PAGES if _blocks(page)],
    ids=lambda path: str(path.relative_to(_ROOT)),
)
def test_code_compiles_and_names_what_exists(page):
    for block in _blocks(page):
        if ">>>" in block:
            examples = doctest.DocTestParser().get_examples(block)
            block = "".join(example.source for example in examples)
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module)
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    assert hasattr(module, alias.name) or importlib.util.find_spec(inner), inner
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    assert alias.name in sys.modules or importlib.import_module(alias.name)
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "ks":
                assert hasattr(ks, node.attr), f"ks.{node.attr}"


def test_the_first_number_of_the_start_page():
    failed, tried = doctest.testfile(str(_ROOT / "docs" / "start.md"), module_relative=False)
    assert (failed, tried) == (0, 2)
