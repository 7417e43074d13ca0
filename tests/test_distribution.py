"""What is built of the repository: a wheel that works elsewhere and a whole sdist."""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile

import pytest

from tests.helpers.paths import ROOT

pytestmark = pytest.mark.slow

_NOT_COPIED = (".git", ".venv", "build", "dist", "results", "*.egg-info", "__pycache__", ".*_cache")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the repository, so that building leaves nothing behind in it."""
    folder = tmp_path_factory.mktemp("source") / "klss_spiel"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    return folder


def _build(what: str, source: pathlib.Path, into: pathlib.Path) -> pathlib.Path:
    script = f"from setuptools import build_meta; print(build_meta.build_{what}({str(into)!r}))"
    result = subprocess.run(
        [sys.executable, "-W", "default", "-c", script],
        cwd=source,
        capture_output=True,
        check=False,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    for stream in (result.stdout, result.stderr):
        assert "deprecat" not in stream.lower(), stream
    return into / result.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return _build("wheel", source, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_package_and_its_licence(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "klss_spiel").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(expected) > 100
    assert expected - names == set()
    assert {name.split("/")[0] for name in names} == {"klss_spiel", "klss_spiel-0.1.0.dist-info"}
    metadata = zipfile.ZipFile(wheel).read("klss_spiel-0.1.0.dist-info/METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_installed_wheel_runs_the_readme_from_another_folder(wheel, tmp_path):
    # A fresh environment with this package alone; what it depends on is lent by ours.
    fresh = tmp_path / "fresh"
    venv.create(fresh, with_pip=False)
    python = fresh / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "install"]
    subprocess.run(
        [*install, "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)],
        check=True,
        env={"PIP_ROOT_USER_ACTION": "ignore", "PATH": "/usr/bin:/bin"},
    )
    (site_packages,) = (fresh / "lib").glob("python*/site-packages")
    lent = sysconfig.get_paths()["purelib"]
    (site_packages / "dependencies.pth").write_text(lent)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script = f"""
import doctest
import klss_spiel
import jax
assert klss_spiel.__file__.startswith({str(site_packages)!r}), klss_spiel.__file__
assert jax.__file__.startswith({lent!r}), jax.__file__
failed, tried = doctest.testfile({str(ROOT / "README.md")!r}, module_relative=False)
assert failed == 0 and tried > 5, (failed, tried)
from klss_spiel import weights
assert {{"chess_network", "values_leduc"}} <= set(weights.shipped_names())
loaded = weights.load("values_leduc", kind="range_values", game="leduc_poker()")
assert "optax" not in __import__("sys").modules
"""
    subprocess.run([str(python), "-I", "-c", script], cwd=elsewhere, check=True)


def test_the_sdist_holds_everything_that_its_tests_need(source, tmp_path):
    path = _build("sdist", source, tmp_path)
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (folder for folder in tmp_path.iterdir() if folder.is_dir())
    for name in ("Makefile", "LICENSE", "CHANGES.md", "docs/chess_rules.md", "ruff.toml"):
        assert (unpacked / name).is_file(), name
    expected = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "tests").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    there = {
        file.relative_to(unpacked).as_posix()
        for file in (unpacked / "tests").rglob("*")
        if file.is_file()
    }
    assert expected - there == set()
    # All of them can be collected; some of each kind are run.
    pytest_here = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    subprocess.run([*pytest_here, "--collect-only"], cwd=unpacked, check=True, capture_output=True)
    sample = ["tests/test_package.py", "tests/test_tree.py", "tests/games/signal"]
    result = subprocess.run(
        [*pytest_here, "-m", "not slow", *sample],
        cwd=unpacked,
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-3000:]
