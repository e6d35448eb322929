"""What every error of the catalogue is."""

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
    """Every error of the catalogue, by subject."""
    yield from StropError.__subclasses__()
