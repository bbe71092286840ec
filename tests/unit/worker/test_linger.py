"""Lingering: when it begins, when it ends, and what a fetch does meanwhile, by a time that moves when told."""

import asyncio

import pytest

from echomq.records import Paused
from echomq.worker.linger import SPAN_MAX_MS, Linger
from tests.unit.worker.fetching import Bench, taken
from tests.unit.worker.parts import HandTime, claimed

GATHER_MS = 2


@pytest.fixture
async def time(monkeypatch: pytest.MonkeyPatch) -> HandTime:
    return HandTime(monkeypatch)


@pytest.fixture
async def linger(time: HandTime) -> Linger:
    return Linger(GATHER_MS)


async def token(linger: Linger, time: HandTime, *, after_ms: float, found: int = 1) -> bool:
    """Have a token come after this time, and say whether to linger; else the ask finds so many jobs at once."""
    await time.passes(after_ms)
    linger.woken()
    if not linger.is_on:
        linger.asked(found)
    return linger.is_on


async def lingered(linger: Linger, time: HandTime, *, found: int, ms: float = 2.5) -> bool:
    await time.passes(ms)
    linger.asked(found)
    return linger.is_on


async def began(linger: Linger, time: HandTime, *, after_ms: float = 0.5, found: int = 1) -> bool:
    """Have tokens come at this rate until it lingers; False: it does not."""
    for _ in range(50):
        if await token(linger, time, after_ms=after_ms, found=found):
            return True
    return False


# --- the judgement --------------------------------------------------------------------------------------------------


async def test_jobs_at_a_moderate_rate_are_no_stream(linger: Linger, time: HandTime) -> None:
    assert not await began(linger, time, after_ms=GATHER_MS / 3)


async def test_more_than_three_jobs_in_the_time_of_a_gathering_are_a_stream(linger: Linger, time: HandTime) -> None:
    assert await began(linger, time, after_ms=GATHER_MS / 3.2)


async def test_a_few_jobs_in_a_row_are_no_stream_yet(linger: Linger, time: HandTime) -> None:
    assert not any([await token(linger, time, after_ms=0) for _ in range(4)])
    assert await began(linger, time, after_ms=0)


async def test_after_a_wait_as_long_as_a_gathering_no_job_is_kept_waiting(linger: Linger, time: HandTime) -> None:
    for _ in range(3):
        await began(linger, time, after_ms=0)
        assert not await token(linger, time, after_ms=GATHER_MS + 0.001)


async def test_without_time_to_gather_nobody_lingers(time: HandTime) -> None:
    assert not await began(Linger(0), time, after_ms=0)


async def test_no_job_is_held_back_for_longer_than_two_ms_however_long_others_gather(time: HandTime) -> None:
    linger = Linger(500)
    assert not await began(linger, time, after_ms=SPAN_MAX_MS / 3)
    assert await began(linger, time, after_ms=0.5)
    waiting = asyncio.ensure_future(linger.wait(100))
    await time.passes(0)
    await time.passes(SPAN_MAX_MS + 0.01)
    assert waiting.done()


async def test_a_wait_that_no_token_ended_ends_a_stream(linger: Linger, time: HandTime) -> None:
    for _ in range(3):
        for _ in range(4):
            assert not await token(linger, time, after_ms=0.1)
        linger.over()
    assert await began(linger, time)


async def test_tokens_whose_jobs_others_took_are_no_stream(linger: Linger, time: HandTime) -> None:
    assert not await began(linger, time, found=0)


async def test_it_goes_on_while_jobs_come_as_fast_as_before_and_ends_when_none_does(
    linger: Linger, time: HandTime
) -> None:
    await began(linger, time)
    for _ in range(100):
        assert await lingered(linger, time, found=5)
    assert not await lingered(linger, time, found=0)


async def test_one_slow_round_does_not_end_a_stream_and_a_row_of_them_does(linger: Linger, time: HandTime) -> None:
    await began(linger, time)
    for _ in range(10):
        await lingered(linger, time, found=6)
    rounds = [await lingered(linger, time, found=2) for _ in range(6)]
    assert rounds[0]
    assert not rounds[-1]


async def test_jobs_that_gather_by_themselves_are_left_alone(linger: Linger, time: HandTime) -> None:
    assert not await began(linger, time, found=4)
    assert await began(linger, time, found=3)


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_chains_are_slowed_ever_less(linger: Linger, time: HandTime, at_once: int) -> None:
    """Each job enqueues the next: as many come in a gathering as without one, in a fifth of its time."""
    slowed, rounds = 0, 2_000
    for _ in range(rounds):
        if await token(linger, time, after_ms=0.5, found=at_once):
            slowed += 1
            assert not await lingered(linger, time, found=at_once)
    assert 0 < slowed <= 20


async def test_a_stream_after_a_chain_is_noticed_and_makes_good_for_it(linger: Linger, time: HandTime) -> None:
    for _ in range(500):
        if await token(linger, time, after_ms=0.5):
            await lingered(linger, time, found=1)
    left_out = 0
    while not await token(linger, time, after_ms=0.5):
        left_out += 1
    assert 3 < left_out <= 257
    assert await lingered(linger, time, found=5)
    assert not await lingered(linger, time, found=0)
    assert [await token(linger, time, after_ms=0.5) for _ in range(3)] == [False, False, True]


async def test_jobs_that_a_wait_brings_with_its_end_tell_the_pace_as_tokens_do(linger: Linger, time: HandTime) -> None:
    for _ in range(50):
        await time.passes(0.5)
        linger.woken(1)
        if linger.is_on:
            break
    assert linger.is_on
    assert await lingered(linger, time, found=5)
    assert not await lingered(linger, time, found=0)


async def test_a_wait_that_one_job_of_a_burst_ends_is_no_occasion_to_linger(linger: Linger, time: HandTime) -> None:
    """Twenty chains: the first of their jobs ends the wait, and the others come while the next ask is on its way."""
    for number in range(200):
        await time.passes(0.15)
        linger.woken(19 if number % 2 else 1)
        assert not linger.is_on


# --- the wait -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most_ms", "lasts_ms"), [(100, GATHER_MS), (1, 1)])
async def test_a_wait_lasts_as_long_as_a_gathering_and_no_longer_than_told(
    linger: Linger, time: HandTime, most_ms: float, lasts_ms: float
) -> None:
    waiting = asyncio.ensure_future(linger.wait(most_ms))
    await time.passes(0)
    await time.passes(lasts_ms - 0.01)
    assert not waiting.done()
    await time.passes(0.02)
    assert waiting.done()


async def test_hurrying_ends_the_wait_and_not_the_next(linger: Linger, time: HandTime) -> None:
    for _ in range(2):
        waiting = asyncio.ensure_future(linger.wait(100))
        await time.passes(0)
        assert not waiting.done()
        linger.hurry()
        await time.passes(0)
        assert waiting.done()


# --- the fetch ------------------------------------------------------------------------------------------------------


class Stream:
    """A fetch with ten slots in a stream of jobs, where the next token, half a millisecond later, makes it linger."""

    def __init__(self, time: HandTime) -> None:
        self.time = time
        self.bench = Bench(ready=0, slots=10, gather_ms=GATHER_MS)
        self.queue, self.parking = self.bench.queue, self.bench.parking

    async def begin(self) -> None:
        self.bench.fetch.start()
        for number in range(8):
            await self.time.passes(0)
            assert self.parking.is_parked
            await self.token(after_ms=0.5)
            assert len(self.queue.sizes) == 2 + number
        await self.time.passes(0.5)
        self.queue.sizes.clear()
        self.queue.worths.clear()
        self.bench.counts.claimed = 0

    @property
    def asked(self) -> list[tuple[int, bytes]]:
        return list(zip(self.queue.sizes, self.queue.worths, strict=True))

    async def token(self, *, after_ms: float = 0, worth: bytes = b"1", ready: int = 1) -> None:
        await self.time.passes(after_ms)
        self.queue.ready += ready
        self.parking.end(worth)
        await self.time.passes(0)
        self.run_all()

    def run_all(self) -> None:
        """Have all handlers end."""
        self.bench.free(self.bench.running)


@pytest.fixture
async def stream(time: HandTime) -> Stream:
    stream = Stream(time)
    await stream.begin()
    return stream


async def test_a_job_at_an_idle_worker_is_asked_for_at_once(stream: Stream) -> None:
    for _ in range(3):
        await stream.token(after_ms=50)
        assert stream.asked[-1] == (10, b"1")
        assert stream.parking.is_parked
    assert len(stream.asked) == 3
    await stream.bench.end()


async def test_the_jobs_of_a_stream_gather_and_the_token_goes_with_the_ask(stream: Stream) -> None:
    await stream.token()
    stream.queue.ready += 5
    await stream.time.passes(GATHER_MS - 0.01)
    assert stream.asked == []
    await stream.time.passes(0.02)
    assert stream.asked == [(10, b"1")]
    assert stream.bench.counts.claimed == 6
    await stream.bench.end()


async def test_it_goes_on_without_parking_until_an_ask_finds_nothing(stream: Stream) -> None:
    parked = len(stream.parking.waits_ms)
    await stream.token()
    for found in (4, 5, 6):
        stream.queue.ready += found
        await stream.time.passes(GATHER_MS + 0.01)
        stream.run_all()
    assert stream.asked == [(10, b"1"), (10, b""), (10, b"")]
    assert len(stream.parking.waits_ms) == parked
    assert stream.bench.fetch.is_idle  # so that upkeep rests: each ask is told what is due
    await stream.time.passes(GATHER_MS + 0.01)
    assert (len(stream.asked), len(stream.parking.waits_ms)) == (4, parked + 1)
    assert stream.parking.is_parked
    assert stream.bench.counts.woken_in_vain == 0
    await stream.bench.end()


async def test_while_there_is_more_than_slots_nothing_is_waited_for(stream: Stream) -> None:
    await stream.token()
    stream.queue.ready = 25
    await stream.time.passes(GATHER_MS + 0.01)
    for claimed_so_far in (10, 20, 25):
        assert stream.bench.counts.claimed == claimed_so_far
        stream.run_all()
        await stream.time.passes(0)
    assert not stream.parking.is_parked
    await stream.bench.end()


@pytest.mark.parametrize("worth", [b"2", b"10", b"1000"])
async def test_a_token_that_is_worth_a_batch_is_not_held_back(stream: Stream, worth: bytes) -> None:
    await stream.token(worth=worth, ready=2)
    assert stream.asked == [(10, worth)]
    await stream.bench.end()


async def test_a_token_for_the_last_free_slot_is_not_held_back(stream: Stream) -> None:
    stream.bench.running = 9
    stream.queue.ready = 1
    stream.parking.end(b"1")
    await stream.time.passes(0)
    assert stream.asked == [(1, b"1")]
    assert stream.bench.running == 10
    await stream.bench.end()


async def test_a_stop_while_lingering_is_prompt_and_passes_the_token_on(stream: Stream) -> None:
    await stream.token()
    stream.bench.fetch.stop()
    await stream.time.passes(0)
    await stream.bench.end()
    assert stream.asked == []
    assert stream.queue.woke == [(1, *stream.queue.watchers)]


async def test_what_is_due_is_not_kept_waiting(stream: Stream) -> None:
    await stream.token()
    stream.bench.fetch.scheduled(1)
    await stream.time.passes(1.01)
    assert stream.asked == [(10, b"1")]
    await stream.bench.end()


async def test_what_the_server_says_is_due_sooner_ends_the_lingering_sooner(stream: Stream) -> None:
    stream.queue.instead = [taken(*[claimed(n) for n in range(5)], wait_ms=1)]
    await stream.token(ready=0)
    await stream.time.passes(GATHER_MS + 0.01)
    assert len(stream.asked) == 1
    await stream.time.passes(1.01)
    assert len(stream.asked) == 2
    await stream.bench.end()


async def test_a_queue_that_is_paused_meanwhile_is_parked_for(stream: Stream) -> None:
    await stream.token()
    stream.queue.instead = [Paused()]
    await stream.time.passes(GATHER_MS + 0.01)
    assert stream.parking.is_parked
    await stream.bench.end()


# --- a fetch whose asks are kept ------------------------------------------------------------------------------------


class Kept:
    """A fetch with ten slots whose asks the server keeps until a job comes. Each runs at once."""

    def __init__(self, time: HandTime) -> None:
        self.time = time
        self.bench = Bench(ready=0, slots=10, gather_ms=GATHER_MS, keeps_asks=True)

    async def begin(self) -> None:
        self.bench.fetch.start()
        await self.time.passes(0)
        assert self.bench.parking.is_asked

    async def job(self, number: int) -> bool:
        """Have a job come while an ask is kept, and say whether the worker lingers then."""
        self.bench.parking.answer(taken(claimed(number), wait_ms=2_000), waited_ms=0)
        await self.time.passes(0)
        self.bench.free(self.bench.running)
        return not self.bench.parking.is_asked


async def test_a_stream_whose_first_jobs_end_waits_is_lingered_for(time: HandTime) -> None:
    kept = Kept(time)
    await kept.begin()
    for number in range(50):
        await time.passes(0.5)
        if await kept.job(number):
            break
    else:
        pytest.fail("it never lingered")
    for rounds in range(2, 10):
        kept.bench.queue.ready = 4
        await time.passes(GATHER_MS + 0.1)
        kept.bench.free(kept.bench.running)
        assert len(kept.bench.queue.sizes) == rounds, "one ask for all that gathered"
    await time.passes(GATHER_MS + 0.1)
    assert kept.bench.parking.is_asked, "it ended"
    await kept.bench.end()


async def test_a_chain_whose_jobs_end_waits_is_slowed_ever_less(time: HandTime) -> None:
    kept = Kept(time)
    await kept.begin()
    slowed, rounds = 0, 500
    for number in range(rounds):
        await time.passes(0.5)
        if await kept.job(number):
            slowed += 1
            await time.passes(GATHER_MS + 0.1)  # the next one is enqueued by the one that runs, so none comes
        assert kept.bench.parking.is_asked
    assert 0 < slowed <= 20
    await kept.bench.end()
