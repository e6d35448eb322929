"""The nearest earlier definition: what a person does who scrolls up from the stalled line."""

from __future__ import annotations

from strop.stalls.instruction import Function, Instruction
from strop.stalls.profiles.profile import Reason
from strop.stalls.samples import OWN_REASONS, Attribution, Blame, Part, Samples
from strop.stalls.slice import Slicer


def nearest(function: Function, samples: Samples, slicer: Slicer | None = None) -> Blame:
    """Blame each stall on the nearest instruction above that wrote what the stalled one reads.

    One that reads nothing and waits has the nearest instruction above that pends on what it waits for.
    """
    code = function.instructions
    found = []
    for index in sorted(samples.at):
        above = _above(code, index)
        for count in samples.at[index]:
            if not count.samples:
                continue
            part, cause = Part.ATTRIBUTED, above
            if count.reason is Reason.ISSUED:
                part, cause = Part.ISSUED, None
            elif count.reason in OWN_REASONS or count.reason is Reason.BARRIER:
                part, cause = Part.SELF, None
            elif above is None:
                part = Part.UNEXPLAINED
            found.append(
                Attribution(
                    stall=index,
                    reason=count.reason,
                    part=part,
                    samples=count.samples,
                    hidden=count.hidden,
                    cause=cause,
                )
            )
    return Blame(tuple(found))


def _above(code: tuple[Instruction, ...], index: int) -> int | None:
    wanted = {use.register for use in code[index].uses}
    resources = {wait.resource for wait in code[index].waits}
    for at in range(index - 1, -1, -1):
        if wanted and not wanted.isdisjoint(code[at].defs):
            return at
        if not wanted and any(pend.resource in resources for pend in code[at].pends):
            return at
    return None
