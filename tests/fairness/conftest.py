"""A queue of tenants on each body in turn, and one on a server that is looked at from outside."""

import contextlib
from collections.abc import Iterator

import pytest

from echomq.keys import QueueKeys
from tests.fairness.observer import Observer
from tests.fairness.stage import Lua, Native, Plain, Tenants
from tests.harness.bodies import BODIES
from tests.servers import RealServer


@pytest.fixture(params=BODIES)
def tenants(request: pytest.FixtureRequest, keys: QueueKeys) -> Iterator[Tenants]:
    """A queue of its own, on each body."""
    if request.param == "model":
        yield Tenants(Plain(), keys)
    else:
        server = request.getfixturevalue("module_server" if request.param == "module" else "real_server")
        with on_server(server, keys, by_module=request.param == "module") as tenants:
            yield tenants


@pytest.fixture
def served(real_server: RealServer, keys: QueueKeys) -> Iterator[Tenants]:
    """A queue of its own on the server."""
    with on_server(real_server, keys) as tenants:
        yield tenants


@pytest.fixture
def observer(real_server: RealServer, keys: QueueKeys) -> Iterator[Observer]:
    """Looks at that queue over a connection of its own."""
    watching = Observer(real_server.unix_path, keys)
    yield watching
    watching.close()


@contextlib.contextmanager
def on_server(server: RealServer, keys: QueueKeys, *, by_module: bool = False) -> Iterator[Tenants]:
    """A queue on the server; what is left of it is deleted afterwards."""
    lua = Native(server.unix_path) if by_module else Lua(server.unix_path)
    try:
        yield Tenants(lua, keys)
    finally:
        lua.wire.ask("EVAL", _DELETE, 0, keys.base)
        lua.wire.close()


_DELETE = """
for _, key in ipairs(redis.call('KEYS', '*')) do
  if key:sub(1, #ARGV[1]) == ARGV[1] then redis.call('UNLINK', key) end
end
"""
