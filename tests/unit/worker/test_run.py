"""Every way in which a handler can end, in the loop and in a thread."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from echomq.worker.context import Run, current_job
from echomq.worker.hold import Hold
from echomq.worker.run import Handler, Runner
from echomq.worker.verdict import Cancelled, Outcome, Raised, Returned
from tests.unit.worker.parts import desk, hold, until


class OwnBase(BaseException):
    pass


class CallableObject:
    async def __call__(self, run: Run) -> bytes:
        return b"from an object"


class Bench:
    """A runner, and the endings it told."""

    def __init__(self, handler: Handler, *, threads: int = 2, ctrl_c_raises: bool = False) -> None:
        self.endings: list[tuple[Hold, Outcome]] = []
        self.interrupts: list[KeyboardInterrupt] = []
        self.runner = Runner(
            handler,
            desk(),
            threads=threads,
            on_end=lambda h, o: self.endings.append((h, o)),
            on_interrupt=self.interrupts.append if ctrl_c_raises else None,
        )

    async def outcome(self) -> Outcome:
        self.runner.start(hold())
        async with asyncio.timeout(60):
            await self.runner.idle()
        self.runner.close()
        ((_, outcome),) = self.endings
        return outcome


def both(handler: Callable[[Run], Any]) -> list[Handler]:
    async def in_loop(run: Run) -> bytes | None:
        result: bytes | None = handler(run)
        return result

    return [in_loop, handler]


def raising(error: BaseException) -> Callable[[Run], bytes]:
    def handler(run: Run) -> bytes:
        raise error

    return handler


@pytest.mark.parametrize("kind", [0, 1], ids=["loop", "thread"])
@pytest.mark.parametrize("result", [b"", b"\x00\xff", None])
async def test_bytes_and_none_are_results(kind: int, result: bytes | None) -> None:
    assert await Bench(both(lambda _: result)[kind]).outcome() == Returned(result)


@pytest.mark.parametrize("kind", [0, 1], ids=["loop", "thread"])
@pytest.mark.parametrize("result", ["text", 0, False, bytearray(b"x"), {"a": 1}, object(), float("nan")])
async def test_any_other_result_is_a_failure_that_names_its_type(kind: int, result: object) -> None:
    outcome = await Bench(both(lambda _: result)[kind]).outcome()
    assert isinstance(outcome, Raised)
    assert f"returned a {type(result).__name__}" in outcome.error


@pytest.mark.parametrize("kind", [0, 1], ids=["loop", "thread"])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit"),
        (OwnBase("own"), "OwnBase: own"),
        (RecursionError(), "RecursionError"),
        (StopAsyncIteration(), "StopAsyncIteration"),
        (StopIteration(), "StopIteration"),
        (asyncio.CancelledError(), "CancelledError"),
        (BaseExceptionGroup("g", [KeyboardInterrupt(), ValueError("in it")]), "ValueError: in it"),
        (ValueError("\udcff"), "ValueError: ?"),
    ],
)
async def test_whatever_is_raised_is_a_failure_of_the_job(kind: int, error: BaseException, words: str) -> None:
    outcome = await Bench(both(raising(error))[kind]).outcome()
    assert isinstance(outcome, Raised)
    assert words in outcome.error


@pytest.mark.parametrize("kind", [0, 1], ids=["loop", "thread"])
async def test_a_keyboard_interrupt_of_the_handlers_own_is_a_failure(kind: int) -> None:
    outcome = await Bench(both(raising(KeyboardInterrupt()))[kind]).outcome()
    assert isinstance(outcome, Raised)
    assert outcome.error.startswith("KeyboardInterrupt")


async def test_a_keyboard_interrupt_in_a_thread_is_always_the_handlers_own() -> None:
    bench = Bench(raising(KeyboardInterrupt()), ctrl_c_raises=True)
    assert isinstance(await bench.outcome(), Raised)
    assert not bench.interrupts


async def test_a_keyboard_interrupt_that_may_be_the_users_fails_the_attempt_and_is_told() -> None:
    error = KeyboardInterrupt()
    bench = Bench(both(raising(error))[0], ctrl_c_raises=True)
    assert isinstance(await bench.outcome(), Raised)
    assert bench.interrupts == [error]


async def test_a_plain_function_that_returns_a_coroutine_fails_and_leaves_no_warning() -> None:
    async def inner() -> bytes:
        return b"never"

    def handler(run: Run) -> Awaitable[bytes]:
        return inner()

    outcome = await Bench(handler).outcome()
    assert isinstance(outcome, Raised)
    assert "async def" in outcome.error


async def test_partials_and_objects_of_coroutines_run_in_the_loop() -> None:
    async def handler(_extra: int, run: Run) -> bytes:
        return b"from a partial"

    for made, result in ((functools.partial(handler, 1), b"from a partial"), (CallableObject(), b"from an object")):
        bench = Bench(made)
        assert bench.runner.in_loop
        assert await bench.outcome() == Returned(result)


async def test_a_handler_cancelled_by_the_worker_is_cancelled() -> None:
    began = asyncio.Event()

    async def handler(run: Run) -> None:
        began.set()
        await asyncio.Event().wait()

    bench, attempt = Bench(handler), hold()
    bench.runner.start(attempt)
    await began.wait()
    bench.runner.cancel(attempt, "stopping")
    await bench.runner.idle()
    assert bench.endings == [(attempt, Cancelled())]


async def test_a_handler_that_finishes_in_spite_of_its_cancelling_has_a_result() -> None:
    began = asyncio.Event()

    async def handler(run: Run) -> bytes:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return b"done all the same"
        return b"never"

    bench, attempt = Bench(handler), hold()
    bench.runner.start(attempt)
    await began.wait()
    bench.runner.cancel(attempt, "stopping")
    await bench.runner.idle()
    assert bench.endings == [(attempt, Returned(b"done all the same"))]


async def test_a_handler_that_was_never_begun_is_cancelled_once() -> None:
    ran = []

    async def handler(run: Run) -> None:
        ran.append(run)

    bench, attempt = Bench(handler), hold()
    bench.runner.start(attempt)
    bench.runner.cancel(attempt, "stopping")
    await bench.runner.idle()
    await asyncio.sleep(0)
    assert bench.endings == [(attempt, Cancelled())]
    assert not ran


async def test_a_function_that_waits_for_a_thread_can_be_cancelled_and_one_that_runs_cannot() -> None:
    began, go_on = threading.Event(), threading.Event()
    ran = []

    def handler(run: Run) -> None:
        ran.append(run.job)
        began.set()
        go_on.wait(10)

    bench, first, second = Bench(handler, threads=1), hold(1), hold(2)
    bench.runner.start(first)
    bench.runner.start(second)
    await asyncio.to_thread(began.wait, 10)
    bench.runner.cancel(second, "stopping")
    bench.runner.cancel(first, "stopping")
    await until(lambda: len(bench.runner.running) == 1)
    assert bench.endings == [(second, Cancelled())]
    go_on.set()
    await bench.runner.idle()
    bench.runner.close()
    assert bench.endings[1:] == [(first, Returned(None))]
    assert ran == [first.job]


@pytest.mark.parametrize("kind", [0, 1], ids=["loop", "thread"])
async def test_the_job_is_known_to_whatever_the_handler_calls(kind: int) -> None:
    seen = []
    assert await Bench(both(lambda _: seen.append(current_job()))[kind]).outcome() == Returned(None)
    assert seen == [hold().job]
    assert current_job() is None


async def test_a_handler_sees_the_context_of_whoever_runs_the_worker() -> None:
    var: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="unset")
    var.set("set")
    seen = []
    await Bench(lambda _: seen.append(var.get())).outcome()
    assert seen == ["set"]
