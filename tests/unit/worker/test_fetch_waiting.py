"""Fetching where the server keeps an ask until there is work."""

import logging

import pytest

from echomq.errors import Disconnected, EchoMQError, Unknown
from echomq.records import Awaited, Paused
from echomq.transitions.call import Call
from tests.unit.worker.fetching import Bench, taken
from tests.unit.worker.parts import claimed, jid, until

BEATS_MS = 2_000
OFFERED_MS = BEATS_MS + 100


def told(call: Call[Awaited]) -> tuple[object, ...]:
    """Return size and worth of an ask."""
    return tuple(call.args[1:3])


async def test_an_idle_worker_has_one_ask_kept_for_all_its_free_slots() -> None:
    bench = Bench(ready=1, slots=4, keeps_asks=True)
    bench.fetch.start()
    ask = await bench.asked()
    assert bench.queue.sizes == [4]
    assert bench.fetch.is_idle
    lease_ms, size, worth, watcher, park_ms, word, block_ms = ask.args
    assert (lease_ms, size, worth, word, block_ms) == (5_000, 3, b"", b"BLOCK", BEATS_MS)
    assert park_ms == BEATS_MS + 100, "what is due until the server ends the wait, which may be late, is told as well"
    assert {watcher} == {name.encode() for name in bench.queue.watchers}
    assert bench.parking.waits_ms == []
    await bench.end()


async def test_what_arrives_is_run_and_the_next_ask_is_kept_at_once() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(taken(claimed(1), wait_ms=OFFERED_MS), waited_ms=700)
    await until(lambda: bench.counts.claimed == 1)
    assert told(await bench.asked()) == (3, b"")
    assert bench.queue.sizes == [4], "nothing else was asked"
    assert (bench.counts.woken, bench.counts.woken_in_vain) == (1, 0)
    await bench.end()


@pytest.mark.parametrize(("waited_ms", "deadline_ms"), [(0, 6_000), (1, 6_000), (700, 6_699)])
async def test_a_lease_ends_here_no_later_than_on_the_server(waited_ms: int, deadline_ms: int) -> None:
    """A wait of 700 ms of the server's clock may have lasted 699.1."""
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.clock.now_ms += 900  # what the answer took on its way does not count
    bench.parking.answer(taken(claimed(1), wait_ms=OFFERED_MS), waited_ms=waited_ms)
    await until(lambda: bench.counts.claimed == 1)
    assert [hold.deadline_ms for hold in bench.claimed] == [deadline_ms]
    await bench.end()


async def test_slots_that_become_free_meanwhile_are_asked_for_the_next_time() -> None:
    bench = Bench(ready=2, slots=4, keeps_asks=True)
    bench.fetch.start()
    assert told(await bench.asked()) == (2, b"")
    bench.free(1)
    await bench.settle_down()
    assert len(bench.parking.asked) == 1
    bench.parking.answer(taken(claimed(7), claimed(8), more=True))
    await until(lambda: bench.queue.sizes == [4, 1])
    await bench.end()


async def test_when_its_time_is_over_it_asks_again_as_one_that_nobody_woke() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    for asks in range(1, 4):
        assert told(await bench.asked()) == (4, b"" if asks == 1 else b"beat")
        bench.parking.answer(None)
        await until(lambda asks=asks: len(bench.parking.asked) > asks)  # type: ignore[misc]  # a default binds it
    assert bench.queue.sizes == [4]
    assert bench.fetch.is_idle
    assert bench.counts.woken == 0
    await bench.end()


async def test_waiting_in_vain_is_counted() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    for waited_ms in (5, 0, 5):
        await bench.asked()
        bench.parking.answer(taken(wait_ms=OFFERED_MS), waited_ms)
        await bench.settle_down()
    assert (bench.counts.woken, bench.counts.woken_in_vain) == (2, 2)
    await bench.end()


async def test_a_paused_queue_is_waited_for_too_and_upkeep_does_not_rest() -> None:
    bench, rests = Bench(ready=0, slots=4, keeps_asks=True), []
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(taken(wait_ms=OFFERED_MS))
    for answer in (Paused(), None):  # the latter says nothing about what is due
        await bench.settle_down()
        await bench.asked()
        rests.append(bench.fetch.is_idle)
        bench.parking.answer(answer)
    await bench.settle_down()
    assert [*rests, bench.fetch.is_idle] == [True, False, False]
    await bench.end()


async def test_what_is_due_is_done_and_asked_for_without_waiting() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.upkeep.due = 1
    bench.fetch.start()
    await bench.asked()
    bench.queue.ready = 1
    bench.parking.answer(taken(due=True), waited_ms=0)
    await until(lambda: bench.counts.claimed == 1)
    assert (bench.upkeep.catches_up, bench.queue.sizes) == (1, [4, 4])
    await bench.end()


async def test_what_stays_due_is_waited_for_by_tokens_alone() -> None:
    """An ask would be answered at once, again and again."""
    bench = Bench(ready=0, slots=4, beat_ms=100, keeps_asks=True)
    bench.queue.instead = [taken(due=True)] * 50
    bench.fetch.start()
    for _ in range(3):
        await bench.parked()
        bench.parking.end()
        await bench.settle_down()
    assert bench.parking.waits_ms[:3] == [20, 40, 80]
    assert bench.parking.asked == []
    await bench.end()


# --- the alarm ------------------------------------------------------------------------------------------------------


async def test_upkeep_does_what_is_due_while_an_ask_is_kept() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.fetch.scheduled(1)
    await until(lambda: bench.upkeep.nudges == 1)
    assert bench.parking.is_asked
    assert len(bench.parking.asked) == 1
    await bench.end()


async def test_who_begins_to_watch_keeps_the_instant_while_its_next_asks_are_kept() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(taken(wait_ms=50), waited_ms=0)
    await until(lambda: len(bench.parking.asked) == 2)
    bench.parking.answer(None)  # says nothing about the instant
    await until(lambda: bench.upkeep.nudges == 1)
    assert bench.parking.is_asked
    await bench.end()


async def test_what_another_worker_watches_for_is_no_alarm() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.queue.instead = [taken(wait_ms=50)]
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(taken(wait_ms=OFFERED_MS), waited_ms=5)
    await bench.settle_down()
    await bench.asked()
    assert bench.fetch._watch.alarm.left_ms is None
    await bench.end()


# --- who cannot wait ------------------------------------------------------------------------------------------------


async def test_a_link_whose_server_keeps_no_asks_is_parked_at() -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.refuse()
    await bench.parked()
    bench.queue.ready = 1
    bench.parking.end(b"1")
    await until(lambda: bench.counts.claimed == 1)
    assert bench.queue.worths == [b"", b"1"]
    await bench.end()


@pytest.mark.parametrize("answer", [taken(wait_ms=OFFERED_MS), Paused()], ids=["empty", "paused"])
async def test_a_server_that_does_not_let_it_wait_is_not_asked_again_and_again(answer: object) -> None:
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    assert not bench.parking.waits_ms
    bench.parking.answer(answer, 0, may_wait=False)  # type: ignore[arg-type]  # as parametrized
    await bench.parked()
    assert len(bench.parking.asked) == 1
    await bench.end()


@pytest.mark.parametrize("answer", [taken(wait_ms=500), Paused()], ids=["watch", "paused"])
async def test_an_ask_that_is_not_kept_again_and_again_is_followed_by_waits_for_tokens(answer: object) -> None:
    """The server evicts the watch, say, so that whoever asks begins to watch anew."""
    bench = Bench(ready=0, slots=4, keeps_asks=True)
    bench.queue.instead = [taken(wait_ms=BEATS_MS)] * 50
    bench.fetch.start()
    for asks in (1, 2, 3, 4):
        await bench.asked()
        assert (len(bench.parking.asked), bench.parking.waits_ms) == (asks, [])
        bench.parking.answer(answer, 0)  # type: ignore[arg-type]  # as parametrized
        await bench.settle_down()
    await bench.parked()
    bench.parking.end()
    await bench.asked()
    bench.parking.answer(answer, 0)  # type: ignore[arg-type]  # as parametrized
    await bench.settle_down()
    await bench.parked()
    assert bench.parking.waits_ms == [20, 40]
    bench.parking.end()
    await bench.asked()
    bench.parking.answer(answer, 5)  # type: ignore[arg-type]  # as parametrized
    await bench.settle_down()
    assert bench.parking.is_asked, "it waited, so all is well"
    await bench.end()


# --- errors and ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Unknown("take of q", repeatable=False, reason="the link was lost"), "jobs may have been claimed"),
        (EchoMQError("odd"), "is tried again"),
    ],
)
async def test_an_ask_that_failed_while_it_waited_is_told_and_asked_without_waiting(
    error: EchoMQError, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(ready=0, slots=1, keeps_asks=True)
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.fetch.start()
        await bench.asked()
        bench.queue.ready = 1
        bench.parking.answer(error)
        await until(lambda: bench.counts.claimed == 1)
    assert bench.counts.errors == 1
    assert words in caplog.text
    assert bench.queue.sizes == [1, 1]
    await bench.end()


async def test_an_ask_that_was_not_sent_is_no_error() -> None:
    bench = Bench(ready=0, slots=1, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(Disconnected("no link"))
    await bench.parked()
    assert bench.counts.errors == 0
    await bench.end()


async def test_jobs_that_come_as_it_stops_are_passed_on_to_be_handed_back() -> None:
    bench = Bench(ready=0, slots=2, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(taken(claimed(1), wait_ms=OFFERED_MS))
    bench.fetch.stop()
    await bench.end()
    assert len(bench.claimed) == 1
    assert len(bench.parking.asked) == 1
    assert bench.parking.is_closed


async def test_a_worker_that_stops_ends_its_ask_and_gives_back_its_watch() -> None:
    bench = Bench(ready=0, slots=2, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    await bench.end()
    assert bench.queue.woke == [(1, *bench.queue.watchers)]


async def test_a_link_that_is_lost_by_the_stop_itself_keeps_nobody_from_leaving() -> None:
    bench = Bench(ready=0, slots=2, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(Unknown("take of q", repeatable=False, reason="the link was lost"))
    bench.fetch.stop()
    await bench.end()
    assert bench.queue.woke == [(1, *bench.queue.watchers)]
    assert bench.counts.errors == 1


async def test_a_broken_row_that_ends_a_wait_is_counted() -> None:
    bench = Bench(ready=0, slots=1, keeps_asks=True)
    bench.fetch.start()
    await bench.asked()
    bench.parking.answer(taken(broken=(jid(5),), wait_ms=OFFERED_MS))
    await until(lambda: bench.counts.broken == 1)
    await bench.end()
