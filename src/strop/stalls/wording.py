"""What samples say without code: the class of a stall from its reason and the text of the sampled instruction."""

from __future__ import annotations

import re

from strop.stalls.causes import Kind, table
from strop.stalls.profiles.profile import Place, Reason

_BY_REASON = {
    Reason.GLOBAL_MEMORY: "global_load_latency",
    Reason.SHARED_MEMORY: "shared_bank_or_latency",
    Reason.FIXED_LATENCY: "fixed_latency_chain",
    Reason.BARRIER: "barrier_skew",
    Reason.PIPE: "pipe_throttle",
    Reason.MEMORY_QUEUE: "lsu_queue_throttle",
    Reason.FETCH: "icache",
    Reason.BRANCH: "branch",
    Reason.SELECTED_OTHER: "scheduler_not_selected",
}
# AMD's wait instructions say what they wait for; LDS, constant loads and messages share lgkmcnt.
_BY_TEXT = (
    (re.compile(r"\b(vmcnt\(|s_wait_loadcnt\b|s_wait_samplecnt\b|s_wait_bvhcnt\b)"), "global_load_latency"),
    (re.compile(r"\bs_wait_dscnt\b"), "shared_bank_or_latency"),
    (re.compile(r"\bs_wait_kmcnt\b"), "global_load_latency"),
    (re.compile(r"\bs_barrier"), "barrier_skew"),
)
_WAITS = frozenset({Reason.MEMORY, Reason.DEPENDENCY, Reason.OTHER, Reason.BARRIER, Reason.SYNC})


def said(place: Place, reason: Reason) -> Kind:
    """Return the class that the text and the reason name; `unknown` where they name none."""
    if reason in _WAITS and place.text:
        for pattern, cause_class in _BY_TEXT:
            if pattern.search(place.text):
                return table()[cause_class]
    return table()[_BY_REASON.get(reason, "unknown")]
