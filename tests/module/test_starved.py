"""Where the machine gives the module no memory, a command is refused and changes nothing, or does all of its work."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from echomq.carriers.module import COMMANDS
from echomq.keys import QueueKeys
from echomq.resp.reply import ErrorReply
from tests.contract.samples import SAMPLES, Sample
from tests.harness.case import Case
from tests.harness.lua import LuaBody
from tests.harness.module import ModuleBody
from tests.servers import RealServer, valkey_server

MODULE = Path(__file__).parents[2] / "module"
SERVED = [sample for sample in SAMPLES if sample.name.split()[0] in COMMANDS]
ONE_IN = 8
TRIES = 40


@pytest.fixture(scope="module")
def starved_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A server whose module asks for memory at every step, and is refused one time in eight."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler, so there is no module")
    library = str(tmp_path_factory.mktemp("starved") / "starved.so")
    means = ["-DEMQ_STARVE", "-DEMQ_BAG_FIRST=1", "-DEMQ_OWNED_FIRST=1"]
    files = [str(path) for path in sorted(MODULE.glob("*.c"))]
    subprocess.run([compiler, "-std=c11", "-O1", "-fPIC", "-shared", *means, "-o", library, *files], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMQ_STARVE_ONE_IN", str(ONE_IN))
        with valkey_server("--loadmodule", library) as server:
            yield server


@pytest.fixture
def starved(starved_server: RealServer) -> Iterator[ModuleBody]:
    with closing(ModuleBody(starved_server.unix_path)) as body:
        yield body
        body.drop()


@pytest.fixture
def script(real_server: RealServer) -> Iterator[LuaBody]:
    with closing(LuaBody(real_server.unix_path)) as body:
        yield body
        body.drop()


@pytest.mark.parametrize("sample", SERVED, ids=str)
def test_a_command_does_nothing_or_all_of_it(
    starved: ModuleBody, script: LuaBody, keys: QueueKeys, sample: Sample
) -> None:
    seed, call = sample.build(Case(script, keys))
    script.load(seed.state())
    right, after = script.ask(call), script.dump()
    refused = done = 0
    while refused + done < TRIES or not (refused and done):
        _, call = sample.build(Case(starved, keys))
        starved.drop()
        starved.load(seed.state())
        reply = starved.reply(call)
        if isinstance(reply, ErrorReply):
            assert reply.text.startswith("OOM the machine gave no memory"), reply.text
            assert starved.dump() == seed.state()
            refused += 1
        else:
            assert type(call.decode(reply)) is type(right)
            assert starved.dump() == after
            done += 1
