"""What holds for every transition: rules 1, 2 and 6 of docs/wire.md, and what each says about repeating it."""

from dataclasses import replace
from typing import cast

import pytest

from echomq.errors import EchoMQError, ServerError, WrongType
from echomq.resp.reply import ErrorReply
from echomq.transitions.call import Call
from echomq.transitions.catalogue import TRANSITIONS
from tests.contract.samples import BULK_ROWS, EACH_ON_ITS_OWN, SAMPLES, UNJUDGED, Sample
from tests.harness.case import Case
from tests.harness.jobs import J1, PARENT
from tests.harness.lua import LuaBody
from tests.harness.state import Entry, Seed, State

each = pytest.mark.parametrize("sample", SAMPLES, ids=str)
STRING = Entry("string", b"another program's")


def test_there_is_a_sample_of_every_transition() -> None:
    assert {name_of(sample) for sample in SAMPLES} == {transition.name for transition in TRANSITIONS}


@each
def test_rule_1_a_key_of_another_type_refuses_with_nothing_changed(case: Case, sample: Sample) -> None:
    """Each key that the call reads or writes, declared or derived, becomes another program's string in turn.

    Then the call says WRONGTYPE and changes nothing; or it had no need of that key and does all its work beside it.
    Batches have a treatment of their own for broken rows.
    """
    seed, call = sample.build(case)
    before, after = ordinary(case, seed, call)
    name = call.transition.name
    if "*" in UNJUDGED.get(name, ()):
        return
    for key in touched(case, before, after, call):
        if is_row(case, key) and name in BULK_ROWS:
            continue
        spoilt = {k: entry for k, entry in before.items() if k != key}
        spoilt[key] = Entry("hash", {b"x": b"1"}) if is_string(key, before, after) else STRING
        case.body.drop()
        case.body.load(spoilt)
        start = case.body.dump()
        try:
            case.body.run(call)
        except WrongType:
            assert case.body.dump() == start, f"{name} said WRONGTYPE for {key!r} and had changed something"
            continue
        end = case.body.dump()
        if is_subkey(case, key) and (key not in after or key == case.keys.job_result(J1)):
            continue  # deleted with its job, or replaced by its result, whatever it holds (rule 8)
        assert end.get(key) == spoilt[key], f"{name} did its work over a foreign value at {key!r}"
        if name in EACH_ON_ITS_OWN and key not in call.keys:
            continue  # only the jobs that need the key are passed over: see test_damage
        if key == case.keys.job(PARENT):
            continue  # a parent whose row is broken is no parent: the child is settled, and nobody is told (rule 9)
        assert before.get(key) == after.get(key), f"{name} went on although it should have written {key!r}"


@each
def test_rule_1_every_declared_key_is_judged(case: Case, sample: Sample) -> None:
    """A key that a transition declares is one it reads: a foreign value there is told, or left as it is."""
    seed, call = sample.build(case)
    before, _ = ordinary(case, seed, call)
    for key in call.keys:
        if key == case.keys.base:
            continue
        spoilt = {**{k: entry for k, entry in before.items() if k != key}, key: STRING}
        case.body.drop()
        case.body.load(spoilt)
        start = case.body.dump()
        reply = case.body.reply(call)
        if isinstance(reply, ErrorReply):
            assert reply.word == "WRONGTYPE", reply
            assert case.body.dump() == start
        elif call.transition.name not in ("remove", "obliterate"):
            assert case.body.dump().get(key) == STRING


@each
def test_it_repeats_as_it_says(case: Case, sample: Sample) -> None:
    seed, call = sample.build(case)
    _, once = ordinary(case, seed, call)
    case.body.reply(call)
    twice = case.body.dump()
    if call.transition.repeatable:
        assert twice == once, f"{call.transition.name} says that repeating it is safe"


def test_what_is_not_repeatable_says_so_for_a_reason(case: Case) -> None:
    """A transition that calls itself unsafe to repeat has a sample that shows it, or its flag frightens for nothing."""
    harmless: set[str] = set()
    harmful: set[str] = set()
    for sample in SAMPLES:
        seed, call = sample.build(case)
        if call.transition.repeatable:
            continue
        _, once = ordinary(case, seed, call)
        first = case.body.dump()
        case.body.reply(call)
        (harmful if case.body.dump() != once or first != once else harmless).add(call.transition.name)
    assert harmless - harmful == ANSWERS_DIFFER


ANSWERS_DIFFER = {"reschedule"}
"""It moves the instant once more, by what passed between the two calls: less than the hours that are compared here."""


@pytest.mark.parametrize("body", ["lua", "module"], indirect=True)  # only a server has a memory limit
@each
def test_rule_1_a_full_server_refuses_whole_or_serves_whole(case: Case, sample: Sample) -> None:
    """Over its memory limit a server refuses the first write that needs memory: nothing may be half done by then."""
    assert isinstance(case.body, LuaBody)
    seed, call = sample.build(case)
    _, after = ordinary(case, seed, call)
    case.given(seed)
    before = case.body.dump()
    case.body.wire.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        reply = case.body.reply(call)
    finally:
        case.body.wire.ask("CONFIG", "SET", "maxmemory", "0")
    if isinstance(reply, ErrorReply):
        assert reply.word == "OOM"
        assert case.body.dump() == before
    else:
        assert case.body.dump() == after


@each
def test_an_empty_database_is_no_trouble(case: Case, sample: Sample) -> None:
    """No call raises over a queue that does not exist, and none leaves anything of a job it did not admit."""
    _, call = sample.build(case)
    case.body.drop()
    try:
        case.body.run(call)
    except ServerError as error:
        raise AssertionError(f"{call.about} failed over an empty database") from error
    sets = ("gweight", "glimit", "gpause", "set_concurrency")
    admits = ("enqueue", "genqueue", "enqueue_many", "schedule", "pause", "lease_node", *sets)
    if call.transition.name not in admits:
        case.shows({})


def ordinary(case: Case, seed: Seed, call: Call[object]) -> tuple[State, State]:
    """Run the call over its own state and return the states before and after."""
    case.given(seed)
    before = case.body.dump()
    reply = case.body.reply(call)
    assert not isinstance(reply, ErrorReply), f"the sample is refused: {reply}"
    return before, case.body.dump()


def touched(case: Case, before: State, after: State, call: Call[object]) -> list[bytes]:
    """Return the keys that may matter to the call: all there are before and after it, and those it declares."""
    return sorted({*before, *after, *call.keys} - {case.keys.base})


def is_row(case: Case, key: bytes) -> bool:
    rows = case.keys.job(J1)[:-14]
    return key.startswith(rows) and b":" not in key[len(rows) :]


def is_subkey(case: Case, key: bytes) -> bool:
    rows = case.keys.job(J1)[:-14]
    return key.startswith(rows) and b":" in key[len(rows) :]


def is_string(key: bytes, *states: State) -> bool:
    return any(key in state and state[key].kind == "string" for state in states)


def name_of(sample: Sample) -> str:
    word = sample.name.split()[0]
    return "schedule" if word in ("enqueue_in", "enqueue_at") else word


@each
def test_rule_1_a_garbled_number_refuses_with_nothing_changed_or_does_no_harm(case: Case, sample: Sample) -> None:
    """Another program wrote a text where a number belongs: the call is refused whole, or ends in its ordinary way."""
    seed, call = sample.build(case)
    before, _ = ordinary(case, seed, call)
    for key, field in numbers_of(before):
        for garbage in (b"abc", b"", b"1.5", b"9" * 30):
            value = {**dict(cast("dict[bytes, bytes]", before[key].value)), field: garbage}
            case.body.drop()
            case.body.load({**before, key: Entry("hash", value)})
            start = case.body.dump()
            try:
                case.body.run(call)
            except EchoMQError:
                assert case.body.dump() == start, f"{field!r}={garbage!r} of {key!r} left {call.about} half done"


def numbers_of(state: State) -> list[tuple[bytes, bytes]]:
    """Return the fields of hashes that hold numbers other than instants."""
    names = (b"attempts", b"max_attempts", b"unspent", b"stalled", b"count")
    return [
        (key, field)
        for key, entry in state.items()
        if entry.kind == "hash"
        for field in [*cast("dict[bytes, bytes]", entry.value), b"max_attempts", b"unspent"]
        if field in names or key.endswith((b":gactive", b":glimit"))
    ]


NUMBERS = frozenset(
    [
        "lease_ms",
        "limit",
        "budget",
        "size",
        "delay_ms",
        "max_attempts",
        "value",
        "age_ms",
        "count",
        "start",
        "keep",
        "mark_ms",
        "last_ms",
        "node",
        "cap",
        "park_ms",
        "weight",
        "most",
    ]
)
"""Names of arguments that are numbers. Empty is allowed where they may be left out."""


@pytest.mark.parametrize(
    "body", ["lua", "module"], indirect=True
)  # other languages call the scripts; nobody else calls the model
@pytest.mark.parametrize("garbage", [b"abc", b"-1", b"1.5", b"nan", b"inf", b"1e300", b" "])
@each
def test_rule_1_a_number_that_is_none_is_refused_before_the_first_write(
    case: Case, sample: Sample, garbage: bytes
) -> None:
    seed, call = sample.build(case)
    transition = call.transition
    for place, name in enumerate(transition.args[: len(call.args)]):
        is_number = name in NUMBERS or (transition.name, name) == ("wake", "worth")
        if not is_number or (name == "value" and garbage == b"-1"):
            continue
        args = [*call.args]
        args[place] = garbage
        case.given(seed)
        before = case.body.dump()
        reply = case.body.reply(replace(call, args=args))
        assert isinstance(reply, ErrorReply), f"{transition.name} took {name}={garbage!r}"
        assert case.body.dump() == before


@each
def test_rule_1_too_few_or_too_many_keys_and_arguments_are_refused_before_the_first_write(
    case: Case, sample: Sample
) -> None:
    """Any program may call a script, and its handle may drop what is empty: a vector that is cut is no call."""
    seed, call = sample.build(case)
    transition = call.transition
    wrong = [replace(call, args=call.args[:count]) for count in range(len(call.args))]
    wrong += [replace(call, args=[*call.args, *[b""] * count]) for count in (1, 2, 3)]
    wrong += [replace(call, keys=call.keys[:count]) for count in range(len(call.keys))]
    wrong += [replace(call, keys=[*call.keys, case.keys.meta])]
    for other in wrong:
        if transition.takes(len(other.keys), len(other.args)):
            continue
        case.given(seed)
        before = case.body.dump()
        reply = case.body.reply(other)
        assert isinstance(reply, ErrorReply)
        assert reply.text == f"ERR {transition.arity}"
        assert case.body.dump() == before


@each
def test_the_least_that_is_taken_is_the_published_form_and_never_half_done(case: Case, sample: Sample) -> None:
    """What is left out stands for its default: the call is served, or refused whole."""
    seed, call = sample.build(case)
    transition = call.transition
    fewest = len(transition.args) - transition.optional
    for count in range(fewest, len(call.args)):
        if transition.takes(len(call.keys), count):
            case.given(seed)
            before = case.body.dump()
            reply = case.body.reply(replace(call, args=call.args[:count]))
            assert not isinstance(reply, ErrorReply) or case.body.dump() == before


NEEDS_MEMORY = frozenset(
    [
        "enqueue",
        "genqueue",
        "enqueue_many",
        "schedule",
        "update_data",
        "update_progress",
        "add_log",
        "lease_node",
        "repair",
    ]
)
"""What a full server refuses: whatever makes it fuller. All else must go on, or a full queue could not be emptied."""


@pytest.mark.parametrize("body", ["lua", "module"], indirect=True)
@each
def test_a_full_server_can_be_emptied(case: Case, sample: Sample) -> None:
    assert isinstance(case.body, LuaBody)
    seed, call = sample.build(case)
    if call.transition.name in NEEDS_MEMORY:
        return
    case.given(seed)
    case.body.wire.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        reply = case.body.reply(call)
    finally:
        case.body.wire.ask("CONFIG", "SET", "maxmemory", "0")
    assert not isinstance(reply, ErrorReply), f"{call.transition.name} is refused by a full server: {reply}"
