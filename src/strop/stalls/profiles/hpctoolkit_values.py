"""The numbers of an HPCToolkit database: summed over threads from profile.db, or, where it is missing, from cct.db."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import chain, pairwise

from strop.stalls.profiles.bounded import Bounded
from strop.stalls.profiles.hpctoolkit_meta import check_header

_LARGEST = float(1 << 62)  # a count beyond is damage

Values = dict[int, dict[str, int]]  # context id -> metric name -> sum over the context's subtree


def from_profile(file: Bounded, names: Mapping[int, str]) -> Values:
    """Return the metrics `names` (by id) of the canonical summary profile, the first of profile.db."""
    check_header(file, b"prof")
    section = file.u64(0x18, "the header")
    first = file.u64(section, "the profiles")
    if not file.u32(section + 8, "the profiles"):
        return {}
    n_values, values = file.u64(first, "the summary profile"), file.u64(first + 8, "the summary profile")
    n_contexts, indices = file.u32(first + 16, "the summary profile"), file.u64(first + 24, "the summary profile")
    if not file.u32(first + 40, "the summary profile") & 1:
        raise file.corrupt("its first profile isn't the summary")
    found: Values = {}
    table = file.bytes(indices, 12 * n_contexts, "the contexts of the summary profile")
    file.check(values, 10 * n_values, "the values of the summary profile")
    rows = chain(struct.iter_unpack("<IQ", table), [(0, n_values)])
    for (context, start), (_, end) in pairwise(rows):
        if not start <= end <= n_values:
            raise file.corrupt(f"the values of context {context} lie outside their array")
        for metric, value in struct.iter_unpack("<Hd", file.bytes(values + 10 * start, 10 * (end - start), "values")):
            name = names.get(metric)
            if name is not None:
                found.setdefault(context, {})[name] = _count(file, value, name)
    return found


def from_contexts(file: Bounded, names: Mapping[int, str]) -> Values:
    """Return the metrics `names` (by id) of each context in cct.db, summed over threads and streams."""
    check_header(file, b"ctxt")
    section = file.u64(0x18, "the header")
    array, count, size = file.u64(section, "contexts"), file.u32(section + 8, "contexts"), file.u8(section + 12, "them")
    found: Values = {}
    budget = file.size // 10 + 1  # entries that fit in the file; blocks that overlap would exceed it
    for context, at in enumerate(file.table(array, count, size, 32, "the table of contexts")):
        n_values, values = file.u64(at, "a context's values"), file.u64(at + 8, "a context's values")
        n_metrics, indices = file.u16(at + 16, "a context's metrics"), file.u64(at + 24, "a context's metrics")
        table = file.bytes(indices, 10 * n_metrics, "a context's metrics")
        budget -= n_metrics + n_values
        if budget < 0:
            raise file.corrupt("the values of its contexts overlap")
        rows = chain(struct.iter_unpack("<HQ", table), [(0, n_values)])
        for (metric, start), (_, end) in pairwise(rows):
            if not start <= end <= n_values:
                raise file.corrupt(f"the values of context {context} lie outside their array")
            name = names.get(metric)
            if name is not None:
                block = file.bytes(values + 12 * start, 12 * (end - start), "values")
                total = sum(value for _, value in struct.iter_unpack("<Id", block))
                found.setdefault(context, {})[name] = _count(file, total, name)
    return found


def _count(file: Bounded, value: float, name: str) -> int:
    if not 0 <= value < _LARGEST:  # not a number fails both
        raise file.corrupt(f"{name} of a context is {value}")
    return round(value)
