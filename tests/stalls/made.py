"""A diagnosis made by hand, with names as a stranger's file may have them."""

from __future__ import annotations

from strop.stalls.diagnose import Analysis
from strop.stalls.instruction import Binary, Function, Instruction, Source
from strop.stalls.profiles.profile import Count, KernelProfile, Place, Profile, Reason
from strop.values.diagnosis import Accounting, Cause, Diagnosis, KernelDiagnosis, Site

EVIL = "<script>alert(1)</script>"
ESCAPE = "sten\x1b[31mcil\x9b2J\u202e.cu"
LOAD = Site(pc=0, opcode="LDG.E", text="LDG.E R4, [R2.64]", file=f"/src/{ESCAPE}", line=41, inline=(("/src/m.cu", 7),))
ADDRESS = Site(pc=32, opcode="IADD3", text="IADD3 R2, R2, R6, RZ", file=f"/src/{ESCAPE}", line=40)
USE = Site(pc=16, opcode="FFMA", text="FFMA R8, R4, R5, R8", file=f"/src/{ESCAPE}", line=44)
CLASS = ("ST103", "dependent_load_chain")


def cause(**other: object) -> Cause:
    given: dict[str, object] = {
        "id": "ST103",
        "cause_class": "dependent_load_chain",
        "stall_site": USE,
        "cause_site": LOAD,
        "share_of_stalls": (0.62, 0.62),
        "share_of_time": (0.4, 0.5),
        "chain": (USE, LOAD, ADDRESS),
        "evidence": ("The address of a load comes from another load.", "dependent address chain of depth 2"),
        "needs": (),
        "speedup": (1.0, 2.0),
        "samples": 62,
    } | other
    return Cause(**given)  # type: ignore[arg-type]


OWN = cause(
    id="ST118",
    cause_class="pipe_throttle",
    cause_site=None,
    chain=(USE,),
    share_of_stalls=(0.3, 0.3),
    share_of_time=(0.0, 0.0),
    evidence=("The unit that the instruction needs is busy.",),
    needs=("line information",),
    speedup=(1.0, 1.0),
    samples=30,
)


def kernel(name: str = f"stencil<{EVIL}>\x1b[2J", causes: tuple[Cause, ...] = ()) -> KernelDiagnosis:
    return KernelDiagnosis(
        name=name,
        arch="sm_90",
        accounting=Accounting(
            unit="samples", total=120, parts={"issued": 20, "self": 30, "attributed": 62, "unexplained": 8}
        ),
        coverage={
            "samples": 120,
            "samples_on_instructions": 120,
            "instructions": 3,
            "instructions_with_lines": 3,
            "unknown_instructions": 1,
            "unknown_opcodes": {EVIL: 1},
            "unknown_branch_targets": 0,
            "notes": [f"a note\x1b[1m {EVIL}"],
            "missing": [],
            "causes": 2,
        },
        causes=causes or (cause(), OWN),
    )


def diagnosis(*kernels: KernelDiagnosis) -> Diagnosis:
    return Diagnosis(kernels=kernels or (kernel(),))


def analysis() -> Analysis:
    """The diagnosis with a profile and a binary that it could be of."""
    found = diagnosis()
    sites = (LOAD, USE, ADDRESS)
    code = tuple(
        Instruction(
            pc=site.pc or 0,
            size=16,
            opcode=site.opcode or "",
            text=site.text or "",
            source=Source(site.file or "", site.line or 0, site.inline),
        )
        for site in sites
    )
    name = found.kernels[0].name
    function = Function(
        name=name,
        arch="sm_90",
        address=0,
        size=48,
        is_kernel=True,
        instructions=tuple(sorted(code, key=lambda one: one.pc)),
    )
    counts = {
        Place(function=name, pc=16): (
            Count(Reason.GLOBAL_MEMORY, "long_scoreboard", 62),
            Count(Reason.PIPE, "pipe", 38),
            Count(Reason.ISSUED, "selected", 20),
        )
    }
    text = "\n".join(f"line {number} {EVIL}" for number in range(1, 60))
    return Analysis(
        diagnosis=found,
        profile=Profile(
            path=f"/tmp/{ESCAPE}",
            format="ncu-rep",
            vendor="nvidia",
            unit="samples",
            kernels=(KernelProfile(name=name, module="m", counts=counts),),
            sources={f"/src/{ESCAPE}": text},
        ),
        binaries={name: Binary(path="m", vendor="nvidia", arch="sm_90", digest="d", functions=(function,))},
    )
