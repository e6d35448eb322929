"""How long a diagnosis takes and how much memory, by the number of instructions, without the disassembler's own time.

The code is that of strop's own kernels (tests/stalls/fixtures) with the text that the disassembler gave of it: the text
is decoded again and again until the count is reached, and the bodies of all functions, one behind another, make one
function of that length, which is sliced, blamed and accounted for with samples on every fourth instruction. Intel's two
generations have no registers of the same size, so each makes a function of its own. Each figure is a process of its own
on one core; what a process does once, however much code it gets, isn't counted: files and tables are read, modules are
loaded, and fixtures unpacked, before the clock starts.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from record import Column, Record, parser, progress

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 30_000, 100_000)
PER_10_000_S, WHOLE_S, WHOLE_MIB = 1.0, 12.0, 1024
CODES = ("nvidia", "amd", "intel xehpc", "intel xehpg")
WARMING = 500  # instructions
SAMPLED_EVERY = 4


def main() -> None:
    asked = parser(__doc__ or "")
    asked.add_argument("--one", nargs=2, metavar=("CODE", "SIZE"), help="measure in this process, print JSON")
    arguments = asked.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], int(arguments.one[1]))))
        return
    record = Record(
        benchmark="diagnose",
        claim="Decoding (text to instructions), data flow, slicing, blame and accounting of one function of our own "
        "kernels' code, one core; disassembly, loading of modules and reading of tables not counted.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    rows = []
    for named in CODES:
        for size in (SIZES[0] // 5,) if arguments.smoke else SIZES:
            rows.append(apart(named, size))
            progress(f"{named} {size}: {rows[-1]['decode_s']:.2f} + {rows[-1]['blame_s']:.2f} s")
    record.results["runs"] = rows
    heads = ["code of", *[Column(head, ".2f") for head in ("decode s", "flow and blame s", "total s", "s per 10,000")]]
    record.table(
        "Time and memory of a diagnosis, one core",
        [heads[0], Column("instructions", "d"), *heads[1:], Column("peak MiB", ".0f")],
        [
            [
                row["code"], row["instructions"], row["decode_s"], row["blame_s"], row["total_s"],
                row["total_s"] / row["instructions"] * 10_000, row["peak_mib"],
            ]
            for row in rows
        ],
    )  # fmt: skip
    largest = [row for row in rows if row["asked"] == max(each["asked"] for each in rows)]
    slowest = max(row["total_s"] / row["instructions"] for row in rows) * 10_000
    record.bar("10,000 instructions, slowest code and size", slowest, at_most=PER_10_000_S, unit=" s")
    record.bar("100,000 instructions", max(row["total_s"] for row in largest), at_most=WHOLE_S, unit=" s")
    record.bar(
        "memory of 100,000 instructions", max(row["peak_mib"] for row in largest), at_most=WHOLE_MIB, unit=" MiB"
    )
    record.finish()


def apart(named: str, size: int) -> dict[str, Any]:
    """Measure in a process of its own, on one core."""
    cpu = max(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(cpu), sys.executable, __file__, "--one", named, str(size)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    made: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return made


def measure(named: str, size: int) -> dict[str, Any]:
    """Decode and blame in this process, a little first: that loads what is loaded once."""
    import gc

    gc.disable()  # as diagnose() does
    once(named, WARMING)
    return once(named, size)


def once(named: str, size: int) -> dict[str, Any]:
    """Decode and blame one function of so many instructions."""
    sys.path.insert(0, str(ROOT / "tests" / "stalls"))
    from strop.stalls.code import Code
    from strop.stalls.instruction import Binary
    from strop.stalls.kernel import diagnose_kernel
    from strop.stalls.profiles.profile import Count, KernelProfile, Place, Profile, Reason

    vendor, _, part = named.partition(" ")
    decode = {"nvidia": nvidia, "amd": amd, "intel": partial(intel, part)}[vendor]()
    bodies, decode_s = [], 0.0
    while (count := sum(len(each.instructions) for each in bodies)) < size:
        run = next(decode)
        began = time.perf_counter()
        found = run()
        decode_s += time.perf_counter() - began
        bodies += found
    function = joined(bodies, size)
    decode_s *= size / count
    counts = {
        Place(function=function.name, pc=one.pc): (Count(Reason.DEPENDENCY, "dependency", 1 + number % 7),)
        for number, one in enumerate(function.instructions)
        if number % SAMPLED_EVERY == 0
    }
    kernel = KernelProfile(name=function.name, module=None, counts=counts)
    profile = Profile(path="", format="unitrace", vendor=vendor, unit="samples", kernels=(kernel,))
    began = time.perf_counter()
    code = Code(Binary(path="", vendor=vendor, arch=function.arch, digest="", functions=(function,)))
    made = diagnose_kernel(kernel, code, profile=profile, method="strop")
    blame_s = time.perf_counter() - began
    assert sum(made.accounting.parts.values()) == made.accounting.total
    return {
        "code": named,
        "asked": size,
        "instructions": len(function.instructions),
        "decode_s": decode_s,
        "blame_s": blame_s,
        "total_s": decode_s + blame_s,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def joined(bodies: list[Any], size: int) -> Any:
    """One function of all bodies, one behind another: offsets and targets moved, exits and returns gone."""
    from strop.stalls.instruction import Flow, Function

    code, base = [], 0
    for body in bodies:
        for one in body.instructions:
            if len(code) == size:
                break
            control = one.control
            if control is not None and control.flow in (Flow.EXIT, Flow.RETURN, Flow.CALL):
                control = None
            elif control is not None and control.targets:
                moved = tuple(each + base if isinstance(each, int) else each for each in control.targets)
                control = replace(control, targets=moved)
            code.append(replace(one, pc=one.pc + base, control=control))
        base += body.size
    end = code[-1].pc + code[-1].size
    code = [
        one
        if one.control is None or all(isinstance(to, int) and to < end for to in one.control.targets or ())
        else replace(one, control=None)
        for one in code
    ]  # fmt: skip
    return Function(name="all", arch=bodies[0].arch, address=0, size=end, is_kernel=True, instructions=tuple(code))


def nvidia() -> Iterator[Callable[[], list[Any]]]:
    """What decodes the next recorded cubin."""
    from nvidia import recorded

    while True:
        for name in recorded.NAMES:
            data, listing = recorded.cubin(name), recorded.listing(name)
            yield partial(_nvidia, data, name, listing)


def amd() -> Iterator[Callable[[], list[Any]]]:
    """What decodes the next recorded code object."""
    from amd import fixtures

    while True:
        for target in fixtures.TARGETS:
            data, text = (fixtures.raw(f"kernels.{target}.{kind}") for kind in ("hsaco", "txt"))
            yield partial(_amd, data, text, target)


def intel(generation: str) -> Iterator[Callable[[], list[Any]]]:
    """What decodes the next recorded zebin of a generation."""
    from intel import fixtures

    (device,) = [device for device, its in fixtures.DEVICES.items() if its == generation]
    while True:
        for name in fixtures.SETS:
            data, text, said = (fixtures.raw(f"{name}.{device}.{kind}") for kind in ("zebin", "txt", "json"))
            yield partial(_intel, data, text, said)


def _nvidia(data: bytes, name: str, listing: str) -> list[Any]:
    from strop.stalls.nvidia import decode

    return list(decode(data, path=name, listing=listing).functions)


def _amd(data: bytes, text: bytes, name: str) -> list[Any]:
    from strop.stalls.amd import code_object, disassemble, lines
    from strop.stalls.amd.decode import decode_lines

    made = code_object.read(data, path=name)
    said = {line.address: line for line in disassemble.parse(text.decode())}
    tiled = {each.address: tuple(disassemble.tile(each, said, made.architecture.family)) for each in made.functions}
    return list(decode_lines(made, tiled, lines.read(data, made)))


def _intel(data: bytes, text: bytes, said: bytes) -> list[Any]:
    from strop.stalls.intel import disassemble, lines, zebin
    from strop.stalls.intel.decode import decode_rows

    made = zebin.read(data, path="")
    rows = disassemble.parse([code.data for code in made.codes], text.decode(), said.decode())
    return list(decode_rows(made, rows, lines.Lines()))


if __name__ == "__main__":
    main()
