"""Games registered in OpenSpiel on import."""

from klss_spiel.games.chess import dark_chess as dark_chess
from klss_spiel.games.chess import kriegspiel as kriegspiel
from klss_spiel.games.mahjong import game as mahjong_game  # noqa: F401
from klss_spiel.games.signal import n_matching_pennies as n_matching_pennies
from klss_spiel.games.signal import worked_examples as worked_examples
