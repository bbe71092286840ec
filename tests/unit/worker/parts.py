"""Small parts for the worker's tests: ids, dice that show what they are told, a clock that moves when told."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from echomq.blocking_jobs import BlockingJobs
from echomq.errors import EchoMQError
from echomq.ids import JobId
from echomq.jobs import Jobs
from echomq.records import Awaited, Claimed, Paused, Taken, Token
from echomq.transitions.call import Call, Transition
from echomq.transitions.take import BLOCKING
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
    """Parks until it is told how the wait ends: by a token, by the time, by an error.

    With `keeps_asks` its server keeps asks, until it is told what the answer is; None refuses them.
    """

    def __init__(self) -> None:
        self.keeps_asks = False
        self.asked: list[Call[Awaited]] = []
        self._answering: asyncio.Future[Awaited | None] | None = None
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

    @property
    def is_asked(self) -> bool:
        return self._answering is not None

    def answer(self, answer: Taken | Paused | EchoMQError | None, waited_ms: int = 1, *, may_wait: bool = True) -> None:
        """Answer the ask that is kept; None: its time is over."""
        assert self._answering is not None
        if isinstance(answer, EchoMQError):
            self._answering.set_exception(answer)
        else:
            self._answering.set_result(Awaited(answer, waited_ms, may_wait))

    def refuse(self) -> None:
        """Say that the server keeps no asks after all."""
        assert self._answering is not None
        self.keeps_asks = False
        self._answering.set_result(None)

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

    async def can_ask(self, transition: Transition, wait_ms: float) -> bool:
        assert transition is BLOCKING
        return self.keeps_asks

    async def ask(self, call: Call[Awaited], block_ms: int) -> Awaited | None:
        assert call.args[-1] == block_ms
        self.asked.append(call)
        self._answering = asyncio.get_running_loop().create_future()
        try:
            return await self._answering
        finally:
            self._answering = None

    def park_only(self) -> None:
        self.keeps_asks = False

    def wake(self) -> None:
        if self._ending is not None and not self._ending.done():
            self._ending.set_result(None)
        if self._answering is not None and not self._answering.done():
            self._answering.set_result(Awaited(None, 1))

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
