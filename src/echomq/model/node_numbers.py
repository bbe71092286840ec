"""Leases of node numbers, so that no two minters make the same id: lease_node, return_node (docs/wire.md; W1).

What keeps two holders of one number apart is its *mark*: an instant up to which ids may have been minted with it. A new
holder mints only for instants after the old mark, so no clock needs to be right. The lease only says when somebody else
may have the number.
"""

from dataclasses import dataclass
from typing import Final

from echomq.ids import NODE_MAX
from echomq.model.given import Bodies, Given
from echomq.model.keyspace import Keyspace
from echomq.model.values import Hash
from echomq.model.view import number
from echomq.model.zset import ZSet
from echomq.resp.reply import Reply

__all__ = ["BODIES"]


@dataclass(frozen=True, slots=True)
class _Registry:
    """Which numbers were ever leased, until when, and to whom with which mark."""

    ends: ZSet
    owners: Hash

    @classmethod
    def of(cls, space: Keyspace, given: Given) -> "_Registry":
        return cls(space.zset(given.keys["nodes"]), space.hash(given.keys["owners"]))

    def mark_of(self, node: bytes) -> int:
        return number(self._owner_and_mark(node)[1], b"the mark of node %b" % node)

    def is_held(self, node: bytes, owner: bytes) -> bool:
        return bool(node) and self._owner_and_mark(node)[0] == owner

    def write(self, node: bytes, owner: bytes, *, mark_ms: int, ends_at: int) -> None:
        self.owners.set(node, b"%b %d" % (owner, mark_ms))
        self.ends.add(node, ends_at)

    def never_leased(self, wish: int) -> bytes | None:
        """Return the first number from the wish upwards, around, that was never leased."""
        numbers = (b"%d" % ((wish + step) % (NODE_MAX + 1)) for step in range(NODE_MAX + 1))
        return next((node for node in numbers if node not in self.ends), None)

    def _owner_and_mark(self, node: bytes) -> tuple[bytes, bytes]:
        owner, _, mark = (self.owners.get(node) or b" 0").rpartition(b" ")
        return owner, mark


def lease_node(space: Keyspace, given: Given) -> Reply:
    """Lease a number, or renew the one held: [leased, node, after, mark], or [exhausted, ms until a lease ends]."""
    registry, owner, asked = _Registry.of(space, given), given.args["owner"], given.number("mark_ms")
    lease_ms = given.number("lease_ms")
    held, unused = given.args["node"], registry.never_leased(int(given.args.get("wish") or 0))
    if registry.is_held(held, owner):
        node, after = held, registry.mark_of(held)
        mark = max(asked, after)
    elif unused is not None:
        node, after, mark = unused, 0, asked
    else:
        (node, ended), *_ = registry.ends.pairs()
        if ended > space.now_ms:
            return [b"exhausted", b"%d" % (ended - space.now_ms)]
        after = registry.mark_of(node)
        mark = max(asked, after + lease_ms)
    registry.write(node, owner, mark_ms=mark, ends_at=space.now_ms + lease_ms)
    return [b"leased", node, b"%d" % after, b"%d" % mark]


def return_node(space: Keyspace, given: Given) -> Reply:
    """Give a number back with the last instant minted for: [returned], or [not_held] with nothing changed."""
    registry, owner, node = _Registry.of(space, given), given.args["owner"], given.args["node"]
    if not registry.is_held(node, owner):
        return [b"not_held"]
    mark = min(registry.mark_of(node), given.number("last_ms"))
    registry.write(node, owner, mark_ms=mark, ends_at=space.now_ms)
    return [b"returned"]


BODIES: Final[Bodies] = {"lease_node": lease_node, "return_node": return_node}
