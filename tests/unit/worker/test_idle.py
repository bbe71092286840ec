import asyncio

from echomq.worker.idle import Idle


async def test_waits_double_up_to_a_beat_and_begin_again_after_work() -> None:
    idle = Idle(beat_ms=50)
    lengths = []
    for _ in range(5):
        lengths.append(idle.next_wait_ms)
        waiting = asyncio.ensure_future(idle.wait())
        await asyncio.sleep(0)
        await waiting
    assert lengths == [10, 20, 40, 50, 50]
    idle.found_work()
    assert idle.next_wait_ms == 10


async def test_a_beat_shorter_than_the_first_wait_is_the_wait() -> None:
    assert Idle(beat_ms=3).next_wait_ms == 3


async def test_a_wake_ends_the_wait_and_one_before_it_is_not_forgotten() -> None:
    idle = Idle(beat_ms=3_600_000)
    waiting = asyncio.ensure_future(idle.wait_a_beat())
    await asyncio.sleep(0)
    idle.wake()
    async with asyncio.timeout(60):
        await waiting
        idle.wake()
        await idle.wait_a_beat()
