"""Write what commands really print into the pages that quote them.

A page marks the place with `<!-- begin output: COMMAND -->` and `<!-- end output -->`; what stands between is replaced.

Run: .venv/bin/python tools/fill_outputs.py README.md
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(<!-- begin output: (?P<command>.+?) -->\n).*?(<!-- end output -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return the page with the output of each command, all run with one empty store."""
    with tempfile.TemporaryDirectory() as home:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "STROP_HOME": home, "PATH": path, "COLUMNS": "100"}

        def fill(match: re.Match[str]) -> str:
            command = match["command"]
            done = subprocess.run(
                command, shell=True, cwd=home, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            return f"{match[1]}```text\n{done.stdout.rstrip()}\n```\n{match[3]}"

        return BLOCK.sub(fill, page)


def main() -> None:
    """Fill each page named on the command line."""
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(filled(page.read_text()))


if __name__ == "__main__":
    main()
