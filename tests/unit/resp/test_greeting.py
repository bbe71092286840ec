"""Every branch of the greeting and of the version fence, without a socket."""

from dataclasses import dataclass
from typing import Any

import pytest

from echomq.errors import AuthRefused, BootRefused, InvalidOption, UnexpectedHello, VersionFence
from echomq.keys import VERSION
from echomq.options import ConnectionOptions
from echomq.resp.greeting import Command, Greeted, GreetingSettings, NotReady, greet
from echomq.resp.reply import ErrorReply, Reply

HELLO = {b"server": b"valkey", b"proto": 3}
OWN = b"echomq:2.4.2"


@dataclass(frozen=True)
class Ran:
    sent: list[Command]
    found: Greeted


def converse(settings: GreetingSettings, *replies: Reply) -> Ran:
    """Answer the greeting's commands with the replies, in order; it must need exactly these."""
    greeting = greet(settings)
    sent = [next(greeting)]
    for place, reply in enumerate(replies):
        try:
            sent.append(greeting.send(reply))
        except StopIteration as end:
            assert place == len(replies) - 1, "the greeting ended before its last reply"
            return Ran(sent, end.value)
    raise AssertionError(f"the greeting wants a further reply, to {sent[-1]!r}")


def settings(
    *, username: bytes | None = None, password: bytes | None = None, database: int = 0, **options: object
) -> GreetingSettings:
    made = ConnectionOptions(**options)  # type: ignore[arg-type]  # each test passes the right kinds by name
    return GreetingSettings(options=made, username=username, password=password, database=database)


def test_the_ordinary_greeting_is_hello_and_the_fence() -> None:
    ran = converse(settings(), HELLO, OWN)
    assert ran.sent == [(b"HELLO", 3), (b"GET", VERSION)]
    assert ran.found == Greeted(resp=3, version=OWN)


def test_select_and_setname_come_between_hello_and_fence() -> None:
    ran = converse(settings(database=4, client_name="worker-1"), HELLO, b"OK", b"OK", OWN)
    assert ran.sent[1:3] == [(b"SELECT", 4), (b"CLIENT", b"SETNAME", b"worker-1")]


def test_hello_carries_user_and_password() -> None:
    ran = converse(settings(username=b"ada", password=b"s3cret"), HELLO, OWN)
    assert ran.sent[0] == (b"HELLO", 3, b"AUTH", b"ada", b"s3cret")


def test_a_password_alone_is_the_default_users() -> None:
    ran = converse(settings(password=b"s3cret"), HELLO, OWN)
    assert ran.sent[0] == (b"HELLO", 3, b"AUTH", b"default", b"s3cret")


@pytest.mark.parametrize("text", ["NOAUTH HELLO must be called with the client already authenticated", "WRONGPASS no"])
def test_refused_credentials_are_final(text: str) -> None:
    with pytest.raises(AuthRefused, match=text.split(maxsplit=1)[0]):
        converse(settings(), ErrorReply(text))


@pytest.mark.parametrize("text", ["ERR unknown command 'HELLO'", "NOPROTO unsupported protocol version", "NOPERM no"])
def test_another_error_falls_back_to_resp2(text: str) -> None:
    ran = converse(settings(), ErrorReply(text), b"PONG", OWN)
    assert ran.sent == [(b"HELLO", 3), (b"PING",), (b"GET", VERSION)]
    assert ran.found.resp == 2


def test_the_fall_back_logs_in_first() -> None:
    ran = converse(settings(username=b"ada", password=b"pw"), ErrorReply("ERR no HELLO"), b"OK", b"PONG", OWN)
    assert ran.sent[1:3] == [(b"AUTH", b"ada", b"pw"), (b"PING",)]
    ran = converse(settings(password=b"pw"), ErrorReply("ERR no HELLO"), b"OK", b"PONG", OWN)
    assert ran.sent[1] == (b"AUTH", b"pw")


@pytest.mark.parametrize("text", ["WRONGPASS no", "ERR Client sent AUTH, but no password is set"])
def test_a_refused_auth_of_the_fall_back_is_final(text: str) -> None:
    with pytest.raises(AuthRefused):
        converse(settings(password=b"pw"), ErrorReply("ERR no HELLO"), ErrorReply(text))


def test_a_ping_that_needs_a_login_is_refused_credentials() -> None:
    with pytest.raises(AuthRefused):
        converse(settings(), ErrorReply("ERR no HELLO"), ErrorReply("NOAUTH Authentication required."))


def test_resp2_by_option_never_says_hello() -> None:
    ran = converse(settings(resp=2), b"PONG", OWN)
    assert ran.sent == [(b"PING",), (b"GET", VERSION)]
    assert ran.found.resp == 2


@pytest.mark.parametrize("reply", [{b"proto": 2}, {}, [b"proto", 3], b"OK", None, False, 3])
def test_a_hello_that_is_no_resp3_map_is_unexpected(reply: Reply) -> None:
    with pytest.raises(UnexpectedHello):
        converse(settings(), reply)


@pytest.mark.parametrize("reply", [b"OK", None, ErrorReply("ERR what?")])
def test_a_ping_without_pong_is_unexpected(reply: Reply) -> None:
    with pytest.raises(UnexpectedHello):
        converse(settings(), ErrorReply("ERR no HELLO"), reply)


def test_a_refused_select_names_its_step() -> None:
    with pytest.raises(BootRefused) as caught:
        converse(settings(database=99), HELLO, ErrorReply("ERR DB index is out of range"))
    assert caught.value.step == "select"


def test_a_refused_setname_names_its_step() -> None:
    with pytest.raises(BootRefused) as caught:
        converse(settings(client_name="a b"), HELLO, ErrorReply("ERR Client names cannot contain spaces"))
    assert caught.value.step == "setname"


@pytest.mark.parametrize("word", ["LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN"])
@pytest.mark.parametrize("before", [(), (HELLO,), (ErrorReply("ERR no HELLO"),), (HELLO, None)])
def test_a_server_that_is_not_ready_may_be_tried_again(word: str, before: tuple[Reply, ...]) -> None:
    with pytest.raises(NotReady):
        converse(settings(), *before, ErrorReply(f"{word} please wait"))


class TestFence:
    @pytest.mark.parametrize("found", [b"echomq:2.4.2", b"echomq:2.0.0", b"echomq:2.9.1"])
    def test_minor_versions_of_the_same_major_pass(self, found: bytes) -> None:
        assert converse(settings(), HELLO, found).found.version == found

    @pytest.mark.parametrize("found", [b"echomq:3.0.0", b"echomq:20.1", b"othermq:2.4.2", b"", b"echomq:1.9"])
    def test_another_major_or_product_is_refused(self, found: bytes) -> None:
        with pytest.raises(VersionFence) as caught:
            converse(settings(), HELLO, found)
        assert caught.value.found == found
        assert caught.value.accepted == ("echomq:2.*",)

    def test_exact_versions_by_option_pass_byte_for_byte(self) -> None:
        own: dict[str, Any] = {"version": "echomq:3.0.0", "accepted_versions": ("echomq:3.0.0", "echomq:2.4.2")}
        assert converse(settings(**own), HELLO, b"echomq:2.4.2").found.version == b"echomq:2.4.2"
        with pytest.raises(VersionFence):
            converse(settings(**own), HELLO, b"echomq:2.4.20")

    def test_a_version_of_ours_that_we_would_not_accept_is_no_option(self) -> None:
        with pytest.raises(InvalidOption):
            ConnectionOptions(version="echomq:3.0.0")

    def test_absence_is_filled_and_read_back(self) -> None:
        ran = converse(settings(), HELLO, None, b"OK", OWN)
        assert ran.sent[1:] == [(b"GET", VERSION), (b"SET", VERSION, OWN, b"NX"), (b"GET", VERSION)]

    def test_a_race_for_the_first_version_is_judged_by_what_stands_there(self) -> None:
        assert converse(settings(), HELLO, None, None, b"echomq:2.1.0").found.version == b"echomq:2.1.0"
        with pytest.raises(VersionFence):
            converse(settings(), HELLO, None, None, b"echomq:3.0.0")

    def test_a_version_that_vanishes_between_is_refused(self) -> None:
        with pytest.raises(VersionFence):
            converse(settings(), HELLO, None, b"OK", None)

    @pytest.mark.parametrize("word", ["READONLY", "NOPERM", "OOM", "MISCONF", "NOREPLICAS"])
    def test_a_server_without_version_that_takes_no_write_passes(self, word: str) -> None:
        assert converse(settings(), HELLO, None, ErrorReply(f"{word} no")).found.version is None

    @pytest.mark.parametrize("word", ["MOVED", "ASK"])
    def test_a_node_that_does_not_own_the_version_passes(self, word: str) -> None:
        assert converse(settings(), HELLO, ErrorReply(f"{word} 9051 127.0.0.1:7001")).found.version is None

    @pytest.mark.parametrize("text", ["WRONGTYPE Operation against a key", "NOPERM no", "ERR what?"])
    def test_a_version_that_cannot_be_read_is_refused(self, text: str) -> None:
        with pytest.raises(BootRefused) as caught:
            converse(settings(), HELLO, ErrorReply(text))
        assert caught.value.step == "fence"

    def test_another_error_of_the_write_is_refused(self) -> None:
        with pytest.raises(BootRefused):
            converse(settings(), HELLO, None, ErrorReply("ERR what?"))


def test_hello_tells_the_number_of_the_connection() -> None:
    assert converse(settings(), {**HELLO, b"id": 17}, OWN).found.client == 17
    assert converse(settings(), {**HELLO, b"id": b"17"}, OWN).found.client is None
    assert converse(settings(), HELLO, OWN).found.client is None


def test_hello_tells_which_version_of_our_module_is_loaded() -> None:
    other = {b"name": b"search", b"ver": 20811, b"path": b"/x.so", b"args": []}
    ours = {b"name": b"echomq", b"ver": 1, b"path": b"/emq.so", b"args": []}
    assert converse(settings(), {**HELLO, b"modules": [other, ours]}, OWN).found.module == 1
    assert converse(settings(), {**HELLO, b"modules": [other]}, OWN).found.module is None
    assert converse(settings(), {**HELLO, b"modules": b"none"}, OWN).found.module is None
    assert converse(settings(), HELLO, OWN).found.module is None
