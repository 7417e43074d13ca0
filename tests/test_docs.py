"""The documentation names things that exist, and its examples run."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parent.parent
_DOCS = _ROOT / "docs"
_PAGES = sorted(
    path
    for path in _DOCS.rglob("*.md")
    if not {"_build", "results"} & set(path.relative_to(_DOCS).parts)
)


def _ids(path):
    return str(path.relative_to(_DOCS))


@pytest.mark.parametrize("page", _PAGES, ids=_ids)
def test_pages_name_modules_files_and_pages_that_exist(page):
    text = page.read_text("utf-8")
    for module in re.findall(r"python -m (klss_spiel\.[\w.]+)", text):
        assert importlib.util.find_spec(module.rstrip(".")) is not None, module
    for path in re.findall(r"`((?:klss_spiel|tests|docs)/[\w/.]+)`", text):
        assert (_ROOT / path).exists(), path
    for path in re.findall(r"\]\(((?!http)[\w/.]+\.\w+)\)", text):
        assert (page.parent / path).exists(), path


def test_every_module_of_the_api_pages_exists():
    modules = [
        name
        for page in (_DOCS / "api").glob("*.md")
        for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8"))
    ]
    assert len(modules) > 50
    for name in modules:
        assert importlib.util.find_spec(name) is not None, name


@pytest.mark.parametrize("name", ["bot", "evaluator", "recipe"])
def test_examples_of_guides_run(name):
    text = (_DOCS / "guides" / f"{name}.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), {})


@pytest.mark.slow
def test_the_site_builds_offline_without_warnings(tmp_path):
    for module in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(module)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(_DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=_ROOT, check=False)
    assert done.returncode == 0, done.stderr
    solved = (tmp_path / "tutorials" / "1_solve.html").read_text("utf-8")
    assert "-0.055556" in solved
