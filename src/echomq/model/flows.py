"""What a flow's child tells its parent when it ends (docs/wire.md, rule 9; protocol 4.6, 4.7, 4.17).

A parent in the same queue is told inside the step that ends the child, and counted once: what a child has to say is
recorded under its id in the parent's `:processed`, `:failed` or `:unsuccessful`, and only a new record moves the parent
(W3, W10, W13). A parent of another queue is told through the outbox, whose entries a pump delivers.

A parent that is no job any more is left alone: nothing is resurrected (W22). One that no longer waits for its children
keeps the record and stays where it is.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from echomq.model.jobs import Job, NoJob, judge, make_ready
from echomq.model.values import Hash, List, String
from echomq.model.zset import ZSet

__all__ = ["Elsewhere", "Here", "Parent", "parent_of"]

IGNORED: Final = b"id"
"""The policy of a child whose death its parent survives. Any other, and none, fails the parent (`fp`)."""

AWAITING: Final = b"awaiting_children"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A parent in another queue, told by an entry in this queue's outbox."""

    outbox: List
    queue: bytes
    parent: bytes

    def completed(self, child: Job, result: bytes) -> None:
        """Tell that the child is done: an outbox entry (protocol 4.17.6)."""
        self.outbox.push(b"\0".join((self.queue, self.parent, child.id, result)))

    def died(self, child: Job, error: bytes, *, now_ms: int) -> None:
        """Tell that the child is dead: an outbox entry (protocol 4.17.6)."""
        self.outbox.push(_failure_entry(self.queue, self.parent, child, error))


@dataclass(frozen=True, slots=True)
class Here:
    """A parent in the child's own queue, in hand with all that may be written for it."""

    parent: Job
    dependencies: String
    processed: Hash
    failed: Hash
    unsuccessful: Hash
    dead: ZSet
    pending: ZSet
    outbox: List

    def completed(self, child: Job, result: bytes) -> None:
        """Record the child's result; the last child makes the parent ready.

        A child whose death was ignored has been counted then, and is not counted again when it runs once more.
        """
        if self._is_job() and self.processed.set_new(child.id, result) and child.id not in self.unsuccessful:
            self._one_child_less()

    def died(self, child: Job, error: bytes, *, now_ms: int) -> None:
        """Record the child's death: it counts as one less to wait for, or fails the parent, by the child's policy."""
        if not self._is_job():
            return
        if child.row.get(b"parent_policy") == IGNORED:
            if self.unsuccessful.set_new(child.id, error):
                self._one_child_less()
        elif self.failed.set_new(child.id, error):
            self._fail(error, now_ms)

    def _is_job(self) -> bool:
        """Whether the parent is a job still: another step of the same batch may have ended it."""
        return b"attempts" in self.parent.row

    def _one_child_less(self) -> None:
        if self.dependencies.add(-1) <= 0 and self.parent.state == AWAITING:
            make_ready(self.parent)

    def _fail(self, error: bytes, now_ms: int) -> None:
        """Move the parent to dead, and tell its own parent in the same step (W15), through the outbox."""
        if self.parent.state not in (AWAITING, b"pending"):
            return
        self.parent.place.take_out(self.parent.id)
        self.pending.remove(self.parent.id)  # another speaker releases a parent to the flat set, grouped or not
        self.dead.add(self.parent.id, 0)
        self.parent.row.set(b"state", b"dead")
        self.parent.row.set(b"died_at", now_ms)
        grandparent = self.parent.row.get(b"parent")
        if grandparent:
            queue = self.parent.row.get(b"parent_queue")
            queue = self.parent.names.queue if queue is None else queue
            self.outbox.push(_failure_entry(queue, grandparent, self.parent, error))


Parent: TypeAlias = Elsewhere | Here


def parent_of(child: Job) -> Parent | None:
    """Take a child's parent in hand: None when it has none, or one that is no job any more. Raises `Damage`."""
    parent, names = child.row.get(b"parent"), child.names
    if not parent:
        return None
    queue = child.row.get(b"parent_queue")
    if queue is not None and queue != names.queue:
        return Elsewhere(child.space.list(names.of(b"flow:outbox")), queue, parent)
    found = judge(child.script, parent)
    return None if isinstance(found, NoJob) else _here(found)


def _here(parent: Job) -> Here:
    space, names = parent.space, parent.names
    here = Here(
        processed=space.hash(names.beside_row(parent.id, b"processed")),
        failed=space.hash(names.beside_row(parent.id, b"failed")),
        unsuccessful=space.hash(names.beside_row(parent.id, b"unsuccessful")),
        dependencies=space.string(names.beside_row(parent.id, b"dependencies")),
        pending=space.zset(names.of(b"pending")),
        dead=space.zset(names.of(b"dead")),
        outbox=space.list(names.of(b"flow:outbox")),
        parent=parent.in_hand(),
    )
    here.dependencies.number()
    return here


def _failure_entry(queue: bytes, parent: bytes, child: Job, error: bytes) -> bytes:
    policy = IGNORED if child.row.get(b"parent_policy") == IGNORED else b"fp"
    return b"\0".join((b"", b"fail", queue, parent, child.id, policy, error))
