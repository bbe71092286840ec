"""The bodies of all transitions run random programs in step: see `lockstep`.

Under the profile ``soak`` (``make soak``) the programs are longer and many more, under ``ports`` (``make ports``) they
are fewer.
"""

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from echomq.keys import QueueKeys
from tests.harness.lua import LuaBody
from tests.harness.model import ModelBody
from tests.harness.module import ModuleBody
from tests.servers import RealServer
from tests.stateful.lockstep import LockStep

_PROGRAMS = {"ci": 400, "ports": 100}
_STEPS = 60
_SOAK_ROUNDS = 10  # each begins with an empty memory of what was tried: one long run would need gigabytes for it


@pytest.mark.parametrize(("body", "server"), [(LuaBody, "real_server"), (ModuleBody, "module_server")])
def test_a_server_and_the_model_agree_on_random_programs(
    request: pytest.FixtureRequest, body: type[LuaBody], server: str, keys: QueueKeys
) -> None:
    given: RealServer = request.getfixturevalue(server)
    served = body(given.unix_path)

    class Programs(LockStep):
        def __init__(self) -> None:
            super().__init__((ModelBody(), served), keys)

    settings, rounds = hypothesis.settings(), _SOAK_ROUNDS
    if (programs := _PROGRAMS.get(hypothesis.settings.get_current_profile_name())) is not None:
        settings, rounds = hypothesis.settings(settings, max_examples=programs, stateful_step_count=_STEPS), 1
    try:
        for _ in range(rounds):
            run_state_machine_as_test(Programs, settings=settings)
    finally:
        served.drop()
        served.close()
