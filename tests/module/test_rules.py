"""What docs/wire.md says under "The module": where a command is not as its script."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from echomq.carriers.module import COMMANDS
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.claim_many import claim_many
from echomq.transitions.enqueue import enqueue
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.genqueue import genqueue
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.take import take
from tests.contract.samples import SAMPLES
from tests.harness.case import Case
from tests.harness.jobs import J1
from tests.harness.model import ModelBody
from tests.harness.module import ModuleBody
from tests.harness.wire import Part
from tests.servers import RealServer

SECTION = " ".join(
    (Path(__file__).parents[2] / "docs" / "wire.md")
    .read_text(encoding="utf-8")
    .partition("\n## The module\n")[2]
    .partition("\n## ")[0]
    .split()
)
LEASE_MS = 60_000
LONG = b"1" * (64 * 1024 + 1)
CLAIMS: dict[str, Callable[[QueueKeys], Call[object]]] = {
    "claim": lambda keys: claim(keys, lease_ms=LEASE_MS),
    "claim_many": lambda keys: claim_many(keys, lease_ms=LEASE_MS, size=1),
    "gclaim": lambda keys: gclaim(keys, lease_ms=LEASE_MS),
    "gwclaim": lambda keys: gwclaim(keys, lease_ms=LEASE_MS),
    "gbclaim": lambda keys: gbclaim(keys, lease_ms=LEASE_MS),
    "take": lambda keys: take(keys, lease_ms=LEASE_MS, size=1),
}
CALLS: dict[str, Call[object]] = {
    sample.name.split()[0]: sample.build(Case(ModelBody(), QueueKeys("q")))[1]
    for sample in SAMPLES
    if sample.name.split()[0] in COMMANDS
}


@pytest.fixture
def body(module_server: RealServer) -> Iterator[ModuleBody]:
    body = ModuleBody(module_server.unix_path)
    try:
        yield body
    finally:
        body.drop()
        body.close()


def packed(call: Call[object]) -> list[Part]:
    return [f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args]


def refused(body: ModuleBody, *command: Part) -> str:
    """Send a command that must be refused and change nothing; return why."""
    before = body.dump()
    reply = body.wire.ask(*command)
    assert isinstance(reply, ErrorReply), reply
    assert body.dump() == before
    return reply.text


@pytest.mark.parametrize(
    "call",
    [call for call in CALLS.values() if call.transition.optional_keys],
    ids=lambda call: str(call.transition.name),
)
def test_a_call_that_leaves_out_a_key_is_no_command(body: ModuleBody, call: Call[object]) -> None:
    name, *rest = packed(call)
    least = len(call.transition.keys) - call.transition.optional_keys

    # All that may be left out is: what comes then is taken for a key, and too few arguments are left.
    text = refused(body, name, *rest[:least], *call.args[:1])
    assert text.startswith(f"ERR {call.transition.name} takes the keys ")


@pytest.mark.parametrize("spelling", ["+7", " 7", "07", "7.0", "7e0", "0x7", ""])
def test_a_number_has_one_spelling(body: ModuleBody, keys: QueueKeys, spelling: str) -> None:
    text = refused(body, "EMQ.CLAIM", keys.pending, keys.active, keys.base, spelling)

    assert text.startswith("ERR lease_ms must be a whole number from 1 to ")


@pytest.mark.parametrize("place", range(1, 5))
def test_what_is_longer_than_64_kib_is_no_key_id_or_number(body: ModuleBody, keys: QueueKeys, place: int) -> None:
    command: list[Part] = ["EMQ.ENQUEUE", keys.job(J1), keys.pending, keys.wake, bytes(J1), b"x"]
    command[place] = LONG

    text = refused(body, *command)
    assert text == "ERR a key, an id or a number is longer than 64 KiB"
    assert f"`{text}`" in SECTION


def test_a_payload_may_be_longer(body: ModuleBody, keys: QueueKeys) -> None:
    assert body.wire.ask("EMQ.ENQUEUE", keys.job(J1), keys.pending, keys.wake, bytes(J1), LONG) == 1


def test_one_key_for_two_types_is_refused(body: ModuleBody, keys: QueueKeys) -> None:
    text = refused(body, "EMQ.ENQUEUE", keys.pending, keys.pending, keys.wake, bytes(J1), b"x")

    assert text.startswith("WRONGTYPE ")


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_by_a_command_writes_when_it_was(body: ModuleBody, keys: QueueKeys, name: str) -> None:
    in_a_lane = name.startswith("g")
    body.run(genqueue(keys, J1, b"x", lane="a") if in_a_lane else enqueue(keys, J1, b"x"))
    server_ms = body.wire.ask("TIME")

    assert body.wire.ask("HGET", keys.job(J1), "claimed_at") is None
    assert not isinstance(body.wire.ask(*packed(CLAIMS[name](keys))), ErrorReply)
    claimed_at = body.wire.ask("HGET", keys.job(J1), "claimed_at")
    assert isinstance(claimed_at, bytes)
    assert isinstance(server_ms, list)
    assert 0 <= int(claimed_at) - int(server_ms[0]) * 1000 < LEASE_MS
    assert name in SECTION.partition("*Claims*")[2].partition(")")[0]


def test_a_claim_by_a_script_leaves_it_as_it_stands(body: ModuleBody, keys: QueueKeys) -> None:
    body.run(enqueue(keys, J1, b"x"))
    body.wire.ask("HSET", keys.job(J1), "claimed_at", "12345")
    call = claim(keys, lease_ms=LEASE_MS)

    assert body.wire.ask("EVAL", body_of(call.transition).text, len(call.keys), *call.keys, *call.args)
    assert body.wire.ask("HGET", keys.job(J1), "claimed_at") == b"12345"


def test_who_greets_finds_the_module(body: ModuleBody) -> None:
    modules = body.wire.ask("HELLO")
    assert isinstance(modules, list)
    assert [b"name", b"echomq", b"ver", 1] in [told[:4] for told in modules[modules.index(b"modules") + 1]]
