"""A Call as EVALSHA, without a server."""

import hiredis
import pytest

from echomq.carriers.lua import LuaCarrier
from echomq.errors import ProtocolError
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from echomq.transitions.enqueue import TRANSITION, enqueue
from echomq.transitions.take import BLOCKING

KEYS = QueueKeys("mail")
JOB = JobId.parse("JOB0JZGkP8smrw")
BODY = body_of(TRANSITION)


def parsed(command: bytes | None) -> list[bytes]:
    reader = hiredis.Reader()
    assert command is not None
    reader.feed(command)
    words: list[bytes] = reader.gets()
    assert reader.gets() is False, "one command and not a byte more"
    return words


def call(*args: bytes | int) -> Call[object]:
    return Call(TRANSITION, (KEYS.job(JOB), KEYS.pending), args, lambda reply: reply, JOB)


def test_a_call_is_evalsha_with_its_keys_and_arguments() -> None:
    command = LuaCarrier().carry(enqueue(KEYS, JOB, b"a\r\n\x00b"))
    keys = [KEYS.job(JOB), KEYS.pending, KEYS.wake]
    assert parsed(command) == [b"EVALSHA", BODY.sha1, b"3", *keys, bytes(JOB), b"a\r\n\x00b"]


def test_numbers_travel_as_decimal_text() -> None:
    assert parsed(LuaCarrier().carry(call(b"%d", -7, 2**63)))[-3:] == [b"%d", b"-7", b"9223372036854775808"]


def test_calls_of_one_transition_may_differ_in_length() -> None:
    carrier = LuaCarrier()
    for count in (0, 3, 1, 3, 100, 0):
        assert len(parsed(carrier.carry(call(*[b"x"] * count)))) == 5 + count


def test_a_script_is_loaded_before_its_first_use_and_once() -> None:
    carrier = LuaCarrier()
    assert parsed(carrier.prepare(TRANSITION)) == [b"SCRIPT", b"LOAD", BODY.text]
    assert carrier.prepare(TRANSITION) is None
    assert LuaCarrier().prepare(TRANSITION) is not None, "another connection may be another server"


def test_the_digest_of_a_load_is_checked() -> None:
    LuaCarrier().prepared(TRANSITION, BODY.sha1)
    with pytest.raises(ProtocolError, match="enqueue"):
        LuaCarrier().prepared(TRANSITION, b"0" * 40)


def test_a_refused_load_is_left_to_the_call() -> None:
    LuaCarrier().prepared(TRANSITION, ErrorReply("NOPERM no"))


def test_a_forgotten_script_is_repeated_with_its_text_and_loaded_again_later() -> None:
    carrier = LuaCarrier()
    carrier.prepare(TRANSITION)
    again = carrier.again(call(b"a", 1), ErrorReply("NOSCRIPT No matching script."))
    assert parsed(again) == [b"EVAL", BODY.text, b"2", KEYS.job(JOB), KEYS.pending, b"a", b"1"]
    assert carrier.prepare(TRANSITION) is not None


@pytest.mark.parametrize("text", ["WRONGTYPE no", "EMQKIND no", "ERR NOSCRIPT inside", "UNKILLABLE x"])
def test_any_other_error_stands(text: str) -> None:
    assert LuaCarrier().again(call(), ErrorReply(text)) is None


def test_an_error_of_a_line_names_its_file() -> None:
    line = next(place for place, origin in enumerate(BODY.origins, start=1) if origin.startswith("enqueue.lua"))
    reply = ErrorReply(f"ERR user_script:{line}: attempt to index a nil value script: abc, on @user_script:{line}.")
    explained = LuaCarrier().explain(call(), reply)
    assert explained.text == f"{reply.text} [at {BODY.origins[line - 1]}]"
    assert explained.word == "ERR"


def test_an_error_without_a_line_stays_as_it_is() -> None:
    reply = ErrorReply("OOM command not allowed")
    assert LuaCarrier().explain(call(), reply) is reply


def test_no_script_waits() -> None:
    assert LuaCarrier().carries(TRANSITION)
    assert not LuaCarrier().carries(BLOCKING)
