"""Gemmini: a systolic array beside a Rocket core, simulated bit for bit and cycle by cycle."""
