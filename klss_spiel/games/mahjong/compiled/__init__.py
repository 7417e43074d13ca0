"""Many games of Mahjong at once, in compiled code; importing its modules imports numba."""
