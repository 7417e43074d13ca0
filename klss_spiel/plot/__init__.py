"""Pictures: curves, ratings and beliefs (matplotlib), trees and knowledge graphs (SVG).

    from klss_spiel import plot

    figure = plot.exploitability_curves(rows, path="curves.pdf")   # .svg, .pdf or .png
    plot.search_tree(bot)                                          # shows in a notebook

Figures are matplotlib's (extra `plot`, imported when the first one is drawn) and never
touch pyplot's global state. Trees and graphs are `Picture`s drawn here, without any
other package: they print as text and show as SVG.
"""

from klss_spiel.plot.boards import belief_maps as belief_maps
from klss_spiel.plot.curves import bars as bars
from klss_spiel.plot.curves import exploitability_curves as exploitability_curves
from klss_spiel.plot.curves import ratings as ratings
from klss_spiel.plot.curves import scatter as scatter
from klss_spiel.plot.figures import FORMATS as FORMATS
from klss_spiel.plot.figures import short_game_name as short_game_name
from klss_spiel.plot.knowledge_graphs import knowledge_graph as knowledge_graph
from klss_spiel.plot.trees import game_tree as game_tree
from klss_spiel.plot.trees import search_tree as search_tree

__all__ = [
    "FORMATS",
    "bars",
    "belief_maps",
    "exploitability_curves",
    "game_tree",
    "knowledge_graph",
    "ratings",
    "scatter",
    "search_tree",
    "short_game_name",
]
