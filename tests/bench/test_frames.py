"""Messages survive any cut, and bytes that are no message are refused."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.bench import frames

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple),
    max_leaves=20,
)


@settings(max_examples=30)
@given(messages=st.lists(plain), cut=st.integers(1, 50))
def test_messages_come_whole_however_the_bytes_are_cut(messages: list[object], cut: int) -> None:
    stream = b"".join(map(frames.encoded, messages))
    assembly = frames.Assembly()
    found: list[object] = []
    for start in range(0, len(stream), cut):
        assembly.feed(stream[start : start + cut])
        found += assembly.messages()
    assert found == messages


def test_a_message_larger_than_the_pipe_is_written_whole() -> None:
    message = ("evaluate", [(number, ("spec",) * 100) for number in range(3000)])
    inbox, outbox = os.pipe()
    writer = threading.Thread(target=frames.write, args=(outbox, message))
    writer.start()
    assert frames.read(inbox) == message
    writer.join()
    os.close(outbox)
    with pytest.raises(EOFError):
        frames.read(inbox)
    os.close(inbox)


@pytest.mark.parametrize("junk", [b"\xff\xff\xff\xff", b"\x03\x00\x00\x00\xff\xfe\xfd", b"\x01\x00\x00\x00("])
def test_junk_is_refused(junk: bytes) -> None:
    assembly = frames.Assembly()
    assembly.feed(junk)
    with pytest.raises(ValueError):
        list(assembly.messages())


def test_only_plain_values_are_sent() -> None:
    with pytest.raises(ValueError):
        frames.encoded(("evaluate", object()))
