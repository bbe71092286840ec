"""A server that has the module, for tests that empty it and change its settings."""

from collections.abc import Iterator

import pytest

from tests.harness.wire import Wire
from tests.servers import RealServer, built_module, valkey_server


@pytest.fixture(scope="session")
def own_server() -> Iterator[RealServer]:
    """A server of this worker that has the module and may unload it. Without a compiler there is none."""
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module, "--enable-module-command", "yes") as server:
        yield server


@pytest.fixture
def server(own_server: RealServer) -> Iterator[RealServer]:
    """That server, empty, and emptied afterwards."""
    yield own_server
    with Wire(own_server.unix_path) as wire:
        assert wire.ask("FLUSHALL") == b"OK"


@pytest.fixture
def wire(server: RealServer) -> Iterator[Wire]:
    """A line to it."""
    with Wire(server.unix_path) as wire:
        yield wire
