"""Code with heat beside its lines and arrows between them. No script: an arrow is a link, and a key follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

ROW = 22  # px; the height of a line in style.css
LANE = 9  # px between arrows that run side by side
HEAD = 5  # px; half the height of an arrow's head
LANES = 8  # more arrows than this at one place share the outermost lane


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of code. `heat` is from 0 to 1; `links` are addresses with their names; a `gap` says what is left out."""

    text: str
    anchor: str = ""
    spot: str = ""
    share: str = ""
    heat: float = 0.0
    links: Sequence[tuple[str, str]] = ()
    gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """From one row to another (their numbers); following it leads to `href`. `says` is read out, and shown on hover."""

    start: int
    end: int
    href: str
    says: str


@dataclass(frozen=True, slots=True)
class Annotated:
    """A pane of code."""

    title: str
    rows: Sequence[Row]
    arrows: Sequence[Arrow] = ()

    @property
    def gutter(self) -> int:
        """The width in px that the arrows take."""
        return (max(self._lanes(), default=0) + 1) * LANE + 14 if self.arrows else 0

    def drawn(self) -> str:
        """The arrows as an SVG element; empty where there are none."""
        if not self.arrows:
            return ""
        width = self.gutter
        drawn = []
        for arrow, lane in zip(self.arrows, self._lanes(), strict=True):
            start, end = (index * ROW + ROW // 2 for index in (arrow.start, arrow.end))
            right = width - 4
            x = right - 8 - (lane + 1) * LANE
            if start == end:  # it waits for itself, an iteration before
                start, end = start + 5, end - 5
            path = f"M{right} {start}H{x}V{end}H{right - HEAD}"
            head = f"M{right} {end}l-{HEAD + 2} -{HEAD}v{2 * HEAD}z"
            says = escape(arrow.says)
            drawn.append(
                f'<a class="arrow" href="{escape(arrow.href)}" aria-label="{says}"><title>{says}</title>'
                f'<path d="{path}"/><path class="head" d="{head}"/></a>'
            )
        return f'<svg width="{width}" height="{len(self.rows) * ROW}">{"".join(drawn)}</svg>'

    def _lanes(self) -> list[int]:
        """The lane of each arrow: short ones inside, none over another while there are lanes."""
        order = sorted(
            range(len(self.arrows)), key=lambda number: abs(self.arrows[number].start - self.arrows[number].end)
        )
        taken: list[list[tuple[int, int]]] = [[] for _ in range(LANES)]
        found = [0] * len(self.arrows)
        for number in order:
            low, high = sorted((self.arrows[number].start, self.arrows[number].end))
            free = (lane for lane in range(LANES) if all(high < one or low > other for one, other in taken[lane]))
            lane = next(free, LANES - 1)
            taken[lane].append((low, high))
            found[number] = lane
        return found
