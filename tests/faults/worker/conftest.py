"""A server for the worker's tests, an application on it, and queues that no other test uses."""

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from echomq import EchoMQ
from echomq.drivers import _aio_recall
from echomq.worker import asking, shift
from tests.faults.worker.probe import Probe, probing
from tests.faults.worker.scene import PATIENCE_S
from tests.servers import RealServer, built_module, valkey_server

_numbers = itertools.count()


@pytest.fixture(scope="session", params=["scripts", "module"])
def with_module(request: pytest.FixtureRequest) -> bool:
    """Whether the server of the test has the module. Without a compiler there is none."""
    if request.param == "module" and built_module() is None:
        pytest.skip("no C compiler, so there is no module")
    return bool(request.param == "module")


@pytest.fixture(scope="session")
def server_arguments(with_module: bool) -> tuple[str, ...]:
    """What a server of the test's own is started with."""
    return ("--loadmodule", str(built_module())) if with_module else ()


@pytest.fixture(scope="session")
def server(server_arguments: tuple[str, ...]) -> Iterator[RealServer]:
    with valkey_server(*server_arguments) as started:
        yield started


@pytest.fixture(autouse=True)
def _patient_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last words of a worker are waited for, however slow the machine is: only a silent server costs them."""
    monkeypatch.setattr(shift, "LAST_WORDS_MS", int(PATIENCE_S * 1000))
    monkeypatch.setattr(_aio_recall, "_GOODBYE_S", PATIENCE_S)
    monkeypatch.setattr(asking, "_WAKE_S", PATIENCE_S)


@pytest.fixture
def queue() -> str:
    return f"w{next(_numbers)}"


@pytest.fixture
async def app(server: RealServer) -> AsyncIterator[EchoMQ]:
    async with EchoMQ(server.url) as opened:
        yield opened


@pytest.fixture
async def probe(server: RealServer) -> AsyncIterator[Probe]:
    async with probing(server) as opened:
        await opened.parked(0)
        yield opened
