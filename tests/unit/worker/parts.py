"""Small parts for the worker's tests: ids, dice that show what they are told, a clock that moves when told."""

import asyncio
from collections.abc import Callable
from typing import cast

from echomq.blocking_jobs import BlockingJobs
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Claimed, Token
from echomq.worker.context import Desk
from echomq.worker.hold import Hold

__all__ = ["FixedDice", "HandClock", "claimed", "desk", "hold", "jid", "until"]


class FixedDice:
    def __init__(self, shows: float) -> None:
        self.shows = shows

    def fraction(self) -> float:
        return self.shows


class HandClock:
    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms

    def unix_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


def jid(number: int = 1) -> JobId:
    return JobId.of_snowflake(number)


def claimed(number: int = 1, *, token: int = 1) -> Claimed:
    return Claimed(jid(number), b"payload", Token(token))


def hold(number: int = 1, *, token: int = 1, deadline_ms: int = 10**15) -> Hold:
    return Hold(claimed(number, token=token), deadline_ms=deadline_ms)


def desk(jobs: object = None) -> Desk:
    return Desk(cast("Jobs", jobs), lambda: cast("BlockingJobs", jobs))


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until the condition holds; the test's own time-out is the bound."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - any condition, so that no event would do
            await asyncio.sleep(0)
