"""The code of a kernel as a page shows it: assembly with heat and arrows from stall to cause, its source beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from strop.errors import OtherBinary
from strop.report.annotated import Annotated, Arrow, Row
from strop.report.units import percent
from strop.stalls.headline import interval, plain, where
from strop.stalls.instruction import Binary
from strop.stalls.join import Joined, Places, join
from strop.stalls.profiles.profile import Count, KernelProfile, Reason
from strop.values.diagnosis import KernelDiagnosis, Site

ARROWS = 16  # of a function
WHOLE = 120  # instructions: a function up to here is shown whole
NEAR = 2  # instructions shown around those with samples
NEAR_LINES = 4
MOST_ROWS = 500  # of a function
MOST_FILES = 4
MOST_FUNCTIONS = 4


@dataclass(frozen=True, slots=True)
class _Code:
    """One instruction to show."""

    pc: int
    text: str
    file: str | None
    line: int | None


@dataclass(slots=True)
class View:
    """What a page shows of one kernel's code, and where sites are on it."""

    kernel: KernelDiagnosis
    number: int
    functions: list[tuple[str, list[_Code]]] = field(default_factory=list)
    stalls: dict[tuple[int, int], int] = field(default_factory=dict)  # by the function's number here and pc
    lines: dict[tuple[str, int], int] = field(default_factory=dict)  # stalls by file and line
    hot: dict[str, set[int]] = field(default_factory=dict)  # lines with samples, of the files that have a pane
    shown: dict[tuple[int, int], str] = field(default_factory=dict)  # anchors of instructions that are shown
    first: dict[tuple[str, int], str] = field(default_factory=dict)  # the first such of each source line
    _index: dict[tuple[int, str], tuple[int, int]] | None = None

    def anchor(self, site: Site | None) -> str | None:
        """The address of a site on the page; None where it isn't shown."""
        if site is None:
            return None
        at = self.find(site)
        if at in self.shown:
            return f"#{self.shown[at]}"
        return self.line_link(site.file, site.line) if site.pc is None else None

    def find(self, site: Site) -> tuple[int, int] | None:
        """The function's number here and the pc of a site; None where it is in none of the functions."""
        if self._index is None:
            found: dict[tuple[int, str], tuple[int, int]] = {}
            for number, (_, code) in enumerate(self.functions):
                for one in code:
                    found.setdefault((one.pc, one.text), (number, one.pc))
            self._index = found
        return None if site.pc is None else self._index.get((site.pc, plain(site.text or "")))

    def line_link(self, file: str | None, line: int | None) -> str | None:
        """The address of a source line; None where it isn't shown."""
        if file is None or line is None or line not in self.hot.get(file, ()):
            return None
        return f"#{self.line_anchor(file, line)}"

    def line_anchor(self, file: str, line: int) -> str:
        """The id of a source line."""
        return f"k{self.number}-s{list(self.hot).index(file)}-{line}"


def view(kernel: KernelDiagnosis, number: int, profile: KernelProfile, binary: Binary | None) -> View:
    """Collect what there is to show: the functions of the binary that have samples, or the texts that were sampled."""
    found = View(kernel, number)
    joined = _joined(profile, binary)
    if binary is not None and joined is not None:
        numbers = sorted(joined.at, key=lambda one: -sum(map(_stalled, joined.at[one].values())))
        for here, there in enumerate(numbers[:MOST_FUNCTIONS]):
            function = binary.functions[there]
            code = [
                _Code(
                    one.pc,
                    plain(one.text),
                    one.source.file if one.source else None,
                    one.source.line if one.source else None,
                )
                for one in function.instructions
            ]
            found.functions.append((plain(function.name), code))
            for index, at in joined.at[there].items():
                one = code[index]
                found.stalls[here, one.pc] = _stalled(at)
                _add_line(found, one.file, one.line, _stalled(at))
        for place, several in joined.lines.items():
            _add_line(found, place.file, place.line, _stalled(several))
        return found
    code = []
    for place, counts in profile.counts.items():
        _add_line(found, place.file, place.line, _stalled(counts))
        if place.pc is not None and place.text:
            code.append(_Code(place.pc, plain(place.text), place.file, place.line))
            found.stalls[0, place.pc] = found.stalls.get((0, place.pc), 0) + _stalled(counts)
    if code:
        unique = {one.pc: one for one in code}
        found.functions.append(("sampled instructions", [unique[pc] for pc in sorted(unique)]))
    return found


def _joined(profile: KernelProfile, binary: Binary | None) -> Joined | None:
    """The samples on the binary's instructions; None where they are another's, which the diagnosis has said."""
    try:
        return join(profile, Places(binary)) if binary is not None else None
    except OtherBinary:
        return None


def _stalled(counts: Iterable[Count]) -> int:
    """Samples in which time was lost: not issued ones, nor those that another warp's issue hid."""
    free = (Reason.ISSUED, Reason.SELECTED_OTHER)
    return sum(count.samples - count.hidden for count in counts if count.reason not in free)


def _add_line(found: View, file: str | None, line: int | None, samples: int) -> None:
    if file is not None and line is not None:
        found.lines[file, line] = found.lines.get((file, line), 0) + samples


def panes(found: View, sources: Mapping[str, str]) -> Sequence[Sequence[Annotated]]:
    """The columns of the view: source files, and functions beside them, each the costliest first."""
    by_file: dict[str, int] = {}
    for (file, _), samples in found.lines.items():
        by_file[file] = by_file.get(file, 0) + samples
    for file in sorted(by_file, key=lambda file: -by_file[file])[:MOST_FILES]:
        lines = [(samples, line) for (name, line), samples in found.lines.items() if name == file]
        found.hot[file] = {line for _, line in sorted(lines, reverse=True)[:MOST_ROWS]}
    kept = [_kept(found, number) for number in range(len(found.functions))]
    for number, indices in enumerate(kept):
        code = found.functions[number][1]
        for one in (code[index] for index in indices):
            anchor = found.shown[number, one.pc] = f"k{found.number}-f{number}-{one.pc}"
            if one.file is not None and one.line is not None:
                found.first.setdefault((one.file, one.line), anchor)
    source = [_source(found, file, sources) for file in found.hot]
    assembly = [_assembly(found, number, indices) for number, indices in enumerate(kept)]
    return [column for column in (source, assembly) if column]


def _kept(found: View, number: int) -> list[int]:
    """The instructions of a function that are shown."""
    code = found.functions[number][1]
    if len(code) <= WHOLE:
        return list(range(len(code)))
    sites = [
        site for cause in found.kernel.causes for site in (cause.stall_site, cause.cause_site, *cause.chain) if site
    ]
    named = {site.pc for site in sites}
    hot = {index for index, one in enumerate(code) if one.pc in named or found.stalls.get((number, one.pc))}
    around = {near for index in hot for near in range(index - NEAR, index + NEAR + 1) if 0 <= near < len(code)}
    if len(around) > MOST_ROWS:
        around = set(sorted(hot, key=lambda index: -found.stalls.get((number, code[index].pc), 0))[:MOST_ROWS])
    return sorted(around)


def _assembly(found: View, number: int, indices: Sequence[int]) -> Annotated:
    name, code = found.functions[number]
    total = sum(found.stalls.values()) or 1
    hottest = max(found.stalls.values(), default=0) or 1
    rows: list[Row] = []
    at: dict[int, int] = {}
    waits = _links(found, number)
    for index, before in zip(indices, [-1, *indices], strict=False):
        if index != before + 1:
            rows.append(Row(text=f"{index - before - 1:,} instructions", gap=True))
        one = code[index]
        at[one.pc] = len(rows)
        samples = found.stalls.get((number, one.pc), 0)
        links = list(waits.get(one.pc, ()))
        if (link := found.line_link(one.file, one.line)) is not None:
            links.append((link, where(Site(file=one.file, line=one.line))))
        rows.append(
            Row(
                text=one.text,
                anchor=found.shown[number, one.pc],
                spot=f"+{one.pc:x}",
                share=percent(samples / total) if samples else "",
                heat=samples / hottest,
                links=links,
            )
        )
    last = len(code) - (indices[-1] + 1 if indices else 0)
    if last:
        rows.append(Row(text=f"{last:,} instructions", gap=True))
    arrows: list[Arrow] = []
    for cause in found.kernel.causes:
        here = [found.find(site) for site in (cause.stall_site, cause.cause_site) if site is not None]
        if len(here) < 2 or here[0] is None or here[1] is None or {here[0][0], here[1][0]} != {number}:
            continue
        stall, source = here[0][1], here[1][1]
        if stall in at and source in at and len(arrows) < ARROWS:
            says = (
                f"{interval(cause.share_of_stalls)} of stalls: {plain(cause.stall_site.text or '')} at +{stall:#x} "
                f"waits for {plain(cause.cause_site.text or '') if cause.cause_site else ''} at +{source:#x}"
            )
            arrows.append(Arrow(start=at[stall], end=at[source], href=f"#{found.shown[number, source]}", says=says))
    return Annotated(name, rows, arrows)


def _links(found: View, number: int) -> dict[int, list[tuple[str, str]]]:
    """For each instruction, by pc, what it waits for and what waits for it: as links beside it."""
    links: dict[int, list[tuple[str, str]]] = {}
    for cause in found.kernel.causes:
        stall = found.find(cause.stall_site)
        source = found.find(cause.cause_site) if cause.cause_site is not None else None
        if stall not in found.shown or source not in found.shown or stall is None or source is None:
            continue
        for here, there, word in ((stall, source, "waits for"), (source, stall, "awaited by")):
            link = (f"#{found.shown[there]}", f"{word} +{there[1]:x}")
            if here[0] == number and link not in links.setdefault(here[1], []) and len(links[here[1]]) < 3:
                links[here[1]].append(link)
    return links


def _source(found: View, file: str, sources: Mapping[str, str]) -> Annotated:
    """A source file's lines: their text where the profile holds it."""
    total, hottest = sum(found.lines.values()) or 1, max(found.lines.values(), default=0) or 1
    text = _text(file, sources)
    hot = found.hot[file]
    kept = set(hot)
    if text is not None:
        kept |= {
            near for line in hot for near in range(line - NEAR_LINES, line + NEAR_LINES + 1) if 0 < near <= len(text)
        }
    rows: list[Row] = []
    before = 0
    for line in sorted(kept):
        if text is not None and line != before + 1:
            rows.append(Row(text=f"{line - before - 1:,} lines", gap=True))
        before = line
        samples = found.lines.get((file, line), 0)
        rows.append(
            Row(
                text=plain(text[line - 1].expandtabs(4)) if text is not None and line <= len(text) else "",
                anchor=found.line_anchor(file, line),
                spot=str(line),
                share=percent(samples / total) if samples else "",
                heat=samples / hottest,
                links=[(f"#{found.first[file, line]}", "assembly")] if (file, line) in found.first else [],
            )
        )
    return Annotated(
        plain(file if text is not None else f"{PurePath(file).name} (its text isn't in the profile)"), rows
    )


def _text(file: str, sources: Mapping[str, str]) -> list[str] | None:
    if file not in sources:
        alike = [path for path in sources if PurePath(path).name == PurePath(file).name]
        if len(alike) != 1:
            return None
        file = alike[0]
    return sources[file].splitlines()
