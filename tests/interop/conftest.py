"""Two speakers on one queue of one real server."""

from collections.abc import Iterator

import pytest

from echomq.keys import QueueKeys
from tests.harness.case import Case
from tests.harness.lua import LuaBody
from tests.interop.speaker import Speaker
from tests.servers import RealServer


@pytest.fixture
def echo(real_server: RealServer, keys: QueueKeys) -> Iterator[Case]:
    """Our side, on the server."""
    lua = LuaBody(real_server.unix_path)
    try:
        yield Case(lua, keys)
    finally:
        lua.drop()
        lua.close()


@pytest.fixture
def other(echo: Case) -> Speaker:
    """The other side, on the same queue."""
    assert isinstance(echo.body, LuaBody)
    return Speaker(echo.body.wire, echo.keys.queue)
