"""Builds the fixtures in tests/stalls/fixtures/intel from our kernels, with the two tools of Debian's packages.

    apt-get install --no-install-recommends intel-opencl-icd libigc-tools   # ocloc and iga64, no GPU needed
    python tests/stalls/kernels/intel/build.py

A zebin, what iga64 says of it as text and as JSON with its own reaching definitions (the oracle of the tests), and
the same for hand-made code. SPIR-V and what else isn't code is blanked.
"""

from __future__ import annotations

import json
import lzma
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
FIXTURES = ROOT / "tests" / "stalls" / "fixtures" / "intel"
sys.path[:0] = [str(HERE), str(ROOT / "src")]

from forms import BITS, FIRST_BIT, PROGRAM, TEMPLATES  # noqa: E402

from strop.stalls.intel import disassemble, listing, zebin  # noqa: E402

DEVICES = {"pvc": (("kernels.cl", "doubles.cl"), "xehpc"), "dg2": (("kernels.cl",), "xehpg")}
PLANTED = ("planted.cl",)
LARGE = ("large.cl",)
ORACLE = ("-Xprint-pc", "-Xprint-json", "-Xprint-deps", "-Xprint-defs")


def main() -> None:
    FIXTURES.mkdir(parents=True, exist_ok=True)
    for device, (sources, platform) in DEVICES.items():
        with tempfile.TemporaryDirectory() as folder:
            listed(Path(folder), "planted", device, platform, PLANTED)
            for name, files in (("kernels", sources), ("large", LARGE)):
                made = listed(Path(folder), name, device, platform, files)
                edges = [oracle(iga64(Path(folder), platform, trimmed(each.data), ORACLE)) for each in made.codes]
                write(f"{name}.{device}.edges.json", json.dumps(edges).encode())
            code = assembled(Path(folder), platform, PROGRAM)
            write(f"program.{platform}.krn", code)
            write(f"program.{platform}.txt", iga64(Path(folder), platform, code, disassemble.TEXT_OPTIONS))
            write(f"program.{platform}.json", iga64(Path(folder), platform, code, disassemble.JSON_OPTIONS))
            said = {unit: forms(Path(folder), platform, text) for unit, text in TEMPLATES[platform].items()}
            write(f"swsb.{platform}.json", json.dumps(said).encode())


def listed(folder: Path, name: str, device: str, platform: str, sources: tuple[str, ...]) -> zebin.Zebin:
    """Compile `sources` into the fixture `name`, and write it with both listings."""
    data = blanked(compiled(folder, device, sources))
    write(f"{name}.{device}.zebin", data)
    made = zebin.read(data, path=device)
    code = b"".join(trimmed(each.data) for each in made.codes)
    write(f"{name}.{device}.txt", iga64(folder, platform, code, disassemble.TEXT_OPTIONS))
    write(f"{name}.{device}.json", iga64(folder, platform, code, disassemble.JSON_OPTIONS))
    return made


def write(name: str, data: bytes) -> None:
    (FIXTURES / f"{name}.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def compiled(folder: Path, device: str, sources: tuple[str, ...]) -> bytes:
    text = folder / "all.cl"
    text.write_text("".join((HERE / source).read_text() for source in sources))
    options = f"-cl-std=CL2.0 -D{device.upper()}"
    command = ["ocloc", "compile", "-file", str(text), "-device", device, "-options", options]
    subprocess.run([*command, "--format", "zebin", "-output", "k", "-out_dir", str(folder)], check=True)
    return next(folder.glob("k*.bin")).read_bytes()


def blanked(data: bytes) -> bytes:
    """The file without the content of `.spv`: only its code is needed."""
    out = bytearray(data)
    (table,) = struct.unpack_from("<Q", data, 40)
    _, count, _ = struct.unpack_from("<HHH", data, 58)
    for index in range(count):
        row = struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * index)
        if row[1] == 0xFF000009:  # SHT_ZEBIN_SPIRV
            out[row[4] : row[4] + row[5]] = bytes(row[5])
    return bytes(out)


def trimmed(code: bytes) -> bytes:
    pc, size = disassemble.sizes(code)[-1]
    return code[: pc + size]


def assembled(folder: Path, platform: str, text: str) -> bytes:
    (folder / "in.asm").write_text(text)
    subprocess.run(["iga64", "-a", f"-p={platform}", str(folder / "in.asm"), "-o", str(folder / "out.krn")], check=True)
    return trimmed((folder / "out.krn").read_bytes())


def iga64(folder: Path, platform: str, code: bytes, options: tuple[str, ...]) -> bytes:
    (folder / "code.krn").write_bytes(code)
    command = ["iga64", "-d", f"-p={platform}", *options, "--output-on-fail", str(folder / "code.krn")]
    return subprocess.run(command, capture_output=True).stdout


def oracle(said: bytes) -> list[tuple[int, int]]:
    """Pairs (consumer's pc, producer's pc) of iga64's reaching definitions, those of destinations left out."""
    instructions = [each for each in json.loads(said)["insts"] if each["kind"] == "I"]
    pcs = {each["id"]: each["pc"] for each in instructions}

    def found(node: object) -> list[int]:
        if isinstance(node, dict):
            here = list(node.get("defs") or ())
            return here + [one for key, value in node.items() if key != "defs" for one in found(value)]
        return [one for value in node for one in found(value)] if isinstance(node, list) else []

    pairs = set()
    for each in instructions:
        pairs |= {(each["pc"], pcs[one]) for one in found({**each, "dst": None})}
    return sorted(pairs)


def forms(folder: Path, platform: str, text: str) -> list[list[str]]:
    """What iga64 says of each value of the field, put into one instruction."""
    template = assembled(folder, platform, text)[:16]
    word = int.from_bytes(template[:8], "little")
    mask = (1 << BITS[platform]) - 1
    code = b"".join(
        ((word & ~(mask << FIRST_BIT)) | (value << FIRST_BIT)).to_bytes(8, "little") + template[8:]
        for value in range(mask + 1)
    )
    nodes = listing.as_json(iga64(folder, platform, code, disassemble.JSON_OPTIONS).decode())
    found = []
    for value in range(mask + 1):
        node = nodes.get(16 * value) or {}
        options = [word for word in node.get("opts") or () if word == "NoAccSBSet"]
        found.append([word for word in (node.get("regDist"), node.get("sbid"), *options) if word])
    return found


if __name__ == "__main__":
    main()
