"""Games registered in OpenSpiel on import."""

from klss_spiel.games import dark_chess as dark_chess
from klss_spiel.games import kriegspiel as kriegspiel
from klss_spiel.games import n_matching_pennies as n_matching_pennies
from klss_spiel.games import worked_examples as worked_examples
