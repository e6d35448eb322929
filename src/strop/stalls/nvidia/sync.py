"""Synchronisation: scoreboards, asynchronous groups and barriers as waits and pending operations.

A scoreboard counts: several producers may be pending on one, and a wait mask waits for all. `DEPBAR.LE SBn, k` leaves
the k youngest, which says something only of operations that finish in order.

Some mechanisms close a group: `LDGDEPBAR` closes the `LDGSTS` before it, `UTMACMDFLUSH` the bulk stores, a `gsb0`
product the products without one. Closing is written as a wait for the members (they are what the group consists of)
and a pending operation on the group's own resource, and noted as `("closes", resource)`: it costs no time itself.

Other notes: `("queue", name)`: results of one queue are written in the order of issue, so a later one may overwrite an
earlier one without a wait. `("rides", "SBn")`: the operation has no scoreboard, and a later one's of its queue speaks
for it. `("forwards", name)`: its result goes to the next operation of that name without a wait (sums of products).
`("mbarrier", "wait" | "arrive" | "expect")`, `("spill", "compiler")`: what they say.
"""

from __future__ import annotations

import re

from strop.stalls.instruction import Pend, Wait, When
from strop.stalls.nvidia.control import SCOREBOARDS, Control
from strop.stalls.nvidia.opcodes import Form

COPIES = "cpasync"  # LDGSTS not yet in a group
BULK = "bulk"  # bulk and tensor stores not yet in a group
GROUP = "gsb0"  # groups of warpgroup products
OPEN = "gsb0.open"  # products not yet in a group
MBARRIER = "mbarrier"  # which of them is known only at run time

_SCOREBOARD = re.compile(r"\bSB(\d)(?:, (0x[0-9a-f]+))?")
_SET = re.compile(r"\{([\d, ]+)\}")
_DEPTH = re.compile(r"gsb0, (0x[0-9a-f]+)")

Notes = tuple[tuple[str, str], ...]
_MASKS = tuple(tuple(Wait(f"SB{n}") for n in range(SCOREBOARDS) if mask >> n & 1) for mask in range(64))
# Queues whose results return in the order of issue: those for which ptxas itself leaves some pending by DEPBAR.LE, and
# those where it lets one scoreboard speak for the operations before.
_ORDERED = frozenset({"LDGDEPBAR", "UTMACMDFLUSH"})


def pend_on(scoreboard: int, when: When, in_order: bool) -> Pend:
    """Pending on a scoreboard."""
    return _PENDS[scoreboard, when, in_order]


_PENDS = {
    (n, when, order): Pend(f"SB{n}", when, order)
    for n in range(SCOREBOARDS)
    for when in When
    for order in (True, False)
}


def sync_of(
    form: Form, text: str, control: Control, rider: int | None, groups: frozenset[str]
) -> tuple[tuple[Wait, ...], tuple[Pend, ...], Notes]:
    """Waits, pending operations and notes.

    `rider` is the scoreboard of a later operation that also speaks for this one; `groups` are the group resources that
    the function has members of (`member_of`): nothing closes a group without members.
    """
    waits = _MASKS[control.wait]
    pends: list[Pend] = []
    notes: Notes = ()
    ordered = form.in_order is not None or form.base in _ORDERED
    if form.in_order is not None and form.variable:
        notes = (("queue", form.in_order),)
    if control.write is not None:
        pends.append(pend_on(control.write, When.RESULT, ordered))
    elif rider is not None:
        pends.append(pend_on(rider, When.RESULT, ordered))
        notes = (*notes, ("rides", f"SB{rider}"))
    elif form.variable and control.read is not None:
        # an ATOM whose only result is a predicate has it when its operands are read
        pends.append(pend_on(control.read, When.RESULT, ordered))
    if control.read is not None:
        # a group of bulk stores has no register operands: its scoreboard says that the group has left shared memory
        when = When.RESULT if form.base == "UTMACMDFLUSH" else When.OPERANDS_READ
        pends.append(pend_on(control.read, when, ordered))
    special = _SPECIAL.get(form.base)
    if special is not None:
        more_waits, more_pends, more_notes = special(form, text)
        empty = next((resource for name, resource in more_notes if name == "closes" and resource not in groups), None)
        waits += tuple(wait for wait in more_waits if wait.resource != empty)
        notes += tuple(note for note in more_notes if note != ("closes", empty))
        pends.extend(more_pends)
    return waits, tuple(pends), notes


def member_of(form: Form, text: str) -> str | None:
    """Name the group resource that an operation waits on to be closed, None for most."""
    if form.base == "LDGSTS":
        return COPIES
    if form.pipe == "wgmma" and form.kind == "tensor":
        return None if GROUP in text else OPEN
    return BULK if _is_bulk_store(form) else None


def _is_bulk_store(form: Form) -> bool:
    return form.base in ("UTMASTG", "UTMAREDG", "UBLKRED") or (
        form.base == "UBLKCP" and form.modifiers[:2] == ("G", "S")
    )


_Effect = tuple[tuple[Wait, ...], tuple[Pend, ...], Notes]


def _depbar(form: Form, text: str) -> _Effect:
    waits = []
    match = _SCOREBOARD.search(text)
    if match is not None:
        waits.append(Wait(f"SB{match[1]}", int(match[2], 16) if match[2] and "LE" in form.modifiers else 0))
    if (more := _SET.search(text)) is not None:
        waits += [Wait(f"SB{int(part)}") for part in more[1].split(",")]
    return tuple(waits), (), ()


def _closes(members: str) -> _Effect:
    return (Wait(members),), (), (("closes", members),)


def _ldgsts(form: Form, text: str) -> _Effect:
    return (), (Pend(COPIES),), ()


def _ldgdepbar(form: Form, text: str) -> _Effect:
    return _closes(COPIES)


def _arrives(form: Form, text: str) -> _Effect:
    waits, _, notes = _closes(COPIES)
    return waits, (Pend(MBARRIER, in_order=False),), notes


def _bulk(form: Form, text: str) -> _Effect:
    return (), (Pend(BULK) if _is_bulk_store(form) else Pend(MBARRIER, in_order=False),), ()


def _flush(form: Form, text: str) -> _Effect:
    return _closes(BULK)


def _product(form: Form, text: str) -> _Effect:
    forwards = (("queue", "wgmma"), ("forwards", "wgmma"))
    if GROUP not in text:
        return (), (Pend(OPEN),), forwards
    waits, _, notes = _closes(OPEN)
    return waits, (Pend(GROUP),), forwards + notes


def _warpgroup(form: Form, text: str) -> _Effect:
    match = _DEPTH.search(text)
    if match is None:
        return (), (), ()
    return (Wait(GROUP, int(match[1], 16)),), (), ()


def _syncs(form: Form, text: str) -> _Effect:
    if "PHASECHK" in form.modifiers:
        return (Wait(MBARRIER),), (), (("mbarrier", "wait"),)
    if "ARRIVE" in form.modifiers:
        # Expecting bytes is no arrival of data; a plain arrival is what a producer of the ring waits for.
        plain = any(modifier.startswith("A1") for modifier in form.modifiers)
        return (), (Pend(MBARRIER, in_order=False),) if plain else (), (("mbarrier", "arrive" if plain else "expect"),)
    return (), (), ()


_SPECIAL = {
    "DEPBAR": _depbar,
    "LDGSTS": _ldgsts,
    "LDGDEPBAR": _ldgdepbar,
    "ARRIVES": _arrives,
    "UTMALDG": _bulk,
    "UTMASTG": _bulk,
    "UTMAREDG": _bulk,
    "UBLKCP": _bulk,
    "UBLKRED": _bulk,
    "UTMACMDFLUSH": _flush,
    "HGMMA": _product,
    "IGMMA": _product,
    "QGMMA": _product,
    "BGMMA": _product,
    "WARPGROUP": _warpgroup,
    "SYNCS": _syncs,
}
