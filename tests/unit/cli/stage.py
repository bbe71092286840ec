"""What the tests of the commands share: a queue in memory, a view that keeps what is written, a server's keys."""

import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from echomq.blocking_jobs import BlockingJobs
from echomq.blocking_lanes import BlockingLanes
from echomq.cli.render import View
from echomq.codec import PAYLOAD_BYTES_MAX
from echomq.errors import EchoMQError
from echomq.nodes import NodeHolder
from echomq.resp.reply import Reply
from echomq.transitions.call import Call
from tests.harness.model import ModelBody

__all__ = ["Keys", "Memory", "Said", "Server", "never_asked"]

Answer = TypeVar("Answer")


class Memory:
    """Runs calls on the model: a server in memory, whose clock stands still."""

    def __init__(self) -> None:
        self.body = ModelBody()

    def run(self, call: Call[Answer]) -> Answer:
        return self.body.ask(call)

    def run_all(self, calls: Sequence[Call[Answer]]) -> list[Answer | EchoMQError]:
        return [self.body.ask(call) for call in calls]

    def wait(self, future: Future[None]) -> None:
        future.result(0)

    def jobs(self, queue: str = "mail") -> BlockingJobs:
        return BlockingJobs(queue, self, NodeHolder(node=1), payload_bytes_max=PAYLOAD_BYTES_MAX)

    def lanes(self, queue: str = "mail") -> BlockingLanes:
        return BlockingLanes(queue, self)


@dataclass
class Keys:
    """A server that knows its keys: answers SCAN with `step` keys at a time, and all else from its memory."""

    keys: Sequence[bytes] = ()
    step: int = 2
    asked: int = 0
    memory: Memory = field(default_factory=Memory)
    server: str = "valkey://here:6379/0"

    def run(self, call: Call[Answer]) -> Answer:
        return self.memory.run(call)

    def command(self, *parts: bytes | str | int) -> Reply:
        match parts:
            case ["ZCARD", bytes(key)]:
                return len(self.memory.body.keyspace.zset(key))
            case ["HGET", bytes(key), str(name)]:
                return self.memory.body.keyspace.hash(key).get(name.encode())
            case ["ZSCORE", bytes(key), bytes(member)]:
                score = self.memory.body.keyspace.zset(key).score(member)
                return None if score is None else b"%d" % score
            case ["SCAN", cursor, *_]:
                return self._scan(cursor)
            case _:
                raise AssertionError(f"nobody should send {parts}")

    def _scan(self, cursor: bytes | str | int) -> Reply:
        assert isinstance(cursor, bytes)
        self.asked += 1
        at = int(cursor)
        following = at + self.step
        return [b"%d" % (following if following < len(self.keys) else 0), list(self.keys[at:following])]


class Server(Keys):
    """Its walk finds the keys that its memory got meanwhile too."""

    def command(self, *parts: bytes | str | int) -> Reply:
        if parts[0] == "SCAN":
            return [b"0", [*self.keys, *self.memory.body.dump()]]
        return super().command(*parts)


@dataclass
class Said:
    """What a command wrote, and what a person answers when asked (None: nobody is there)."""

    answer: bool | None = None
    is_json: bool = False
    out: io.StringIO = field(default_factory=io.StringIO)
    err: io.StringIO = field(default_factory=io.StringIO)
    questions: list[str] = field(default_factory=list)

    @property
    def view(self) -> View:
        return View(out=self.out, err=self.err, is_json=self.is_json, ask=self._ask())

    @property
    def lines(self) -> list[list[str]]:
        """The words of each line of data."""
        return [line.split() for line in self.out.getvalue().splitlines()]

    @property
    def data(self) -> dict[str, object]:
        value = json.loads(self.out.getvalue())
        assert isinstance(value, dict)
        return value

    @property
    def talk(self) -> str:
        return self.err.getvalue()

    def _ask(self) -> Callable[[str], bool] | None:
        answer = self.answer
        if answer is None:
            return None

        def ask(question: str) -> bool:
            self.questions.append(question)
            return answer

        return ask


def never_asked(question: str) -> bool:
    raise AssertionError(f"nobody should be asked: {question}")
