"""A server that takes no writes takes none by the module; one that throws keys away is served while it does."""

from collections.abc import Iterator
from contextlib import closing
from random import Random
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call
from echomq.transitions.catalogue import TRANSITIONS
from tests.contract.samples import SAMPLES, Sample
from tests.harness.case import Case
from tests.harness.module import ModuleBody
from tests.harness.wire import Wire
from tests.module.fuzz_calls import vector
from tests.module.fuzz_server import wait_for_link
from tests.servers import RealServer, built_module, valkey_server

SERVED = [sample for sample in SAMPLES if sample.name.split()[0] in COMMANDS]
KEYS = QueueKeys("unwilling")


@pytest.fixture(scope="module")
def module() -> str:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    return module


@pytest.fixture(scope="module")
def server(module: str) -> Iterator[RealServer]:
    with valkey_server("--loadmodule", module, "--repl-diskless-sync-delay", "0", tcp=True) as server:
        yield server


@pytest.fixture
def body(server: RealServer) -> Iterator[ModuleBody]:
    with closing(ModuleBody(server.unix_path)) as body:
        yield body
        body.drop()


def send(wire: Wire, call: Call[object]) -> Reply:
    return wire.ask(f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args)


def given(body: ModuleBody, sample: Sample) -> Call[object]:
    seed, call = sample.build(Case(body, KEYS))
    body.drop()
    body.load(seed.state())
    return call


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_a_server_that_lacks_replicas_takes_no_writes(body: ModuleBody, sample: Sample) -> None:
    call = given(body, sample)
    before = body.dump()
    body.wire.ask("CONFIG", "SET", "min-replicas-to-write", "1")
    try:
        reply = send(body.wire, call)
    finally:
        body.wire.ask("CONFIG", "SET", "min-replicas-to-write", "0")
    assert isinstance(reply, ErrorReply)
    assert reply.word == "NOREPLICAS"
    assert body.dump() == before


def test_a_replica_takes_no_writes(server: RealServer, body: ModuleBody, module: str) -> None:
    with (
        valkey_server("--loadmodule", module, "--replicaof", f"127.0.0.1 {server.port}") as following,
        Wire(following.unix_path) as replica,
    ):
        wait_for_link(replica)
        replica.ask("SELECT", 9)
        for sample in SERVED:
            call = given(body, sample)
            assert body.wire.ask("WAIT", 1, 10_000) == 1
            before = replica.ask("DEBUG", "DIGEST")
            reply = send(replica, call)
            assert isinstance(reply, ErrorReply)
            assert reply.word == "READONLY"
            assert replica.ask("DEBUG", "DIGEST") == before == body.wire.ask("DEBUG", "DIGEST")


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_a_server_that_evicts_goes_on_and_its_replica_stays_equal(module: str, policy: str) -> None:
    """Any key of a queue may vanish between two commands: each finds a queue with damage, and does what it can."""
    rng = Random(policy)
    evicting = ("--maxmemory-policy", policy, "--repl-diskless-sync-delay", "0", "--maxmemory-samples", "10")
    with (
        valkey_server("--loadmodule", module, *evicting, tcp=True) as full,
        valkey_server("--replicaof", f"127.0.0.1 {full.port}") as following,
        Wire(full.unix_path) as wire,
        Wire(following.unix_path) as replica,
    ):
        wait_for_link(replica)
        used = cast("bytes", wire.ask("INFO", "memory")).split(b"used_memory:")[1].split()[0]
        assert wire.ask("CONFIG", "SET", "maxmemory", int(used) + 300_000) == b"OK"
        transitions = [t for t in TRANSITIONS if t.name in COMMANDS]
        words: set[str] = set()
        for number in range(6000):
            known = {b"JOB%02d" % n: b"%d" % rng.choice([1, 2, 3]) for n in range(8)}
            call = vector(rng, transitions, known)
            reply = wire.ask(*call.command)
            words.add(reply.word if isinstance(reply, ErrorReply) else "")
            wire.ask("SET", b"ballast:%d" % number, b"x" * 500)
        assert words <= {"", "OOM", "ERR", "EMQSTALE", "EMQKIND", "WRONGTYPE"}
        assert b"evicted_keys:0\r" not in cast("bytes", wire.ask("INFO", "stats")), "nothing was thrown away"
        assert wire.ask("CONFIG", "SET", "maxmemory", 0) == b"OK"
        assert wire.ask("WAIT", 1, 10_000) == 1
        assert wire.ask("DEBUG", "DIGEST") == replica.ask("DEBUG", "DIGEST")
