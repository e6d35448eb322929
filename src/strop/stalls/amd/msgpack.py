"""Reads MessagePack, the form of the metadata note of code objects (msgpack.org's specification, all but `ext`)."""

from __future__ import annotations

import struct
from typing import Any

MOST_DEPTH = 32

_SCALARS = {
    0xCA: ">f", 0xCB: ">d",
    0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_LENGTHS = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_ARRAYS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def unpack(data: bytes) -> Any:
    """The first value in `data`. Raises ValueError where it's cut off or isn't MessagePack.

    >>> unpack(bytes([0x81, 0xA1]) + b"a" + bytes([0x92, 0x01, 0xC3]))
    {'a': [1, True]}
    """
    try:
        value, _ = _value(data, 0, 0)
    except (struct.error, IndexError):
        raise ValueError("the MessagePack data is cut off") from None
    return value


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > MOST_DEPTH:
        raise ValueError("the MessagePack data is nested too deeply")
    tag = data[at]
    at += 1
    if tag < 0x80:
        return tag, at
    if tag >= 0xE0:
        return tag - 0x100, at
    if tag < 0x90:
        return _map(data, at, tag & 15, depth)
    if tag < 0xA0:
        return _array(data, at, tag & 15, depth)
    if tag < 0xC0:
        return _text(data, at, tag & 31, True)
    if tag in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[tag], at
    for table in (_SCALARS, _LENGTHS, _ARRAYS, _MAPS):
        if tag not in table:
            continue
        form = table[tag]
        (number,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        if table is _SCALARS:
            return number, at
        if table is _LENGTHS:
            return _text(data, at, number, tag >= 0xD9)
        return (_array if table is _ARRAYS else _map)(data, at, number, depth)
    raise ValueError(f"the MessagePack data has the tag 0x{tag:02x}")


def _text(data: bytes, at: int, length: int, is_text: bool) -> tuple[Any, int]:
    raw = data[at : at + length]
    if len(raw) < length:
        raise IndexError
    return (raw.decode(errors="replace") if is_text else raw), at + length


def _array(data: bytes, at: int, length: int, depth: int) -> tuple[list[Any], int]:
    values = []
    for _ in range(length):
        value, at = _value(data, at, depth + 1)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, length: int, depth: int) -> tuple[dict[Any, Any], int]:
    values = {}
    for _ in range(length):
        key, at = _value(data, at, depth + 1)
        value, at = _value(data, at, depth + 1)
        values[key if isinstance(key, (str, int, bytes)) else str(key)] = value
    return values, at
