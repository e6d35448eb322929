"""Blame as flame graphs: every sample once."""

from __future__ import annotations

from strop.stalls.flame import folded, speedscope, stacks
from tests.stalls.made import cause, diagnosis, kernel


def test_stacks_close_exactly() -> None:
    found = list(stacks(kernel("k")))
    assert sum(samples for _, samples in found) == 120
    assert found[0] == (("k", "issued"), 20)
    assert found[1][0][1:3] == ("ST103 dependent_load_chain", "m.cu:7")
    assert found[-1] == (("k", "not listed"), 8)


def test_shares_alone_close_too() -> None:
    several = tuple(cause(samples=None, share_of_stalls=(0.4, 0.7)) for _ in range(3))
    assert sum(samples for _, samples in stacks(kernel("k", several))) == 120


def test_folded_lines_are_frames_and_a_number() -> None:
    for line in folded(diagnosis(kernel("a;b \x1b[31m\nc"))).splitlines():
        stack, _, samples = line.rpartition(" ")
        assert int(samples) > 0
        assert stack.split(";")[0] == r"a,b \x1b[31m\nc"
        assert line.isprintable()


def test_speedscope_refers_to_frames_that_are_there() -> None:
    found = speedscope(diagnosis(kernel(), kernel("k")), name="p")
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert len(found["profiles"]) == 2
    for profile in found["profiles"]:
        assert sum(profile["weights"]) == profile["endValue"] == 120
        assert len(profile["weights"]) == len(profile["samples"])
        assert all(0 <= one < len(found["shared"]["frames"]) for stack in profile["samples"] for one in stack)
