"""Links that break at a chosen byte, and peers that fall silent or speak nonsense."""

import pytest

from echomq.errors import (
    AuthRefused,
    ConnectTimeout,
    Disconnected,
    Loading,
    ReplyTimeout,
    ServerError,
    UnexpectedHello,
    Unknown,
)
from echomq.ids import JobId
from echomq.keys import QueueKeys
from echomq.records import Duplicate, Enqueued
from echomq.transitions.call import Call
from echomq.transitions.enqueue import enqueue
from tests.contract.drivers.speakers import Kind, speaking
from tests.faults.connector.peer import HELLO, SHA1, VERSION, Talk, scripted

KEYS = QueueKeys("faults")
JOBS = [JobId.of_snowflake(number) for number in range(1, 6)]
CALLS: list[Call[Enqueued | Duplicate]] = [enqueue(KEYS, job, b"x") for job in JOBS]


def serve(talk: Talk) -> None:
    talk.serve()


class TestBreaks:
    @pytest.mark.parametrize("tcp", [False, True])
    async def test_before_the_write_the_call_goes_over_a_new_link(self, kind: Kind, tcp: bool) -> None:
        seen: list[bytes] = []

        def close_idle(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"PING")
            talk.send(b"+PONG\r\n")

        def count(talk: Talk) -> None:
            talk.greet()
            while True:
                seen.append(talk.command()[0])
                talk.send(b"+PONG\r\n")

        with scripted(close_idle, count, tcp=tcp) as peer:
            async with speaking(kind, peer.url) as client:
                await client.command("PING")
                peer.wait_for_first()  # holds the loop up too, so its driver cannot have read the end yet
                assert await client.command("ONCE") == b"PONG"
        assert seen == [b"ONCE"]

    @pytest.mark.parametrize("answer", [b"", b":", b":1\r"])
    async def test_after_the_write_it_is_unknown_what_happened(self, kind: Kind, answer: bytes) -> None:
        def break_off(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(b"EVALSHA")
            talk.send(answer)

        with scripted(break_off, serve) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(Unknown) as caught:
                    await client.run(CALLS[0])
                assert caught.value.repeatable
                assert caught.value.about == f"enqueue of {JOBS[0]}"
                assert not isinstance(caught.value, ReplyTimeout)
                assert await client.run(CALLS[0]) == Enqueued(JOBS[0])

    async def test_an_unknown_plain_command_is_not_called_repeatable(self, kind: Kind) -> None:
        def break_off(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"INCR")

        with scripted(break_off, serve) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(Unknown) as caught:
                    await client.command("INCR", "a")
        assert not caught.value.repeatable

    async def test_inside_a_batch_the_answered_calls_keep_their_answers(self, kind: Kind) -> None:
        def break_off(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(*[b"EVALSHA"] * 5)
            talk.send(b":1\r\n:0\r\n$3\r\nab")

        with scripted(break_off, serve) as peer:
            async with speaking(kind, peer.url) as client:
                answers = await client.run_all(CALLS)
        assert answers[:2] == [Enqueued(JOBS[0]), Duplicate(JOBS[1])]
        assert [type(answer) for answer in answers[2:]] == [Unknown] * 3

    async def test_a_reset_is_a_break_like_any_other(self, kind: Kind) -> None:
        def reset(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(b"EVALSHA")
            talk.reset()

        with scripted(reset, serve, tcp=True) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(Unknown):
                    await client.run(CALLS[0])
                assert await client.run(CALLS[0]) == Enqueued(JOBS[0])

    async def test_five_resets_and_then_a_job(self, kind: Kind) -> None:
        def reset(talk: Talk) -> None:
            talk.greet()
            talk.reset()

        with scripted(*[reset] * 5, serve, tcp=True) as peer:
            async with speaking(kind, peer.url) as client:
                while isinstance(answer := (await client.run_all(CALLS[:1]))[0], Unknown):
                    assert answer.repeatable
                assert answer == Enqueued(JOBS[0])
            assert peer.connections == 6

    @pytest.mark.parametrize("steps", [0, 1, 2])
    async def test_a_break_while_greeting_is_tried_again(self, kind: Kind, steps: int) -> None:
        def break_off(talk: Talk) -> None:
            for name, reply in [(b"HELLO", HELLO), (b"GET", VERSION[:5])][:steps]:
                talk.expect(name)
                talk.send(reply)

        with scripted(break_off, break_off, serve) as peer:
            async with speaking(kind, peer.url) as client:
                assert await client.command("PING") == b"PONG"
            assert peer.connections == 3


class TestSilence:
    async def test_the_late_call_is_told_so_and_the_next_goes_over_a_new_link(self, kind: Kind) -> None:
        def fall_silent(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"PING")
            talk.send(b"+PONG\r\n")
            talk.wait_for_end()

        with scripted(fall_silent, serve) as peer:
            async with speaking(kind, peer.url, reply_timeout_ms=50) as client:
                await client.command("PING", reply_timeout_ms=10_000)
                with pytest.raises(ReplyTimeout) as caught:
                    await client.run(CALLS[0])
                assert caught.value.repeatable
                assert await client.run(CALLS[0], reply_timeout_ms=10_000) == Enqueued(JOBS[0])

    async def test_silence_inside_a_batch_leaves_the_answered_calls_answered(self, kind: Kind) -> None:
        def fall_silent(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(*[b"EVALSHA"] * 5)
            talk.send(b":1\r\n:1\r\n")
            talk.wait_for_end()

        with scripted(fall_silent, serve) as peer:
            async with speaking(kind, peer.url, reply_timeout_ms=1_000) as client:
                answers = await client.run_all(CALLS)
        assert answers[:2] == [Enqueued(JOBS[0]), Enqueued(JOBS[1])]
        assert [type(answer) for answer in answers[2:]] == [ReplyTimeout] * 3

    async def test_silence_while_greeting_ends_with_the_time_of_the_call(self, kind: Kind) -> None:
        def say_nothing(talk: Talk) -> None:
            talk.wait_for_end()

        with scripted(say_nothing) as peer:
            async with speaking(kind, peer.url, reply_timeout_ms=400, connect_timeout_ms=20) as client:
                with pytest.raises(Disconnected) as caught:
                    await client.command("PING")
        assert isinstance(caught.value.__cause__, ConnectTimeout)


class TestNonsense:
    async def test_a_broken_reply_ends_the_link_and_the_next_call_has_another(self, kind: Kind) -> None:
        def babble(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(*[b"EVALSHA"] * 5)
            talk.send(b":1\r\n?what\r\n:1\r\n")
            talk.wait_for_end()

        with scripted(babble, serve) as peer:
            async with speaking(kind, peer.url) as client:
                answers = await client.run_all(CALLS)
                assert answers[0] == Enqueued(JOBS[0])
                assert [type(answer) for answer in answers[1:]] == [Unknown] * 4
                assert await client.run(CALLS[0]) == Enqueued(JOBS[0])

    async def test_a_reply_too_many_ends_the_link(self, kind: Kind) -> None:
        def stutter(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"PING")
            talk.send(b"+PONG\r\n+PONG\r\n")
            talk.wait_for_end()

        with scripted(stutter, serve) as peer:
            async with speaking(kind, peer.url) as client:
                assert await client.command("PING") == b"PONG"
                assert await client.command("ECHO", "mine") == b"mine", "no reply is ever handed to the wrong call"
            assert peer.connections == 2

    async def test_a_wrong_digest_ends_the_link(self, kind: Kind) -> None:
        def lie(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"SCRIPT")
            talk.send(b"$40\r\n%b\r\n" % SHA1[::-1])
            talk.wait_for_end()

        with scripted(lie, serve) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(Unknown, match="digest"):
                    await client.run(CALLS[0])
                assert await client.run(CALLS[0]) == Enqueued(JOBS[0])

    async def test_another_protocol_is_final(self, kind: Kind) -> None:
        def speak_http(talk: Talk) -> None:
            talk.expect(b"HELLO")
            talk.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        with scripted(speak_http) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(UnexpectedHello, match="HTTP"):
                    await client.command("PING")


class TestServerStates:
    async def test_noscript_in_a_pipeline_repeats_that_call_only(self, kind: Kind) -> None:
        repeated: list[list[bytes]] = []

        def forget_one(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(*[b"EVALSHA"] * 5)
            talk.send(b":1\r\n:0\r\n-NOSCRIPT No matching script.\r\n-EMQKIND no\r\n:1\r\n")
            repeated.append(talk.command())
            talk.send(b":0\r\n")
            talk.answer()

        with scripted(forget_one) as peer:
            async with speaking(kind, peer.url) as client:
                answers = await client.run_all(CALLS)
        assert answers[:3] == [Enqueued(JOBS[0]), Duplicate(JOBS[1]), Duplicate(JOBS[2])]
        assert isinstance(answers[3], ServerError)
        assert answers[4] == Enqueued(JOBS[4])
        ((verb, _, _, key, *_),) = repeated
        assert (verb, key) == (b"EVAL", KEYS.job(JOBS[2]))

    async def test_a_link_lost_after_the_repetition_is_unknown(self, kind: Kind) -> None:
        def forget_and_break(talk: Talk) -> None:
            talk.greet()
            talk.load()
            talk.expect(b"EVALSHA")
            talk.send(b"-NOSCRIPT No matching script.\r\n")
            talk.expect(b"EVAL")

        with scripted(forget_and_break) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(Unknown):
                    await client.run(CALLS[0])

    async def test_pushes_between_replies_disturb_nobody(self, kind: Kind) -> None:
        push = b">2\r\n+invalidate\r\n*1\r\n+key\r\n"

        def push_around(talk: Talk) -> None:
            talk.expect(b"HELLO")
            talk.send(push + HELLO)
            talk.expect(b"GET")
            talk.send(VERSION + push)
            talk.load()
            talk.expect(*[b"EVALSHA"] * 5)
            talk.send(push + (b":1\r\n" + push) * 5)
            talk.answer()

        with scripted(push_around) as peer:
            async with speaking(kind, peer.url) as client:
                assert await client.run_all(CALLS) == [Enqueued(job) for job in JOBS]
                assert await client.command("ECHO", "a") == b"a"

    async def test_loading_while_greeting_is_waited_for(self, kind: Kind) -> None:
        def load(talk: Talk) -> None:
            talk.expect(b"HELLO")
            talk.send(HELLO)
            talk.expect(b"GET")
            talk.send(b"-LOADING Valkey is loading the dataset in memory\r\n")
            talk.wait_for_end()

        with scripted(load, load, serve) as peer:
            async with speaking(kind, peer.url) as client:
                assert await client.command("PING") == b"PONG"
            assert peer.connections == 3

    async def test_loading_in_service_leads_to_a_new_link(self, kind: Kind) -> None:
        def load(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"PING")
            talk.send(b"-LOADING Valkey is loading the dataset in memory\r\n")
            talk.wait_for_end()

        with scripted(load, serve) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(Loading):
                    await client.command("PING")
                assert await client.command("PING") == b"PONG"
            assert peer.connections == 2

    async def test_a_moved_key_is_an_error_of_its_call_alone(self, kind: Kind) -> None:
        def move(talk: Talk) -> None:
            talk.greet()
            talk.expect(b"GET")
            talk.send(b"-MOVED 9051 127.0.0.1:7001\r\n")
            talk.answer()

        with scripted(move) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(ServerError, match="MOVED"):
                    await client.command("GET", "a")
                assert await client.command("PING") == b"PONG"
            assert peer.connections == 1

    async def test_refused_credentials_are_not_tried_again_and_again(self, kind: Kind) -> None:
        def refuse(talk: Talk) -> None:
            talk.expect(b"HELLO")
            talk.send(b"-WRONGPASS invalid username-password pair\r\n")

        with scripted(refuse) as peer:
            async with speaking(kind, peer.url) as client:
                with pytest.raises(AuthRefused):
                    await client.command("PING")
            assert peer.connections == 1
