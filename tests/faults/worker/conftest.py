"""A server for the worker's tests, an application on it, and queues that no other test uses."""

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from echomq import EchoMQ
from echomq.worker import shift
from tests.faults.worker.scene import PATIENCE_S
from tests.servers import RealServer, valkey_server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


@pytest.fixture(autouse=True)
def _patient_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last words of a worker are waited for, however slow the machine is: only a silent server costs them."""
    monkeypatch.setattr(shift, "LAST_WORDS_MS", int(PATIENCE_S * 1000))


@pytest.fixture
def queue() -> str:
    return f"w{next(_numbers)}"


@pytest.fixture
async def app(server: RealServer) -> AsyncIterator[EchoMQ]:
    async with EchoMQ(server.url) as opened:
        yield opened
