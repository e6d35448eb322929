"""Which libraries that compute the same things are installed, and what NumPy computes with."""

from __future__ import annotations

import ctypes
from importlib import metadata

# Distribution names on PyPI, in the order they are shown.
PEERS = (
    *("numpy", "scipy", "opt-einsum", "torch", "jax", "jaxlib", "numba", "onnxruntime", "openvino", "apache-tvm"),
    *("mkl", "tensorflow"),
)
CORE_NAMES = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)


def installed() -> dict[str, str]:
    """Version of each peer that is installed; nothing is imported."""
    found = {}
    for name in PEERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def blas_of_numpy() -> str | None:
    """The BLAS that NumPy was built with and, for OpenBLAS, the kernel it chose for this CPU. Imports NumPy.

    The choice follows ``OPENBLAS_CORETYPE`` where that is set.
    """
    try:
        import numpy as np
    except ImportError:
        return None
    config = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {}) if isinstance(config, dict) else {}
    text = f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
    kernel = _openblas_kernel()
    return f"{text}, kernel {kernel}" if kernel else text


def _openblas_kernel() -> str | None:
    """What the OpenBLAS in this process says of itself; Linux only, where /proc lists the loaded libraries."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            paths = dict.fromkeys(line.split(maxsplit=5)[5].strip() for line in file if "openblas" in line)
    except OSError:
        return None
    for path in paths:
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for name in CORE_NAMES:
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                return str(function().decode())
    return None
