"""lease_node: lease a node number for minting, or renew it (ours, docs/wire.md)."""

from contextlib import suppress

from echomq.errors import InvalidOption
from echomq.ids import LAST_MS, NODE_MAX
from echomq.keys import NODE_OWNERS, NODES
from echomq.records import NodeLeased, NodesTaken
from echomq.resp.reply import Reply
from echomq.transitions.call import Call, Transition, refused
from echomq.transitions.checks import check_bytes, check_lease, check_number
from echomq.transitions.replies import Malformed, number

__all__ = ["TRANSITION", "check_owner", "lease_node"]

TRANSITION = Transition(
    name="lease_node",
    keys=("nodes", "owners"),
    args=("owner", "node", "mark_ms", "lease_ms", "wish"),
    optional=1,
    repeatable=False,
    section="ours",
)

_OWNER_BYTES_MAX = 128


def lease_node(
    owner: bytes, *, node: int | None, mark_ms: int, lease_ms: int, wish: int = 0
) -> Call[NodeLeased | NodesTaken]:
    """Ask for a node number, or renew the one that is held; ids may then be minted up to `mark_ms`, Unix ms.

    On `NodeLeased`, mint for instants after `after_ms` and up to `mark_ms` only; it may be another number than the one
    held, when that one was lost: the first never leased from `wish` upwards, around. On `NodesTaken`, mint nothing and
    ask again after `retry_after_ms`. `owner` is unique to one start of one process. The lease ends `lease_ms` from now
    on the server's clock. Repeating a renewal is safe; repeating a first request leases a second number until its lease
    ends.
    """
    args = (
        check_owner(owner),
        b"" if node is None else check_number("node", node, most=NODE_MAX),
        check_number("mark_ms", mark_ms, most=LAST_MS),
        check_lease(lease_ms),
        check_number("wish", wish, most=NODE_MAX),
    )
    return Call(TRANSITION, (NODES, NODE_OWNERS), args, _answer, "a node number")


def check_owner(owner: bytes) -> bytes:
    """Return the owner's name, 1 to 128 bytes, or raise `BadInput`."""
    if not 1 <= len(check_bytes("owner", owner)) <= _OWNER_BYTES_MAX:
        raise InvalidOption("owner", owner, f"1 to {_OWNER_BYTES_MAX} bytes")
    return owner


def _answer(reply: Reply) -> NodeLeased | NodesTaken:
    with suppress(Malformed):
        match reply:
            case [b"leased", node, after, mark]:
                return NodeLeased(number(node), number(after), number(mark))
            case [b"exhausted", wait]:
                return NodesTaken(number(wait))
            case _:
                pass
    raise refused(TRANSITION, "a node number", reply)
