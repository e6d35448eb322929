"""The page: all is escaped, nothing comes from the network, every link leads somewhere, arrows are links."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

import pytest

from strop.report.annotated import ROW, Annotated, Arrow, Row
from strop.stalls.instruction import Instruction
from strop.stalls.render_html import report
from tests.stalls.made import EVIL, analysis


class Reader(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.arrows: list[str] = []
        self.outside: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.ids += [one for name, one in attrs if name == "id" and one]
        self.outside += [name for name in given if name in ("src", "srcset", "onload", "onclick")]
        if tag == "a":
            self.links.append(given.get("href") or "")
            if given.get("class") == "arrow":
                self.arrows.append(given.get("aria-label") or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page() -> str:
    return report(analysis())


def test_nothing_of_a_file_becomes_markup(page: str) -> None:
    found = Reader(page)
    assert EVIL in found.text  # as text
    assert "script" not in found.tags
    assert "<script" not in page
    assert all(one.isprintable() or one == "\n" for one in page)
    assert r"sten\x1b[31mcil" in page


def test_nothing_comes_from_the_network(page: str) -> None:
    found = Reader(page)
    assert not found.outside
    assert not {"link", "img", "iframe", "object", "script"} & set(found.tags)
    assert "@import" not in page
    assert "url(" not in page


def test_links_lead_somewhere_and_arrows_are_links(page: str) -> None:
    found = Reader(page)
    assert len(set(found.ids)) == len(found.ids)
    assert found.links
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    (arrow,) = found.arrows
    assert arrow == "62% of stalls: FFMA R8, R4, R5, R8 at +0x10 waits for LDG.E R4, [R2.64] at +0x0"


def test_source_stands_beside_assembly_with_heat(page: str) -> None:
    found = Reader(page)
    assert "line 44 " in found.text
    assert "line 50 " not in found.text
    assert page.count("--heat: 1.000") == 2  # the line and its instruction


def test_arrows_side_by_side_dont_share_a_lane() -> None:
    rows = [Row(text=str(number), anchor=f"r{number}") for number in range(9)]
    arrows = [Arrow(start=start, end=0, href="#r0", says="<&>") for start in (2, 4, 6)]
    pane = Annotated("t", rows, [*arrows, Arrow(start=8, end=8, href="#r8", says="itself")])
    drawn = pane.drawn()
    ends = {part.split("V")[0] for part in drawn.split("H")[1:] if "V" in part}
    assert len(ends) == 3  # the fourth is below the others
    assert f'height="{9 * ROW}"' in drawn
    assert "&lt;&amp;&gt;" in drawn
    assert not Annotated("t", rows).drawn()


def test_a_binary_that_samples_dont_fit_leaves_a_page(page: str) -> None:
    made = analysis()
    (name,) = made.binaries
    binary = made.binaries[name]
    other = dataclasses.replace(binary.functions[0], name="other", address=1 << 40)
    found = report(dataclasses.replace(made, binaries={name: dataclasses.replace(binary, functions=(other,))}))
    assert "62% of this kernel" in found
    assert found != page


def test_a_long_function_is_cut_around_what_matters() -> None:
    made = analysis()
    (name,) = made.binaries
    function = made.binaries[name].functions[0]
    more = tuple(Instruction(pc=pc, size=16, opcode="NOP", text="NOP") for pc in range(48, 160_000, 16))
    long = dataclasses.replace(function, instructions=(*function.instructions, *more))
    found = Reader(
        report(dataclasses.replace(made, binaries={name: dataclasses.replace(made.binaries[name], functions=(long,))}))
    )
    assert "9,995 instructions" in found.text
    assert len(found.tags) < 2000
