"""Kernels for accelerators: problems, candidates, and the judge that says whether one is right and how fast it is."""
