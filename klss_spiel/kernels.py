"""The one way in which this package compiles a loop with numba.

    from klss_spiel.kernels import kernel

    @kernel
    def add(first: Any, second: Any) -> Any: ...

Importing this module imports numba.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., Any])

_PACKAGE = pathlib.Path(__file__).parent
_NAME = __name__.split(".")[0]


def kernel(function: _F) -> _F:
    """Compiles a function: no Python objects, no GIL, kept on disk between runs.

    Where nothing can be written (an installation that is read-only, no home), the
    function is compiled anew in every process.
    """
    return _compiled(function, forceinline=False)


def inlined_kernel(function: _F) -> _F:
    """As `kernel`, always made part of the kernels that call it.

    For short functions with many arrays: a call copies all that is known of each array. What
    calls them takes longer to compile.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: _F, forceinline: bool) -> _F:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if forceinline:
        options["forceinline"] = True
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no folder for its cache
        return cast(_F, numba.njit(**options)(function))
    # Numba notices changes of the module a function is in, but not of those it calls:
    # after a change elsewhere it would run stale code from the disk.
    source = inspect.getsourcefile(function)
    if source is not None:
        compiled._cache._cache_file._source_stamp = source_stamp(pathlib.Path(source))
    return cast(_F, compiled)


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(context: Any, array: Any) -> Any:
    """In a kernel: an array with the same memory whose users are not counted.

    Counting them takes an instruction that locks memory wherever an array gets another name,
    which adds up in loops over short functions. Whoever gave the array keeps it alive.
    """
    del context

    def made(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        view = target.make_array(signature.return_type)(target, builder, value=values[0])
        for owner in ("meminfo", "parent"):
            setattr(view, owner, cgutils.get_null_value(getattr(view, owner).type))
        return view._getvalue()

    return array(array), made


def is_kept(compiled: Any) -> bool:
    """Whether a kernel of this text is on disk, compiled for any types."""
    kept = getattr(compiled._cache, "_cache_file", None)  # none where nothing can be written
    return kept is not None and bool(kept._load_index())


def source_stamp(path: pathlib.Path) -> str:
    """Changes with the text of a module and of every module of this package it imports."""
    digest = hashlib.sha256()
    for source in sorted(_reachable(path)):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _reachable(path: pathlib.Path) -> set[pathlib.Path]:
    """A module's file and those of this package that it imports, directly or not."""
    found = {path}
    waiting = [path]
    while waiting:
        new = _imported_files(waiting.pop()) - found
        found |= new
        waiting.extend(new)
    return found


@functools.cache
def _imported_files(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """Files of this package's modules that one file imports at its top level."""
    names: set[str] = set()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    ours = (name.split(".")[1:] for name in names if name.split(".")[0] == _NAME)
    files = (_PACKAGE.joinpath(*parts).with_suffix(".py") for parts in ours if parts)
    return frozenset(file for file in files if file.is_file())
