"""Messages between strop and its measuring worker: marshalled values, each with its length before it.

Marshal in both directions. It is built in: the worker would start 8 ms later with ``json``, later still with
``pickle``. It keeps tuples and floats as they are. It never runs code, whatever bytes a process whose memory was
overwritten may send. And both ends are the same interpreter, so its format cannot differ.
"""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False  # the worker starts sooner without `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PREFIX = 4  # bytes of the length, little-endian
LARGEST = 1 << 28  # no honest message comes near


def encoded(message: Any) -> bytes:
    """The message as bytes. Raises ValueError on anything but plain tuples, lists, numbers, strings and None."""
    body = marshal.dumps(message)
    return len(body).to_bytes(PREFIX, "little") + body


def write(descriptor: int, message: Any) -> None:
    """Write the message whole; blocks while the pipe is full."""
    rest = memoryview(encoded(message))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def read(descriptor: int) -> Any:
    """Wait for the next message. Raises EOFError where the other end is closed."""
    length = int.from_bytes(_exactly(descriptor, PREFIX), "little")
    return marshal.loads(_exactly(descriptor, length))


def _exactly(descriptor: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(descriptor, count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Assembly:
    """Puts messages together from bytes as they come: for the end that must never block."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, part: bytes) -> None:
        """Add what was read."""
        self._bytes += part

    def messages(self) -> Iterator[Any]:
        """Yield and remove each whole message. Raises ValueError on bytes that are none."""
        while len(self._bytes) >= PREFIX:
            length = int.from_bytes(self._bytes[:PREFIX], "little")
            if length > LARGEST:
                raise ValueError(f"a message of {length} bytes")
            end = PREFIX + length
            if len(self._bytes) < end:
                return
            body = bytes(self._bytes[PREFIX:end])
            del self._bytes[:end]
            try:
                yield marshal.loads(body)
            except (EOFError, TypeError) as error:  # marshal's words for bad bytes, beside ValueError
                raise ValueError(str(error)) from None
