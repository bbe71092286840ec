"""Callers of EMQ.TAKE … BLOCK over raw lines, each on a connection of its own, and a way to know that they wait."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import cast

from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply, Reply
from tests.harness.wire import Part, Wire
from tests.servers import RealServer

__all__ = ["Asked", "Told", "Waiter", "await_blocked", "blocked_clients", "now_ms", "take_words", "waiting"]

_DEADLINE_S = 20.0
_LEASE_MS = 60_000


def take_words(keys: QueueKeys, *args: Part) -> tuple[Part, ...]:
    """Return the words of EMQ.TAKE with these arguments."""
    lists = (keys.ring, keys.pending, keys.active, keys.meta, keys.wake, keys.dead, keys.base)
    return ("EMQ.TAKE", *lists, *args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of a take that blocks. Its lease is a minute."""

    size: int = 1
    worth: bytes = b""
    watcher: str = ""
    park_ms: int = 60_000
    block_ms: int = 30_000

    def words(self, keys: QueueKeys) -> tuple[Part, ...]:
        """Return the whole command."""
        args = (_LEASE_MS, self.size, self.worth, self.watcher, self.park_ms, "BLOCK", self.block_ms)
        return take_words(keys, *args)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: `word` is ``paused`` as well; jobs are (id, token, lane)."""

    word: bytes
    waited_ms: int
    more: bool = False
    due: bool = False
    wait_ms: int = 0
    broken: tuple[bytes, ...] = ()
    jobs: tuple[tuple[bytes, int, bytes], ...] = ()

    @property
    def ids(self) -> list[bytes]:
        return [job for job, _, _ in self.jobs]

    @classmethod
    def of(cls, reply: Reply) -> "Told":
        """Read a reply with its further element; anything else fails the test."""
        assert isinstance(reply, list), reply
        if len(reply) == 2:
            word, waited = cast("tuple[bytes, int]", reply)
            assert word == b"paused"
            return cls(word, waited)
        assert len(reply) == 7, reply
        word, more, due, wait_ms, broken, jobs, waited = cast(
            "tuple[bytes, int, int, int, list[bytes], list[tuple[bytes, bytes, int, bytes]], int]", reply
        )
        got = tuple((job, token, lane) for job, _, token, lane in jobs)
        return cls(word, waited, more == 1, due == 1, wait_ms, tuple(broken), got)


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

    def is_answered(self) -> bool:
        """Whether a reply lies there. The server has to have gone round since: ask it something before."""
        return self.wire.has_reply()

    def answer(self) -> Told:
        """Return the reply, once there is one, which is no error."""
        return Told.of(self.wire.receive())

    def asked(self, keys: QueueKeys, asked: Asked) -> Told:
        """Ask, and return the answer, once there is one."""
        self.ask(keys, asked)
        return self.answer()

    def error(self) -> ErrorReply:
        """Return the reply, once there is one, which is an error."""
        reply = self.wire.receive()
        assert isinstance(reply, ErrorReply), reply
        return reply

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


@contextmanager
def waiting(server: RealServer, keys: QueueKeys, *asked: Asked, db: int = 0) -> Iterator[list[Waiter]]:
    """Callers that wait, in this order."""
    with ExitStack() as stack, Wire(server.unix_path) as wire:
        before, waiters = blocked_clients(wire), []
        for number, each in enumerate(asked, 1):
            waiter = stack.enter_context(closing(Waiter(server.unix_path, db=db)))
            waiter.ask(keys, each)
            await_blocked(wire, before + number)
            waiters.append(waiter)
        yield waiters


def now_ms(wire: Wire) -> int:
    """Return the server's clock."""
    seconds, micros = cast("list[bytes]", wire.ask("TIME"))
    return int(seconds) * 1000 + int(micros) // 1000
