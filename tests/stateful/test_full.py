"""At its memory limit a server does all that makes a queue no fuller: random programs go on there as in the model."""

from typing import TypeVar

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from echomq.keys import QueueKeys
from echomq.resp.reply import Reply
from echomq.transitions.call import Call
from tests.contract.test_every_transition import NEEDS_MEMORY
from tests.harness.lua import LuaBody
from tests.harness.model import ModelBody
from tests.harness.module import ModuleBody
from tests.servers import RealServer
from tests.stateful.lockstep import LockStep

Answer = TypeVar("Answer")
_PROGRAMS, _STEPS = 60, 60


class FullLua(LuaBody):
    """The scripts on a server that is full whenever something is called but what needs memory."""

    name = "full lua"

    def reply(self, call: Call[object]) -> Reply:
        if call.transition.name in NEEDS_MEMORY:
            return super().reply(call)
        self.wire.ask("CONFIG", "SET", "maxmemory", "1")
        try:
            return super().reply(call)
        finally:
            self.wire.ask("CONFIG", "SET", "maxmemory", "0")


class FullModule(FullLua, ModuleBody):
    """The module's commands there."""

    name = "full module"


@pytest.mark.parametrize(("body", "server"), [(FullLua, "real_server"), (FullModule, "module_server")])
def test_a_full_server_and_the_model_agree_on_random_programs(
    request: pytest.FixtureRequest, body: type[LuaBody], server: str, keys: QueueKeys
) -> None:
    given: RealServer = request.getfixturevalue(server)
    served = body(given.unix_path)

    class Programs(LockStep):
        def __init__(self) -> None:
            super().__init__((ModelBody(), served), keys)

    settings = hypothesis.settings(max_examples=_PROGRAMS, stateful_step_count=_STEPS)
    try:
        run_state_machine_as_test(Programs, settings=settings)
    finally:
        served.drop()
        served.close()
