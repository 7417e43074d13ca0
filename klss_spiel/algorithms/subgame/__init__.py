"""Subgame solving with a blueprint: recipes, gadgets, refinement."""
