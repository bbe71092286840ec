"""The alarm, on the loop's own clock: it says how long is left, and rings are waited for."""

import asyncio

import pytest

from echomq.worker.alarm import Alarm

HOUR_MS = 3_600_000


def left_s(alarm: Alarm) -> int:
    assert alarm.left_ms is not None
    return round(alarm.left_ms / 1000)


@pytest.fixture
async def alarm() -> Alarm:
    return Alarm(lambda: None)


async def test_without_a_note_it_never_rings(alarm: Alarm) -> None:
    assert alarm.left_ms is None


async def test_the_earliest_of_our_jobs_counts(alarm: Alarm) -> None:
    for seconds in (500, 300, 400):
        alarm.due_in(seconds * 1000)
    assert left_s(alarm) == 300
    alarm.stop()
    assert alarm.left_ms is None


async def test_an_answer_replaces_what_was_known_when_it_was_asked_for(alarm: Alarm) -> None:
    alarm.due_in(100_000)
    alarm.asked()
    alarm.answered(700_000)
    assert left_s(alarm) == 700
    alarm.asked()
    alarm.answered(None)
    assert alarm.left_ms is None


async def test_what_is_noted_while_an_ask_is_on_its_way_outlives_the_answer(alarm: Alarm) -> None:
    alarm.asked()
    alarm.due_in(100_000)
    alarm.answered(700_000)
    assert left_s(alarm) == 100
    alarm.asked()
    alarm.answered(700_000)
    assert left_s(alarm) == 700
    alarm.stop()


async def test_an_ask_without_an_answer_forgets_nothing(alarm: Alarm) -> None:
    alarm.due_in(100_000)
    alarm.asked()
    alarm.due_in(200_000)
    alarm.asked()
    assert left_s(alarm) == 100
    alarm.stop()


async def test_it_rings_once_and_later_notes_are_forgotten_with_it() -> None:
    rung = asyncio.Event()
    rings: list[None] = []

    def ring() -> None:
        rings.append(None)
        rung.set()

    alarm = Alarm(ring)
    alarm.asked()
    alarm.answered(1)
    alarm.due_in(HOUR_MS)
    async with asyncio.timeout(60):
        await rung.wait()
    assert len(rings) == 1
    assert alarm.left_ms is None
