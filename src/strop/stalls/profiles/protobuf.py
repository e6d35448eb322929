"""The protobuf wire format, read lazily: fields of a message as numbers and slices, no schema, no recursion."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class BadWire(ValueError):
    """Bytes that are no protobuf message."""


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the variable-length integer at `at` and the position after it.

    >>> varint(memoryview(bytes([0xAC, 0x02])), 0)
    (300, 2)
    """
    size = len(data)
    if at < size and data[at] < 0x80:  # most are tags, lengths and small counts
        return data[at], at + 1
    value = 0
    for shift in range(0, 70, 7):
        if at >= size:
            raise BadWire("a number ends too early")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise BadWire("a number has more than ten bytes")


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Yield number, wire type and value of each field: VARINT is an int, all others are slices of the message.

    >>> [(number, value) for number, kind, value in fields(memoryview(bytes([8, 7])))]
    [(1, 7)]
    """
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            length, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise BadWire(f"a field has the wire type {kind}")
        if length > len(data) - at:
            raise BadWire(f"the field {number} of {length} bytes is longer than its message")
        yield number, kind, data[at : at + length]
        at += length


def numbers(data: memoryview, wanted: int) -> Iterator[int]:
    """Yield the values of one VARINT field."""
    return (value for number, _, value in fields(data) if number == wanted and isinstance(value, int))


def slices(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """Yield the slices of one field that isn't a VARINT."""
    return (value for number, _, value in fields(data) if number == wanted and isinstance(value, memoryview))


def text(data: memoryview, wanted: int) -> str:
    """Return a text field, "" where it is absent, verbatim but for what isn't UTF-8."""
    return next((bytes(value).decode("utf-8", "replace") for value in slices(data, wanted)), "")
