"""Pages: one file, nothing from elsewhere, everything escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from strop.report.page import (
    Beside,
    Block,
    Drawing,
    Facts,
    Figures,
    Grid,
    Listing,
    Prose,
    Section,
    fragment,
    page,
)
from strop.report.table import Column, Table

HOSTILE = "<img src=x onerror=alert(1)>\"'&"
BLOCKS: tuple[Block, ...] = (
    Figures([(HOSTILE, HOSTILE)]),
    Prose(HOSTILE),
    Grid(Table((Column(HOSTILE),), ((HOSTILE,),))),
    Drawing("<svg></svg>", HOSTILE),
    Listing(HOSTILE, HOSTILE),
    Listing(HOSTILE, HOSTILE, folded=True),
    Beside([Listing(HOSTILE, HOSTILE), Listing("", "for m in 6\n  for n in 16")]),
    Facts([(HOSTILE, HOSTILE)]),
)


class Tags(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def whole() -> str:
    return page(
        title=HOSTILE, subject=HOSTILE, sentence=HOSTILE, warnings=[HOSTILE], sections=[Section(HOSTILE, BLOCKS)]
    )


def test_every_block_is_shown_and_escaped() -> None:
    for text in (whole(), fragment(subject=HOSTILE, sentence=HOSTILE, warnings=[HOSTILE], blocks=BLOCKS)):
        tags = Tags(text)
        assert not tags.open, "every tag is closed"
        assert not {"img", "script", "link", "iframe"} & tags.found
        assert not any(name.startswith("on") for name, _ in tags.attributes)
        assert tags.text.count(HOSTILE) >= 15


def test_nothing_comes_from_elsewhere() -> None:
    text = whole()
    assert not re.search(r"https?:|url\(|@import|\bsrc=", text.replace(HOSTILE, "").replace("src=x", ""))
    assert "prefers-color-scheme: dark" in text


def test_code_keeps_its_lines() -> None:
    assert "<pre>for m in 6\n  for n in 16</pre>" in whole()
