"""What EMQ.TAKE … BLOCK writes for those who wait reaches replicas and the append-only file as core commands."""

import time
from pathlib import Path
from random import Random
from typing import cast

import pytest

from echomq.keys import QueueKeys
from tests.harness.jobs import J1, J2
from tests.harness.wire import Wire
from tests.module.blocking_program import Program
from tests.module.waiters import Asked, Waiter, await_blocked, waiting
from tests.servers import built_module, valkey_server

ONE = Asked()


@pytest.fixture
def module() -> str:
    built = built_module()
    if built is None:
        pytest.skip("no C compiler, so there is no module")
    return built


def _await_replica(wire: Wire) -> None:
    """Return when the replica has all that was written up to here: WAIT is for what the own line has written."""
    wire.ask("SET", "{emq}:joined", "1")
    assert wire.ask("WAIT", 1, 20_000) == 1


def test_a_replica_and_the_append_only_file_need_no_module(module: str, keys: QueueKeys) -> None:
    loads = ("--loadmodule", module)
    with (
        valkey_server(*loads, "--repl-diskless-sync-delay", "0", tcp=True, persistent=True) as primary,
        valkey_server("--replicaof", f"127.0.0.1 {primary.port}") as replica,
    ):
        with Wire(primary.unix_path) as wire, Wire(replica.unix_path) as copy:
            _await_replica(wire)
            with Program(primary, keys, Random(7), exact=False) as program:
                for _ in range(4):
                    program.hire(on_list=False)
                for _ in range(150):
                    program.step()
                    program.settle()
                    _await_replica(wire)
                    assert copy.ask("DEBUG", "DIGEST") == wire.ask("DEBUG", "DIGEST"), program.done[-3:]
                assert program.completed > 10
            with_module = wire.ask("DEBUG", "DIGEST")
            assert copy.ask("COMMAND", "INFO", "EMQ.TAKE") == [None], "the replica has it too, so nothing was shown"
        primary._arguments = tuple(word for word in primary._arguments if word not in loads)
        primary.restart()
        with Wire(primary.unix_path) as alone:
            assert alone.ask("COMMAND", "INFO", "EMQ.TAKE") == [None]
            assert alone.ask("DEBUG", "DIGEST") == with_module


def _transactions(directory: Path) -> list[list[list[bytes]]]:
    """Return the transactions of the append-only file: the commands of each."""
    (file,) = directory.glob("appendonlydir/*.incr.aof")
    found: list[list[list[bytes]]] = []
    words, at, is_open = file.read_bytes().split(b"\r\n"), 0, False
    while at < len(words) - 1:
        count = int(words[at][1:])
        command = [words[at + 2 + 2 * place] for place in range(count)]
        at += 1 + 2 * count
        if command == [b"MULTI"]:
            found.append([])
            is_open = True
        elif command == [b"EXEC"]:
            is_open = False
        elif is_open:
            found[-1].append(command)
    return found


@pytest.mark.parametrize("token", ["no token", "a token"])
def test_each_take_of_one_who_waits_is_one_transaction(module: str, keys: QueueKeys, token: str) -> None:
    with (
        valkey_server("--loadmodule", module, "--appendfsync", "always", persistent=True) as server,
        Wire(server.unix_path) as wire,
        waiting(server, keys, ONE, ONE) as waiters,
    ):
        row = ("state", "pending", "attempts", 0, "payload", "x")
        wire.pipeline([("HSET", keys.job(job), *row) for job in (J1, J2)])
        wire.pipeline(
            [
                ("MULTI",),
                ("ZADD", keys.pending, 0, J1, 0, J2),
                ("LPUSH", keys.wake, 2) if token == "a token" else ("PING",),
                ("EXEC",),
            ]
        )
        assert [waiter.answer().ids for waiter in waiters] == [[J1], [J2]]
        takes = [each for each in _transactions(server.directory) if any(words[0] == b"ZREM" for words in each)]
    assert len(takes) == 2
    for take, job in zip(takes, (J1, J2), strict=True):
        assert [b"ZREM", keys.pending, job] in take
        assert [words[:2] for words in take if words[0] == b"HSET"] == [[b"HSET", keys.job(job)]]
        assert [words[::3] for words in take if words[0] == b"ZADD"] == [[b"ZADD", job]]
        assert any(words[0] in (b"LPOP", b"RPOP") for words in take) == (token == "a token")


def _await_primary(wire: Wire) -> None:
    deadline = time.monotonic() + 20
    while b"role:master" not in cast("bytes", wire.ask("INFO", "replication")):
        assert time.monotonic() < deadline, "the replica does not take over"


@pytest.mark.parametrize("how", ["failover", "demotion"])
def test_a_server_that_is_a_replica_from_now_on_sends_away_whoever_waits(
    module: str, keys: QueueKeys, how: str
) -> None:
    loads = ("--loadmodule", module)
    with (
        valkey_server(*loads, "--repl-diskless-sync-delay", "0", tcp=True) as old,
        valkey_server(*loads, "--replicaof", f"127.0.0.1 {old.port}", tcp=True) as new,
        Wire(old.unix_path) as before,
        Wire(new.unix_path) as after,
    ):
        _await_replica(before)
        with waiting(old, keys, ONE) as (waiter,):
            if how == "failover":
                assert before.ask("FAILOVER") == b"OK"
            else:
                assert after.ask("REPLICAOF", "NO", "ONE") == b"OK"
                assert before.ask("REPLICAOF", "127.0.0.1", new.port) == b"OK"
            assert waiter.error().word == "UNBLOCKED"
        _await_primary(after)
        with waiting(new, keys, ONE) as (waiter,):
            assert after.ask("EMQ.ENQUEUE", keys.job(J1), keys.pending, keys.wake, J1, "x") == 1
            assert waiter.answer().ids == [J1]


def test_a_replica_lets_nobody_wait(module: str, keys: QueueKeys) -> None:
    loads = ("--loadmodule", module)
    with (
        valkey_server(*loads, tcp=True) as primary,
        valkey_server(*loads, "--replicaof", f"127.0.0.1 {primary.port}") as replica,
        Wire(replica.unix_path) as wire,
    ):
        waiter = Waiter(replica.unix_path)
        waiter.ask(keys)
        assert waiter.error().word == "READONLY"
        waiter.close()
        await_blocked(wire, 0)
