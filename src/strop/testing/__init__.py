"""Conformance suites for plug-ins, and faults for tests."""
