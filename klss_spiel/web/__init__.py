"""The page and its server: play, watch and look back at games in a browser (extra `web`)."""
