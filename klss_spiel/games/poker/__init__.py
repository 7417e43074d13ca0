"""Limit poker of two rounds: the Leduc family and its trees by ranks."""
