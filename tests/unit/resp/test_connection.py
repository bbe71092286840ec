"""The state machine of a connection, fed with bytes by hand."""

from itertools import pairwise

import hiredis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echomq.errors import AuthRefused, Closed, Disconnected, Overloaded, ProtocolError, UnexpectedHello
from echomq.options import ConnectionOptions
from echomq.resp.connection import Connection, Phase, pack
from echomq.resp.greeting import GreetingSettings
from echomq.resp.reply import ErrorReply, Reply

HELLO = b"%2\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$5\r\nproto\r\n:3\r\n"
VERSION = b"$12\r\nechomq:2.4.2\r\n"

# One of each kind of reply that RESP2 and RESP3 have, with its value.
REPLIES: list[tuple[bytes, Reply]] = [
    (b"+OK\r\n", b"OK"),
    (b":-7\r\n", -7),
    (b"$5\r\na\r\nbc\r\n", b"a\r\nbc"),
    (b"$0\r\n\r\n", b""),
    (b"$-1\r\n", None),
    (b"*-1\r\n", None),
    (b"_\r\n", None),
    (b"#t\r\n", True),
    (b"#f\r\n", False),
    (b",2.5\r\n", 2.5),
    (b"*3\r\n:1\r\n*1\r\n$1\r\nx\r\n_\r\n", [1, [b"x"], None]),
    (b"*0\r\n", []),
    (b"%1\r\n+a\r\n:1\r\n", {b"a": 1}),
    (b"~2\r\n:1\r\n:2\r\n", [1, 2]),
    (b"=8\r\ntxt:abcd\r\n", b"abcd"),
]


def connection(*, in_flight_max: int = 100) -> Connection[str]:
    return Connection(GreetingSettings(options=ConnectionOptions(in_flight_max=in_flight_max)))


def ready(*, in_flight_max: int = 100) -> Connection[str]:
    made = connection(in_flight_max=in_flight_max)
    made.take()
    assert made.receive(HELLO) == []
    made.take()
    assert made.receive(VERSION) == []
    assert made.is_ready
    return made


def asked(*entries: str) -> Connection[str]:
    """A ready connection whose commands have been written."""
    made = ready()
    for entry in entries:
        made.send(entry, pack((b"ECHO", entry)))
    made.take()
    return made


def feed_all(made: Connection[str], pieces: list[bytes]) -> list[tuple[str | None, Reply]]:
    return [done for piece in pieces for done in made.receive(piece)]


class TestGreeting:
    def test_the_first_bytes_are_hello(self) -> None:
        made = connection()
        assert made.take() == pack((b"HELLO", 3))
        assert made.take() == b""

    def test_each_reply_brings_the_next_command(self) -> None:
        made = connection()
        made.take()
        made.receive(HELLO)
        assert made.take() == pack((b"GET", b"{emq}:version"))
        assert made.phase is Phase.GREETING
        made.receive(VERSION)
        assert made.is_ready
        assert made.greeted is not None
        assert made.greeted.resp == 3

    def test_nothing_may_be_sent_before_its_end(self) -> None:
        with pytest.raises(Closed):
            connection().send("a", b"")

    @pytest.mark.parametrize("data", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n", b"\x15\x03\x01\x00\x02"])
    def test_another_protocol_is_unexpected(self, data: bytes) -> None:
        made = connection()
        made.receive(data)
        assert isinstance(made.error, UnexpectedHello)

    def test_a_refusal_ends_the_connection_and_stays(self) -> None:
        made = connection()
        made.receive(b"-WRONGPASS no\r\n")
        assert isinstance(made.error, AuthRefused)
        for _ in range(2):
            with pytest.raises(AuthRefused):
                made.send("a", b"")
            with pytest.raises(AuthRefused):
                made.receive(b"+OK\r\n")

    def test_pushes_do_not_disturb_it(self) -> None:
        made = connection()
        made.receive(b">1\r\n+hi\r\n" + HELLO + b">1\r\n+hi\r\n" + VERSION)
        assert made.is_ready


class TestReplies:
    def test_whole(self) -> None:
        made = asked(*(str(place) for place in range(len(REPLIES))))
        done = made.receive(b"".join(data for data, _ in REPLIES))
        assert done == [(str(place), value) for place, (_, value) in enumerate(REPLIES)]
        assert made.in_flight == 0

    def test_byte_by_byte(self) -> None:
        made = asked(*(str(place) for place in range(len(REPLIES))))
        stream = b"".join(data for data, _ in REPLIES)
        done = feed_all(made, [stream[at : at + 1] for at in range(len(stream))])
        assert done == [(str(place), value) for place, (_, value) in enumerate(REPLIES)]

    def test_trailing_bytes_wait_for_their_rest(self) -> None:
        made = asked("a", "b")
        assert made.receive(b":1\r\n$3\r\nx") == [("a", 1)]
        assert list(made.waiting) == ["b"]
        assert made.receive(b"yz\r\n") == [("b", b"xyz")]

    def test_false_is_a_reply(self) -> None:
        assert asked("a").receive(b"#f\r\n") == [("a", False)]

    def test_an_error_is_a_value_also_inside_a_list(self) -> None:
        done = asked("a", "b").receive(b"-WRONGTYPE no\r\n*2\r\n:1\r\n-OOM full\r\n")
        (_, alone), (_, listed) = done
        assert isinstance(alone, ErrorReply)
        assert alone.word == "WRONGTYPE"
        assert isinstance(listed, list)
        assert isinstance(listed[1], ErrorReply)

    def test_pushes_stand_between_replies(self) -> None:
        done = asked("a", "b").receive(b">1\r\n+x\r\n:1\r\n>3\r\n+message\r\n+c\r\n+p\r\n:2\r\n")
        assert done == [(None, [b"x"]), ("a", 1), (None, [b"message", b"c", b"p"]), ("b", 2)]

    @pytest.mark.parametrize("data", [b"+OK\r\n", b"-ERR idle for too long\r\n"])
    def test_a_reply_to_nothing_breaks_the_protocol(self, data: bytes) -> None:
        made = ready()
        assert made.receive(data) == []
        assert isinstance(made.error, ProtocolError)

    def test_a_reply_to_what_was_not_written_breaks_the_protocol(self) -> None:
        made = ready()
        made.send("a", pack((b"PING",)))
        made.receive(b"+PONG\r\n")
        assert isinstance(made.error, ProtocolError)
        assert made.end(Disconnected("x")).unsent == ["a"]

    def test_what_was_whole_before_broken_bytes_is_returned(self) -> None:
        made = asked("a", "b")
        assert made.receive(b":1\r\n?broken\r\n") == [("a", 1)]
        assert isinstance(made.error, ProtocolError)
        assert made.end(Disconnected("x")).sent == ["b"]

    def test_a_broken_connection_says_so_at_each_use(self) -> None:
        made = asked("a")
        made.receive(b"?\r\n")
        for _ in range(2):
            with pytest.raises(ProtocolError, match="dead"):
                made.send("b", b"")
            with pytest.raises(ProtocolError, match="dead"):
                made.receive(b":1\r\n")

    def test_a_map_that_python_cannot_hold_breaks_the_protocol(self) -> None:
        made = asked("a")
        made.receive(b"%1\r\n*1\r\n:1\r\n:2\r\n")
        assert isinstance(made.error, ProtocolError)

    @given(st.binary(max_size=200), st.integers(1, 7))
    def test_random_bytes_parse_or_break_the_protocol(self, data: bytes, step: int) -> None:
        made = asked(*"abcdefgh")
        answered: list[str | None] = []
        for at in range(0, len(data), step):
            answered += [entry for entry, _ in made.receive(data[at : at + step]) if entry is not None]
            if made.error is not None:
                assert isinstance(made.error, ProtocolError)
                break
        assert [*answered, *made.end(Disconnected("x")).sent] == list("abcdefgh"), "each command ends exactly once"

    @given(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=20), st.data())
    def test_any_cut_of_the_stream_gives_the_same_replies(
        self, replies: list[tuple[bytes, Reply]], data: st.DataObject
    ) -> None:
        stream = b"".join(raw for raw, _ in replies)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
        edges = [0, *cuts, len(stream)]
        made = asked(*(str(place) for place in range(len(replies))))
        done = feed_all(made, [stream[a:b] for a, b in pairwise(edges)])
        assert done == [(str(place), value) for place, (_, value) in enumerate(replies)]


class TestSending:
    def test_all_commands_leave_together_in_order(self) -> None:
        made = ready()
        made.send("a", b"1")
        made.send_all(["b", "c"], [b"2", b"3"])
        assert made.take() == b"123"
        assert made.take() == b""

    def test_the_bound_refuses_and_queues_nothing(self) -> None:
        made = ready(in_flight_max=2)
        made.send("a", b"1")
        with pytest.raises(Overloaded):
            made.send_all(["b", "c"], [b"2", b"3"])
        made.send("b", b"2")
        with pytest.raises(Overloaded):
            made.send("c", b"3")
        assert made.take() == b"12"
        assert made.receive(b":1\r\n") == [("a", 1)]
        made.send("c", b"3")
        assert made.in_flight == 2

    def test_a_repetition_is_taken_beyond_the_bound_and_while_closing(self) -> None:
        made = ready(in_flight_max=1)
        made.send("a", b"1")
        made.close()
        made.send_besides("b", b"2")
        assert made.take() == b"12"

    def test_a_lost_link_tells_sent_from_unsent(self) -> None:
        made = ready()
        for entry in "abc":
            made.send(entry, b"x")
        made.take()
        made.receive(b":1\r\n")
        made.send("d", b"x")
        lost = made.end(Disconnected("gone"))
        assert (lost.sent, lost.unsent) == (["b", "c"], ["d"])
        again = made.end(Disconnected("gone"))
        assert (again.sent, again.unsent) == ([], [])
        with pytest.raises(Disconnected, match="gone"):
            made.send("e", b"x")

    def test_packing_writes_numbers_as_text(self) -> None:
        assert pack((b"SET", "k", 10)) == b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n10\r\n"


class TestClosing:
    def test_it_waits_for_the_replies_that_are_due(self) -> None:
        made = asked("a", "b")
        made.close()
        assert not made.is_drained
        with pytest.raises(Closed):
            made.send("c", b"")
        made.receive(b":1\r\n")
        assert not made.is_drained
        assert made.receive(b":2\r\n") == [("b", 2)]
        assert made.is_drained

    def test_with_nothing_due_it_is_done_at_once(self) -> None:
        made = ready()
        made.close()
        assert made.is_drained

    def test_while_greeting_it_ends_the_connection(self) -> None:
        made = connection()
        made.close()
        assert isinstance(made.error, Closed)


class TestSubscribing:
    CONFIRMED = b">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"

    def subscribed(self) -> Connection[str]:
        made = ready()
        made.subscribe("s", [b"a", b"b"])
        assert made.take() == pack((b"SUBSCRIBE", b"a", b"b"))
        return made

    def test_the_last_confirmation_is_its_reply(self) -> None:
        made = self.subscribed()
        assert made.receive(self.CONFIRMED) == []
        done = made.receive(self.CONFIRMED.replace(b":1", b":2"))
        assert done == [("s", [b"subscribe", b"a", 2])]
        assert made.in_flight == 0

    def test_a_message_between_confirmations_is_delivered(self) -> None:
        made = self.subscribed()
        message = b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\np\r\n"
        assert made.receive(self.CONFIRMED + message) == [(None, [b"message", b"a", b"p"])]

    def test_a_refusal_is_its_reply(self) -> None:
        ((entry, reply),) = self.subscribed().receive(b"-NOPERM no\r\n")
        assert entry == "s"
        assert isinstance(reply, ErrorReply)


@given(st.lists(st.binary(max_size=50) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8))
def test_the_encoder_and_the_c_reader_agree(parts: list[bytes | int]) -> None:
    reader = hiredis.Reader()
    reader.feed(pack(parts))
    assert reader.gets() == [part if isinstance(part, bytes) else b"%d" % part for part in parts]
