"""Matches: any two agents of a game, and how sure it is which of them is better."""
