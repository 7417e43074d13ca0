"""Beliefs on a chess board: where enemy pieces may stand."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

_NAMES: Final = {
    "P": "pawns",
    "N": "knights",
    "B": "bishops",
    "R": "rooks",
    "Q": "queen",
    "K": "king",
}
_SHOWN_FROM: Final = 0.005


def belief_maps(
    heat: Mapping[str, Sequence[float]],
    width: int,
    title: str = "",
    black_below: bool = False,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """A board for each kind of piece, with the probability that one stands on each square.

    Args:
      heat: letter of a kind (PNBRQK) -> [squares] probabilities, a1 first, as
        `klss_spiel.matches.beliefs.heat_of` gives them. Kinds that stand nowhere are left out.
      width: files of the board.
      title: over all boards.
      black_below: draw the boards as Black sees them.
      path: file to write (.svg, .pdf, .png), or None.

    Returns:
      The matplotlib figure.
    """
    from klss_spiel.plot.figures import figure

    kinds = [kind for kind in heat if any(share > 0.0 for share in heat[kind])]
    if not kinds:
        raise ValueError("expected a belief in which some enemy piece stands somewhere")
    boards = {kind: np.asarray(heat[kind], dtype=np.float64).reshape(-1, width) for kind in kinds}
    height = len(boards[kinds[0]])
    with figure((1.9 * len(kinds) + 0.6, 1.9 * height / width + 0.7), path) as drawn:
        panels = drawn.subplots(1, len(kinds), squeeze=False)[0]
        image = None
        for kind, panel in zip(kinds, panels, strict=True):
            image = panel.imshow(boards[kind], cmap="cividis", vmin=0.0, vmax=1.0, origin="lower")
            for (rank, file), share in np.ndenumerate(boards[kind]):
                if share >= _SHOWN_FROM:
                    shade = "black" if share > 0.6 else "white"
                    text = f"{share:.2f}".lstrip("0") if share < 0.995 else "1"
                    panel.text(file, rank, text, ha="center", va="center", color=shade, fontsize=6)
            panel.grid(visible=False)
            panel.set_xticks(range(width), "abcdefgh"[:width])
            panel.set_yticks(range(height), [str(rank + 1) for rank in range(height)])
            panel.tick_params(length=0, labelsize="small")
            panel.set_title(_NAMES.get(kind, kind))
            if black_below:
                panel.invert_xaxis()
                panel.invert_yaxis()
        drawn.colorbar(image, ax=list(panels), label="probability", shrink=0.8)
        if title:
            drawn.suptitle(title)
    return drawn
