"""Methods of attribution, all of one form: `method(function, samples, slicer=None) -> Blame`.

`strop` is ours (`stalls/blame.py`); the others are what to compare it with.
"""

from __future__ import annotations

from strop.stalls.blame import blame
from strop.stalls.methods.leo import leo
from strop.stalls.methods.nearest import nearest
from strop.stalls.methods.raw import raw
from strop.stalls.samples import Method

METHODS: dict[str, Method] = {"strop": blame, "leo": leo, "nearest": nearest, "raw": raw}
