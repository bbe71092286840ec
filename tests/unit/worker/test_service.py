import asyncio

import pytest

from echomq.errors import AuthRefused, Closed, Disconnected, KindRefused
from echomq.worker.service import Service, first_crash, is_final


class Waits(Service):
    def __init__(self, name: str = "waits") -> None:
        super().__init__(name)
        self.begun = 0
        self.ordered = 0

    async def _serve(self) -> None:
        self.begun += 1
        await self._pause(3_600_000)
        self.ordered += 1


class Crashes(Service):
    async def _serve(self) -> None:
        raise ValueError("a bug")


class Ends(Service):
    async def _serve(self) -> None:
        return


class Stubborn(Service):
    async def _serve(self) -> None:
        await asyncio.Event().wait()


async def test_a_service_runs_until_it_is_told_to_stop() -> None:
    service = Waits()
    service.start()
    await asyncio.sleep(0)
    service.stop()
    assert await service.ended(within_ms=60_000)
    assert (service.begun, service.ordered) == (1, 1)
    assert await service.crash() is None


async def test_start_stop_and_ended_may_be_repeated() -> None:
    service = Waits()
    for _ in range(3):
        service.start()
    await asyncio.sleep(0)
    for _ in range(3):
        service.stop()
        service.start()
        assert await service.ended(within_ms=60_000)
    assert service.begun == 1


async def test_a_service_that_was_never_started_ends_at_once() -> None:
    service = Waits()
    service.stop()
    service.start()
    assert await service.ended(within_ms=0)
    assert service.begun == 0


async def test_a_service_that_does_not_end_is_cancelled() -> None:
    service = Stubborn("stubborn")
    service.start()
    service.stop()
    assert not await service.ended(within_ms=1)


@pytest.mark.parametrize(("bad", "words"), [(Crashes("c"), "a bug"), (Ends("e"), "ended by itself")])
async def test_the_first_crash_is_told(bad: Service, words: str) -> None:
    good = Waits()
    good.start()
    bad.start()
    async with asyncio.timeout(60):
        assert words in str(await first_crash([good, bad]))
    good.stop()
    assert await good.ended(within_ms=60_000)


async def test_a_loop_cancelled_by_somebody_else_has_crashed() -> None:
    service = Waits()
    service.start()
    await asyncio.sleep(0)
    assert service._task is not None
    service._task.cancel()
    async with asyncio.timeout(60):
        assert "cancelled by somebody else" in str(await first_crash([service]))


async def test_starting_and_stopping_in_any_turn_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    for turns in range(200):
        services = [Waits(), Waits()]
        for service in services:
            service.start()
        for _ in range(turns % 5):
            await asyncio.sleep(0)
        for service in services:
            service.stop()
        for service in services:
            assert await service.ended(within_ms=60_000)
    assert asyncio.all_tasks() == before


def test_only_refusals_for_good_are_final() -> None:
    assert is_final(Closed("x"))
    assert is_final(AuthRefused("x"))
    assert not is_final(Disconnected("x"))
    assert not is_final(KindRefused("EMQKIND", about="x"))
