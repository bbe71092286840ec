"""Callers of EMQ.TAKE … BLOCK over raw lines, each on a connection of its own, and a way to know that they wait."""

import time
from dataclasses import dataclass
from typing import cast

from echomq.keys import QueueKeys
from echomq.resp.reply import Reply
from tests.harness.wire import Part, Wire

__all__ = ["Asked", "Waiter", "await_blocked", "blocked_clients", "take_words"]

_DEADLINE_S = 20.0
_LEASE_MS = 60_000


def take_words(keys: QueueKeys, *args: Part) -> tuple[Part, ...]:
    """Return the words of EMQ.TAKE with these arguments."""
    lists = (keys.ring, keys.pending, keys.active, keys.meta, keys.wake, keys.dead, keys.base)
    return ("EMQ.TAKE", *lists, *args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of a take that blocks."""

    size: int = 1
    worth: bytes = b""
    watcher: str = ""
    park_ms: int = 60_000
    block_ms: int = 30_000

    def words(self, keys: QueueKeys) -> tuple[Part, ...]:
        """Return the whole command."""
        args = (_LEASE_MS, self.size, self.worth, self.watcher, self.park_ms, "BLOCK", self.block_ms)
        return take_words(keys, *args)


class Waiter:
    """One connection that asks with BLOCK, and reads the reply when it comes."""

    def __init__(self, unix_path: str, *, db: int = 0) -> None:
        self.wire = Wire(unix_path)
        self.id = cast("int", self.wire.ask("CLIENT", "ID"))
        if db:
            assert self.wire.ask("SELECT", db) == b"OK"

    def ask(self, keys: QueueKeys, asked: Asked | None = None) -> None:
        """Send the command; nothing is read."""
        self.wire.send([(asked or Asked()).words(keys)])

    def answer(self) -> Reply:
        """Return the reply, once there is one."""
        return self.wire.receive()

    def jobs(self) -> list[bytes]:
        """Return the ids of the answer, which must be one with jobs or without."""
        reply = cast("list[list[list[bytes]]]", self.answer())
        assert isinstance(reply, list), reply
        return [job[0] for job in reply[5]] if len(reply) > 2 else []

    def close(self) -> None:
        self.wire.close()


def blocked_clients(wire: Wire) -> int:
    """Return how many clients of the server wait for keys."""
    told = cast("bytes", wire.ask("INFO", "clients"))
    return int(told.split(b"blocked_clients:")[1].split()[0])


def await_blocked(wire: Wire, count: int) -> None:
    """Return once so many clients wait; raise when the server never says so."""
    deadline = time.monotonic() + _DEADLINE_S
    while (now := blocked_clients(wire)) != count:
        assert time.monotonic() < deadline, f"{now} clients wait in place of {count}"
