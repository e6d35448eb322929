"""Timing, correctness, isolation: the only place that runs or times foreign code."""
