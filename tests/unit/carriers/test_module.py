"""A Call as EMQ.<NAME>, without a server."""

from dataclasses import replace

import hiredis
import pytest

from echomq.carriers.module import COMMANDS, ModuleCarrier
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.resp.greeting import Greeted
from echomq.resp.reply import ErrorReply
from echomq.transitions._bodies import body_of
from echomq.transitions.catalogue import TRANSITIONS
from echomq.transitions.counts import counts
from echomq.transitions.enqueue import TRANSITION, enqueue
from echomq.transitions.take import BLOCKING, take_blocking

KEYS = QueueKeys("mail")
JOB = JobId.parse("JOB0JZGkP8smrw")
CALL = enqueue(KEYS, JOB, b"a\r\n\x00b")
UNKNOWN = ErrorReply("ERR unknown command 'EMQ.ENQUEUE', with args beginning with: 'emq:{mail}:job:JOB0JZGkP8smrw' ")
WITH, WITHOUT = Greeted(resp=3, version=None, module=1), Greeted(resp=3, version=None)


def parsed(command: bytes | None) -> list[bytes]:
    reader = hiredis.Reader()
    assert command is not None
    reader.feed(command)
    words: list[bytes] = reader.gets()
    assert reader.gets() is False, "one command and not a byte more"
    return words


@pytest.fixture
def carrier() -> ModuleCarrier:
    carrier = ModuleCarrier()
    carrier.greeted(WITH)
    return carrier


def test_a_call_is_the_command_with_its_keys_and_arguments(carrier: ModuleCarrier) -> None:
    keys = [KEYS.job(JOB), KEYS.pending, KEYS.wake]
    assert parsed(carrier.carry(CALL)) == [b"EMQ.ENQUEUE", *keys, bytes(JOB), b"a\r\n\x00b"]
    capped = enqueue(KEYS, JOB, b"x", max_attempts=3)
    assert parsed(carrier.carry(capped))[-2:] == [b"x", b"3"]


def test_nothing_is_loaded_for_a_command(carrier: ModuleCarrier) -> None:
    assert carrier.prepare(TRANSITION) is None


def test_what_the_module_lacks_goes_by_its_script(carrier: ModuleCarrier) -> None:
    call = counts(KEYS)
    assert call.transition.name not in COMMANDS
    assert parsed(carrier.prepare(call.transition))[:2] == [b"SCRIPT", b"LOAD"]
    assert parsed(carrier.carry(call))[0] == b"EVALSHA"


def test_a_call_that_leaves_keys_out_is_the_scripts(carrier: ModuleCarrier) -> None:
    assert parsed(carrier.carry(replace(CALL, keys=CALL.keys[:2])))[0] == b"EVALSHA"


@pytest.mark.parametrize("found", [WITHOUT, None])
def test_without_the_module_all_goes_by_scripts(found: Greeted | None) -> None:
    carrier = ModuleCarrier()
    if found is not None:
        carrier.greeted(found)
    assert parsed(carrier.prepare(TRANSITION))[:2] == [b"SCRIPT", b"LOAD"]
    assert parsed(carrier.carry(CALL))[0] == b"EVALSHA"


@pytest.mark.parametrize(
    "reply",
    [
        UNKNOWN,
        ErrorReply("ERR unknown command `EMQ.ENQUEUE`, with args beginning with: "),
        ErrorReply("NOPERM User app has no permissions to run the 'emq.enqueue' command"),
        ErrorReply("NOPERM this user has no permissions to run the 'emq.enqueue' command or its subcommand"),
    ],
)
def test_a_command_that_is_not_there_is_repeated_as_its_script_for_each_call_in_flight(
    carrier: ModuleCarrier, reply: ErrorReply
) -> None:
    whole = [b"EVAL", body_of(TRANSITION).text, b"3", *CALL.keys, bytes(JOB), b"a\r\n\x00b"]
    assert parsed(carrier.again(CALL, reply)) == whole
    assert parsed(carrier.again(CALL, reply)) == whole, "the second of a pipeline has run as little as the first"
    assert parsed(carrier.carry(CALL))[0] == b"EVALSHA", "the next one knows it"


def test_the_script_that_the_server_forgot_is_repeated_too(carrier: ModuleCarrier) -> None:
    assert parsed(carrier.again(CALL, ErrorReply("NOSCRIPT No matching script.")))[0] == b"EVAL"


@pytest.mark.parametrize(
    "text", ["NOPERM No permissions to access a key", "EMQKIND x", "ERR unknown command 'EVALSHA', with args"]
)
def test_any_other_error_stands(carrier: ModuleCarrier, text: str) -> None:
    assert carrier.again(CALL, ErrorReply(text)) is None


# --- calls that wait -------------------------------------------------------------------------------------------------

WAITING = take_blocking(KEYS, lease_ms=5, size=2, block_ms=9)


def test_a_call_that_waits_is_the_command_and_nothing_else(carrier: ModuleCarrier) -> None:
    assert carrier.carries(BLOCKING)
    assert parsed(carrier.carry(WAITING))[:2] == [b"EMQ.TAKE", KEYS.ring]
    assert parsed(carrier.carry(WAITING))[-2:] == [b"BLOCK", b"9"]
    assert carrier.prepare(BLOCKING) is None


def test_nothing_waits_without_the_module() -> None:
    carrier = ModuleCarrier()
    assert not carrier.carries(BLOCKING)
    carrier.greeted(WITHOUT)
    assert not carrier.carries(BLOCKING)
    assert carrier.carries(TRANSITION)


@pytest.mark.parametrize(
    "text",
    [
        "ERR unknown command 'EMQ.TAKE', with args beginning with: ",
        "NOPERM User app has no permissions to run the 'emq.take' command",
        BLOCKING.arity.join(("ERR ", "")),
    ],
)
def test_a_call_that_waits_and_is_refused_is_no_script(carrier: ModuleCarrier, text: str) -> None:
    assert carrier.again(WAITING, ErrorReply(text)) is None
    assert not carrier.carries(BLOCKING)
    assert carrier.carries(TRANSITION)


@pytest.mark.parametrize("text", ["NOPERM No permissions to access a key", "WRONGTYPE x", "UNBLOCKED x", "NOSCRIPT x"])
def test_any_other_error_of_a_call_that_waits_says_nothing_about_the_next(carrier: ModuleCarrier, text: str) -> None:
    assert carrier.again(WAITING, ErrorReply(text)) is None
    assert carrier.carries(BLOCKING)


def test_the_commands_are_transitions() -> None:
    assert {transition.name for transition in TRANSITIONS} >= COMMANDS
