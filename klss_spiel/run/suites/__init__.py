"""Benchmark suites: each module yields rows of measurements."""
