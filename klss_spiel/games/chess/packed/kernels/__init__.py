"""Compiled loops over packed chess positions."""
