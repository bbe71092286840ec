"""The key grammar: one function per kind of key (protocol 2).

All keys of a queue begin with its base, ``emq:{<queue>}:``. The braces are a hash tag, so every key of a queue lies in
one cluster slot. Names are checked here, at the edge, before anything is sent: the server does not check them, and a
brace or a NUL byte in a queue name would break slotting.
"""

import re
from typing import Final

from echomq.errors import InvalidId, InvalidName
from echomq.ids import BrandedId, JobId

__all__ = [
    "DEDUP_ALLOWED",
    "GROUP_ALLOWED",
    "NODES",
    "NODE_OWNERS",
    "QUEUE_ALLOWED",
    "VERSION",
    "QueueKeys",
    "check_dedup_id",
    "check_group",
    "check_queue",
    "slot_of",
]

QUEUE_ALLOWED: Final = "1 to 128 of the characters A-Z a-z 0-9 . _ - and not the word 'emq'"
DEDUP_ALLOWED: Final = "1 to 255 of the characters A-Z a-z 0-9 . _ -"
GROUP_ALLOWED: Final = (
    "1 to 128 of the characters A-Z a-z 0-9 . _ @ + - (speakers other than echomq accept branded ids only)"
)

VERSION: Final = b"{emq}:version"
"""String: the protocol version of the deployment (protocol 3.2)."""

NODES: Final = b"{emq}:nodes"
"""Sorted set, ours: leased node numbers, scored by the end of the lease in Unix ms of the server."""

NODE_OWNERS: Final = b"{emq}:node_owners"
"""Hash, ours: node number to ``<owner> <mark>``; no id of that node was minted for an instant after the mark."""

_QUEUE: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_DEDUP: Final = re.compile(r"[A-Za-z0-9._-]{1,255}")
_GROUP: Final = re.compile(r"[A-Za-z0-9._@+-]{1,128}")


def check_queue(name: str) -> str:
    """Return the queue name, or raise `InvalidName` saying what is allowed."""
    if not isinstance(name, str) or _QUEUE.fullmatch(name) is None or name == "emq":
        raise InvalidName("queue name", name, QUEUE_ALLOWED)
    return name


def check_dedup_id(value: str) -> str:
    """Return the dedup id, or raise `InvalidName` saying what is allowed."""
    if not isinstance(value, str) or _DEDUP.fullmatch(value) is None:
        raise InvalidName("dedup id", value, DEDUP_ALLOWED)
    return value


def check_group(value: str | BrandedId) -> bytes:
    """Return a lane's name, which is its group's, as it stands in keys, or raise `InvalidName` saying what is allowed.

    Every branded id is a group name of the protocol. The wider set is our edition: a speaker that checks its groups for
    branded ids cannot name such a lane, but serves it, since the ring and the row carry the name.
    """
    if isinstance(value, BrandedId):
        return bytes(value)
    if not isinstance(value, str) or _GROUP.fullmatch(value) is None:
        raise InvalidName("lane name", value, GROUP_ALLOWED)
    return value.encode()


class QueueKeys:
    """The keys of one queue. Attributes are keys that a queue has once; methods make the others.

    Raises `InvalidName` for a queue name outside the charset.
    """

    __slots__ = (
        "_job",
        "active",
        "base",
        "dead",
        "events",
        "flow_outbox",
        "fresh_next",
        "group_active",
        "group_limit",
        "group_weight",
        "lanes",
        "limiter",
        "meta",
        "metrics_completed",
        "metrics_completed_data",
        "metrics_failed",
        "metrics_failed_data",
        "paused",
        "pending",
        "queue",
        "repeat",
        "ring",
        "rota",
        "schedule",
        "wake",
        "watch",
    )

    def __init__(self, queue: str) -> None:
        self.queue: str = check_queue(queue)
        base = b"emq:{%b}:" % queue.encode()
        self.base: bytes = base
        self._job: bytes = base + b"job:"
        self.pending: bytes = base + b"pending"
        self.active: bytes = base + b"active"
        self.schedule: bytes = base + b"schedule"
        self.dead: bytes = base + b"dead"
        self.meta: bytes = base + b"meta"
        self.metrics_completed: bytes = base + b"metrics:completed"
        self.metrics_completed_data: bytes = base + b"metrics:completed:data"
        self.metrics_failed: bytes = base + b"metrics:failed"
        self.metrics_failed_data: bytes = base + b"metrics:failed:data"
        self.limiter: bytes = base + b"limiter"
        self.repeat: bytes = base + b"repeat"
        self.flow_outbox: bytes = base + b"flow:outbox"
        self.events: bytes = base + b"events"
        self.ring: bytes = base + b"ring"
        self.paused: bytes = base + b"paused"
        self.group_limit: bytes = base + b"glimit"
        self.group_active: bytes = base + b"gactive"
        self.group_weight: bytes = base + b"gweight"
        self.wake: bytes = base + b"wake"
        self.lanes: bytes = base + b"lanes"
        self.rota: bytes = base + b"rota"
        self.fresh_next: bytes = base + b"fresh_next"
        self.watch: bytes = base + b"watch"

    def __repr__(self) -> str:
        return f"QueueKeys({self.queue!r})"

    def job(self, job: JobId) -> bytes:
        """Return the key of a job's row (hash, protocol 2.4). Raises `InvalidId` for what is no `JobId`."""
        if type(job) is not JobId:
            raise InvalidId(job, "a job is named by a JobId: JobId.parse makes one from text")
        return self._job + job

    def job_logs(self, job: JobId) -> bytes:
        """Return the key of a job's log lines (list)."""
        return b"%b%b:logs" % (self._job, job)

    def job_lock(self, job: JobId) -> bytes:
        """Return the key of the held-by-a-worker marker of the lock plane (string with a TTL)."""
        return b"%b%b:lock" % (self._job, job)

    def job_result(self, job: JobId) -> bytes:
        """Return the key of a kept result (hash with a TTL, ours)."""
        return b"%b%b:result" % (self._job, job)

    def dedup(self, dedup_id: str) -> bytes:
        """Return the key that parks a job id under a producer's dedup id (string). Raises `InvalidName`."""
        return b"%bde:%b" % (self.base, check_dedup_id(dedup_id).encode())

    def lane(self, group: str | BrandedId) -> bytes:
        """Return the key of a group's lane (sorted set). Raises `InvalidName`."""
        return b"%bg:%b:pending" % (self.base, check_group(group))

    def repeatable(self, name: bytes) -> bytes:
        """Return the key of a repeatable's record (hash)."""
        return b"%brepeat:%b" % (self.base, name)

    def stream(self, name: bytes) -> bytes:
        """Return the key of a stream of records."""
        return b"%bstream:%b" % (self.base, name)

    def stream_archived(self, name: bytes) -> bytes:
        """Return the key of a stream's cached archive watermark (string)."""
        return b"%bstream:%b:archived" % (self.base, name)


def slot_of(key: bytes) -> int:
    """Return the cluster slot, 0..16383, of a key: CRC16-XMODEM of its hash tag, or of all of it without one."""
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    crc = 0
    for byte in key:
        crc = ((crc << 8) & 0xFFFF) ^ _CRC16[((crc >> 8) ^ byte) & 0xFF]
    return crc & 0x3FFF


def _crc16_of_byte(byte: int) -> int:
    crc = byte << 8
    for _ in range(8):
        crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else (crc << 1) & 0xFFFF
    return crc


_CRC16: Final = tuple(_crc16_of_byte(byte) for byte in range(256))
