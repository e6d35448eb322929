"""The catalogue of errors: one class each, with a stable code, a sentence, and the fix.

An error is raised with the fields of its template, ``raise UnknownAxis(axis="q", text="mk,kn->mn")``, and reads as one
line: what is wrong, then the way out (the flag and the Python argument). ``code`` never changes once released;
``exit_code`` is what the command line returns for it.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any, ClassVar

USAGE = 2  # wrong usage or input
MACHINE = 3  # the machine lacks something
BUG = 70  # a bug in strop
INTERRUPTED = 130


def pointed(text: str, position: int) -> str:
    """``text`` with a caret before the character at ``position``: where, in one line.

    >>> pointed("relu(x + bais[n)", 15)
    'relu(x + bais[n^)'
    """
    return f"{text[:position]}^{text[position:]}"


class StropError(Exception):
    """Something a person can put right. Subclasses are the catalogue; this class is what to catch."""

    code: ClassVar[str] = "error"
    template: ClassVar[str] = "{message}"
    fix: str = ""  # the class holds the template, an instance the finished text
    exit_code: ClassVar[int] = USAGE

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.message = self.template.format(**fields)
        self.fix = type(self).fix.format(**fields)
        super().__init__(f"{self.message} {self.fix}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.fields))

    def to_json(self) -> dict[str, Any]:
        """The error form of the contract."""
        return {"error": {"code": self.code, "message": self.message, "fix": self.fix}}

    @classmethod
    def needs(cls) -> frozenset[str]:
        """The fields that the template and the fix name."""
        parts = [*string.Formatter().parse(cls.template), *string.Formatter().parse(cls.fix)]
        return frozenset(name for _, name, _, _ in parts if name)


def _rebuild(kind: type[StropError], fields: dict[str, Any]) -> StropError:
    return kind(**fields)


def catalogue() -> Iterator[type[StropError]]:
    """Every error of the catalogue, in the order of this file."""
    yield from StropError.__subclasses__()


# Contractions ---------------------------------------------------------------------------------------------------------


class BadContraction(StropError):
    """The text of a contraction isn't in the grammar; the message points at the place."""

    code = "bad-contraction"
    template = "The contraction {where!r} can't be read: {reason}."
    fix = "Write it like 'mk,kn->mn', or with names and windows like 'n c 2h+3r w+s, o c r s -> n o h w'."


class UnknownAxis(StropError):
    """A size names an axis that no operand has."""

    code = "unknown-axis"
    template = "There is no axis {axis!r} in {text!r}; its axes are {axes}."
    fix = "Drop {axis}=… or correct its name (on the command line {axis}=N, in Python {axis}=N or sizes={{...}})."


class OutputAxisNotInInputs(StropError):
    """The result names an axis that no operand has."""

    code = "output-axis-not-in-inputs"
    template = "The result of {text!r} has the axis {axis!r}, which no operand has."
    fix = "Name only axes of the operands after '->'."


class MissingSize(StropError):
    """Neither a keyword nor an operand gives an axis its size."""

    code = "missing-size"
    template = "Nothing gives the size of axis {axis!r} of {text!r}."
    fix = "Give it: {axis}=N on the command line; {axis}=N, sizes={{'{axis}': N}} or the operands themselves in Python."


class ContradictedSize(StropError):
    """Two sources give an axis different sizes, or a window doesn't fit."""

    code = "contradicted-size"
    template = "{place} of {text!r} is {found}, but {expected_from} makes it {expected}."
    fix = "Correct the size ({axis}=N, sizes={{'{axis}': N}}) or pass an operand of the other shape."


class BadSize(StropError):
    """A size isn't an integer, or is negative."""

    code = "bad-size"
    template = "The size of axis {axis!r} is {size!r}, which is not a whole number of 0 or more."
    fix = "Write {axis}=N with N an integer of 0 or more."


class TooLarge(StropError):
    """The bytes or the distances of the arrays pass what addresses can hold."""

    code = "too-large"
    template = "{what} takes {bytes} bytes, more than {limit} can address."
    fix = "Make an axis smaller (AXIS=N, sizes={{...}}) or work in slices."


class BadDtype(StropError):
    """The type is neither float32 nor float64."""

    code = "bad-dtype"
    template = "The type {dtype!r} isn't supported."
    fix = "Use --dtype float32 or float64 (dtype='float32' in Python); convert arrays with .astype('float32')."


class BadSemiring(StropError):
    """The semiring isn't one of the five."""

    code = "bad-semiring"
    template = "The semiring {semiring!r} isn't known."
    fix = "Use one of {known} (--semiring, semiring=)."


class BadEpilogue(StropError):
    """The text of an epilogue isn't in the grammar; the message points at the place."""

    code = "bad-epilogue"
    template = "The epilogue {where!r} can't be read: {reason}."
    fix = (
        "The grammar (--epilogue, epilogue=): + - * / min max relu gelu tanh exp sigmoid, numbers, x, "
        "operands with their axes, as in 'relu(x + bias[n])'."
    )


# Operands -------------------------------------------------------------------------------------------------------------


class OperandCount(StropError):
    """More or fewer arrays came than the contraction has operands."""

    code = "operand-count"
    template = "{text!r} has {expected} operand(s), but {found} came."
    fix = "Pass one array for each operand before '->'."


class WrongRank(StropError):
    """An array has another number of dimensions than its subscript."""

    code = "wrong-rank"
    template = "{name} has {found} dimension(s), but {text!r} gives it {expected}."
    fix = "Reshape the array or correct the contraction."


class NotAnArray(StropError):
    """NumPy can't look into an operand: it is no array, or its library doesn't share its memory."""

    code = "not-an-array"
    template = "{name} can't be read as an array: {reason}."
    fix = "Pass float32 or float64 values in the CPU's memory, detached from any gradient (.detach().cpu().float())."


class MixedTypes(StropError):
    """Two arrays of one call have different types."""

    code = "mixed-types"
    template = "{name} is {found}, but {expected_from} is {expected}; strop converts nothing silently."
    fix = "Convert one of them: .astype({expected!r}), or --dtype / dtype= for all."


class IntegerOperand(StropError):
    """An array holds integers or booleans."""

    code = "integer-operand"
    template = "{name} holds {dtype} values; strop computes with float32 and float64."
    fix = "Convert it: .astype('float32')."


class ByteOrder(StropError):
    """An array is stored in the byte order of other machines."""

    code = "byte-order"
    template = "{name} is stored in the other byte order ({dtype})."
    fix = "Convert it: .astype('{native}')."


class UnevenStrides(StropError):
    """The items of an array lie between the places where items could lie."""

    code = "uneven-strides"
    template = "{name} has {what}, no multiple of its {itemsize}-byte items."
    fix = "Copy it: numpy.ascontiguousarray(...)."


class MissingOperand(StropError):
    """An operand that the epilogue names wasn't passed."""

    code = "missing-operand"
    template = "The epilogue {epilogue!r} needs the operand {name!r}."
    fix = "Pass it by name: tuned(..., {name}=array of axes {axes})."


class UnknownOperand(StropError):
    """A keyword of the call is no operand of the epilogue."""

    code = "unknown-operand"
    template = "There is no epilogue operand {name!r}; the epilogue's operands are {known}."
    fix = "Drop {name}=… or name it in the epilogue (--epilogue, epilogue=)."


class BadOutput(StropError):
    """``out`` has another shape or type than the result."""

    code = "bad-output"
    template = "out has {what} {found}, but the result has {expected}."
    fix = "Pass out=numpy.empty({shape}, dtype='{dtype}'), or leave out= away."


class MissingOutput(StropError):
    """An accumulating call has nothing to add to."""

    code = "missing-output"
    template = "{text!r} accumulates onto its result, so the call needs one to add to."
    fix = "Pass out=array, or drop --accumulate (accumulate=True)."


class ReadOnlyOutput(StropError):
    """``out`` is write-protected."""

    code = "read-only-output"
    template = "out can't be written."
    fix = "Pass a writable array (out.copy(), or out.setflags(write=True) where you own it), or leave out= away."


class OverlappingOutput(StropError):
    """``out`` lies where an input lies, or its own items lie on each other."""

    code = "overlapping-output"
    template = "out shares memory with {name}."
    fix = "Pass an array of its own, such as out=numpy.empty({shape}, dtype='{dtype}'), or leave out= away."


# Schedules ------------------------------------------------------------------------------------------------------------


class BadSchedule(StropError):
    """A schedule isn't one, or is damaged."""

    code = "bad-schedule"
    template = "The schedule can't be read: {reason}."
    fix = "Pass a schedule that strop wrote (--schedule FILE, schedule=tuned.schedule), or drop it."


class WrongSchedule(StropError):
    """A schedule was made for another contraction."""

    code = "wrong-schedule"
    template = "The schedule is for {theirs!r}, not for {ours!r}."
    fix = "Pass the schedule of this contraction (--schedule, schedule=), or leave it away to search for one."


class NewerSchedule(StropError):
    """A schedule was written by a later strop."""

    code = "newer-schedule-format"
    template = "The schedule has format {found!r}; this strop {version} reads up to {known!r}."
    fix = "Upgrade strop (pip install -U strop), or tune again without --schedule / schedule=."


class IllegalMove(StropError):
    """A move of a schedule doesn't fit the nest it is applied to."""

    code = "illegal-move"
    template = "{move} can't be applied: {reason}."
    fix = "Change or drop that move of the schedule (--schedule, schedule=)."


# Options --------------------------------------------------------------------------------------------------------------


class BadBudget(StropError):
    """A budget isn't in the grammar."""

    code = "bad-budget"
    template = "The budget {text!r} can't be read: {reason}."
    fix = "Write --budget 6s,200evals (budget='6s,200evals'): ms s m h evals tok ktok usd, joined by commas, each once."


class BadSearch(StropError):
    """No search has that id."""

    code = "bad-search"
    template = "There is no search {search!r}."
    fix = "Use one of {known} (--search, search=)."


class SearchClash(StropError):
    """Two searches, at least one of them a plug-in's, have one id."""

    code = "search-clash"
    template = "Two searches are called {search!r}: {first} brings one, {second} the other."
    fix = "Uninstall one of the packages (pip uninstall), or ask its author to rename the search."


class BadPlugin(StropError):
    """A plug-in can't be loaded or isn't what it must be."""

    code = "bad-plugin"
    template = "The plug-in {name!r} of {group} from {source} can't be used: {reason}."
    fix = "Upgrade or uninstall its package, or choose another (--search, search=)."


class BadEffort(StropError):
    """No preset has that name."""

    code = "bad-effort"
    template = "There is no effort {effort!r}."
    fix = "Use quick, standard or thorough (--effort, effort=)."


class BadOption(StropError):
    """An option has a value that it doesn't take."""

    code = "bad-option"
    template = "{option} can't be {value!r}."
    fix = "Use {allowed} (--{option}, {option}=)."


class BadThreads(StropError):
    """The number of threads is none, or more than the CPUs of this process."""

    code = "bad-threads"
    template = "The thread count {threads!r} is not a whole number from 1 to {most}."
    fix = "Use --threads N (threads=N, STROP_THREADS); without it strop uses the CPUs this process may use."


class BadSetting(StropError):
    """A setting has a value that it doesn't take."""

    code = "bad-setting"
    template = "The setting {name} from {source} can't be {value!r}: {reason}."
    fix = "Correct it in {source}, or override it with {flag}."


class BadSettingsFile(StropError):
    """strop.toml isn't TOML, or has a key that is no setting."""

    code = "bad-settings-file"
    template = "{path} can't be read: {reason}."
    fix = "Correct or remove the file; flags and STROP_* variables set the same things."


class BadFile(StropError):
    """A file of the user's can't be read or written."""

    code = "bad-file"
    template = "{path} can't be {done}: {reason}."
    fix = "Check the path and its permissions (-o, --html, path=)."


# Store ----------------------------------------------------------------------------------------------------------------


class CorruptStore(StropError):
    """The store's file isn't a database, or its contents don't hold together."""

    code = "corrupt-store"
    template = "The store {path} is damaged: {reason}."
    fix = "Move it away with strop runs prune --reset (a new one is made), or point STROP_HOME (--home) elsewhere."
    exit_code = MACHINE


class ReadOnlyStore(StropError):
    """The store's directory can't be made or written."""

    code = "read-only-store"
    template = "The store {path} can't be written: {reason}."
    fix = "Give the directory write permission, or point STROP_HOME (--home) at one that has it."
    exit_code = MACHINE


class FullStore(StropError):
    """The disk under the store has no room left."""

    code = "full-store"
    template = "The disk of the store {path} is full; what was written before is safe."
    fix = "Free space, prune old runs (strop runs prune), or point STROP_HOME (--home) at another disk."
    exit_code = MACHINE


class NewerStore(StropError):
    """The store has the layout of a later strop."""

    code = "newer-store"
    template = "The store {path} was written by a newer strop (version {found} of its layout; this one knows {known})."
    fix = "Upgrade strop (pip install -U strop), or point STROP_HOME (--home) at another directory."


class StoreBusy(StropError):
    """Another process kept the store locked."""

    code = "store-busy"
    template = "The store {path} was locked by another process for {seconds} s."
    fix = "Wait for the other strop to end, or point STROP_HOME (--home) at another directory."
    exit_code = MACHINE


class UnknownRun(StropError):
    """No run has that id."""

    code = "unknown-run"
    template = "There is no run {run!r} in {path}."
    fix = "strop runs list shows them; the first letters of an id suffice where only one run has them."


class AmbiguousRun(StropError):
    """Several runs' ids begin with that text."""

    code = "ambiguous-run"
    template = "{run!r} is the beginning of {count} runs' ids: {ids}."
    fix = "Write more of the id (strop runs list)."


class LostRun(StropError):
    """The run that is being journalled is no longer this process's."""

    code = "lost-run"
    template = "The run {run} was pruned, or taken over by another process; what this one measures is no longer stored."
    fix = "Run the same command again; strop runs list shows what is stored."
    exit_code = MACHINE


class NeedsYes(StropError):
    """Something would be deleted, and nobody can be asked."""

    code = "needs-yes"
    template = "{what} was not confirmed."
    fix = "Add --yes."


class NothingMeasured(StropError):
    """Every candidate of a run failed."""

    code = "nothing-measured"
    template = "No candidate came out right: {counts}."
    fix = "Give it more budget (--budget, budget=), or see each trial with strop runs show {run}."
    exit_code = 1


# Machine --------------------------------------------------------------------------------------------------------------


class NativeMissing(StropError):
    """strop was installed without its native module."""

    code = "native-missing"
    template = "This call needs strop's native module, which isn't there: {reason}."
    fix = "Install a wheel of strop (pip install strop) or build it: a C++20 compiler, CMake, then pip install ."
    exit_code = MACHINE


class IsaMissing(StropError):
    """The forced instruction set isn't one of this CPU's."""

    code = "isa-missing"
    template = "This CPU lacks {isa} (it has {has})."
    fix = "Set STROP_ISA (--isa) to auto, or to one that this CPU has."
    exit_code = MACHINE


class WorkerLost(StropError):
    """The process that measures can't be kept alive."""

    code = "worker-lost"
    template = "The measuring worker could not be started {times} times in a row: {reason}."
    fix = "strop doctor shows what this machine lacks; -v shows the worker's own words."
    exit_code = MACHINE


class BadSandbox(StropError):
    """A sandbox was required, and a layer of it doesn't work here."""

    code = "bad-sandbox"
    template = "The isolation layer {layer!r} doesn't work on this machine: {reason}."
    fix = "Use --sandbox auto (sandbox='auto'); strop doctor lists the layers that work here."
    exit_code = MACHINE


class PeerFailed(StropError):
    """What an answer was to be compared with couldn't be timed."""

    code = "peer-failed"
    template = "{peer} could not be timed: {reason}."
    fix = "strop's own answer stands; strop doctor shows what is installed."
    exit_code = MACHINE


# Ends that are no mistake of the user ---------------------------------------------------------------------------------


class Interrupted(StropError):
    """Ctrl-C; not a mistake, but the exit code must say so."""

    code = "interrupted"
    template = "Interrupted after {trials} trial(s); what was measured is kept."
    fix = "Run the same command again to go on."
    exit_code = INTERRUPTED


class Bug(StropError):
    """Wraps an exception that should not have happened; ``report`` is the file that tells it."""

    code = "bug"
    template = "strop ran into a bug of its own: {what}."
    fix = "Please send {report} with what you did; running again with -v shows more."
    exit_code = BUG
