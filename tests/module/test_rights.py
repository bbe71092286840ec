"""What the module opens beside the keys that a command declares, nobody reaches who may not use the whole queue.

The server asks the access list for the declared keys alone, so the module sees to the rest: docs/wire.md, Rights.
"""

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from echomq.carriers.module import COMMANDS
from echomq.drivers.blocking import BlockingClient
from echomq.keys import QueueKeys
from echomq.options import ConnectionOptions
from echomq.records import Claimed, Token
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call
from echomq.transitions.claim import claim
from echomq.transitions.complete import complete
from echomq.transitions.enqueue import enqueue
from tests.contract.samples import SAMPLES, Sample
from tests.features import needs
from tests.harness.case import Case
from tests.harness.jobs import J1, PARENT
from tests.harness.module import ModuleBody
from tests.harness.state import HOUR, State
from tests.harness.wire import Part, Wire
from tests.module.waiters import Asked, await_blocked
from tests.servers import RealServer, built_module, valkey_server

MINE, THEIRS = QueueKeys("a"), QueueKeys("b")
SECRET = b"a secret of b"
DATABASE = 9
USERS = {
    "whole": ["~emq:{a}:*"],
    "any": ["~emq:{*"],
    # All that the commands for flat jobs declare, and all but what has a `g` there.
    "part": [
        *(f"~emq:{{a}}:{name}" for name in ["ring", "active", "pending", "schedule", "meta", "wake", "dead", "job:*"]),
        "~emq:{a}:",
        "~{emq}:*",
    ],
    "most": ["~emq:{a}:[^g]*", "~emq:{a}:", "~{emq}:*"],
}
HERE = Path(__file__).parent


def command(call: Call[object]) -> list[Part]:
    return [f"EMQ.{call.transition.name.upper()}", *call.keys, *call.args]


def script(call: Call[object], parts: list[Part]) -> list[Part]:
    return ["EVAL", body_of(call.transition).text, len(call.keys), *parts]


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("relay") / "relay.so"
    headers = f"-I{HERE.parents[1] / 'module'}"
    subprocess.run(
        ["cc", "-std=gnu11", "-fPIC", "-shared", headers, "-o", str(library), str(HERE / "relay.c")], check=True
    )
    return str(library)


@pytest.fixture(scope="module")
def server(relay: str) -> Iterator[RealServer]:
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module, "--loadmodule", relay) as server:
        with Wire(server.unix_path) as wire:
            for name, patterns in USERS.items():
                assert wire.ask("ACL", "SETUSER", name, "on", "nopass", "+@all", *patterns) == b"OK"
        yield server


@pytest.fixture
def body(server: RealServer) -> Iterator[ModuleBody]:
    body = ModuleBody(server.unix_path)
    try:
        yield body
    finally:
        body.drop()
        body.close()


def line(server: RealServer, user: str) -> Wire:
    wire = Wire(server.unix_path)
    assert wire.ask("AUTH", user, "") == b"OK"
    assert wire.ask("SELECT", DATABASE) == b"OK"
    return wire


def of(state: State, keys: QueueKeys) -> State:
    return {key: entry for key, entry in state.items() if key.startswith(keys.base)}


def both(body: ModuleBody, sample: Sample) -> tuple[Call[object], Call[object], State]:
    """Load the sample into either queue. Return the calls, and what there is."""
    (mine, my_call), (theirs, their_call) = (sample.build(Case(body, keys)) for keys in (MINE, THEIRS))
    state = {**mine.state(), **theirs.state()}
    for key, entry in state.items():
        if key.startswith(THEIRS.base) and isinstance(entry.value, dict) and b"payload" in entry.value:
            entry.value[b"payload"] = SECRET
    body.drop()
    body.load(state)
    return my_call, their_call, body.dump()


def mixtures(mine: list[Part], theirs: list[Part]) -> Iterator[list[Part]]:
    """Yield the one call with each part, and each two, in the other's words; and the other way round."""
    places = [at for at, (one, other) in enumerate(zip(mine, theirs, strict=True)) if one != other]
    for count in (1, 2, len(places) - 1):
        for chosen in itertools.combinations(places, count):
            yield [theirs[at] if at in chosen else part for at, part in enumerate(mine)]
    yield theirs


def told(reply: Reply) -> str:
    return f"{reply.text}" if isinstance(reply, ErrorReply) else repr(reply)


SERVED = [sample for sample in SAMPLES if sample.name.split()[0] in COMMANDS]


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_who_may_use_one_queue_reaches_no_other(server: RealServer, body: ModuleBody, sample: Sample) -> None:
    mine, theirs, before = both(body, sample)
    tried = 0
    with line(server, "whole") as wire:
        for parts in mixtures([*mine.keys, *mine.args], [*theirs.keys, *theirs.args]):
            for words in ([f"EMQ.{mine.transition.name.upper()}", *parts], script(mine, parts)):
                tried += 1
                reply = wire.ask(*words)
                assert SECRET.decode() not in told(reply)
                after = body.dump()
                assert of(after, THEIRS) == of(before, THEIRS), words
                if words[0] != "EVAL":
                    assert isinstance(reply, ErrorReply), words
                    assert of(after, MINE) == of(before, MINE), words
                body.drop()
                body.load(before)
    assert tried >= 4


def test_the_samples_are_of_every_command() -> None:
    names = {sample.build(Case(cast("ModuleBody", _Clock()), MINE))[1].transition.name for sample in SERVED}
    assert names == COMMANDS


class _Clock:
    def at_ms(self, instant: int) -> int:
        return instant


@pytest.mark.parametrize("user", ["whole", "any"])
@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_who_may_use_a_whole_queue_is_served_as_by_the_script(
    server: RealServer, body: ModuleBody, sample: Sample, user: str
) -> None:
    call, _, before = both(body, sample)
    with line(server, user) as wire:
        reply = wire.ask(*command(call))
        assert not isinstance(reply, ErrorReply), reply.text
        after = of(body.dump(), MINE)
        body.drop()
        body.load(before)
        reply = wire.ask(*script(call, [*call.keys, *call.args]))
        assert not isinstance(reply, ErrorReply), reply.text
    assert of(body.dump(), MINE).keys() == after.keys()


@pytest.mark.parametrize("user", ["part", pytest.param("most", marks=needs("prefix_rights"))])
@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_who_may_use_a_part_is_sent_to_the_script_and_nothing_is_changed(
    server: RealServer, body: ModuleBody, sample: Sample, user: str
) -> None:
    call, _, before = both(body, sample)
    with line(server, user) as wire:
        reply = wire.ask(*command(call))
        if call.transition.name in ("enqueue", "extend"):
            assert not isinstance(reply, ErrorReply), "it opens nothing that it does not declare"
            return
        assert isinstance(reply, ErrorReply)
        assert reply.word == "NOPERM"
        assert body.dump() == before


def test_the_connector_goes_on_by_the_script_for_who_may_use_a_part(server: RealServer, body: ModuleBody) -> None:
    body.load(Case(body, MINE).seed().pending(J1).state())
    options = ConnectionOptions(url=f"unix://part:x@{server.unix_path}?db={DATABASE}")
    with BlockingClient(options) as client:
        answer = client.run(claim(MINE, lease_ms=HOUR))
    assert isinstance(answer, Claimed)
    assert answer.job == J1


@pytest.mark.parametrize("by", ["command", "script", "transaction"])
def test_a_parent_in_another_queue_is_told_by_the_own_outbox_alone(
    server: RealServer, body: ModuleBody, by: str
) -> None:
    """So nobody writes into a queue that he may not write, whatever a row says."""
    case, there = Case(body, MINE), Case(body, THEIRS)
    own = case.seed().active(J1, 1, ends=1, parent=bytes(PARENT), parent_queue=b"b")
    body.load({**own.state(), **there.seed().row(PARENT, state=b"awaiting_children").state()})
    before, call = body.dump(), complete(MINE, J1, Token(1), result=b"r")
    with line(server, "whole") as wire:
        match by:
            case "command":
                reply = wire.ask(*command(call))
            case "script":
                reply = wire.ask(*script(call, [*call.keys, *call.args]))
            case _:
                reply = cast("list[Reply]", wire.pipeline([["MULTI"], command(call), ["EXEC"]])[-1])[0]
    assert reply == 1
    after = body.dump()
    assert of(after, THEIRS) == of(before, THEIRS)
    assert after[MINE.flow_outbox].value == (b"b\0%b\0%b\0r" % (PARENT, J1),)


# --- keys of another form ---------------------------------------------------------------------------------------------

ODD: dict[str, list[Part]] = {
    "is no queue's": ["pending", "emq:{a}:active", "emq:{a}:"],
    "is no queue's: ": ["emq:{}:pending", "emq:{}:active", "emq:{}:"],
    "is no queue's: it": ["emq:{a}", "emq:{a}:active", "emq:{a}:"],
    "is no queue's: it does": ["", "", ""],
    "of another queue than the first": ["emq:{a}:pending", "emq:{a}", "emq:{a}:"],
    "of another queue than": ["emq:{a}:pending", "emq:{a}:active", "emq:{a}"],
    "of another queue": ["emq:{a}:pending", "emq:{a}:active", ""],
    "base must be": ["emq:{a}:pending", "emq:{a}:active", "emq:{a}:job:"],
}


@pytest.mark.parametrize("sentence", ODD)
def test_keys_of_no_queue_are_refused(server: RealServer, body: ModuleBody, sentence: str) -> None:
    body.load(Case(body, MINE).seed().pending(J1).state())
    before = body.dump()
    reply = body.wire.ask("EMQ.CLAIM", *ODD[sentence], "1000")
    assert isinstance(reply, ErrorReply)
    assert sentence in reply.text
    assert body.dump() == before


def test_a_name_ends_at_the_first_brace_and_colon(server: RealServer, body: ModuleBody) -> None:
    """So a key of one queue that has the end of another name in it is of the first."""
    with line(server, "whole") as wire:
        inner = "emq:{a}:job:x}:"
        reply = wire.ask("EMQ.CLAIM", f"{inner}pending", f"{inner}active", inner, "1000")
        assert isinstance(reply, ErrorReply)
        assert "base must be" in reply.text


# --- nobody's calls ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
def test_another_module_is_served_without_a_user(server: RealServer, body: ModuleBody, inside: bool) -> None:
    body.load(Case(body, MINE).seed().pending(J1).state())
    words: list[Part] = ["RELAY", *command(claim(MINE, lease_ms=HOUR))]
    if inside:
        words = ["EVAL", "return redis.call(unpack(ARGV))", 0, *words]
    reply = body.wire.ask(*words)
    assert not isinstance(reply, ErrorReply), reply.text
    assert cast("list[Reply]", reply)[0] == bytes(J1)


def test_rights_that_were_taken_away_meanwhile_end_a_wait(server: RealServer, body: ModuleBody) -> None:
    admin = body.wire
    assert admin.ask("ACL", "SETUSER", "guest", "on", "nopass", "+@all", "~emq:{a}:*") == b"OK"
    with line(server, "guest") as wire:
        wire.send([Asked(block_ms=60_000).words(MINE)])
        await_blocked(admin, 1)
        assert admin.ask("ACL", "SETUSER", "guest", "resetkeys", "~emq:{a}:p*") == b"OK"
        call = enqueue(MINE, J1, b"x")
        assert admin.ask(*command(call)) == 1
        reply = wire.receive()
    assert isinstance(reply, ErrorReply)
    assert reply.word == "NOPERM"
    assert set(body.dump()) == {MINE.job(J1), MINE.pending, MINE.wake}
