"""One private server for each worker of the run, the bodies under test, and what holds for the whole run.

``--script-flush-hz=50`` empties the script cache of every server of the run 50 times a second while all tests run: any
call may then meet ``NOSCRIPT``.
"""

import contextlib
import itertools
import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import hypothesis
import pytest

# The tests are imported by their path from the root, also when pytest is not started as a module.
sys.path[:0] = [root for root in [str(Path(__file__).parents[1])] if root not in sys.path]

pytest.register_assert_rewrite("tests.harness.case")

from echomq.keys import QueueKeys  # noqa: E402 - after the path
from tests.features import served, why_not  # noqa: E402
from tests.harness.bodies import BODIES, open_body  # noqa: E402
from tests.harness.body import Body  # noqa: E402
from tests.harness.case import Case  # noqa: E402
from tests.harness.wire import Wire  # noqa: E402
from tests.servers import RealServer, built_module, valkey_server  # noqa: E402

_QUIET = (hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture)
hypothesis.settings.register_profile("ci", deadline=None, print_blob=True, suppress_health_check=_QUIET)
hypothesis.settings.register_profile(
    "soak", deadline=None, print_blob=True, suppress_health_check=_QUIET, max_examples=500, stateful_step_count=100
)
hypothesis.settings.register_profile("ports", deadline=None, print_blob=True, suppress_health_check=_QUIET)
hypothesis.settings.load_profile("ci")

_DATABASES = 16
_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--script-flush-hz",
        type=float,
        default=0.0,
        help="empty the script cache of every server of the run so often a second (0: never)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(feature): what the server must have, see tests/features.py")


def pytest_report_header() -> str:
    return f"server: {served()}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the server of this run cannot show, each with the feature that it lacks."""
    for item in items:
        for mark in item.iter_markers("needs"):
            if (reason := why_not(*mark.args)) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def _script_flusher(request: pytest.FixtureRequest) -> Iterator[None]:
    hz: float = request.config.getoption("--script-flush-hz")
    if not hz:
        yield
        return
    started: list[RealServer] = []
    plain_start = RealServer.start

    def start(self: RealServer) -> None:
        plain_start(self)
        started.append(self)

    done = threading.Event()
    thread = threading.Thread(target=_flush_all, args=(started, done, 1.0 / hz), name="script-flusher")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RealServer, "start", start)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _flush_all(servers: list[RealServer], done: threading.Event, period_s: float) -> None:
    while not done.wait(period_s):
        for server in list(servers):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as peer:  # stopped or frozen by its test
                peer.settimeout(0.2)
                peer.connect(server.unix_path)
                peer.sendall(b"SCRIPT FLUSH SYNC\r\n")
                peer.recv(64)


@pytest.fixture(scope="session")
def real_server() -> Iterator[RealServer]:
    """The server of this worker. At the end no test may have left a key behind, but those of the deployment."""
    with valkey_server() as server:
        yield server
        _is_clean(server)


@pytest.fixture(scope="session")
def module_server() -> Iterator[RealServer]:
    """The server of this worker that has the module loaded. Without a compiler there is none."""
    module = built_module()
    if module is None:
        pytest.skip("no C compiler, so there is no module")
    with valkey_server("--loadmodule", module) as server:
        yield server
        _is_clean(server)


def _is_clean(server: RealServer) -> None:
    with Wire(server.unix_path) as wire:
        for number in range(_DATABASES):
            wire.ask("SELECT", number)
            keys = wire.ask("KEYS", "*")
            assert isinstance(keys, list)
            left = [key for key in keys if not key.startswith(b"{emq}:")]
            assert not left, f"keys that no test cleaned up in database {number}: {left}"


@pytest.fixture
def keys() -> QueueKeys:
    """The keys of a queue that no other test uses."""
    return QueueKeys(f"q{next(_numbers)}")


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> Iterator[Body]:
    """Each body of the transitions in turn, over an empty database."""
    servers = [partial(request.getfixturevalue, name) for name in ("real_server", "module_server")]
    with open_body(request.param, *servers) as opened:
        try:
            yield opened
        finally:
            opened.drop()


@pytest.fixture
def case(body: Body, keys: QueueKeys) -> Case:
    """A queue on one body: see `Case`."""
    return Case(body, keys)
