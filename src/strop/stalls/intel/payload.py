"""How much of its registers a load/store message reads as addresses."""

from __future__ import annotations

from strop.stalls.intel.nodes import Node

LSC = ("ugm", "ugml", "slm", "tgm")
ADDRESS_BYTES = {1: 2, 2: 4, 3: 8}
BY_LANE = (0, 1, 2, 4, 5, 6, *range(8, 27))  # one address a lane: not 2D blocks, fences and the like


SCATTERED = ("gathering", "scattering", "untyped")  # old ports' words for a message with one address a lane


def descriptor(node: Node) -> int | None:
    """The message descriptor, None where it is in a register."""
    said: list[Node] = node.get("srcs") or []
    if len(said) < 4 or said[3]["kind"] != "IM":
        return None
    return int(str(said[3]["value"]), 0) & 0xFFFFFFFF


def address_bytes(node: Node, lanes: int) -> int | None:
    """Bytes of addresses that a load/store message reads, None where all of the payload may be read.

    A message for one lane (a block, say) has one address in a register whose rest nobody looks at.
    """
    bits = descriptor(node)
    if is_plain_scatter(node):
        return lanes * (8 if "a64" in str(node["comment"]) else 4)
    if node["subop"] not in LSC or node["subop"] == "tgm" or bits is None or bits & 63 not in BY_LANE:
        return None
    size = ADDRESS_BYTES.get(bits >> 7 & 3)
    return None if size is None else size * lanes


def is_plain_scatter(node: Node) -> bool:
    """Whether a message of the old ports has lanes' addresses, and no header before them."""
    comment = str(node.get("comment") or "")
    return (
        str(node["subop"]).startswith(("dc", "hdc"))
        and "h+" not in comment
        and any(word in comment.split() for word in SCATTERED)
    )
