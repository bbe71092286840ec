"""The model as a server: answers, refusals, and the audit that a refusal changes nothing."""

import pytest

from echomq.errors import WrongType
from echomq.keys import QueueKeys
from echomq.model import queue
from echomq.model.given import Given
from echomq.model.keyspace import Keyspace
from echomq.model.queue import Model
from echomq.records import Duplicate, Enqueued
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.call import Call, Transition
from echomq.transitions.enqueue import enqueue
from tests.unit.model.speaker import Speaker

TRANSITION = Transition(
    name="probe", keys=("job",), args=("id", "cap"), more_args=("a", "b"), repeatable=True, section="test"
)


def test_a_call_is_answered_by_its_own_decoder(q: Speaker) -> None:
    model, keys = Model(Keyspace()), QueueKeys("q")
    assert model.run(enqueue(keys, q.job(1), b"x", max_attempts=3)) == Enqueued(q.job(1))
    assert model.run(enqueue(keys, q.job(1), b"y")) == Duplicate(q.job(1))
    assert model.keyspace.hash(keys.job(q.job(1))).get(b"payload") == b"x"


def test_a_key_of_another_kind_is_an_error_reply_naming_it(q: Speaker) -> None:
    model, keys = Model(Keyspace(), audit=True), QueueKeys("q")
    model.keyspace.string(keys.job(q.job(1))).set(b"x")
    with pytest.raises(WrongType, match=str(q.job(1))):
        model.run(enqueue(keys, q.job(1), b"x"))


def test_what_is_given_has_the_declared_names_and_numbers_are_text() -> None:
    given = Given.of(TRANSITION, (b"row",), (b"J", 7, b"x", 1, b"y", 2))
    assert given.keys == {"job": b"row"}
    assert given.args == {"id": b"J", "cap": b"7"}
    assert given.more_args == ((b"x", b"1"), (b"y", b"2"))


def test_an_argument_left_out_is_empty() -> None:
    assert Given.of(TRANSITION, (b"row",), (b"J",)).args == {"id": b"J", "cap": b""}


def test_the_audit_finds_a_body_that_writes_and_then_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(space: Keyspace, given: Given) -> Reply:
        space.string(given.keys["job"]).set(b"x")
        return ErrorReply("EMQSTALE too late")

    monkeypatch.setattr(queue, "BODIES", {"probe": careless})
    call: Call[Reply] = Call(TRANSITION, (b"k",), (b"J", 1), lambda reply: reply, "probe")
    with pytest.raises(AssertionError, match="probe of probe was refused"):
        Model(Keyspace(), audit=True).run(call)
    assert isinstance(Model(Keyspace()).run(call), ErrorReply)
