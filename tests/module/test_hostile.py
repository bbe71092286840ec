"""Arguments and values that no honest caller sends are refused, with nothing changed, or treated as by the script."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from tests.contract.samples import SAMPLES, Sample
from tests.harness.case import Case
from tests.harness.jobs import J1, PARENT
from tests.harness.module import ModuleBody
from tests.harness.wire import Part, Wire
from tests.module.fuzz_world import NUMBERS
from tests.servers import RealServer, built_module, valkey_server

SERVED = [sample for sample in SAMPLES if sample.name.split()[0] in COMMANDS]
ONE_EACH = list({sample.name.split()[0]: sample for sample in SERVED}.values())
TEXTS = {"payload", "result", "reason"}
KEYS = QueueKeys("hostile")
MB = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module) as server:
        yield server


@pytest.fixture
def body(server: RealServer) -> Iterator[ModuleBody]:
    with closing(ModuleBody(server.unix_path)) as body:
        yield body
        body.drop()


def given(body: ModuleBody, sample: Sample) -> Call[object]:
    seed, call = sample.build(Case(body, KEYS))
    body.drop()
    body.load(seed.state())
    return call


def names_of(call: Call[object]) -> list[str]:
    """Return the name of each argument."""
    transition = call.transition
    further = itertools.cycle(transition.more_args) if transition.more_args else iter(())
    return list(itertools.islice(itertools.chain(transition.args, further), len(call.args)))


def send(wire: Wire, call: Call[object], parts: Sequence[Part]) -> Reply:
    return wire.ask(f"EMQ.{call.transition.name.upper()}", *parts)


def by_script(wire: Wire, call: Call[object], parts: Sequence[Part]) -> Reply:
    return wire.ask("EVAL", body_of(call.transition).text, len(call.keys), *parts)


def digest(wire: Wire) -> Reply:
    return wire.ask("DEBUG", "DIGEST")


# --- long ones --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ONE_EACH, ids=str)
def test_a_long_key_id_or_number_is_refused_wherever_it_stands(body: ModuleBody, sample: Sample) -> None:
    call = given(body, sample)
    before, names = digest(body.wire), [*call.transition.keys, *names_of(call)]
    for at, name in enumerate(names):
        if name in TEXTS:
            continue
        parts = [*call.keys, *call.args]
        part = parts[at]
        parts[at] = (part if isinstance(part, bytes) else b"%d" % part) + b"0" * (2 * MB)
        reply = send(body.wire, call, parts)
        assert isinstance(reply, ErrorReply), name
        assert "longer than 64 KiB" in reply.text
    assert digest(body.wire) == before


def test_a_long_text_goes_all_the_way(body: ModuleBody) -> None:
    """A payload, a result that a parent elsewhere is told, and an error: as long as the server takes them."""
    case, text = Case(body, KEYS), b"p" * (24 * MB)
    wire, row = body.wire, KEYS.job(J1)
    assert wire.ask("EMQ.ENQUEUE", row, KEYS.pending, KEYS.wake, J1, text) == 1
    taken = cast("list[Reply]", wire.ask("EMQ.CLAIM", KEYS.pending, KEYS.active, KEYS.base, 60_000))
    assert taken == [bytes(J1), text, 1]
    retry: list[Part] = ["EMQ.RETRY", KEYS.active, KEYS.schedule, KEYS.dead, row, J1, 1, 0, 9, text, KEYS.base]
    assert wire.ask(*retry) == b"scheduled"
    assert wire.ask("HGET", row, "last_error") == text
    wire.ask("HSET", row, "parent", bytes(PARENT), "parent_queue", "elsewhere")
    body.load(case.seed().member(KEYS.active, J1, 1).state())
    assert wire.ask("EMQ.COMPLETE", KEYS.active, row, J1, 1, KEYS.base, 1000, text) == 1
    assert wire.ask("LRANGE", KEYS.flow_outbox, 0, -1) == [b"elsewhere\0%b\0%b\0%b" % (PARENT, J1, text)]
    assert wire.ask("HGET", row + b":result", "result") == text


def test_a_death_is_told_with_a_long_reason(body: ModuleBody) -> None:
    wire, row, reason = body.wire, KEYS.job(J1), b"r" * (8 * MB)
    body.load(Case(body, KEYS).seed().active(J1, 1, ends=1, parent=PARENT, parent_queue=b"b").state())
    retry: list[Part] = ["EMQ.RETRY", KEYS.active, KEYS.schedule, KEYS.dead, row, J1, 1, 0, 1, reason, KEYS.base]
    assert wire.ask(*retry) == b"dead"
    assert wire.ask("LRANGE", KEYS.flow_outbox, 0, -1) == [b"\0fail\0b\0%b\0%b\0fp\0%b" % (PARENT, J1, reason)]


# --- many -------------------------------------------------------------------------------------------------------------

BATCHES: dict[str, tuple[list[bytes], list[bytes]]] = {
    "ENQUEUE_MANY": ([KEYS.pending, KEYS.base], [b"JOB", b"p", b"", b""]),
    "COMPLETE_MANY": ([KEYS.active, KEYS.base], [b"JOB", b"1", b"", b""]),
    "EXTEND_MANY": ([KEYS.active, KEYS.base, b"1000"], [b"JOB", b"1"]),
}


@pytest.mark.parametrize("count", [1001, 1_000_000])
@pytest.mark.parametrize("name", BATCHES)
def test_more_than_a_thousand_jobs_are_refused(body: ModuleBody, name: str, count: int) -> None:
    head, each = BATCHES[name]
    groups = count if count < 5000 else count // len(each)
    reply = body.wire.ask(f"EMQ.{name}", *head, *each * groups)
    assert isinstance(reply, ErrorReply)
    assert reply.text == f"ERR {name.lower()} takes at most 1000 jobs"
    assert body.dump() == {}
    if count > 5000:
        reply = body.wire.ask(f"EMQ.{name}", *head, *each * groups, b"one more")
        assert isinstance(reply, ErrorReply)
        assert "and the arguments" in reply.text


@pytest.mark.parametrize("sample", ONE_EACH, ids=str)
def test_a_million_arguments_are_refused(body: ModuleBody, sample: Sample) -> None:
    call = given(body, sample)
    before = digest(body.wire)
    reply = send(body.wire, call, [*call.keys, *call.args, *[b"0"] * 1_000_001])
    assert isinstance(reply, ErrorReply)
    assert "and the arguments" in reply.text or "at most 1000" in reply.text
    assert digest(body.wire) == before


@pytest.mark.parametrize("sample", ONE_EACH, ids=str)
def test_too_few_are_refused(body: ModuleBody, sample: Sample) -> None:
    call = given(body, sample)
    before, transition = digest(body.wire), call.transition
    for count in range(len(transition.keys) + len(transition.args) - transition.optional):
        reply = send(body.wire, call, [*call.keys, *call.args][:count])
        assert isinstance(reply, ErrorReply)
        assert f"{transition.name} takes the keys" in reply.text or "at most 1000" in reply.text
    assert digest(body.wire) == before


@pytest.mark.parametrize("block", [[], ["BLOCK", "1"]], ids=["at once", "waiting"])
@pytest.mark.parametrize("state", ["stale", "damaged", "served"])
def test_one_key_in_two_places_is_no_danger(body: ModuleBody, state: str, block: list[Part]) -> None:
    """Here the ring, that is read by place and then deleted as the list of wake-ups."""
    case = Case(body, KEYS)
    seed = case.seed().pending(J1, group=b"red") if state == "served" else case.seed()
    body.load(seed.state())
    body.wire.ask("RPUSH", KEYS.ring, "stale")
    if state == "damaged":
        body.wire.ask("HSET", KEYS.group_active, "stale", "no number")
    lists = [KEYS.ring, KEYS.pending, KEYS.active, KEYS.meta, KEYS.ring, KEYS.dead, KEYS.base]
    for size in ("1", "100"):
        reply = body.wire.ask("EMQ.TAKE", *lists, 60_000, size, "7", "me", 1000, *block)
        assert isinstance(reply, list), reply
    assert body.wire.ask("PING") == b"PONG"


# --- odd ones ---------------------------------------------------------------------------------------------------------

ODD = [b"\0", b"\r\n", b"-1", b"01", b"1.5", b"1e400", b"nan", b"9007199254740992", b"9223372036854775808", b"1" * 300]


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_an_odd_argument_is_refused_or_treated_as_by_the_script(body: ModuleBody, sample: Sample) -> None:
    """The module reads one spelling of each number, the scripts more of them: so it refuses what they may take."""
    call = given(body, sample)
    before = digest(body.wire)
    for at, text in itertools.product(range(len(call.args)), [b"", *ODD]):
        parts: list[Part] = [*call.keys, *call.args]
        parts[len(call.keys) + at] = text
        reply = send(body.wire, call, parts)
        if isinstance(reply, ErrorReply):
            assert digest(body.wire) == before, (at, text)
            strict = "must be a whole number" in reply.text or "base must be" in reply.text
            if strict or call.transition.name == "genqueue":
                continue
        given(body, sample)
        other = by_script(body.wire, call, parts)
        assert isinstance(other, ErrorReply) == isinstance(reply, ErrorReply), (at, text, reply, other)
        call = given(body, sample)
        before = digest(body.wire)


COUNTERS = ["attempts", "unspent", "max_attempts"]


@pytest.mark.parametrize("field", COUNTERS)
@pytest.mark.parametrize("sample", [s for s in SERVED if s.name.split()[0] not in ("enqueue", "genqueue")], ids=str)
def test_a_counter_may_say_anything(body: ModuleBody, sample: Sample, field: str) -> None:
    """At the ends of 64 bits, and beyond: what the script does with it is done."""
    ends = [b"9223372036854775807", b"-9223372036854775808", b"999999999999999", b"-99999999999999"]
    ends += [b"1000000000000000", b"-999999999999999", *NUMBERS[-12:]]
    for text in ends:
        replies, states = [], []
        for speak in (send, by_script):
            call = given(body, sample)
            rows = [key for key in body.dump() if b":job:" in key and key.count(b":") == 3]
            for row in rows:
                body.wire.ask("HSET", row, field, text)
            parts = [text if part == 1 and field == "attempts" else part for part in (*call.keys, *call.args)]
            replies.append(speak(body.wire, call, parts))
            states.append({key: entry for key, entry in body.dump().items() if not key.endswith(b":watch")})
        assert states[0].keys() == states[1].keys(), (text, replies)
        assert [isinstance(r, ErrorReply) for r in replies] in ([True, True], [False, False]), (text, replies)
        for key, entry in states[0].items():
            if b":job:" not in key:
                assert entry == states[1][key], (text, replies)


def test_a_list_that_is_named_for_two_keys_is_read_and_deleted_by_one_command(body: ModuleBody) -> None:
    """The ring is left as it is, since its only lane is damaged; as the list of tokens it goes: nothing is there."""
    ask, keys = body.wire.ask, KEYS
    body.drop()
    ask("SET", keys.lane("a"), "no set")
    ask("RPUSH", keys.ring, "a")
    lists = (keys.ring, keys.pending, keys.active, keys.meta, keys.ring, keys.dead, keys.base)
    assert ask("EMQ.TAKE", *lists, 1000, 1) == [b"empty", 0, 0, 1000, [], []]
    assert ask("EXISTS", keys.ring) == 0
