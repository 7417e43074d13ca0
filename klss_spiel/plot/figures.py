"""What all figures share: matplotlib when it is needed, one look, names that fit."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

FORMATS: Final = (".svg", ".pdf", ".png")
MISSING: Final = "figures need the extra 'plot': pip install 'klss_spiel[plot]'"

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_STYLE: Final = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.dpi": 110,
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "pdf.fonttype": 42,  # letters stay letters
    "svg.fonttype": "none",
    "svg.hashsalt": "klss_spiel",  # the same figure is the same file
}
_LONGEST_NAME: Final = 34


def check_format(path: str | os.PathLike[str]) -> None:
    """Raises ValueError if no figure can be written to a file of that name."""
    if pathlib.Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"expected a file that ends in {', '.join(FORMATS)}, got {str(path)!r}")


@contextlib.contextmanager
def figure(size: tuple[float, float], path: str | os.PathLike[str] | None) -> Iterator[Any]:
    """A new matplotlib figure in the package's style; written to `path` after the block.

    Args:
      size: width and height in inches.
      path: file to write, or None.

    Raises:
      ImportError: matplotlib is not installed; the message names the extra.
      ValueError: the file's name has another ending than FORMATS.
    """
    if path is not None:
        check_format(path)
    try:
        matplotlib = importlib.import_module("matplotlib")
        shown_figure = _figure_class()
    except ImportError as error:
        raise ImportError(MISSING) from error
    # The object interface needs no display and leaves pyplot's global state alone.
    with matplotlib.rc_context(_STYLE):
        drawn = shown_figure(figsize=size, layout="constrained")
        yield drawn
        if path is not None:
            drawn.savefig(path, dpi=160, metadata=_without_date(path))


@functools.cache
def _figure_class() -> Any:
    matplotlib = importlib.import_module("matplotlib")
    base = importlib.import_module("matplotlib.figure").Figure

    class ShownFigure(base):  # type: ignore[misc, valid-type]  # matplotlib may be missing.
        """A figure that shows in a notebook, which others do by way of pyplot only."""

        def _repr_svg_(self) -> str:
            text = io.StringIO()
            with matplotlib.rc_context(_STYLE):
                self.savefig(text, format="svg", metadata={"Date": None})
            return text.getvalue()

    return ShownFigure


def _without_date(path: str | os.PathLike[str]) -> dict[str, None]:
    key = {".svg": "Date", ".pdf": "CreationDate"}.get(pathlib.Path(path).suffix.lower())
    return {} if key is None else {key: None}


def colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label."""
    return {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(labels)}


def legend_outside(drawn: Any, panel: Any) -> None:
    """One legend below all panels, where it hides no data."""
    handles, labels = panel.get_legend_handles_labels()
    if labels:
        columns = min(len(labels), 4)
        drawn.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize="small")


def short_game_name(name: str) -> str:
    """A game string as titles show it: no `python_`, no defaults written out, not too long.

    >>> short_game_name("python_dark_chess(board=minimal4x3,horizon=6)")
    'dark chess minimal4x3, horizon 6'
    >>> short_game_name("kuhn_poker()")
    'kuhn poker'
    """
    matched = re.fullmatch(r"(?:python_)?(\w+)(?:\((.*)\))?", name, re.DOTALL)
    if matched is None:
        return _shortened(name)
    title = matched[1].replace("_", " ")
    words = []
    for part in filter(None, (matched[2] or "").split(",")):
        key, _, value = part.partition("=")
        if value in ("True", "true"):
            words.append(key)
        elif key in ("board", "preset", "points_order"):
            words.append(value)
        elif value not in ("False", "false", "") and (key, value) != ("players", "2"):
            words.append(f"{key} {value}")
    return _shortened(f"{title} {', '.join(words)}".replace("_", " ").strip())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
