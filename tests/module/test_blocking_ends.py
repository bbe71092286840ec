"""How waiting in EMQ.TAKE … BLOCK ends without a job, and who may not wait at all (docs/wire.md)."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply
from tests.harness.jobs import J1, J2
from tests.harness.wire import Part, Wire
from tests.module.waiters import Asked, Told, Waiter, await_blocked, blocked_clients, take_words, waiting
from tests.servers import RealServer, built_module

ONE = Asked()
_HOUR_MS = 3_600_000


def put(wire: Wire, keys: QueueKeys, *jobs: bytes) -> None:
    """Admit jobs."""
    for job in jobs:
        assert wire.ask("EMQ.ENQUEUE", b"%bjob:%b" % (keys.base, job), keys.pending, keys.wake, job, "x") == 1


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paused", [False, True])
def test_the_time_is_over(server: RealServer, wire: Wire, keys: QueueKeys, paused: bool) -> None:
    if paused:
        wire.ask("HSET", keys.meta, "paused", 1)
    with waiting(server, keys, Asked(block_ms=50)) as (waiter,):
        told = waiter.answer()
        assert told == Told(b"paused" if paused else b"empty", told.waited_ms)
        assert 50 <= told.waited_ms < 20_000
        assert blocked_clients(wire) == 0
        put(wire, keys, J1)
        assert wire.ask("ZSCORE", keys.pending, J1) is not None, "whoever waits no more was given a job"


def test_nobody_waits_longer_than_the_take_before_allows(server: RealServer, keys: QueueKeys) -> None:
    with waiting(server, keys, Asked(park_ms=50)) as (waiter,):
        told = waiter.answer()
    assert told == Told(b"empty", told.waited_ms)
    assert told.waited_ms >= 50


def test_in_a_paused_queue_the_caller_waits_as_long_as_it_asked(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    wire.ask("HSET", keys.meta, "paused", 1)
    with waiting(server, keys, Asked(park_ms=1, block_ms=200)) as (waiter,):
        assert waiter.answer().waited_ms >= 200


@pytest.mark.parametrize("found", [b"taken", b"due", b"broken", b"more"])
def test_what_the_first_look_finds_is_answered_at_once(wire: Wire, keys: QueueKeys, found: bytes) -> None:
    match found:
        case b"taken":
            put(wire, keys, J1)
        case b"due":
            wire.ask("ZADD", keys.schedule, 1, J1)
        case b"broken":
            wire.ask("SET", keys.job(J1), "no hash")
            wire.ask("ZADD", keys.pending, 0, J1)
        case _:
            wire.ask("ZADD", keys.pending, *[part for n in range(200) for part in (n, n)])
    told = Told.of(wire.ask(*ONE.words(keys)))
    assert told.waited_ms == 0
    assert [bool(told.jobs), told.due, bool(told.broken), told.more].index(True) == [
        b"taken", b"due", b"broken", b"more"
    ].index(found)  # fmt: skip


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["BLOCK", "block", "bLoCk"])
def test_the_word_in_any_case(server: RealServer, wire: Wire, keys: QueueKeys, word: str) -> None:
    with closing(Waiter(server.unix_path)) as waiter:
        waiter.wire.send([take_words(keys, 60_000, 1, "", "", "", word, _HOUR_MS)])
        await_blocked(wire, 1)
        put(wire, keys, J1)
        assert waiter.answer().ids == [J1]


@pytest.mark.parametrize(
    "rest",
    [
        ("BLOCK",),
        ("BLOCK", 1, 1),
        ("BLOCKS", 1),
        ("", 1),
        (b"BLOC\0", 1),
        ("BLOCK", 0),
        ("BLOCK", -1),
        ("BLOCK", _HOUR_MS + 1),
        ("BLOCK", "01"),
        ("BLOCK", "1.5"),
        ("BLOCK", ""),
    ],
)
def test_other_arguments_are_refused(wire: Wire, keys: QueueKeys, rest: tuple[Part, ...]) -> None:
    put(wire, keys, J1)
    reply = wire.ask(*take_words(keys, 60_000, 1, "", "", "", *rest))
    assert isinstance(reply, ErrorReply)
    assert "take takes the keys" in reply.text or "BLOCK must be a whole number from 1 to 3600000" in reply.text
    assert wire.ask("ZCARD", keys.pending) == 1


def test_without_block_the_reply_is_as_ever(wire: Wire, keys: QueueKeys) -> None:
    assert wire.ask(*take_words(keys, 1000, 1, "", "", 777)) == [b"empty", 0, 0, 777, [], []]
    wire.ask("HSET", keys.meta, "paused", 1)
    assert wire.ask(*take_words(keys, 1000, 1)) == [b"paused"]


# --- who may not wait ------------------------------------------------------------------------------------------------


def test_a_transaction_does_not_wait(wire: Wire, keys: QueueKeys) -> None:
    asked = ONE.words(keys)
    put_two = [("EMQ.ENQUEUE", keys.job(job), keys.pending, keys.wake, job, "x") for job in (J1, J2)]
    *_, replies = wire.pipeline([("MULTI",), asked, *put_two, asked, asked, asked, ("EXEC",)])
    assert isinstance(replies, list)
    told = [Told.of(replies[place]) for place in (0, 3, 4, 5)]
    assert [answer.ids for answer in told] == [[], [J1], [J2], []]
    assert [answer.waited_ms for answer in told] == [-1, 0, 0, -1]
    assert told[-1].wait_ms > 0


def test_a_paused_queue_keeps_its_tokens_for_those_who_do_not_wait(wire: Wire, keys: QueueKeys) -> None:
    wire.ask("HSET", keys.meta, "paused", 1)
    wire.ask("LPUSH", keys.wake, 1)
    assert wire.pipeline([("MULTI",), ONE.words(keys), ("EXEC",)])[-1] == [[b"paused", -1]]
    assert wire.ask("LLEN", keys.wake) == 1


def test_a_script_does_not_wait(wire: Wire, keys: QueueKeys) -> None:
    words = ONE.words(keys)
    told = Told.of(wire.ask("EVAL", "return redis.call(unpack(ARGV))", 0, *words))
    assert told == Told(b"empty", -1, wait_ms=60_000)


@pytest.fixture
def blocking(wire: Wire) -> Iterator[None]:
    """The setting is as it was afterwards."""
    yield
    assert wire.ask("CONFIG", "SET", "echomq.blocking", "yes") == b"OK"


@pytest.mark.usefixtures("blocking")
def test_the_setting_lets_nobody_wait_from_then_on(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    assert wire.ask("CONFIG", "GET", "echomq.blocking") == [b"echomq.blocking", b"yes"]
    with waiting(server, keys, ONE) as (waiter,):
        assert wire.ask("CONFIG", "SET", "echomq.blocking", "no") == b"OK"
        assert Told.of(wire.ask(*ONE.words(keys))) == Told(b"empty", -1, wait_ms=60_000)
        assert blocked_clients(wire) == 1, "whoever waits already is left to wait"
        put(wire, keys, J1)
        assert waiter.answer().ids == [J1]


# --- clients that go -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["killed", "disconnected"])
def test_a_caller_that_is_gone_takes_nothing(server: RealServer, wire: Wire, keys: QueueKeys, how: str) -> None:
    with waiting(server, keys, ONE, ONE) as (gone, waiter):
        if how == "killed":
            assert wire.ask("CLIENT", "KILL", "ID", gone.id) == 1
        else:
            gone.close()
        await_blocked(wire, 1)
        put(wire, keys, J1)
        assert waiter.answer().ids == [J1]
    put(wire, keys, J2)
    assert wire.ask("ZCARD", keys.pending) == 1
    assert wire.ask("ZCARD", keys.active) == 1


def test_a_caller_that_is_killed_in_the_transaction_that_admits_takes_nothing(
    server: RealServer, wire: Wire, keys: QueueKeys
) -> None:
    with waiting(server, keys, ONE) as (gone,):
        admission = ("EMQ.ENQUEUE", keys.job(J1), keys.pending, keys.wake, J1, "x")
        assert wire.pipeline([("MULTI",), ("CLIENT", "KILL", "ID", gone.id), admission, ("EXEC",)])[-1] == [1, 1]
    assert wire.ask("ZCARD", keys.pending) == 1


@pytest.mark.parametrize("how", ["TIMEOUT", "ERROR"])
def test_a_caller_that_an_operator_unblocks(server: RealServer, wire: Wire, keys: QueueKeys, how: str) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        assert wire.ask("CLIENT", "UNBLOCK", waiter.id, how) == 1
        if how == "ERROR":
            assert waiter.error().word == "UNBLOCKED"
        else:
            told = waiter.answer()
            assert told == Told(b"empty", told.waited_ms)
        put(wire, keys, J1)
        waiter.ask(keys)
        assert waiter.answer().ids == [J1]


# --- keys and databases ----------------------------------------------------------------------------------------------


def test_whoever_waits_outlives_its_keys(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        wire.ask("HSET", keys.meta, "x", 1)
        wire.ask("FLUSHALL")
        wire.ask("RPUSH", keys.ring, "PRT00000000001")
        wire.ask("DEL", keys.ring, keys.pending, keys.wake)
        wire.ask("FLUSHDB", "ASYNC")
        assert wire.ask("DEBUG", "RELOAD") == b"OK"
        assert not waiter.is_answered()
        put(wire, keys, J1)
        assert waiter.answer().ids == [J1]


@pytest.mark.parametrize("key", ["pending", "ring", "wake", "active", "meta", "paused", "schedule", "rota", "watch"])
def test_a_key_of_another_type_is_an_answer_or_none(server: RealServer, wire: Wire, keys: QueueKeys, key: str) -> None:
    """Whoever is looked at is told; a key whose coming nobody waits for tells nobody."""
    name = keys.base + key.encode()
    with waiting(server, keys, ONE, Asked(watcher="me")) as waiters:
        wire.ask("DEL", name)
        wire.ask("GEOADD", name, 1, 1, "x") if key not in ("pending", "active", "schedule") else wire.ask(
            "RPUSH", name, "x"
        )
        put_one = ("EMQ.ENQUEUE", keys.job(J1), keys.base + b"pending", keys.wake, J1, "x")
        reply = wire.ask(*put_one)
        if isinstance(reply, ErrorReply):
            assert reply.word == "WRONGTYPE"
        wire.ask("PING")
        for waiter in waiters:
            if waiter.is_answered():
                told = waiter.wire.receive()
                assert isinstance(told, list) or (isinstance(told, ErrorReply) and told.word == "WRONGTYPE")
        wire.ask("DEL", name)
        assert wire.ask("PING") == b"PONG"


def test_a_database_is_a_world_of_its_own(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, ONE) as (here,), waiting(server, keys, ONE, db=3) as (there,):
        with Wire(server.unix_path) as other:
            other.ask("SELECT", 3)
            put(other, keys, J1)
            assert there.answer().ids == [J1]
            assert other.ask("ZCARD", keys.active) == 1
        assert not here.is_answered()
        assert wire.ask("EXISTS", keys.active) == 0
        put(wire, keys, J2)
        assert here.answer().ids == [J2]


def test_databases_that_are_swapped(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, ONE) as (waiter,):
        with Wire(server.unix_path) as other:
            other.ask("SELECT", 3)
            put(other, keys, J1)
        assert wire.ask("SWAPDB", 0, 3) == b"OK"
        assert waiter.answer().ids == [J1]
    assert wire.ask("ZCARD", keys.active) == 1


# --- unloading -------------------------------------------------------------------------------------------------------


def test_the_module_is_unloaded_when_nobody_waits(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    with waiting(server, keys, Asked(block_ms=100)) as (waiter,):
        refusal = wire.ask("MODULE", "UNLOAD", "echomq")
        assert isinstance(refusal, ErrorReply)
        assert "blocked" in refusal.text
        assert wire.ask("CONFIG", "SET", "echomq.blocking", "no") == b"OK"
        assert waiter.answer().word == b"empty"
        waiter.ask(keys)
        assert waiter.answer().waited_ms == -1
        assert wire.ask("MODULE", "UNLOAD", "echomq") == b"OK"
        waiter.ask(keys)
        assert "unknown command" in waiter.error().text
    module = built_module()
    assert module is not None
    assert wire.ask("MODULE", "LOAD", module) == b"OK"
    assert wire.ask("CONFIG", "GET", "echomq.blocking") == [b"echomq.blocking", b"yes"]


def test_the_setting_may_be_given_at_load(server: RealServer, wire: Wire, keys: QueueKeys) -> None:
    module = built_module()
    assert module is not None
    assert wire.ask("MODULE", "UNLOAD", "echomq") == b"OK"
    try:
        assert wire.ask("MODULE", "LOADEX", module, "CONFIG", "echomq.blocking", "no") == b"OK"
        assert Told.of(wire.ask(*ONE.words(keys))).waited_ms == -1
    finally:
        wire.ask("MODULE", "UNLOAD", "echomq")
        assert wire.ask("MODULE", "LOAD", module) == b"OK"
