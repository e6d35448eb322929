"""strop hones tensor kernels: from a contraction to checked machine code on this CPU."""

__version__ = "0.1.0"
