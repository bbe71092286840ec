"""Parking, on a link that does as it is told."""

import asyncio
import logging

import pytest

from echomq.errors import AuthRefused, Closed, Disconnected, EchoMQError, NoPermission, Unknown
from echomq.keys import QueueKeys
from echomq.records import Awaited, Paused
from echomq.transitions.call import Call
from echomq.transitions.take import take_blocking
from echomq.worker.counts import WorkerCounts
from echomq.worker.idle import BEAT, Idle, worth_of
from tests.unit.worker.parts import FakeParking, until

HOUR_MS = 3_600_000


class Bench:
    def __init__(self) -> None:
        self.counts = WorkerCounts()
        self.parkings: list[FakeParking] = []
        self.refusal: EchoMQError | None = None
        self.held = 0
        self.idle = Idle("q", self.counts, new_parking=self._new_parking, on_held=self._on_held)  # type: ignore[arg-type]  # a fake

    async def _new_parking(self) -> FakeParking:
        if self.refusal is not None:
            raise self.refusal
        self.parkings.append(FakeParking())
        return self.parkings[-1]

    def _on_held(self) -> None:
        self.held += 1

    async def parked(self, wait_ms: float = HOUR_MS) -> "asyncio.Task[bytes]":
        waiting = asyncio.ensure_future(self.idle.wait(wait_ms))
        await until(lambda: bool(self.parkings) and self.parkings[-1].is_parked)
        return waiting


@pytest.mark.parametrize(
    ("token", "worth"),
    [(b"1", 1), (b"17", 17), (b"0", 1), (b"1000", 1000), (b"9999", 1000), (b"", 1), (b"beat", 1), (b"1" * 400, 1)],
)
def test_a_text_that_is_no_worth_is_worth_one_and_no_worth_is_above_a_thousand(token: bytes, worth: int) -> None:
    assert worth_of(token) == worth


async def test_nothing_is_opened_before_the_first_wait_and_the_link_is_kept() -> None:
    bench = Bench()
    assert await bench.idle.close() == b""
    assert not bench.idle.has_parked
    for _ in range(2):
        waiting = await bench.parked()
        bench.parkings[0].end()
        await waiting
    assert len(bench.parkings) == 1
    assert bench.idle.has_parked


async def test_a_wait_ends_with_the_worth_of_its_token_or_with_a_beat() -> None:
    bench = Bench()
    for end, worth in ((b"12", b"12"), (b"?", b"1"), (None, BEAT)):
        waiting = await bench.parked(500)
        assert bench.idle.is_waiting
        bench.parkings[0].end(end)
        assert await waiting == worth
        assert not bench.idle.is_waiting
    assert bench.parkings[0].waits_ms == [500, 500, 500]
    assert bench.counts.woken == 2


async def test_a_wake_ends_the_wait_and_one_before_it_is_not_forgotten() -> None:
    bench = Bench()
    waiting = await bench.parked()
    bench.idle.wake()
    assert await waiting == BEAT
    bench.idle.wake()
    assert await bench.idle.wait(HOUR_MS) == BEAT
    waiting = await bench.parked()
    bench.idle.wake()
    await waiting


async def test_a_token_that_comes_while_nobody_waits_is_told_and_can_be_taken() -> None:
    bench = Bench()
    waiting = await bench.parked()
    bench.parkings[0].end()
    await waiting
    assert bench.idle.take_held() == b""
    bench.parkings[0].bring(b"4")
    assert (bench.held, bench.idle.holds_token) == (1, True)
    assert bench.idle.take_held() == b"4"
    assert not bench.idle.holds_token


async def test_a_refusal_is_counted_and_waited_out_and_the_link_is_used_again(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        waiting = await bench.parked()
        bench.parkings[0].end(NoPermission("NOPERM no BLPOP", about="BLPOP of wake"))
        await until(lambda: bench.counts.errors == 1)
        assert not waiting.done()
        bench.idle.wake()
        assert await waiting == BEAT
    assert "parking failed" in caplog.text
    await bench.parked()
    assert len(bench.parkings) == 1
    bench.idle.wake()


async def test_a_link_that_is_refused_for_good_is_replaced_at_the_next_wait() -> None:
    bench = Bench()
    waiting = await bench.parked(1)
    bench.parkings[0].end(AuthRefused("WRONGPASS"))
    assert await waiting == BEAT
    assert bench.parkings[0].is_closed
    waiting = await bench.parked()
    assert len(bench.parkings) == 2
    bench.idle.wake()
    await waiting


async def test_with_the_client_closed_it_does_not_wait() -> None:
    bench = Bench()
    bench.refusal = Closed("closed")
    async with asyncio.timeout(60):
        assert await bench.idle.wait(HOUR_MS) == BEAT


async def test_closing_gives_back_the_token_that_came_last() -> None:
    bench = Bench()
    waiting = await bench.parked()
    bench.idle.wake()
    await waiting
    bench.parkings[0].last_token = b"9"
    assert await bench.idle.close() == b"9"
    assert bench.parkings[0].is_closed


# --- asks that are kept ---------------------------------------------------------------------------------------------

ASK = take_blocking(QueueKeys("q"), lease_ms=1_000, size=1, block_ms=HOUR_MS)


def new_ask() -> tuple[Call[Awaited], int]:
    return ASK, HOUR_MS


class Kept(Bench):
    """A link whose server keeps asks."""

    async def _new_parking(self) -> FakeParking:
        parking = await super()._new_parking()
        parking.keeps_asks = True
        return parking

    async def asked(self) -> "asyncio.Task[Awaited | None]":
        asking = asyncio.ensure_future(self.idle.ask(new_ask, HOUR_MS))
        await until(lambda: bool(self.parkings) and self.parkings[-1].is_asked)
        return asking


async def test_an_ask_is_kept_until_it_is_answered() -> None:
    bench = Kept()
    asking = await bench.asked()
    assert (bench.idle.is_waiting, bench.idle.is_blocked, bench.idle.has_parked) == (True, True, True)
    bench.parkings[0].answer(Paused(), 7)
    assert await asking == Awaited(Paused(), 7)
    assert (bench.idle.is_waiting, bench.idle.is_blocked) == (False, False)


async def test_no_ask_is_made_where_none_is_kept() -> None:
    bench = Bench()
    assert await bench.idle.ask(lambda: pytest.fail("it was made"), HOUR_MS) is None
    bench.refusal = AuthRefused("WRONGPASS")
    await bench.idle.close()
    assert await bench.idle.ask(lambda: pytest.fail("it was made"), HOUR_MS) is None
    assert bench.counts.errors == 0, "the wait that follows tells it"


async def test_a_wake_ends_an_ask_and_one_before_it_is_not_forgotten() -> None:
    bench = Kept()
    asking = await bench.asked()
    bench.idle.wake()
    assert await asking == Awaited(None, 1)
    bench.idle.wake()
    assert await bench.idle.ask(lambda: pytest.fail("it was made"), HOUR_MS) is None
    assert await bench.idle.wait(HOUR_MS) == BEAT
    asking = await bench.asked()
    bench.idle.wake()
    await asking


async def test_a_server_that_lets_nobody_wait_is_asked_once() -> None:
    bench = Kept()
    asking = await bench.asked()
    bench.parkings[0].answer(Paused(), 0, may_wait=False)
    await asking
    assert await bench.idle.ask(lambda: pytest.fail("it was made"), HOUR_MS) is None


async def test_what_an_ask_fails_with_is_raised_but_that_it_was_not_sent() -> None:
    bench = Kept()
    asking = await bench.asked()
    bench.parkings[0].answer(Unknown("take of q", repeatable=False, reason="the link was lost"))
    with pytest.raises(Unknown):
        await asking
    asking = await bench.asked()
    bench.parkings[0].answer(Disconnected("no link"))
    assert await asking is None
    assert not bench.idle.is_blocked
