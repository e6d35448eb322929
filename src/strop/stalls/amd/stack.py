"""Which buffer resources are the stack: gfx9 and gfx10 reach it by buffer instructions through s[0:3] or a copy."""

from __future__ import annotations

from collections.abc import Sequence

from strop.stalls.amd.code_object import Descriptor
from strop.stalls.amd.registers import registers, split

FAMILIES = ("gfx9", "gfx90a", "gfx10")  # later ones have scratch_ instructions only
RESOURCE = 4  # SGPRs


def stack_resources(texts: Sequence[str], family: str, descriptor: Descriptor | None) -> frozenset[int]:
    """The first SGPRs of the resources that are the stack anywhere in the function.

    A kernel gets it in s[0:3] when its descriptor says so, a device function always. Copies made by s_mov are followed
    in the order of the text; a kernel without scratch memory has none. A resource that is overwritten by something else
    before its first use as one isn't a stack.
    """
    if family not in FAMILIES:
        return frozenset()
    if descriptor is not None and not (descriptor.private_buffer and descriptor.scratch_bytes):
        return frozenset()
    parts: dict[int, int] = {index: index for index in range(RESOURCE)}  # SGPR: which word of the stack's resource
    found: set[int] = set()
    for text in texts:
        if not text.startswith(("s_", "buffer_", "v_readlane", "v_readfirstlane")):
            continue
        apart = split(text)
        if text.startswith("buffer_"):
            for operand in apart.operands:
                named = registers(operand)
                if len(named) == RESOURCE and named[0].space == "s" and _whole(parts, named[0].index):
                    found.add(named[0].index)
            continue
        if not apart.operands:
            continue
        target = [each.index for each in registers(apart.operands[0]) if each.space == "s"]
        if apart.opcode in ("s_mov_b32", "s_mov_b64"):
            source = [each.index for each in registers("".join(apart.operands[1:2])) if each.space == "s"]
            copied = [parts.get(index) for index in source] if len(source) == len(target) else [None] * len(target)
        elif apart.opcode in ("s_add_u32", "s_addc_u32") and apart.operands[:1] == apart.operands[1:2]:
            continue  # the wave's offset is added to the base
        elif apart.opcode.startswith(("s_cmp", "s_bitcmp", "s_wait", "s_set", "s_barrier", "s_cbranch", "s_store")):
            continue
        else:
            copied = [None] * len(target)
        for index, part in zip(target, copied, strict=True):
            if part is None:
                parts.pop(index, None)
            else:
                parts[index] = part
    return frozenset(found)


def _whole(parts: dict[int, int], first: int) -> bool:
    return all(parts.get(first + offset) == offset for offset in range(RESOURCE))
