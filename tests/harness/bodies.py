"""The list of bodies. A further body is one more name here, and every contract test runs on it."""

import contextlib
from collections.abc import Callable, Iterator

from tests.harness.body import Body
from tests.harness.lua import LuaBody
from tests.harness.model import ModelBody
from tests.servers import RealServer

__all__ = ["BODIES", "open_body"]

BODIES = ("lua", "model")


@contextlib.contextmanager
def open_body(name: str, server: Callable[[], RealServer]) -> Iterator[Body]:
    """Open a body by its name. `server` gives the private server of the run, and is asked only by who needs one."""
    match name:
        case "lua":
            lua = LuaBody(server().unix_path)
            try:
                yield lua
            finally:
                lua.close()
        case "model":
            yield ModelBody()
        case _:
            raise LookupError(name)
