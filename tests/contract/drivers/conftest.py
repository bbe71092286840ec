"""A server of this suite's own, since it changes settings of the whole server, and both drivers in turn."""

from collections.abc import Iterator

import pytest

from tests.contract.drivers.speakers import KINDS, Kind
from tests.servers import RealServer, valkey_server


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with valkey_server(tcp=True) as running:
        yield running


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]
