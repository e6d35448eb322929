"""A saved schedule, compiled for this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strop.errors import BadSchedule
from strop.loops.files import read_document

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned


def load(path: str | Path) -> Tuned:
    """The tuned contraction that `Tuned.save` wrote, compiled for this machine. Nothing is measured.

    A schedule saved on a machine with another instruction set runs, but its measurement doesn't hold here and is
    dropped; one for more threads than this process has CPUs gets as many. Raises BadFile, BadSchedule,
    NewerSchedule, IllegalMove, IsaMissing, NativeMissing.
    """
    from strop.bench.machine import usable_cpus
    from strop.loops.kernel import chosen_isa
    from strop.loops.moves import replay
    from strop.loops.schedule import from_json
    from strop.loops.tuned import Findings, Tuned
    from strop.values.layout import Layout
    from strop.values.measurement import Measurement

    document = read_document(path)
    contraction, schedule = from_json(document)
    isa = chosen_isa()
    try:
        layout = Layout.default(contraction)
        if "layout" in document:
            layout = Layout.from_json(document["layout"]).checked(contraction)
        threads = int(document.get("threads", 1))
        stored = document.get("measurement") if document.get("isa") == isa else None
        measurement = Measurement.from_json(stored) if stored else None
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise BadSchedule(reason=f"{path}: {problem!r}") from None
    return Tuned(
        contraction=contraction,
        layout=layout,
        schedule=schedule,
        nest=replay(contraction, schedule),
        isa=isa,
        threads=max(1, min(threads, usable_cpus())),
        findings=Findings(measurement=measurement),
    )
