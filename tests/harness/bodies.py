"""The list of bodies. A further body is one more name here, and every contract test runs on it."""

import contextlib
from collections.abc import Callable, Iterator

from tests.harness.body import Body
from tests.harness.lua import LuaBody
from tests.harness.model import ModelBody
from tests.harness.module import ModuleBody
from tests.servers import RealServer

__all__ = ["BODIES", "open_body"]

BODIES = ("lua", "module", "model")


@contextlib.contextmanager
def open_body(
    name: str, server: Callable[[], RealServer], module_server: Callable[[], RealServer] | None = None
) -> Iterator[Body]:
    """Open a body by its name.

    `server` gives the private server of the run, `module_server` the one that has the module loaded. Each is asked only
    by who needs it.
    """
    match name:
        case "lua" | "module":
            given = server if name == "lua" else module_server
            assert given is not None, "this test has no server with the module"
            path = given().unix_path
            lua = LuaBody(path) if name == "lua" else ModuleBody(path)
            try:
                yield lua
            finally:
                lua.close()
        case "model":
            yield ModelBody()
        case _:
            raise LookupError(name)
