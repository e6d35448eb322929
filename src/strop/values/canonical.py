"""Canonical JSON: one text for one value, so that equal values have equal hashes."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:
    """``value`` as JSON with sorted keys and no blanks. ``ValueError`` on NaN and infinity.

    >>> canonical({"n": 4, "axes": ["m", "k"]})
    '{"axes":["m","k"],"n":4}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()
