"""return_node: give a leased node number back before its lease ends (ours, docs/wire.md)."""

from echomq.ids import NODE_MAX
from echomq.keys import NODE_OWNERS, NODES
from echomq.records import NodeNotHeld, NodeReturned
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_number
from echomq.transitions.lease_node import check_owner

__all__ = ["TRANSITION", "return_node"]

TRANSITION = Transition(
    name="return_node",
    keys=("nodes", "owners"),
    args=("owner", "node", "last_ms"),
    repeatable=True,
    section="ours",
)


def return_node(owner: bytes, node: int, *, last_ms: int) -> Call[NodeReturned | NodeNotHeld]:
    """Give a node number back. `last_ms` is the last instant, Unix ms, that an id of it was minted for.

    Mint nothing with it afterwards. On `NodeNotHeld` nothing changed: the lease had ended and another took the number.
    Safe to repeat.
    """
    args = (check_owner(owner), check_number("node", node, most=NODE_MAX), check_number("last_ms", last_ms))
    return Call(TRANSITION, (NODES, NODE_OWNERS), args, _answer, "a node number")


def _answer(reply: Reply) -> NodeReturned | NodeNotHeld:
    match reply:
        case [b"returned"]:
            return NodeReturned()
        case [b"not_held"]:
            return NodeNotHeld()
        case _:
            raise refused(TRANSITION, "a node number", reply)
