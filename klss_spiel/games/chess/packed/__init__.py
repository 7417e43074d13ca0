"""Chess positions as arrays of packed words, for compiled code."""
