"""Options, settings, files, plug-ins."""

from __future__ import annotations

from strop.errors.base import StropError
from strop.errors.plain import _Plain


class BadUsage(StropError):
    """The command line isn't one of strop's."""

    code = "bad-usage"
    template = "{what}"
    fix = "See {command} --help."


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
    fix = "Correct it in {source}{otherwise}."


class BadSettingsFile(StropError):
    """strop.toml isn't TOML, or has a key that is no setting."""

    code = "bad-settings-file"
    template = "{path} can't be read: {reason}."
    fix = "Correct or remove the file; flags and STROP_* variables set the same things."


class BadFile(_Plain, StropError):
    """A file of the user's can't be read or written."""

    code = "bad-file"
    template = "{path} can't be {done}: {reason}."
    fix = "Check the path and its permissions (-o, --html, --schedule, path=)."
