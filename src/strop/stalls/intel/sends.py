"""Messages to shared functions: memory, barriers, the end of the thread. From the descriptor's bits.

Load/store messages (`ugm` untyped global, `slm` shared local, `tgm` typed, `ugml`) have one descriptor layout (Intel's
"Bspec" volume on LSC messages, as the graphics compiler's iga_lsc_desc writes it). The older data ports (`dc0 dc1
hdc…`) are known by the words iga64 has for them.
"""

from __future__ import annotations

from strop.stalls.instruction import Direction, Memory
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.operands import sources
from strop.stalls.intel.payload import LSC, descriptor

DATA_BYTES = {0: 1, 1: 2, 2: 4, 3: 8, 4: 1, 5: 2, 6: 2}
ELEMENTS = {0: 1, 1: 2, 2: 3, 3: 4, 4: 8, 5: 16, 6: 32, 7: 64}
LOADS = range(0, 4)
STORES = (4, 5, 6, 7, 28)
ATOMICS = range(8, 27)
FENCE = 31
BLOCKS = (1, 3, 5, 7)  # strided (one address for all lanes) and 2D
PLAIN = (0, 4)  # loads and stores that a bit makes transposed: one address
LOCAL = 254  # the binding table entry that is shared local memory
FLAT, BSS, SS, BTI = range(4)
SCRATCH_SURFACES = (BSS, SS)  # the surface state that scratch memory has
SCRATCH_UNIT = 32  # scratch block messages count in these ("hwords"); bits 11:0 are where, bits 13:12 how many
OLD_PORTS = ("dc0", "dc1", "dc2", "dcro", "hdc0", "hdc1", "hdc2", "dcc", "sampler", "smpl", "render", "rc", "urb")


def is_send(node: Node) -> bool:
    """Whether an instruction sends a message."""
    return str(node["op"]).startswith("send")


def kind(node: Node) -> str:
    """The opcode class of a message."""
    if "EOT" in (node.get("opts") or ()):
        return "control"
    port, comment = str(node["subop"]), str(node.get("comment") or "")
    if port in ("gtwy", "ts"):
        return "barrier" if "barrier" in comment else "other"
    if is_fence(node):
        return "wait"
    found = memory(node)
    if found is not None:
        return str(found.direction)
    return "other"


def is_fence(node: Node) -> bool:
    """Whether a message only orders others."""
    bits = descriptor(node)
    if node["subop"] in LSC and bits is not None:
        return bits & 63 == FENCE
    return "fence" in str(node.get("comment") or "")


def is_known(node: Node) -> bool:
    """Whether a table has the shared function."""
    return node["subop"] in (*LSC, *OLD_PORTS, "gtwy", "ts")


def is_barrier_signal(node: Node) -> bool:
    """Whether a message says that this thread has arrived at the barrier."""
    return node["subop"] == "gtwy" and "signal barrier" in str(node.get("comment") or "")


def memory(node: Node) -> Memory | None:
    """The memory access of a message, None for one that is none."""
    port = str(node["subop"])
    if port in LSC:
        return _lsc(node, port)
    return _old(node) if port in OLD_PORTS and not is_fence(node) else None


def _lsc(node: Node, port: str) -> Memory | None:
    bits = descriptor(node)
    has_result = bool(node["dst"] and node["dst"].get("reg", {}).get("rn") != "null")
    if bits is None:
        return Memory(_space(port, None), Direction.LOAD if has_result else Direction.STORE)
    operation = bits & 63
    if operation in LOADS:
        direction = Direction.LOAD
    elif operation in STORES:
        direction = Direction.STORE
    elif operation in ATOMICS:
        direction = Direction.ATOMIC
    else:
        return None
    size = DATA_BYTES.get(bits >> 9 & 7)
    width = None if size is None else size * (1 if operation in ATOMICS else ELEMENTS[bits >> 12 & 7])
    if operation in (2, 6):  # quads: a mask of channels instead of a number
        width = None if size is None else size * (bits >> 12 & 15).bit_count()
    elif operation in (3, 7):  # 2D blocks: the shape is in the payload
        width = None
    return Memory(_space(port, bits >> 29 & 3), direction, width)


def _space(port: str, surface: int | None) -> str:
    if port == "slm":
        return "shared"
    if port == "tgm":
        return "texture"
    return "scratch" if surface in SCRATCH_SURFACES else "global"


def is_block(node: Node) -> bool:
    """Whether one address serves all lanes."""
    bits = descriptor(node)
    if node["subop"] in LSC and bits is not None:
        return bits & 63 in BLOCKS or (bits & 63 in PLAIN and bool(bits >> 15 & 1))
    return "block" in str(node.get("comment") or "")


def _old(node: Node) -> Memory | None:
    words = str(node.get("comment") or "").split()
    has_result = bool(node["dst"] and node["dst"].get("reg", {}).get("rn") != "null")
    if "atomic" in words or "atomic" in " ".join(words):
        direction = Direction.ATOMIC
    elif "write" in words or "scattering" in words or "store" in words:
        direction = Direction.STORE
    elif "read" in words or "gathering" in words or "load" in words or has_result:
        direction = Direction.LOAD
    else:
        direction = Direction.STORE
    if node["subop"] in ("sampler", "smpl"):
        return Memory("texture", direction)
    width = None
    for word in words:
        if word.endswith("b") and word[:-1].isdigit() and int(word[:-1]) % 8 == 0:
            width = int(word[:-1]) // 8
    if width is None and "untyped" in words and set(words[-1]) <= set("xyzw"):
        width = 4 * len(words[-1])
    bits = descriptor(node)
    if "scratch" in words:
        if bits is None:
            return Memory("scratch", direction, width)
        # All of the thread's blocks lie from one base on (r0.5), so where in it names a slot: a spill, by its reload.
        slot = ("scratch", SCRATCH_UNIT * (bits & 0xFFF))
        return Memory("scratch", direction, SCRATCH_UNIT << (bits >> 12 & 3), slot=slot)
    surface = (sources(node)[0].get("surf") or {}) if sources(node) else {}
    is_local = surface.get("type") == "bti" and surface.get("offset") == LOCAL
    is_local = is_local or (bits is not None and bits & 255 == LOCAL)
    return Memory("shared" if is_local else "global", direction, width)
