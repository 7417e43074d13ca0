"""Values of unfinished chess positions."""
