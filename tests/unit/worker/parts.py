"""Small parts for the worker's tests: ids, dice that show what they are told, a clock that moves when told."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from echomq.blocking_jobs import BlockingJobs
from echomq.errors import EchoMQError
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Claimed, Token
from echomq.worker.context import Desk
from echomq.worker.hold import Hold

__all__ = ["FakeParking", "FixedDice", "HandClock", "HandTime", "claimed", "desk", "hold", "jid", "until"]


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


class HandTime:
    """The time of the running loop, which moves when told: timers fire by it, and nothing takes any of it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._now_s = loop.time()
        patch.setattr(loop, "time", lambda: self._now_s)

    async def passes(self, ms: float) -> None:
        """Let so much time pass, and everybody act on it."""
        self._now_s += ms / 1000
        for _ in range(20):
            await asyncio.sleep(0)


class FakeParking:
    """Parks until it is told how the wait ends: by a token, by the time, by an error."""

    def __init__(self) -> None:
        self.waits_ms: list[float] = []
        self.last_token: bytes | None = None
        self.is_closed = False
        self._held: bytes | None = None
        self._on_held: Callable[[], None] = lambda: None
        self._ending: asyncio.Future[bytes | None] | None = None

    @property
    def is_parked(self) -> bool:
        return self._ending is not None

    def end(self, how: bytes | EchoMQError | None = None) -> None:
        """End the wait of who is parked: with a token, None for the time, or an error."""
        assert self._ending is not None
        if isinstance(how, EchoMQError):
            self._ending.set_exception(how)
        else:
            self._ending.set_result(how)

    def bring(self, token: bytes) -> None:
        """Bring a token while nobody is parked."""
        assert self._ending is None
        self._held = token
        self._on_held()

    # --- what the worker sees ---

    @property
    def holds_token(self) -> bool:
        return self._held is not None

    def when_held(self, on_held: Callable[[], None]) -> None:
        self._on_held = on_held

    def take_held(self) -> bytes | None:
        token, self._held = self._held, None
        return token

    async def park(self, wait_ms: float) -> bytes | None:
        self.waits_ms.append(wait_ms)
        if self._held is not None:
            return self.take_held()
        self._ending = asyncio.get_running_loop().create_future()
        try:
            return await self._ending
        finally:
            self._ending = None

    def wake(self) -> None:
        if self._ending is not None and not self._ending.done():
            self._ending.set_result(None)

    async def close(self) -> bytes | None:
        self.is_closed = True
        return self.last_token


def jid(number: int = 1) -> JobId:
    return JobId.of_snowflake(number)


def claimed(number: int = 1, *, token: int = 1, lane: str | None = None) -> Claimed:
    return Claimed(jid(number), b"payload", Token(token), lane)


def hold(number: int = 1, *, token: int = 1, deadline_ms: int = 10**15) -> Hold:
    return Hold(claimed(number, token=token), deadline_ms=deadline_ms)


def desk(jobs: object = None) -> Desk:
    return Desk(cast("Jobs", jobs), lambda: cast("BlockingJobs", jobs))


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until the condition holds; the test's own time-out is the bound."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - any condition, so that no event would do
            await asyncio.sleep(0)
