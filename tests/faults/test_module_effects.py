"""What the module writes is told to replicas and to the append-only file as core commands: neither needs the module.

Every sample of the contract tests runs by the module's commands on a server that has a replica without it; the two are
compared by their digests after each. Then a server without the module is started on the append-only file.
"""

from collections.abc import Iterator
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.keys import QueueKeys
from echomq.records import Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.claim import claim
from echomq.transitions.complete import complete
from tests.contract.samples import SAMPLES
from tests.features import needs
from tests.harness.case import Case
from tests.harness.jobs import J1, J2, PARENT
from tests.harness.module import ModuleBody
from tests.harness.state import HOUR
from tests.harness.wire import Part, Wire
from tests.module.waiters import Asked, await_blocked, blocked_clients
from tests.servers import RealServer, built_module, valkey_server


@pytest.fixture
def primary() -> Iterator[RealServer]:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module, "--repl-diskless-sync-delay", "0", tcp=True, persistent=True) as server:
        yield server


@pytest.fixture
def replica(primary: RealServer) -> Iterator[RealServer]:
    with valkey_server("--replicaof", f"127.0.0.1 {primary.port}") as server:
        with Wire(primary.unix_path) as wire:
            assert wire.ask("SET", "{emq}:joined", "1") == b"OK"
            assert wire.ask("WAIT", 1, 10_000) == 1
        yield server


def test_what_is_cleared_away_while_a_caller_waits_on_is_gone_from_the_replica(
    primary: RealServer, replica: RealServer
) -> None:
    """A stale entry and a ghost are nothing for who waits, and must not hold back what comes next."""
    keys = QueueKeys("cleared")
    stray: list[list[Part]] = [["RPUSH", keys.ring, "stale"], ["ZADD", keys.pending, 0, J1]]
    with Wire(primary.unix_path) as wire, Wire(primary.unix_path) as waiter, Wire(replica.unix_path) as copy:
        waiter.send([Asked(block_ms=60_000).words(keys)])
        await_blocked(wire, 1)
        for command in stray * 3:
            assert wire.ask(*command) == 1
            assert wire.ask("EXISTS", keys.ring, keys.pending) == 0
        assert blocked_clients(wire) == 1
        assert wire.ask("EMQ.ENQUEUE", keys.job(J2), keys.pending, keys.wake, J2, b"x") == 1
        answer = cast("list[list[list[Reply]]]", waiter.receive())
        assert answer[5][0][0] == bytes(J2)
        assert wire.ask("SET", "{emq}:joined", "2") == b"OK"
        assert wire.ask("WAIT", 1, 10_000) == 1
        assert digest(copy) == digest(wire)


@needs("field_ttl")
def test_what_another_program_lets_expire_does_so_on_the_replica_alike(
    primary: RealServer, replica: RealServer
) -> None:
    """A field's time to live ends when it is set, and goes on when it is raised: both must be told as what they are."""
    body, keys = ModuleBody(primary.unix_path), QueueKeys("fleeting")
    rows = [keys.job(J1), keys.job(J2)]
    fields = [(keys.metrics_completed, "count"), *[(row, name) for row in rows for name in ("attempts", "state")]]
    try:
        seed = Case(body, keys).seed().pending(J1).pending(J2, parent=bytes(PARENT)).completed(3)
        seed.row(PARENT, state=b"awaiting_children").string(keys.job(PARENT) + b":dependencies", b"2")
        body.load(seed.state())
        for key, name in fields:
            assert body.wire.ask("HPEXPIRE", key, 900_000, "FIELDS", 1, name) == [1]
        assert body.wire.ask("PEXPIRE", keys.job(PARENT) + b":dependencies", 900_000) == 1
        for call in (claim(keys, lease_ms=HOUR), claim(keys, lease_ms=HOUR), complete(keys, J2, Token(1))):
            assert not isinstance(body.reply(call), ErrorReply)
        assert body.wire.ask("WAIT", 1, 10_000) == 1
        with Wire(replica.unix_path) as copy:
            copy.ask("SELECT", 9)
            told = [[wire.ask("HPEXPIRETIME", *at(key, name)) for key, name in fields] for wire in (body.wire, copy)]
            left = [wire.ask("PEXPIRETIME", keys.job(PARENT) + b":dependencies") for wire in (body.wire, copy)]
        assert told[0] == told[1]
        assert left[0] == left[1]
        assert left[0] != -1
    finally:
        body.drop()
        body.close()


def at(key: bytes, field: str) -> tuple[bytes | str | int, ...]:
    return (key, "FIELDS", 1, field)


def digest(wire: Wire) -> object:
    return wire.ask("DEBUG", "DIGEST")


def test_a_replica_and_the_append_only_file_need_no_module(primary: RealServer, replica: RealServer) -> None:
    body = ModuleBody(primary.unix_path)
    ran: set[str] = set()
    try:
        with Wire(replica.unix_path) as copy:
            for number, sample in enumerate(SAMPLES):
                case = Case(body, QueueKeys(f"q{number}"))
                seed, call = sample.build(case)
                if call.transition.name not in COMMANDS:
                    continue
                body.load(seed.state())
                body.reply(call)
                ran.add(call.transition.name)
                assert body.wire.ask("WAIT", 1, 10_000) == 1
                assert digest(copy) == digest(body.wire), f"the replica differs after {call.about}"
            with_module = digest(body.wire)
            assert copy.ask("COMMAND", "INFO", "EMQ.CLAIM") == [None], "the replica has it too, so nothing was shown"
    finally:
        body.close()
    assert ran == COMMANDS, "a command has no sample"
    arguments, primary._arguments = (
        primary._arguments,
        tuple(word for word in primary._arguments if word not in ("--loadmodule", built_module())),
    )
    try:
        primary.restart()
        with Wire(primary.unix_path) as alone:
            assert alone.ask("COMMAND", "INFO", "EMQ.CLAIM") == [None]
            assert digest(alone) == with_module
    finally:
        primary._arguments = arguments
