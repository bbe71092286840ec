"""Fetching from a queue that answers as it is told."""

import asyncio
import logging

import pytest

from echomq.errors import Closed, Disconnected, EchoMQError, Unknown
from echomq.records import Paused
from echomq.transitions.take import PARK_MS_MAX
from tests.unit.worker.fetching import HOUR_MS, Bench, taken
from tests.unit.worker.parts import claimed, jid, until


async def test_one_ask_is_for_all_free_slots() -> None:
    bench = Bench(ready=1_000, slots=40)
    bench.fetch.start()
    await bench.settle_down()
    assert bench.queue.sizes == [40]
    assert bench.counts.claimed == 40
    assert {hold.deadline_ms for hold in bench.claimed} == {6_000}
    await bench.end()


async def test_under_load_it_asks_when_a_quarter_is_free_and_not_for_each_slot() -> None:
    bench = Bench(ready=1_000, slots=40)
    bench.fetch.start()
    await bench.settle_down()
    bench.free(9)
    await bench.settle_down()
    assert bench.queue.sizes == [40]
    bench.free(1)
    await bench.settle_down()
    assert bench.queue.sizes == [40, 10]
    await bench.end()


async def test_slots_that_become_free_during_an_ask_wait_for_company_too() -> None:
    bench = Bench(ready=1_000, slots=40)
    bench.fetch.start()
    await bench.settle_down()
    bench.queue.gate.clear()
    bench.free(10)
    await bench.settle_down()
    bench.free(1)
    bench.queue.gate.set()
    await bench.settle_down()
    assert bench.queue.sizes == [40, 10]
    await bench.end()


async def test_it_asks_when_nothing_is_running() -> None:
    bench = Bench(ready=5, slots=2)
    bench.fetch.start()
    await until(lambda: bench.counts.claimed == 2)
    bench.free(2)
    await until(lambda: bench.counts.claimed == 4)
    await bench.end()


async def test_a_free_slot_beside_long_jobs_does_not_stay_empty() -> None:
    bench = Bench(ready=1_000, slots=40, gather_ms=1)
    bench.fetch.start()
    await bench.settle_down()
    bench.free(1)
    await until(lambda: bench.queue.sizes == [40, 1])
    await bench.end()


async def test_it_goes_on_at_once_while_the_server_has_more() -> None:
    bench = Bench(ready=0, slots=4)
    bench.queue.instead = [taken(more=True), taken(claimed(1), more=True), taken(wait_ms=9)]
    bench.fetch.start()
    await until(lambda: bench.queue.sizes == [4, 4, 3])
    await bench.end()


async def test_work_that_is_left_behind_for_a_while_is_told_as_by_one_who_was_not_woken() -> None:
    bench = Bench(ready=100, slots=1)
    bench.fetch.start()
    for _ in range(3):
        await bench.settle_down()
        bench.clock.now_ms += 60
        bench.free(1)
    await bench.settle_down()
    assert bench.queue.worths == [b"", b"", b"beat", b""], "after 120 ms, and again not before another 100"
    bench.clock.now_ms += 1_000
    bench.queue.ready = 0
    bench.free(1)
    await bench.parked()
    assert bench.queue.worths[4:] == [b"beat"]
    bench.queue.ready = 1
    bench.clock.now_ms += 1_000
    bench.parking.end(b"1")
    await bench.settle_down()
    assert bench.queue.worths[5:] == [b"1"], "nothing was left since it parked"
    await bench.end()


async def test_an_idle_worker_offers_to_park_for_two_beats_and_parks_as_long_as_it_is_told() -> None:
    bench = Bench(ready=0, slots=4, beat_ms=1_000)
    bench.queue.instead = [taken(wait_ms=2_000), taken(wait_ms=700)]
    bench.fetch.start()
    await bench.parked()
    assert (bench.queue.park_ms, bench.parking.waits_ms) == (2_000, [2_000])
    assert bench.fetch.is_idle
    bench.parking.end()
    await until(lambda: len(bench.parking.waits_ms) == 2)
    assert bench.parking.waits_ms[1] == pytest.approx(700, abs=100)
    assert bench.queue.worths == [b"", b"beat"]
    assert len(bench.queue.watchers) == 1
    await bench.end()


async def test_an_offer_is_never_longer_than_the_protocol_allows() -> None:
    bench = Bench(ready=0, slots=1, beat_ms=HOUR_MS)
    bench.fetch.start()
    await bench.parked()
    assert bench.queue.park_ms == PARK_MS_MAX
    await bench.end()


async def test_the_worth_of_a_token_goes_with_the_next_ask_until_one_is_answered() -> None:
    bench = Bench(ready=0, slots=4)
    bench.fetch.start()
    await bench.parked()
    bench.queue.instead = [Disconnected("no link")]
    bench.queue.ready = 9
    bench.parking.end(b"9")
    await until(lambda: bench.counts.claimed == 4)
    assert bench.queue.worths == [b"", b"9", b"9"]
    assert (bench.counts.woken, bench.counts.woken_in_vain) == (1, 0)
    await bench.end()


async def test_a_woken_worker_asks_at_once_however_few_slots_are_free() -> None:
    bench = Bench(ready=39, slots=40)
    bench.fetch.start()
    await bench.parked()
    bench.queue.ready = 1
    bench.parking.end(b"1")
    await until(lambda: bench.counts.claimed == 40)
    await bench.end()


async def test_waking_in_vain_is_counted() -> None:
    bench = Bench(ready=0, slots=4)
    bench.fetch.start()
    for end in (b"1", None, b"1"):
        await bench.parked()
        bench.parking.end(end)
        await bench.settle_down()
    assert (bench.counts.woken, bench.counts.woken_in_vain) == (2, 2)
    await bench.end()


async def test_a_paused_queue_is_parked_for_too_and_upkeep_does_not_rest() -> None:
    bench = Bench(ready=1, slots=2, beat_ms=1_000)
    bench.queue.instead = [Paused(), Paused()]
    bench.fetch.start()
    for _ in range(2):
        await bench.parked()
        assert not bench.fetch.is_idle
        bench.parking.end(b"1")
        await bench.settle_down()
    assert bench.counts.claimed == 1
    assert bench.parking.waits_ms[:2] == [2_000, 2_000]
    await bench.end()


async def test_what_is_due_is_done_at_once_and_then_it_asks_again() -> None:
    bench = Bench(ready=3, slots=4)
    bench.upkeep.due = 1
    bench.queue.instead = [taken(due=True)]
    bench.fetch.start()
    await until(lambda: bench.counts.claimed == 3)
    assert bench.upkeep.catches_up == 1
    assert bench.queue.sizes == [4, 4]
    await bench.end()


async def test_what_stays_due_is_tried_again_after_waits_that_grow_up_to_a_beat() -> None:
    bench = Bench(ready=0, slots=4, beat_ms=100)
    bench.queue.instead = [taken(due=True)] * 50
    bench.fetch.start()
    for round_ in range(6):
        await bench.parked()
        assert bench.upkeep.catches_up == 4 + round_
        assert not bench.fetch.is_idle, "upkeep goes on by its own clock"
        bench.parking.end()
        await bench.settle_down()
    assert bench.parking.waits_ms[:6] == [20, 40, 80, 100, 100, 100]
    await bench.end()


async def test_it_asks_and_parks_for_what_is_told_however_often_something_is_due_in_between() -> None:
    bench = Bench(ready=0, slots=4)
    moved, taken_one, last = taken(due=True), taken(claimed(1), due=True), taken(wait_ms=700)
    bench.queue.instead = [*[moved] * 10, taken_one, moved, taken_one, moved, last]
    bench.upkeep.due = 10
    bench.fetch.start()
    await bench.parked()
    assert bench.parking.waits_ms == [pytest.approx(700, abs=100)]
    await bench.end()


async def test_more_that_cannot_be_got_is_waited_for_ever_longer_and_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(ready=0, slots=1, beat_ms=100)
    waits_ms: list[float] = []

    async def pause(wait_ms: float) -> None:
        waits_ms.append(wait_ms)
        await asyncio.sleep(0)

    monkeypatch.setattr(bench.fetch, "_pause", pause)
    more = taken(more=True)
    bench.queue.instead = [*[more] * 9, taken(broken=(jid(1),), more=True), *[more] * 4]
    with caplog.at_level(logging.ERROR, "echomq.worker"):
        bench.fetch.start()
        await bench.parked()
    assert waits_ms == [20, 40, 80, 100, 100, 100, 20]
    assert bench.counts.errors == 7
    lines = [line for line in caplog.messages if line.startswith("queue q: jobs wait in lanes that cannot be served")]
    assert len(lines) == 4, "the 1st, 2nd and 4th in a row, and the 1st of the next"
    await bench.end()


async def test_what_is_due_while_it_waits_for_more_is_done_by_upkeep() -> None:
    bench = Bench(ready=0, slots=1, beat_ms=HOUR_MS)
    bench.queue.instead = [taken(more=True)] * 50
    bench.fetch.start()
    await until(lambda: bench.counts.errors == 1)
    bench.fetch.scheduled(1)
    await until(lambda: bench.upkeep.nudges == 1)
    await bench.end()


async def test_a_job_of_ours_that_is_due_earlier_ends_the_parking() -> None:
    bench = Bench(ready=0, slots=4)
    bench.fetch.start()
    await bench.parked()
    bench.fetch.scheduled(1)
    await until(lambda: bench.queue.worths == [b"", b"beat"])
    await bench.parked()
    bench.fetch.scheduled(HOUR_MS)
    await bench.settle_down()
    assert bench.parking.is_parked
    assert bench.parking.waits_ms == [2_000, 2_000]
    await bench.end()


async def test_a_job_of_ours_that_is_put_off_during_the_stop_sets_no_alarm() -> None:
    bench = Bench(ready=0, slots=1)
    bench.fetch.start()
    await bench.parked()
    await bench.end()
    bench.fetch.scheduled(HOUR_MS)
    assert bench.fetch._watch.alarm.left_ms is None


async def test_a_full_worker_has_upkeep_do_what_is_due() -> None:
    bench = Bench(ready=1, slots=1)
    bench.fetch.start()
    await until(lambda: bench.running == 1)
    await bench.settle_down()
    assert not bench.fetch.is_idle
    bench.fetch.scheduled(1)
    await until(lambda: bench.upkeep.nudges == 1)
    assert bench.queue.sizes == [1]
    await bench.end()


async def test_a_promise_to_watch_is_kept_by_a_worker_that_is_full_by_then() -> None:
    bench = Bench(ready=0, slots=1)
    bench.queue.instead = [taken(wait_ms=50)]
    bench.fetch.start()
    await bench.parked()
    bench.queue.ready = 1
    bench.parking.end(b"1")
    await until(lambda: bench.running == 1)
    await until(lambda: bench.upkeep.nudges == 1)
    await bench.end()


async def test_a_token_that_comes_while_there_is_no_room_is_passed_on() -> None:
    bench = Bench(ready=0, slots=1)
    bench.fetch.start()
    await bench.parked()
    bench.queue.ready = 1
    bench.parking.end()
    await until(lambda: bench.running == 1)
    await bench.settle_down()
    bench.parking.bring(b"6")
    await until(lambda: bench.queue.woke == [(6, None)])
    bench.free(1)
    await until(lambda: len(bench.queue.worths) == 3)
    assert bench.queue.worths[2] == b""
    await bench.end()


@pytest.mark.parametrize(("last", "worth"), [(None, 1), (b"7", 7)])
async def test_a_parked_worker_that_stops_passes_on_its_wake_up_and_its_watch(last: bytes | None, worth: int) -> None:
    bench = Bench(ready=0, slots=1)
    bench.fetch.start()
    await bench.parked()
    bench.parking.last_token = last
    await bench.end()
    assert bench.queue.woke == [(worth, *bench.queue.watchers)]
    assert bench.parking.is_closed


async def test_a_token_in_hand_at_the_stop_is_passed_on() -> None:
    bench = Bench(ready=0, slots=1)
    bench.fetch.start()
    await bench.parked()
    bench.parking.end(b"8")
    bench.fetch.stop()
    await bench.end()
    assert bench.queue.worths == [b""]
    assert bench.queue.woke == [(8, *bench.queue.watchers)]


async def test_a_worker_that_never_parked_has_nothing_to_pass_on() -> None:
    bench = Bench(ready=10, slots=1)
    bench.fetch.start()
    await until(lambda: bench.running == 1)
    await bench.end()
    assert bench.queue.woke == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Disconnected("no link"), "is tried again"),
        (Unknown("take of q", repeatable=False, reason="the link was lost"), "lease of 5000 ms"),
    ],
)
async def test_a_failed_ask_is_logged_and_tried_again(
    error: EchoMQError, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(ready=1, slots=1)
    bench.queue.instead = [error, error]
    with caplog.at_level(logging.WARNING, "echomq.worker"):
        bench.fetch.start()
        await until(lambda: bench.counts.claimed == 1)
    assert bench.counts.errors == 2
    assert words in caplog.text
    await bench.end()


async def test_a_client_closed_for_good_ends_the_loop_with_its_error() -> None:
    bench = Bench(ready=1, slots=1)
    bench.queue.instead = [Closed("closed")]
    bench.fetch.start()
    async with asyncio.timeout(60):
        assert isinstance(await bench.fetch.crash(), Closed)


async def test_broken_rows_are_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(ready=0, slots=1)
    bench.queue.instead = [taken(broken=(jid(5), jid(6)), wait_ms=9)]
    with caplog.at_level(logging.ERROR, "echomq.worker"):
        bench.fetch.start()
        await until(lambda: bench.counts.broken == 2)
    assert str(jid(5)) in caplog.text
    await bench.end()


async def test_a_stop_waits_for_the_ask_on_its_way_and_passes_its_jobs_on() -> None:
    bench = Bench(ready=2, slots=2)
    bench.queue.gate.clear()
    bench.fetch.start()
    await until(lambda: bench.queue.sizes == [2])
    bench.fetch.stop()
    bench.queue.gate.set()
    assert await bench.fetch.ended(within_ms=60_000)
    assert len(bench.claimed) == 2
    assert bench.queue.sizes == [2]
