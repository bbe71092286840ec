"""Nobody waits in EMQ.TAKE … BLOCK for what is there, whatever the others do (docs/wire.md)."""

from random import Random

import pytest

from echomq.keys import QueueKeys
from tests.module.blocking_program import Program
from tests.servers import RealServer

_STEPS = 120


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("others", ["waiting alone", "parked ones", "every speaker"])
def test_nobody_waits_for_what_is_there(server: RealServer, keys: QueueKeys, others: str, seed: int) -> None:
    with Program(server, keys, Random(f"{others} {seed}"), exact=others != "every speaker") as program:
        for _ in range(4):
            program.hire(on_list=False)
        for _ in range(0 if others == "waiting alone" else 3):
            program.hire(on_list=True)
        try:
            for _ in range(_STEPS):
                program.step()
                program.settle()
            program.finish()
        except AssertionError as error:
            error.add_note(f"after {len(program.done)} steps: {', '.join(program.done[-8:])}")
            raise
