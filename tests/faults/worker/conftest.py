"""A server for the worker's tests, an application on it, and queues that no other test uses."""

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest

from echomq import EchoMQ
from tests.servers import RealServer, valkey_server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[RealServer]:
    with valkey_server() as started:
        yield started


@pytest.fixture
def queue() -> str:
    return f"w{next(_numbers)}"


@pytest.fixture
async def app(server: RealServer) -> AsyncIterator[EchoMQ]:
    async with EchoMQ(server.url) as opened:
        yield opened
