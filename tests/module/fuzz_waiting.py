"""Fuzzes EMQ.TAKE … BLOCK: callers wait in a queue that comes into being under them, damaged in every way.

The adversarial queue of the fuzzer is written command by command, with calls of the module between them, while some
wait, are answered, ask again, are killed or unblocked. After each command the server lives and no sanitizer has
spoken; each who asked has one answer, or waits; a replica that has no module is equal in the end. `make fuzz` runs it.
"""

import sys
import time
from random import Random
from typing import cast

from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions import take
from tests.harness.wire import Wire
from tests.module.fuzz import STARVED, Fuzz, main
from tests.module.fuzz_calls import vector
from tests.module.fuzz_state import Finding, compare_replica, dump, tokens
from tests.module.fuzz_world import BASE, IDS, any_key

_WAITERS = 3
_DEADLINE_S = 20.0
_FORMS = {1: (b"paused",), 7: (b"taken", b"empty", b"full")}


def _disturbance(rng: Random) -> list[list[bytes]]:
    """Something that another program may do to the keys, or an operator to the server."""
    keys = [BASE + b"pending", BASE + b"ring", BASE + b"wake", any_key(rng)]
    key, other, job = rng.choice(keys), rng.choice(keys), rng.choice(IDS)
    ways: list[list[list[bytes]]] = [
        [[b"SET", key, b"text"]],
        [[b"RENAME", key, other]],
        [[b"COPY", key, other, b"REPLACE"]],
        [[b"PEXPIRE", key, b"1"]],
        [[b"SWAPDB", b"0", b"1"]],
        [[b"FLUSHDB"]],
        [[b"HSET", BASE + b"meta", rng.choice([b"paused", b"concurrency"]), b"1"]],
        [[b"MULTI"], [b"RPUSH", key, b"a"], [b"DEL", key], [b"ZADD", key, b"0", job], [b"EXEC"]],
        [[b"EVAL", b"redis.call('ZADD', KEYS[1], 0, ARGV[1]) redis.call('DEL', KEYS[1])", b"1", key, job]],
        [[b"CONFIG", b"SET", b"echomq.blocking", rng.choice([b"yes", b"no"])]],
    ]
    return rng.choice(ways)


class _Waiter:
    """One who asks again and again."""

    def __init__(self, path: str) -> None:
        self.wire = Wire(path)
        self.id = cast("int", self.wire.ask("CLIENT", "ID"))
        self.asks = False


class WaitingFuzz(Fuzz):
    """One run: see the module."""

    waiters: list[_Waiter]
    answers = 0

    @property
    def summary(self) -> str:
        return f"{self.worlds} databases, {self.calls} commands, {self.answers} answers, {self.starved} without memory"

    def run_world(self, number: int) -> None:
        rng = Random(f"{self.seed}/waiting/{number}")
        commands = self.begin(rng)
        self.history = []
        self.waiters = [_Waiter(self.path) for _ in range(_WAITERS)]
        for command in commands:
            self._everybody_asks(rng)
            self._do(command)
            if rng.random() < 0.3:
                self._interfere(rng)
        self._let_go()
        self.wire.ask("CONFIG", "SET", "echomq.blocking", "yes")
        time.sleep(0.003)  # what expires in a millisecond is gone
        compare_replica(self.wire, self.replica)

    def _do(self, command: list[bytes]) -> None:
        self.history.append(command)
        reply = self.wire.ask(*command)
        self.calls += 1
        self.refused += isinstance(reply, ErrorReply)
        self._read_answers()

    def _interfere(self, rng: Random) -> None:
        """Do what is no part of the queue's coming into being."""
        match rng.randrange(11):
            case 0:
                self._do(
                    [b"CLIENT", b"UNBLOCK", b"%d" % rng.choice(self.waiters).id, rng.choice([b"TIMEOUT", b"ERROR"])]
                )
            case 1:
                gone = rng.choice(self.waiters)
                self.waiters.remove(gone)
                self._do([b"CLIENT", b"KILL", b"ID", b"%d" % gone.id])
                gone.wire.close()
                self.waiters.append(_Waiter(self.path))
            case 2:
                self._do([b"DEL", BASE + rng.choice([b"pending", b"ring", b"wake", b"meta", b"active"])])
            case 3:
                self._do([b"HSET", BASE + b"job:" + rng.choice(IDS), b"attempts", b"0"])
                self._do([b"ZADD", BASE + b"pending", b"0", rng.choice(IDS)])
            case 4:
                self._do([b"LPUSH", BASE + b"wake", rng.choice([b"1", b"7", b"beat", b"", b"x" * 70_000])])
            case 5 | 6:
                for command in _disturbance(rng):
                    self._do(command)
            case _:
                self._do(vector(rng, self.transitions, tokens(dump(self.wire)[0])).command)

    # --- those who wait ---------------------------------------------------------------------------------------------

    def _everybody_asks(self, rng: Random) -> None:
        for waiter in self.waiters:
            if waiter.asks:
                continue
            parts = vector(rng, [take.TRANSITION], {}).parts
            parts += [b""] * (len(take.TRANSITION.keys) + len(take.TRANSITION.args) - len(parts))
            parts += [
                rng.choice([b"BLOCK", b"BLOCK", b"BLOCK", b"block", b"BLOC"]),
                rng.choice([b"1", b"3600000", b"0"]),
            ]
            command = [b"EMQ.TAKE", *parts]
            self.history.append(command)
            waiter.wire.send([command])
            waiter.asks = True
            self._await_calm(waiter)

    def _await_calm(self, waiter: _Waiter) -> None:
        """Return when it waits, or has its answer."""
        deadline = time.monotonic() + _DEADLINE_S
        while not waiter.wire.has_reply():
            told = cast("bytes", self.wire.ask("CLIENT", "LIST", "ID", waiter.id))
            if b"b" in told.partition(b" flags=")[2].partition(b" ")[0]:
                return
            if time.monotonic() > deadline:
                raise Finding(f"it neither waits nor is answered: {told!r}")
        self._read_answers()

    def _read_answers(self) -> None:
        self.wire.ask("PING")
        for waiter in self.waiters:
            if waiter.asks and waiter.wire.has_reply():
                self._judge(waiter.wire.receive())
                waiter.asks = False

    def _judge(self, reply: Reply) -> None:
        self.answers += 1
        if isinstance(reply, ErrorReply):
            self.starved += STARVED in reply.text
            return
        if not isinstance(reply, list) or not isinstance(reply[-1], int):
            raise Finding(f"an answer of another form: {reply!r:.500}")
        if reply[0] not in _FORMS.get(len(reply) if len(reply) > 2 else 1, ()):
            raise Finding(f"an answer of another form: {reply!r:.500}")

    def _let_go(self) -> None:
        """Each has exactly the answers that it asked for."""
        for waiter in self.waiters:
            if waiter.asks:
                self.wire.ask("CLIENT", "UNBLOCK", waiter.id)
                self._judge(waiter.wire.receive())
            if waiter.wire.ask("PING") != b"PONG":
                raise Finding("there is an answer that nobody asked for")
            waiter.wire.close()


if __name__ == "__main__":
    sys.exit(main(WaitingFuzz))
