"""What the module leaves behind is anybody's: a log that it wrote loads without it, and scripts go on after it."""

from pathlib import Path
from random import Random
from typing import cast

import pytest

from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.catalogue import TRANSITIONS
from tests.harness.module import served_commands
from tests.harness.wire import Wire
from tests.module.fuzz_calls import vector
from tests.module.fuzz_state import State, dump, tokens
from tests.module.fuzz_world import world
from tests.servers import RealServer, built_module

_BY_SCRIPT = ("enqueue", "claim", "gclaim", "complete", "retry", "reap", "promote")
_LOG = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


def _now_ms(wire: Wire) -> int:
    seconds, micros = cast("list[bytes]", wire.ask("TIME"))
    return int(seconds) * 1000 + int(micros) // 1000


def _load(wire: Wire, rng: Random, calls: int) -> None:
    """Run a mixed load by the module over a world of every state."""
    served = [t for t in TRANSITIONS if t.name in served_commands(wire)]
    wire.pipeline(world(rng, _now_ms(wire)))
    for _ in range(calls):
        wire.ask(*vector(rng, served, tokens(dump(wire)[0])).command)


def _server(directory: Path, *arguments: str) -> RealServer:
    return RealServer(directory, port=0, persistent=False, arguments=(*_LOG, *arguments))


@pytest.mark.parametrize("seed", range(4))
def test_a_log_of_the_module_loads_without_it_and_scripts_go_on(tmp_path: Path, seed: int) -> None:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    rng = Random(seed)
    server = _server(tmp_path, "--loadmodule", module)
    server.start()
    try:
        with Wire(server.unix_path) as wire:
            _load(wire, rng, 150)
            left = dump(wire)
        server.kill()
        server = _server(tmp_path)
        server.start()
        with Wire(server.unix_path) as wire:
            assert "unknown command" in str(wire.ask("EMQ.WAKE"))
            assert _lasting(dump(wire)[0]) == _lasting(left[0])
            _go_on(wire, rng)
    finally:
        server.kill()


def test_the_module_is_unloaded_with_jobs_in_every_state_and_comes_back(tmp_path: Path) -> None:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    rng = Random(7)
    server = _server(tmp_path, "--loadmodule", module, "--enable-module-command", "yes")
    server.start()
    try:
        with Wire(server.unix_path) as wire:
            for _ in range(3):
                _load(wire, rng, 60)
                left = dump(wire)
                assert wire.ask("MODULE", "UNLOAD", "echomq") in (b"OK", "OK")
                assert _lasting(dump(wire)[0]) == _lasting(left[0])
                assert "unknown command" in str(wire.ask("EMQ.WAKE"))
                _go_on(wire, rng)
                assert wire.ask("MODULE", "LOAD", module) in (b"OK", "OK")
    finally:
        server.kill()


def _lasting(state: State) -> State:
    """Return what does not expire: the rest may do so between two looks."""
    return {key: entry for key, entry in state.items() if cast("int", entry[2]) < 0}


def _go_on(wire: Wire, rng: Random) -> None:
    """Run scripts over whatever was left: a call in its usual form is answered, or refused for what is damaged."""
    transitions = [t for t in TRANSITIONS if t.name in _BY_SCRIPT]
    for _ in range(60):
        call = vector(rng, transitions, tokens(dump(wire)[0]))
        keys = len(call.transition.keys)
        reply: Reply = wire.ask(b"EVAL", body_of(call.transition).text, min(keys, len(call.parts)), *call.parts)
        if call.is_proper and isinstance(reply, ErrorReply):
            assert reply.word in ("ERR", "EMQSTALE", "EMQKIND", "WRONGTYPE"), reply
