"""The rights of docs/wire.md: what a user needs for every transition, no more and no less, and what a lack does."""

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from echomq.app import EchoMQ
from echomq.drivers.blocking import BlockingClient
from echomq.errors import NoPermission, ServerError
from echomq.options import ConnectionOptions
from echomq.records import Claimed, Completed, Token, Updated
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.call import Call, refused
from echomq.transitions.claim_many import claim_many
from echomq.transitions.enqueue import TRANSITION
from echomq.transitions.reap import reap
from echomq.transitions.update_progress import update_progress
from tests.contract.samples import SAMPLES, Sample
from tests.features import has
from tests.harness.case import Case
from tests.harness.jobs import J1, J2
from tests.harness.lua import _DATABASE, LuaBody
from tests.harness.state import HOUR
from tests.harness.wire import Wire
from tests.servers import RealServer

WIRE = Path(__file__).parents[2] / "docs" / "wire.md"
FOLDER = files("echomq.transitions")
OF_THE_LINK = {
    "eval",
    "evalsha",
    "script|load",
    "get",
    "set",
    "select",
    "client|setname",
    "client|unblock",
    "ping",
    "subscribe",
    "blpop",
}
lua_only = pytest.mark.parametrize("body", ["lua"], indirect=True)  # only a server has users
USER = "app"


def rights() -> list[str]:
    """Return the words of the documented line, from the name of the user on, as far as the server knows them."""
    found = re.search(r"^ACL SETUSER (.*?)^```", WIRE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    unknown = () if has("field_ttl") else ("+hpttl",)
    return [word for word in found.group(1).split() if word not in unknown]


def called() -> set[str]:
    """Return the commands that the scripts call."""
    paths = [FOLDER, FOLDER / "shared"]
    texts = [
        entry.read_text(encoding="utf-8") for path in paths for entry in path.iterdir() if entry.name[-4:] == ".lua"
    ]
    code = "\n".join(line.split("--", 1)[0] for text in texts for line in text.splitlines())
    return {word.lower() for word in re.findall(r"\b(?:call|pcall|probe|in_chunks)\(\s*'([A-Z]+)'", code)}


@pytest.fixture
def allowed(case: Case) -> Iterator[Wire]:
    """A line of a user with exactly the documented rights."""
    assert isinstance(case.body, LuaBody)
    name, *words = rights()
    assert name == USER
    assert case.body.wire.ask("ACL", "SETUSER", USER, "reset", *words) == b"OK"
    with Wire(case.body._path) as wire:
        assert wire.ask("AUTH", USER, "secret") == b"OK"
        assert wire.ask("SELECT", _DATABASE) == b"OK"
        yield wire
    case.body.wire.ask("ACL", "DELUSER", USER)


def less(case: Case, *words: str) -> None:
    """Take rights from the user."""
    assert isinstance(case.body, LuaBody)
    assert case.body.wire.ask("ACL", "SETUSER", USER, *words) == b"OK"


def send(wire: Wire, call: Call[object]) -> Reply:
    return wire.ask("EVAL", body_of(call.transition).text, len(call.keys), *call.keys, *call.args)


def test_the_documented_commands_are_those_that_are_sent_and_called() -> None:
    commands = {word[1:] for word in rights() if word.startswith("+")}
    assert commands == (called() if has("field_ttl") else called() - {"hpttl"}) | OF_THE_LINK


@lua_only
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_user_with_the_documented_rights_may_run_every_transition(case: Case, sample: Sample, allowed: Wire) -> None:
    seed, call = sample.build(case)
    case.given(seed)
    case.body.reply(call)
    after = case.body.dump()
    case.given(seed)
    reply = send(allowed, call)
    assert not isinstance(reply, ErrorReply), reply
    assert case.body.dump() == after


@lua_only
def test_a_user_who_may_not_read_rows_takes_no_job_for_a_damaged_one(case: Case, allowed: Wire) -> None:
    seed = case.seed().pending(J1).active(J2, 1, ends=-1)
    case.given(seed)
    less(case, "-hmget")
    for call in (claim_many(case.keys, lease_ms=HOUR, size=5), reap(case.keys)):
        reply = send(allowed, call)
        assert isinstance(reply, ErrorReply)
        assert isinstance(refused(call.transition, "q", reply), NoPermission)
        case.shows(seed)


@lua_only
@pytest.mark.parametrize("words", [("-publish",), ("resetchannels",)], ids=str)
def test_progress_that_may_not_be_published_is_written_all_the_same(
    case: Case, allowed: Wire, words: tuple[str, ...]
) -> None:
    case.given(case.seed().active(J1, 1, ends=1))
    less(case, *words)
    case.body.listen()
    call = update_progress(case.keys, J1, b"50%", token=Token(1))
    assert call.decode(send(allowed, call)) == Updated(J1)
    case.shows(case.seed().active(J1, 1, ends=1, progress=b"50%"))
    assert case.body.published() == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("NOPERM User u has no permissions to run the 'evalsha' command", NoPermission),
        (
            "ERR ACL failure in script: User u has no permissions to run the 'hset' command script: on @x:1.",
            NoPermission,
        ),
        ("ERR The user executing the script can't run this command or subcommand script: f_0", NoPermission),
        ("ERR no ACL failure in script", ServerError),
    ],
)
def test_what_a_user_may_not_do_is_told_as_such_outside_and_inside_a_script(text: str, kind: type[ServerError]) -> None:
    assert type(refused(TRANSITION, "q", ErrorReply(text))) is kind


def test_an_application_lives_with_the_documented_rights(real_server: RealServer) -> None:
    admin = Wire(real_server.unix_path)
    assert admin.ask("ACL", "SETUSER", USER, "reset", *rights()[1:]) == b"OK"
    url = f"unix://{USER}:secret@{real_server.unix_path}?db=3"
    options = ConnectionOptions(client_name="rights")
    try:
        with EchoMQ(url, connection=options) as app:
            jobs = app.blocking_jobs("rights")
            job = jobs.enqueue(b"x").job
            with BlockingClient(ConnectionOptions(url=url)) as client, client.subscribe("emq:{rights}:events") as heard:
                claimed = jobs.claim(lease_ms=HOUR)
                assert isinstance(claimed, Claimed)
                assert jobs.update_progress(job, b"50%", token=claimed.token) == Updated(job)
                message = heard.get(timeout_ms=5000)
                assert message is not None
                assert b"50%" in message.payload
            assert jobs.complete(job, claimed.token) == Completed(job)
            jobs.pause()
            jobs.obliterate()
    finally:
        admin.ask("ACL", "DELUSER", USER)
        admin.close()
