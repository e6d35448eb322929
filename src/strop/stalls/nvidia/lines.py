"""Source lines as nvdisasm -g -gi writes them: comments that hold until the next ones, one per level of inlining."""

from __future__ import annotations

import re

from strop.stalls.instruction import Source

MARK = '//## File "'
_LINE = re.compile(r'//## File "(.*?)", line (\d{1,9})(?: inlined at "(.*)", line (\d{1,9}))?\s*$')


class Lines:
    """Follows the comments of a listing and says which source the next instruction has."""

    def __init__(self) -> None:
        self.current: Source | None = None
        self._innermost: tuple[str, int] | None = None
        self._at: list[tuple[str, int]] = []
        self._open = False

    def comment(self, text: str) -> None:
        """Take one `//## File` line: one that goes on where the last was inlined is its caller, others start anew."""
        match = _LINE.search(text)
        if match is None:
            return
        here = (match[1], int(match[2]))
        inlined = (match[3], int(match[4])) if match[3] is not None else None
        if not (self._open and self._at and self._at[-1] == here):
            self._innermost, self._at = here, []
        if inlined:
            self._at.append(inlined)
        self._open = True
        assert self._innermost is not None
        self.current = Source(*self._innermost, inline=tuple(self._at))

    def instruction(self) -> Source | None:
        """The source of an instruction that stands here."""
        self._open = False
        return self.current

    def function(self) -> None:
        """A new function: nothing holds over."""
        self.current, self._at, self._open = None, [], False
