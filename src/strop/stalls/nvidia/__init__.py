"""NVIDIA GPUs, sm_70 to sm_121: cubins to the model of `strop.stalls.instruction`."""

from strop.stalls.nvidia.decode import decode

__all__ = ["decode"]
