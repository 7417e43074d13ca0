"""Two-player Mahjong: rules, scores, an OpenSpiel game and a compiled environment."""

from klss_spiel.games.mahjong.scoring import score_record as score_record
