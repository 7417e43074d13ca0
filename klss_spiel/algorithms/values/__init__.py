"""Values in games of imperfect information: borders, ranges, optimal and learned values."""
