"""Habits of the package: direction of imports, light import, small modules."""

import ast
import json
import pathlib
import subprocess
import sys

import pytest

_ROOT = pathlib.Path(__file__).parent.parent
_PACKAGE = _ROOT / "klss_spiel"
_LINKS = ("algorithms", "games", "run")
_PARTS = (*_LINKS, "matches", "plot", "web")
_LONGEST_MODULE = 500

# Which parts of the package each part may import. "root" is klss_spiel/__init__.py,
# "core" the other modules directly under klss_spiel.
_MAY_IMPORT = {
    "root": {"games", "core", "algorithms", "matches"},
    "core": {"core"},
    "games": {"games", "core"},
    "algorithms": {"algorithms", "core"},
    "matches": {"matches", "algorithms", "core", "games"},
    "plot": {"plot", "matches", "algorithms", "core", "games"},
    "web": {"web", "matches", "algorithms", "core", "games", "root"},
    "run": {"run", "web", "plot", "matches", "algorithms", "core", "games", "root"},
}
# Core modules whose business is OpenSpiel; the others know only arrays.
_CORE_WITH_PYSPIEL = {"openspiel", "testing"}


def _sources() -> dict[pathlib.Path, str]:
    """The package's modules, relative to it, with their text."""
    return {
        path.relative_to(_PACKAGE): path.read_text("utf-8")
        for path in sorted(_PACKAGE.rglob("*.py"))
    }


def _part(module: str) -> str:
    """The part that a dotted name such as klss_spiel.games.registration belongs to."""
    names = module.split(".")
    if len(names) == 1:
        return "root"
    return names[1] if names[1] in _PARTS else "core"


def _imports(source: str) -> list[str]:
    """Dotted names of everything a module imports, at any depth of its code."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"expected absolute imports, got {ast.unparse(node)}"
            module = str(node.module)
            # `from klss_spiel import tree` imports klss_spiel.tree.
            submodules = [f"{module}.{alias.name}" for alias in node.names]
            names.extend(submodules if module == "klss_spiel" else [module])
    return names


def _module_name(path: pathlib.Path) -> str:
    names = ["klss_spiel", *path.with_suffix("").parts]
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def test_imports_inside_the_package_point_one_way():
    offences = [
        f"{path} imports {name}"
        for path, source in _sources().items()
        for name in _imports(source)
        if name.split(".")[0] == "klss_spiel"
        and _part(name) not in _MAY_IMPORT[_part(_module_name(path))]
    ]
    assert offences == []


def test_the_links_are_never_imported_by_their_own_names():
    offences = [
        f"{path} imports {name}"
        for path, source in _sources().items()
        for name in _imports(source)
        if name.split(".")[0] in _LINKS
    ]
    assert offences == []


def test_only_the_openspiel_side_of_the_core_imports_pyspiel():
    offences = [
        f"{path} imports {name}"
        for path, source in _sources().items()
        for name in _imports(source)
        if _part(_module_name(path)) == "core"
        and path.with_suffix("").parts[0] not in _CORE_WITH_PYSPIEL
        and name.split(".")[0] in ("pyspiel", "open_spiel")
    ]
    assert offences == []


def _calls(source: str) -> list[str]:
    return [
        ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)
    ]


@pytest.mark.parametrize("call", ["print", "jax.config.update", "config.update"])
def test_only_binaries_print_and_configure_jax(call):
    offences = [
        str(path)
        for path, source in _sources().items()
        if path.parts[0] != "run"
        # Configuring jax is what its one function is called for.
        and path.parts != ("algorithms", "compilation_cache.py")
        and call in _calls(source)
    ]
    assert offences == []


def test_modules_are_short_and_named_for_what_they_hold():
    lengths = {str(path): source.count("\n") for path, source in _sources().items()}
    assert {path: n for path, n in lengths.items() if n > _LONGEST_MODULE} == {}
    assert [path for path in lengths if path.endswith(("utils.py", "common.py"))] == []


@pytest.mark.parametrize("name", _LINKS)
def test_top_level_names_are_relative_links_into_the_package(name):
    if (_ROOT / "PKG-INFO").exists():
        pytest.skip("an sdist holds no links")
    link = _ROOT / name
    assert link.is_symlink()
    assert link.readlink() == pathlib.Path("klss_spiel") / name
    assert (link / "__init__.py").is_file()


def test_importing_the_package_is_light_and_registers_the_games():
    script = """
import json, sys, time
start = time.perf_counter()
import pyspiel
between = time.perf_counter()
import klss_spiel
end = time.perf_counter()
heavy = ["jax", "jaxlib", "numba", "scipy", "highspy", "games", "algorithms", "run"]
print(json.dumps({
    "pyspiel": between - start,
    "klss_spiel": end - between,
    "present": [name for name in heavy if name in sys.modules],
    "registered": "python_n_matching_pennies" in pyspiel.registered_names(),
}))
"""
    # From the repository's root, where a stray `import games` would find the link.
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=_ROOT, capture_output=True, check=True, text=True
    )
    report = json.loads(result.stdout)
    print(f"import pyspiel {report['pyspiel']:.3f} s, klss_spiel {report['klss_spiel']:.3f} s")
    assert report["present"] == []
    assert report["registered"]


def test_type_hints_are_shipped():
    assert (_PACKAGE / "py.typed").is_file()
