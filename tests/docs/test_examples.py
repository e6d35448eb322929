"""The examples of the pages and of the README, and the scripts of examples/, run as written.

A page's ```python blocks run top to bottom in one namespace, its ```pycon blocks are doctests, and a ```console block
under the comment `<!-- run -->` has its `$` lines run by a shell. A block under `<!-- not run: reason -->` is left out.
Each page starts in an empty directory with an empty store.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(
    r"(?:<!-- (?P<mark>run|not run: [^>]+) -->\n)?^(?P<indent> *)```(?P<language>python|pycon|console)[^\n]*\n"
    r"(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text without the indent, and its first line in the page."""

    language: str
    text: str
    line: int


def blocks_to_run(text: str) -> list[Block]:
    """Return the blocks of a page that are to be run, in order."""
    blocks = []
    for match in FENCE.finditer(text):
        mark, language = match["mark"], match["language"]
        if (mark or "").startswith("not run") or (language == "console" and mark != "run"):
            continue
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["body"].splitlines(keepends=True))
        blocks.append(Block(language, body, text.count("\n", 0, match.start("body")) + 1))
    return blocks


def commands(console: str) -> list[str]:
    """Return the commands of a console block: lines after `$ `, with those continued by a backslash."""
    joined = console.replace("\\\n", "")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


def run_python(block: Block, page: Path, names: dict[str, object]) -> None:
    source = "\n" * (block.line - 1) + block.text  # so that a traceback shows the page's line
    exec(compile(source, str(page), "exec"), names)


def run_tests_of(names: dict[str, object]) -> None:
    """Run the test classes that an example defines, as pytest would."""
    for name in [name for name, value in names.items() if name.startswith("Test") and isinstance(value, type)]:
        suite: Any = names.pop(name)
        for test in dir(suite):
            if test.startswith("test_"):
                getattr(suite(), test)()


def run_doctest(block: Block, page: Path, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(said)


def run_console(block: Block, page: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands(block.text):
        done = subprocess.run(
            command, shell=True, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{page.name}:{block.line}: {command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_to_run(page.read_text())
    if not blocks:
        return  # a page of prose has nothing to break
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        if block.language == "python":
            run_python(block, page, names)
            run_tests_of(names)
        elif block.language == "pycon":
            run_doctest(block, page, names)
        else:
            run_console(block, page)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.name)
def test_example_script(script: Path) -> None:
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_contributing_names_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = set(re.findall(r"`((?:src|native|tests|docs|examples)/[\w./-]*)`", text))
    assert len(paths) > 10
    assert not sorted(path for path in paths if not (ROOT / path).exists())


def test_blocks_are_found_and_marks_obeyed() -> None:
    text = "\n".join(
        [
            "```python", "a = 1", "```",
            "<!-- not run: needs torch -->", "```python", "import torch", "```",
            "```console", "$ rm -rf /", "```",
            "<!-- run -->", "```console", "$ echo one \\", "two", "said", "$ true", "```",
        ]
    )  # fmt: skip
    blocks = blocks_to_run(text)
    assert [(block.language, block.line) for block in blocks] == [("python", 2), ("console", 13)]
    assert commands(blocks[1].text) == ["echo one two", "true"]


def test_a_wrong_example_fails() -> None:
    block = Block("pycon", ">>> 1 + 1\n3\n", 1)
    with pytest.raises(AssertionError, match="Expected"):
        run_doctest(block, Path("page.md"), {})
