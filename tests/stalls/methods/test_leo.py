"""LEO's rule: the edges, the pruning and the weights of the published description."""

from __future__ import annotations

from strop.stalls.methods import METHODS
from strop.stalls.profiles.profile import Count, Reason
from strop.stalls.samples import Blame, Samples
from tests.stalls.assembler import assemble

leo = METHODS["leo"]


def blamed(text: str, arch: str = "sm_80", **at: dict[str, int]) -> Blame:
    counts = {
        int(index[1:]): tuple(Count(Reason(reason), reason, count) for reason, count in several.items())
        for index, several in at.items()
    }
    return leo(assemble(text, arch=arch), Samples(counts), None)


TWO = """
ld  R1 <- [R8] mem=global.load.4 +SB0 lat=300..900
ld  R2 <- [R8] mem=global.load.4 +SB0 lat=300..900
add R3 <- R1, R2 ?SB0 kind=float
"""


def test_blame_goes_by_distance_and_issue_count() -> None:
    found = blamed(TWO, i0={"issued": 1}, i1={"issued": 1}, i2={"global_memory": 90})
    assert found.by_cause() == {1: 60, 0: 30}, "half as far, twice the blame"
    unsampled = blamed(TWO, i0={"issued": 1}, i2={"global_memory": 90})
    assert unsampled.by_cause() == {0: 90}, "an unsampled producer counts one cycle against a sample's million"


def test_the_opcode_decides_what_is_pruned() -> None:
    text = "mov R9 <- R8 lat=4..4 kind=int\n" + TWO.replace("R1, R2", "R1, R9")
    memory = blamed(text, i3={"global_memory": 10})
    assert 0 not in memory.by_cause()
    assert memory.figures["single_dependency_after"] >= memory.figures["single_dependency_before"]


def test_a_hidden_latency_is_pruned() -> None:
    text = "mul R1 <- R8 lat=4..4 kind=float\n nop cost=15\n add R2 <- R1"
    assert blamed(text, i2={"fixed_latency": 5}).by_cause() == {2: 5}, "nothing is left: its own"


def test_counters_by_number() -> None:
    text = """
    ld v1 <- [v8] mem=global.load.4 +vm lat=300..900
    ld v2 <- [v8] mem=global.load.4 +vm lat=300..900
    wait kind=wait ?vm=1
    """
    assert blamed(text, arch="gfx942", i2={"memory": 8}).by_cause() == {0: 8}


def test_tokens_are_taken_from_the_nearest_setter() -> None:
    text = "ld r1 <- [r8] mem=global.load.4 +$3 lat=45..500\n ld r2 <- [r8] mem=global.load.4 +$3 lat=45..500\n nop ?$3"
    assert blamed(text, arch="xehpc", i2={"memory": 8}).by_cause() == {1: 8}
