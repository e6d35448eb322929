"""The renderers' building blocks."""
