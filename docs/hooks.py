"""Fills `<!-- generate: NAME -->` of the pages from the code, so that no reference page can go stale."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

MARK = re.compile(r"^<!-- generate: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each mark of a page (mkdocs calls this)."""
    return MARK.sub(lambda match: GENERATORS[match[1]](), markdown)


def errors() -> str:
    """Every error: its code as a heading to link to, what it says, the way out, the exit code."""
    from strop.errors import catalogue

    return "\n".join(
        f"### {error.code}\n\n{_plain(error.template)}<br>**{_plain(str(error.fix))}**\n\n"
        f"`strop.errors.{error.__name__}`, exit code {error.exit_code}\n"
        for error in catalogue()
    )


def moves() -> str:
    """Every move: signature, docstring, and its example as a block."""
    from strop.loops import moves as package

    kinds = [getattr(package, name) for name in package.__all__]
    shown = [kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, package.Move)]
    return "\n".join(_entry(kind) for kind in shown if kind is not package.Move)


def _entry(kind: type) -> str:
    prose, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    block = f"```pycon\n>>> {example}\n```\n" if example else ""
    parameters = ", ".join(str(p) for p in inspect.signature(kind).parameters.values()).replace("'", "")
    return f"## {kind.__name__}\n\n`{kind.__name__}({parameters})`\n\n{prose}\n\n{block}"


def _plain(template: str) -> str:
    """Show a template's braces, stars and angle brackets as they are."""
    text = template.replace("{{", "{").replace("}}", "}").replace("!r}", "}")
    return re.sub(r"([*_<>`\[\]])", r"\\\1", text)


GENERATORS[match[1]](), markdown)


def errors() -> str:
    """Every error: its code as a heading to link to, what it says, the way out, the exit code."""
    from strop.errors import catalogue

    return "\n".join(
        f"### {error.code}\n\n{_plain(error.template)}<br>**{_plain(str(error.fix))}**\n\n"
        f"`strop.errors.{error.__name__}`, exit code {error.exit_code}\n"
        for error in catalogue()
    )


def moves() -> str:
    """Every move: signature, docstring, and its example as a block."""
    from strop.loops import moves as package

    kinds = [getattr(package, name) for name in package.__all__]
    shown = [kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, package.Move)]
    return "\n".join(_entry(kind) for kind in shown if kind is not package.Move)


def _entry(kind: type) -> str:
    prose, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    block = f"```pycon\n>>> {example}\n```\n" if example else ""
    parameters = ", ".join(str(p) for p in inspect.signature(kind).parameters.values()).replace("'", "")
    return f"## {kind.__name__}\n\n`{kind.__name__}({parameters})`\n\n{prose}\n\n{block}"


def _code_words(text: str) -> str:
    """Show the braces and options of a template as they are, not as HTML."""
    return text.replace("{{", "{").replace("}}", "}").replace("<", "&lt;")


GENERATORS: dict[str, Callable[[], str]] = {
    name: function
    for name, function in inspect.getmembers(sys.modules[__name__], inspect.isfunction)
    if not name.startswith(("_", "on_"))
}
