"""Search on a growing tree, without a blueprint."""
