"""`meta.db` of an HPCToolkit v4 database: metrics, modules, and the tree of contexts (FORMATS.md in each database)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strop.errors import NewerProfile, NotAProfile
from strop.stalls.profiles.bounded import Bounded

MAGIC = b"HPCTOOLKIT"
FORMAT = "HPCToolkit"

_SECTIONS = {"metrics": 0x30, "context": 0x40, "modules": 0x60, "files": 0x70, "functions": 0x80}
_EXECUTION = 2  # the type of the scope whose value is the sum over all descendants


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, and the ids under which its sums over a context's subtree are stored.

    `summed` in the summary profile of profile.db (over all threads), `single` in cct.db (of each thread).
    """

    name: str
    summed: int | None
    single: int | None


@dataclass(slots=True)
class Context:
    """A node of the context tree.

    `relation`: 0 lexical, 1 call, 2 inlined call. `kind`: 0 function, 1 loop, 2 line, 3 instruction.
    """

    id: int
    parent: int  # position in the list of contexts, -1 for none
    relation: int
    kind: int
    function: str | None = None
    file: str | None = None
    line: int | None = None
    module: str | None = None
    offset: int | None = None


def check_header(file: Bounded, kind: bytes) -> None:
    """Raise unless the file is a database file of that kind (`meta prof ctxt`) of major version 4."""
    head = file.bytes(0, 16, "its header")
    if head[:10] != MAGIC or head[10:14] != kind:
        raise NotAProfile(path=file.path, found=f"it isn't the {kind.decode()} file of an HPCToolkit database")
    if head[14] != 4:
        raise NewerProfile(format=FORMAT, path=file.path, found=f"{head[14]}.{head[15]}", known="4.x")


class Meta:
    """The parts of meta.db that a diagnosis needs; contexts in an order where parents come first."""

    def __init__(self, file: Bounded) -> None:
        check_header(file, b"meta")
        self._file = file
        self._at = {name: file.u64(at + 8, "the header") for name, at in _SECTIONS.items()}
        self._texts: dict[int, str] = {}
        self._modules = self._paths("modules")
        self._files = self._paths("files")
        self._functions = self._read_functions()
        self.metrics = list(self._read_metrics())
        self.contexts = self._read_contexts()

    def _text(self, offset: int, what: str) -> str:
        if offset not in self._texts:
            self._texts[offset] = self._file.text(offset, what)
        return self._texts[offset]

    def _table(self, section: str, least: int) -> Iterator[int]:
        at, file = self._at[section], self._file
        array, count, size = file.u64(at, section), file.u32(at + 8, section), file.u16(at + 12, section)
        return file.table(array, count, size, least, f"the table of {section}")

    def _paths(self, section: str) -> dict[int, str]:
        what = f"a path among the {section}"
        return {at: self._text(self._file.u64(at + 8, what), what) for at in self._table(section, 16)}

    def _read_functions(self) -> dict[int, tuple[str | None, str | None]]:
        """Return name and module of each function; a name's suffix ` [module]` is HPCToolkit's own and dropped."""
        functions: dict[int, tuple[str | None, str | None]] = {}
        for at in self._table("functions", 40):
            pointer = self._file.u64(at, "a function's name")
            name = self._text(pointer, "a function's name") if pointer else None
            module = self._modules.get(self._file.u64(at + 8, "a function's module"))
            if name and module:
                name = name.removesuffix(f" [{module.rpartition('/')[2]}]")
            functions[at] = (name, module)
        return functions

    def _read_metrics(self) -> Iterator[Metric]:
        file, at = self._file, self._at["metrics"]
        array, count = file.u64(at, "the metrics"), file.u32(at + 8, "the metrics")
        size, instance_size, summary_size = file.bytes(at + 12, 3, "the metrics")
        for metric in file.table(array, count, size, 32, "the table of metrics"):
            name = self._text(file.u64(metric, "a metric's name"), "a metric's name")
            instances, summaries = file.u64(metric + 8, name), file.u64(metric + 16, name)
            n_instances, n_summaries = file.u16(metric + 24, name), file.u16(metric + 26, name)
            single = next(
                (
                    file.u16(one + 8, name)
                    for one in file.table(instances, n_instances, instance_size, 16, "a metric's scopes")
                    if self._sums_all(file.u64(one, name))
                ),
                None,
            )
            summed = next(
                (
                    file.u16(one + 18, name)
                    for one in file.table(summaries, n_summaries, summary_size, 24, "a metric's summaries")
                    if self._sums_all(file.u64(one, name)) and self._is_plain_sum(one, name)
                ),
                None,
            )
            yield Metric(name, summed, single)

    def _sums_all(self, scope: int) -> bool:
        return self._file.u8(scope + 8, "a metric's scope") == _EXECUTION

    def _is_plain_sum(self, summary: int, name: str) -> bool:
        formula = self._text(self._file.u64(summary + 8, name), "a metric's formula")
        return formula == "$$" and self._file.u8(summary + 16, name) == 0

    def _read_contexts(self) -> list[Context]:
        file, at = self._file, self._at["context"]
        entries, count = file.u64(at, "the contexts"), file.u16(at + 8, "the contexts")
        size = file.u8(at + 10, "the contexts")
        contexts: list[Context] = []
        pending: list[tuple[int, int, int]] = []  # where an array of children lies, its bytes, the parent's position
        for entry in file.table(entries, count, size, 32, "the entry points"):
            contexts.append(Context(file.u32(entry + 16, "an entry point"), -1, 1, 0))
            pending.append((file.u64(entry + 8, "children"), file.u64(entry, "children"), len(contexts) - 1))
        most = file.size // 32 + count  # every context takes 32 bytes: more of them means arrays that overlap
        while pending:
            start, length, parent = pending.pop()
            if not length:
                continue
            file.check(start, length, "an array of contexts")
            position, end = start, start + length
            while position < end:
                if len(contexts) > most:
                    raise file.corrupt("its context tree has loops")
                context, children, step = self._context(position, parent)
                contexts.append(context)
                pending.append((*children, len(contexts) - 1))
                position += step
        return contexts

    def _context(self, at: int, parent: int) -> tuple[Context, tuple[int, int], int]:
        file = self._file
        flags, relation, kind, words = file.bytes(at + 20, 4, "a context")
        context = Context(file.u32(at + 16, "a context"), parent, relation, kind)
        flex = at + 32
        need = 8 * ((flags & 1) + 2 * (flags >> 1 & 1) + 2 * (flags >> 2 & 1))
        if need > 8 * words:
            raise file.corrupt(f"the context {context.id} says less than its flags announce")
        if flags & 1:
            name, module = self._functions.get(file.u64(flex, "a context's function"), (None, None))
            context.function, context.module = name, module
            flex += 8
        if flags & 2:
            context.file = self._files.get(file.u64(flex, "a context's file"))
            context.line = file.u32(flex + 8, "a context's line") or None
            flex += 16
        if flags & 4:
            context.module = self._modules.get(file.u64(flex, "a context's module"))
            context.offset = file.u64(flex + 8, "a context's address")
        children = (file.u64(at + 8, "a context's children"), file.u64(at, "a context's children"))
        return context, children, 32 + 8 * words
