"""Machine code as text."""

from __future__ import annotations

from typing import Any


def assembly(kernel: Any) -> str:
    """Disassemble a native kernel, Intel syntax, one instruction a line with its offset in bytes.

    The portable path has no code of its own; constants that follow the code are left out.
    """
    if kernel is None:
        return "; nothing to compute: the result is empty or constant\n"
    if not kernel.code_bytes:
        return "; portable path: the nest runs in the library's C++, there is no code of its own\n"
    from iced_x86 import Decoder, Formatter, FormatterSyntax, Mnemonic

    formatter = Formatter(FormatterSyntax.INTEL)
    formatter.space_after_operand_separator = True
    formatter.branch_leading_zeros = False  # as the offsets are
    lines = []
    for instruction in Decoder(64, kernel.code(), ip=0):
        lines.append(f"{instruction.ip:6x}:  {formatter.format(instruction)}")
        if instruction.mnemonic == Mnemonic.RET:
            break
    return "\n".join(lines) + "\n"
