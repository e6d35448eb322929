"""The published environment as a value: a nest, a cursor on one of its loops, and seven actions.

LoopTune's environment (looptune, `loop_tool_service`, commit f85c832) walks a cursor over the loops and swaps or splits
where it stands. Here an illegal action is masked, not silently ignored; any extent may be vectorised, because this
generator masks tails, so the rule that the innermost loop be a multiple of 8 is gone; and the ten loops allowed are all
of the nest that computes, so that a convolution can be split.
"""

from __future__ import annotations

from dataclasses import dataclass

from strop.loops.moves import Move, Schedule, Split, Swap, legal
from strop.loops.nest import Nest
from strop.values.contraction import Contraction

SPLITS = {"split_4": 4, "split_8": 8, "split_16": 16}
ACTIONS = ("up", "down", "swap_up", "swap_down", *SPLITS)
"""The seven actions, in the published order."""
MOST_LOOPS = 10
STEPS = 10
"""Actions of an episode."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A nest, where the cursor stands, and the moves made so far.

    >>> state = Environment.start(Contraction.parse("mk,kn->mn", m=64, k=64, n=64))
    >>> for action in ("split_4", "swap_down", "swap_down"):
    ...     state = state.act(action)
    >>> state.nest.names[state.cursor], state.schedule
    ('m.1', (Split("m.0", 4), Swap("m.1", "k.0")))
    >>> state.actions
    ('up', 'down', 'swap_up', 'swap_down', 'split_4')
    """

    nest: Nest
    cursor: int = 0
    schedule: Schedule = ()

    @classmethod
    def start(cls, contraction: Contraction) -> Environment:
        """The order as written, the cursor on the outermost loop."""
        return cls(Nest.default(contraction))

    @property
    def actions(self) -> tuple[str, ...]:
        """The legal actions."""
        return tuple(action for action in ACTIONS if self.reason(action) is None)

    @property
    def mask(self) -> tuple[bool, ...]:
        """Of each action, whether it is legal."""
        return tuple(self.reason(action) is None for action in ACTIONS)

    def reason(self, action: str) -> str | None:
        """Why an action can't be taken, or None."""
        if action not in ACTIONS:
            return f"there is no action {action}: {', '.join(ACTIONS)}"
        last = len(self.nest.loops) - 1
        if action.endswith("up") and self.cursor == 0:
            return "the cursor is on the outermost loop"
        if action.endswith("down") and self.cursor >= last:
            return "the cursor is on the innermost loop"
        if action in SPLITS and len(self.nest.loops) >= MOST_LOOPS:
            return f"a nest of this environment has at most {MOST_LOOPS} loops"
        if not self.nest.loops:
            return "there is no loop"
        move = self.move(action)
        return None if move is None else legal(self.nest, move)

    def move(self, action: str) -> Move | None:
        """The move that an action makes; None where only the cursor moves: so it does past a loop of its own axis."""
        names = self.nest.names
        if action in SPLITS:
            return Split(names[self.cursor], SPLITS[action])
        if not action.startswith("swap"):
            return None
        other = self.cursor + (1 if action == "swap_down" else -1)
        if self.nest.loops[other].axis == self.nest.loops[self.cursor].axis:
            return None
        first, second = sorted((self.cursor, other))
        return Swap(names[first], names[second])

    def act(self, action: str) -> Environment:
        """The state after a legal action. Raises ValueError with the reason if it isn't legal."""
        if (why := self.reason(action)) is not None:
            raise ValueError(f"{action}: {why}")
        cursor = self.cursor + {"up": -1, "down": 1}.get(action.removeprefix("swap_"), 0)
        move = self.move(action)
        if move is None:
            return Environment(self.nest, cursor, self.schedule)
        return Environment(move.changed(self.nest), cursor, (*self.schedule, move))
