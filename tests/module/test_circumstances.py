"""However a command is sent, it does the same; and whoever watches, caches or listens is told what the script tells."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from tests.contract.samples import SAMPLES, Sample
from tests.features import needs
from tests.harness.case import Case
from tests.harness.lua import LuaBody
from tests.harness.module import ModuleBody
from tests.harness.state import State
from tests.harness.wire import Part, Wire
from tests.servers import RealServer, built_module, valkey_server

SERVED = [sample for sample in SAMPLES if sample.name.split()[0] in COMMANDS]
DATABASE = 9
END = b"tests:end"
Send = Callable[[Wire, Call[object]], Reply]


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module, "--notify-keyspace-events", "KEA") as server:
        yield server


@pytest.fixture
def body(server: RealServer) -> Iterator[ModuleBody]:
    with closing(ModuleBody(server.unix_path)) as body:
        yield body
        body.drop()


@pytest.fixture
def other(server: RealServer) -> Iterator[Wire]:
    """A line that looks on."""
    with Wire(server.unix_path) as wire:
        wire.ask("SELECT", DATABASE)
        yield wire


def command(call: Call[object]) -> list[Part]:
    return [f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args]


def by_module(wire: Wire, call: Call[object]) -> Reply:
    return wire.ask(*command(call))


def by_script(wire: Wire, call: Call[object]) -> Reply:
    return wire.ask("EVAL", body_of(call.transition).text, len(call.keys), *call.keys, *call.args)


def given(body: LuaBody, keys: QueueKeys, sample: Sample) -> tuple[Call[object], State]:
    seed, call = sample.build(Case(body, keys))
    body.drop()
    body.load(seed.state())
    return call, seed.state()


# --- ways to send it --------------------------------------------------------------------------------------------------


def in_transaction(wire: Wire, call: Call[object]) -> Reply:
    return cast("list[Reply]", wire.pipeline([["MULTI"], command(call), ["EXEC"]])[-1])[0]


def in_script(wire: Wire, call: Call[object]) -> Reply:
    return wire.ask("EVAL", "return redis.call(unpack(ARGV))", 0, *command(call))


def in_function(wire: Wire, call: Call[object]) -> Reply:
    code = "#!lua name=tests\nredis.register_function('relay', function(_, args) return redis.call(unpack(args)) end)"
    assert wire.ask("FUNCTION", "LOAD", "REPLACE", code) == b"tests"
    return wire.ask("FCALL", "relay", 0, *command(call))


def without_touching(wire: Wire, call: Call[object]) -> Reply:
    assert wire.ask("CLIENT", "NO-TOUCH", "ON") == b"OK"
    assert wire.ask("CLIENT", "NO-EVICT", "ON") == b"OK"
    try:
        return by_module(wire, call)
    finally:
        wire.ask("CLIENT", "NO-TOUCH", "OFF")
        wire.ask("CLIENT", "NO-EVICT", "OFF")


WAYS = [in_transaction, in_script, in_function, pytest.param(without_touching, marks=needs("no_touch"))]


@pytest.mark.parametrize("send", WAYS)
@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_it_does_the_same_however_it_is_sent(body: ModuleBody, keys: QueueKeys, sample: Sample, send: Send) -> None:
    call, _ = given(body, keys, sample)
    right, after = body.ask(call), body.dump()
    call, _ = given(body, keys, sample)
    reply = send(body.wire, call)
    assert not isinstance(reply, ErrorReply), reply.text
    assert type(call.decode(reply)) is type(right)
    assert body.dump() == after


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_two_in_one_transaction_are_two(body: ModuleBody, keys: QueueKeys, sample: Sample) -> None:
    """The second sees what the first has left, within one instant, and what is kept between commands is right."""
    call, _ = given(body, keys, sample)
    one, two = [_twice(body.wire, call, script=script) for script in (False, True) if given(body, keys, sample)]
    assert [isinstance(reply, ErrorReply) for reply in one] == [isinstance(reply, ErrorReply) for reply in two]


def _twice(wire: Wire, call: Call[object], *, script: bool) -> list[Reply]:
    words = ["EVAL", body_of(call.transition).text, len(call.keys), *call.keys, *call.args] if script else command(call)
    return cast("list[Reply]", wire.pipeline([["MULTI"], words, words, ["EXEC"]])[-1])


# --- who looks on -----------------------------------------------------------------------------------------------------


def touched(server: RealServer, keys: list[bytes], run: Callable[[], object]) -> set[bytes]:
    """Return which of the keys a WATCH saw touched."""
    watchers = {key: Wire(server.unix_path) for key in keys}
    try:
        for key, wire in watchers.items():
            assert wire.pipeline([["SELECT", DATABASE], ["WATCH", key]]) == [b"OK", b"OK"]
        run()
        return {key for key, wire in watchers.items() if wire.pipeline([["MULTI"], ["EXEC"]])[-1] is None}
    finally:
        for wire in watchers.values():
            wire.close()


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_watch_sees_what_is_changed_as_by_the_script(
    server: RealServer, body: ModuleBody, keys: QueueKeys, sample: Sample
) -> None:
    call, before = given(body, keys, sample)
    body.reply(call)
    after = body.dump()
    names = sorted({*before, *after, keys.pending, keys.dead, keys.wake, keys.ring})
    call, _ = given(body, keys, sample)
    by_us = touched(server, names, lambda: by_module(body.wire, call))
    call, _ = given(body, keys, sample)
    assert by_us == touched(server, names, lambda: by_script(body.wire, call))
    assert by_us >= {key for key in names if before.get(key) != after.get(key)}


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_a_refusal_touches_nobody(server: RealServer, body: ModuleBody, keys: QueueKeys, sample: Sample) -> None:
    call, before = given(body, keys, sample)
    body.wire.ask("DEL", call.keys[0])
    body.wire.ask("XADD", call.keys[0], "*", "a", "stream")
    reply: list[Reply] = []
    names = sorted({*before, *call.keys})
    assert touched(server, names, lambda: reply.append(by_module(body.wire, call))) == set()
    assert isinstance(reply[0], ErrorReply)
    assert reply[0].word == "WRONGTYPE"


def invalidated(body: ModuleBody, other: Wire, keys: QueueKeys, run: Callable[[], object]) -> set[bytes]:
    """Return what a client that caches the queue is told to forget."""
    with Wire(body._path) as ear:
        number = cast("int", ear.ask("CLIENT", "ID"))
        ear.ask("SUBSCRIBE", "__redis__:invalidate")
        on: list[Part] = ["CLIENT", "TRACKING", "ON", "REDIRECT", number, "BCAST", "PREFIX", keys.base, "PREFIX", END]
        assert other.ask(*on) == b"OK"
        run()
        other.ask("SET", END, "")
        found: set[bytes] = set()
        while END not in found:
            found.update(cast("list[bytes]", cast("list[Reply]", ear.receive())[2]))
        assert other.ask("CLIENT", "TRACKING", "OFF") == b"OK"
        other.ask("DEL", END)
    return found - {END}


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_who_caches_is_told_what_the_script_tells(
    body: ModuleBody, other: Wire, keys: QueueKeys, sample: Sample
) -> None:
    call, _ = given(body, keys, sample)
    by_us = invalidated(body, other, keys, lambda: by_module(body.wire, call))
    call, _ = given(body, keys, sample)
    assert by_us == invalidated(body, other, keys, lambda: by_script(body.wire, call)) != set()


def events(body: ModuleBody, run: Callable[[], object]) -> set[tuple[bytes, bytes]]:
    """Return the keyspace events."""
    with Wire(body._path) as ear:
        ear.ask("PSUBSCRIBE", b"__keyevent@%d__:*" % DATABASE)
        run()
        body.wire.ask("SETRANGE", END, 0, "x")
        found: set[tuple[bytes, bytes]] = set()
        while (message := cast("list[bytes]", ear.receive()))[-1] != END:
            found.add((message[-2].split(b":", 1)[1], message[-1]))
        body.wire.ask("DEL", END)
    return found


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_who_listens_to_keys_hears_what_the_script_tells(body: ModuleBody, keys: QueueKeys, sample: Sample) -> None:
    call, _ = given(body, keys, sample)
    by_us = events(body, lambda: by_module(body.wire, call))
    call, _ = given(body, keys, sample)
    by_it = events(body, lambda: by_script(body.wire, call))
    if call.transition.name in ("extend", "extend_many"):
        # The scripts take a lease off before they put it back, so that a full server lets them.
        by_it -= {(b"zrem", keys.active), (b"del", keys.active)}
    assert by_us == by_it
