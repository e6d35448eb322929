"""Fills `<!-- generate: NAME -->` of the pages from the code, so that no reference page can go stale."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK = re.compile(r"^<!-- generate: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each mark of a page (mkdocs calls this)."""
    return MARK.sub(lambda match: GENERATORS[match[1]](), markdown)


def errors() -> str:
    """Every error: its code as a heading to link to, what it says, the way out, the exit code."""
    from strop.errors import catalogue

    return "\n".join(
        f"### {error.code}\n\n{_plain(error.template)}<br>→ {_plain(str(error.fix))}\n\n"
        f"`strop.errors.{error.__name__}`, exit code {error.exit_code}\n"
        for error in catalogue()
    )


def moves() -> str:
    """Every move: signature, docstring, and its example as a block."""
    from strop.loops import moves as package

    kinds = [getattr(package, name) for name in package.__all__]
    shown = [kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, package.Move)]
    return "\n".join(_move(kind) for kind in shown if kind is not package.Move)


def _move(kind: type) -> str:
    prose, _, example = inspect.cleandoc(kind.__doc__ or "").partition("\n>>> ")
    block = f"```pycon\n>>> {example}\n```\n" if example else ""
    parameters = ", ".join(_parameter(p) for p in inspect.signature(kind).parameters.values())
    return f"## {kind.__name__}\n\n`{kind.__name__}({parameters})`\n\n{prose}\n\n{block}"


def _parameter(parameter: inspect.Parameter) -> str:
    """As it is written: an annotation's text has no quotes, a default that is a text has."""
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: {parameter.annotation}{default}"


def settings() -> str:
    """The table of settings, as `strop.settings.TABLE` states it."""
    from strop.settings import TABLE

    rows = ["| setting | variable | flag | default | what it does |", "| --- | --- | --- | --- | --- |"]
    for row in TABLE:
        rows.append(f"| `{row.name}` | `{row.variable}` | `{row.flag}` | {row.shown_default} | {row.does} |")
    return "\n".join(rows)


def commands() -> str:
    """Every verb, and every verb of a verb, with the text of its --help."""
    import click

    from strop.cli.main import main

    with click.Context(main, info_name="strop", terminal_width=78) as root:
        return "\n".join(_helps(main, root))


def _helps(group: Any, context: Any) -> Iterator[str]:
    import click

    for name in group.list_commands(context):
        command = group.get_command(context, name)
        with click.Context(command, info_name=name, parent=context, terminal_width=78) as inner:
            level = "#" * len(inner.command_path.split())
            yield f"{level} {inner.command_path}\n\n```text\n{command.get_help(inner)}\n```\n"
            if isinstance(command, click.Group):
                yield from _helps(command, inner)


def schemas() -> str:
    """Every JSON schema that the package ships, by kind."""
    import strop

    shown = []
    for path in sorted(Path(strop.__file__).parent.rglob("schemas/*.json"), key=lambda path: path.name):
        schema = json.loads(path.read_text())
        title, says = schema.get("title", path.stem), schema.get("description", "")
        shown.append(f"## {title}\n\n{says}\n\n```json\n{path.read_text().rstrip()}\n```\n")
    return "\n".join(shown)


def soak() -> str:
    """What the last `make soak` ran, from docs/soak.json."""
    path = Path(__file__).with_name("soak.json")
    if not path.exists():
        return "The large counts have not been run in full on this version: `make soak` does."
    record = json.loads(path.read_text())
    machine = record["machine"]
    rows = [f"On {machine['cpu']} ({', '.join(machine['isa'])}), Python {machine['python']}:\n"]
    rows += ["| test | cases | of | failed parts | seconds | found |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    known = ("cases", "of", "duration_s", "outcome")
    whole: dict[str, Counter[str]] = defaultdict(Counter)  # a long test runs in parts, so that all cores have work
    noted: dict[str, dict[str, float]] = defaultdict(dict)  # what a test measured: sums, and of times the longest
    for name, part in record["tests"].items():
        name = name.partition("[")[0].removeprefix("tests/")
        whole[name].update({key: part[key] for key in known[:3]})
        whole[name]["failed"] += part["outcome"] != "passed"
        for key, value in part.items():
            if key not in known:
                before = noted[name].get(key, 0)
                noted[name][key] = max(before, value) if key.endswith("_s") else before + value
    for name, total in whole.items():
        found = ", ".join(f"{key.replace('_', ' ')} {value:,}" for key, value in noted[name].items())
        numbers = f"{total['cases']:,} | {total['of']:,} | {total['failed']} | {total['duration_s']:,.0f}"
        rows.append(f"| `{name}` | {numbers} | {found} |")
    return "\n".join(rows)


def _plain(template: str) -> str:
    """Show a template's braces, stars and angle brackets as they are."""
    text = template.replace("{{", "{").replace("}}", "}").replace("!r}", "}")
    return re.sub(r"([*_<>`\[\]])", r"\\\1", text)


GENERATORS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "errors": errors,
    "moves": moves,
    "schemas": schemas,
    "settings": settings,
    "soak": soak,
}
