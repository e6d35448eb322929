"""This computer's own processor."""
