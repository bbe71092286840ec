"""What the server is told about the module's commands, and what the connector takes them to be."""

from collections.abc import Iterator
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.drivers.blocking import BlockingClient
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Claimed
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.catalogue import TRANSITIONS
from echomq.transitions.claim import claim
from echomq.transitions.enqueue import enqueue
from tests.harness.jobs import J1, J2
from tests.harness.module import served_commands
from tests.harness.wire import Wire
from tests.servers import RealServer, built_module, valkey_server

served = [transition for transition in TRANSITIONS if transition.name in COMMANDS]


@pytest.fixture
def wire(module_server: RealServer) -> Iterator[Wire]:
    with Wire(module_server.unix_path) as wire:
        yield wire


def test_the_connector_knows_exactly_the_commands_there_are(wire: Wire) -> None:
    assert served_commands(wire) == COMMANDS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_says_which_keys_it_has(wire: Wire, name: str) -> None:
    """COMMAND GETKEYS, the access lists and a cluster go by that. The base is no key, but says the slot."""
    transition = next(transition for transition in served if transition.name == name)
    keys = [f"key-{key}" for key in transition.keys]
    args = ["1"] * (len(transition.args) + len(transition.more_args))
    told = wire.ask("COMMAND", "GETKEYS", f"EMQ.{name.upper()}", *keys, *args)
    assert told == [key.encode() for key in keys if key != "key-base"]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_documented_by_the_names_of_its_transition(wire: Wire, name: str) -> None:
    transition = next(transition for transition in served if transition.name == name)
    docs = cast("list[Reply]", wire.ask("COMMAND", "DOCS", f"EMQ.{name.upper()}"))
    about = cast("list[Reply]", docs[1])
    told = dict(zip(cast("list[bytes]", about[::2]), about[1::2], strict=True))
    names = [cast("list[Reply]", arg)[1] for arg in cast("list[Reply]", told[b"arguments"])]
    waits = ["block_ms"] if name == "take" else []  # a script cannot wait, so its transition does not have it
    assert names == [arg.encode() for arg in (*transition.keys, *transition.args, *transition.more_args, *waits)]
    assert told[b"summary"]


def test_admission_alone_is_refused_by_a_full_server(wire: Wire) -> None:
    for transition in served:
        told = cast("list[list[Reply]]", wire.ask("COMMAND", "INFO", f"EMQ.{transition.name.upper()}"))
        flags = cast("list[bytes]", told[0][2])
        assert b"write" in flags
        assert (b"denyoom" in flags) == (transition.name in ("enqueue", "genqueue", "enqueue_many", "schedule"))


def test_the_connector_goes_on_by_scripts_when_the_module_is_unloaded(keys: QueueKeys) -> None:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with (
        valkey_server("--loadmodule", module, "--enable-module-command", "yes") as server,
        BlockingClient(ConnectionOptions(url=server.url)) as client,
        Wire(server.unix_path) as wire,
    ):
        client.run(enqueue(keys, J1, b"x"))
        client.run(enqueue(keys, J2, b"x"))
        assert "EMQ.ENQUEUE:calls=2" in _stats(wire)
        assert wire.ask("MODULE", "UNLOAD", "echomq") == b"OK"
        answers = [client.run(claim(keys, lease_ms=1000)) for _ in range(2)]
        assert [answer.job for answer in answers if isinstance(answer, Claimed)] == [J1, J2]
        assert wire.ask("MODULE", "LOAD", module) == b"OK"
    assert not any(isinstance(answer, ErrorReply) for answer in answers)


def _stats(wire: Wire) -> str:
    return cast("bytes", wire.ask("INFO", "commandstats")).decode().upper().replace("CALLS", "calls")
