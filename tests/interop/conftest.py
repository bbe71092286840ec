"""Two speakers on one queue of one real server."""

from collections.abc import Iterator

import pytest

from echomq.keys import QueueKeys
from tests.harness.case import Case
from tests.harness.lua import LuaBody
from tests.harness.module import ModuleBody
from tests.interop.speaker import Speaker
from tests.servers import RealServer


@pytest.fixture(params=["lua", "module"])
def echo(request: pytest.FixtureRequest, keys: QueueKeys) -> Iterator[Case]:
    """Our side, on the server: by scripts, and by the commands of the module."""
    server: RealServer = request.getfixturevalue("real_server" if request.param == "lua" else "module_server")
    lua = LuaBody(server.unix_path) if request.param == "lua" else ModuleBody(server.unix_path)
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
