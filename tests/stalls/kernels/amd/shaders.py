"""Prints LLVM IR of our own shaders: what HIP can't say (samplers, ray tests, exports, parameters) but counters count.

python shaders.py gfx1201 | clang-19 -x ir -target amdgcn-amd-amdpal -mcpu=gfx1201 -O2 -c -o shaders.o -
ld.lld-19 -shared -o shaders.hsaco shaders.o
"""

from __future__ import annotations

import sys

COPIES = 8
DECLARATIONS = """
declare <4 x float> @llvm.amdgcn.image.sample.2d.v4f32.f32(i32, float, float, <8 x i32>, <4 x i32>, i1, i32, i32)
declare <4 x float> @llvm.amdgcn.image.load.2d.v4f32.i32(i32, i32, i32, <8 x i32>, i32, i32)
declare void @llvm.amdgcn.image.store.2d.v4f32.i32(<4 x float>, i32, i32, i32, <8 x i32>, i32, i32)
declare void @llvm.amdgcn.exp.f32(i32, i32, float, float, float, float, i1, i1)
declare <4 x i32> @llvm.amdgcn.image.bvh.intersect.ray.i64.v3f32(
  i64, float, <3 x float>, <3 x float>, <3 x float>, <4 x i32>)
declare float @llvm.amdgcn.lds.param.load(i32, i32, i32)
declare float @llvm.amdgcn.interp.inreg.p10(float, float, float)
declare float @llvm.amdgcn.interp.inreg.p2(float, float, float)
"""


def sample(number: int, count: int) -> str:
    """`count` samples in flight, used one after another; image loads among them; exported."""
    lines = [
        f"define amdgpu_ps void @sample_{number}(<8 x i32> inreg %r, <4 x i32> inreg %s, float %u, float %v, i32 %x) {{"
    ]
    for each in range(count):
        lines += [
            f"  %u{each} = fadd float %u, {float(each)}",
            f"  %t{each} = call <4 x float> @llvm.amdgcn.image.sample.2d.v4f32.f32(i32 15, float %u{each}, float %v, "
            "<8 x i32> %r, <4 x i32> %s, i1 false, i32 0, i32 0)",
        ]
        lines.append(
            f"  %l{each} = call <4 x float> @llvm.amdgcn.image.load.2d.v4f32.i32(i32 15, i32 %x, i32 {each}, "
            "<8 x i32> %r, i32 0, i32 0)"
        )
    lines.append("  %a0 = fadd <4 x float> %t0, %l0")
    for each in range(1, count):
        lines += [
            f"  %m{each} = fmul <4 x float> %a{each - 1}, %t{each}",
            f"  %a{each} = fadd <4 x float> %m{each}, %l{each}",
        ]
    last = f"%a{count - 1}"
    for place in range(4):
        lines.append(f"  %c{place} = extractelement <4 x float> {last}, i32 {place}")
    lines += [
        f"  call void @llvm.amdgcn.image.store.2d.v4f32.i32(<4 x float> {last}, i32 15, i32 %x, i32 9, <8 x i32> %r, "
        "i32 0, i32 0)",
        "  call void @llvm.amdgcn.exp.f32(i32 0, i32 15, float %c0, float %c1, float %c2, float %c3, i1 true, i1 true)",
        "  ret void\n}",
    ]
    return "\n".join(lines)


def rays(number: int, count: int) -> str:
    """`count` ray tests in flight."""
    vector = "<3 x float>"
    lines = [
        f"define amdgpu_cs void @rays_{number}(<4 x i32> inreg %d, i64 %n, float %e, {vector} %o, {vector} %p, "
        f"{vector} %q, ptr addrspace(1) %out) {{"
    ]
    for each in range(count):
        lines += [
            f"  %n{each} = add i64 %n, {each}",
            f"  %h{each} = call <4 x i32> @llvm.amdgcn.image.bvh.intersect.ray.i64.v3f32(i64 %n{each}, float %e, "
            f"{vector} %o, {vector} %p, {vector} %q, <4 x i32> %d)",
        ]
    lines.append("  %a0 = add <4 x i32> %h0, %h0")
    lines += [f"  %a{each} = mul <4 x i32> %a{each - 1}, %h{each}" for each in range(1, count)]
    lines += [f"  store <4 x i32> %a{count - 1}, ptr addrspace(1) %out", "  ret void\n}"]
    return "\n".join(lines)


def parameters(number: int, count: int) -> str:
    """`count` attributes read from LDS and interpolated: results counted by expcnt."""
    lines = [f"define amdgpu_ps void @parameters_{number}(float %i, float %j, i32 inreg %m) {{"]
    for each in range(count):
        lines += [
            f"  %p{each} = call float @llvm.amdgcn.lds.param.load(i32 {each % 4}, i32 {each // 4}, i32 %m)",
            f"  %q{each} = call float @llvm.amdgcn.interp.inreg.p10(float %p{each}, float %i, float %p{each})",
            f"  %r{each} = call float @llvm.amdgcn.interp.inreg.p2(float %p{each}, float %j, float %q{each})",
        ]
    for each in range(0, count, 4):
        four = ", ".join(f"float %r{each + place}" for place in range(4))
        done = str(each + 4 >= count).lower()
        lines.append(f"  call void @llvm.amdgcn.exp.f32(i32 {each // 4}, i32 15, {four}, i1 {done}, i1 {done})")
    lines.append("  ret void\n}")
    return "\n".join(lines)


def module(isa: str) -> str:
    """The shaders that an architecture has instructions for."""
    family = isa[:5]
    parts = [DECLARATIONS]
    for number in range(COPIES):
        parts.append(sample(number, 4 + number))
        if family != "gfx90":
            parts.append(rays(number, 3 + number))
        if family in ("gfx11", "gfx12"):
            parts.append(parameters(number, 4))  # expcnt holds 7: with more in flight the hardware itself waits
    return "\n".join(parts)


if __name__ == "__main__":
    print(module(sys.argv[1]))
