"""When the embedded server lives, and that nothing is lost when it goes."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from echomq.embedded import acquire
from echomq.embedded.locks import FileLock, is_held
from echomq.embedded.probe import Link
from echomq.errors import EmbeddedFailed
from tests.faults.embedded.homes import Home


def test_twenty_processes_at_the_same_instant_share_one_server(home: Home, tmp_path: Path) -> None:
    gate_path = tmp_path / "gate"
    gate = FileLock.take(gate_path, shared=False)
    assert gate is not None
    users = [home.user(gate=gate_path) for _ in range(20)]
    assert [user.hear() for user in users] == ["waiting"] * 20
    gate.release()
    assert len({user.joined()["run_id"] for user in users}) == 1
    assert {user.ask("INCR visits") for user in users} == set(range(1, 21))
    assert home.log().count("started server") == 1
    for user in users:
        user.leave()
    home.wait_until_stopped()


def test_the_server_stops_by_itself_and_keeps_the_data(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        home.call("SET", "job", "1")
    home.wait_until_stopped()
    assert not home.layout.socket.exists()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job") == "1"


def test_the_server_stays_while_one_of_two_users_is_left(home: Home) -> None:
    first, second = home.user(), home.user()
    assert first.joined()["run_id"] == second.joined()["run_id"]
    first.leave()
    assert FileLock.take(home.layout.users_lock, shared=False) is None
    assert second.ask("PING") == "PONG"
    second.leave()


def test_the_server_stops_and_keeps_the_data_when_its_last_user_is_killed(home: Home) -> None:
    user = home.user()
    user.joined()
    assert user.ask("SET job 1") == "OK"
    user.kill()
    home.wait_until_stopped()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job") == "1"


def test_a_connected_stranger_keeps_the_server(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        stranger = Link.open(home.layout.socket)
    # Each look of the keeper takes the users' lock for a moment; several looks must find the stranger.
    deadline = time.monotonic() + 5 * home.linger_ms / 1000
    while time.monotonic() < deadline:
        assert stranger.call("PING") == "PONG"
        time.sleep(home.linger_ms / 4000)  # nothing happens, which is what is tested
    stranger.close()
    home.wait_until_stopped()


def test_short_commands_in_a_row_share_one_server(home: Home) -> None:
    for _ in range(20):
        with acquire(home.path, linger_ms=3_000):
            home.call("PING")
    assert home.log().count("started server") == 1
    os.kill(home.keeper_pid(), signal.SIGTERM)


def test_the_keeper_stops_the_server_when_told(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        home.call("SET", "job", "1")
        os.kill(home.keeper_pid(), signal.SIGTERM)
        home.wait_until_stopped()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job") == "1"


def test_joining_around_the_end_of_the_server_never_meets_a_dying_one(home: Home) -> None:
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    for turn in range(1, 26):
        with acquire(home.path, linger_ms=50):
            assert home.call("INCR", "turns") == turn, f"seed {seed}"
        # Anywhere between "long before the keeper looks" and "long after it has gone".
        time.sleep(dice.uniform(0.04, 0.13))
    assert home.log().count("started server") > 1, f"seed {seed}: no turn met the end of the server"


def test_a_joiner_waits_for_the_end_of_a_shutdown_and_says_so_when_it_takes_too_long(home: Home) -> None:
    home.layout.prepare()
    keeper_shutting_down = FileLock.take(home.layout.users_lock, shared=False)
    assert keeper_shutting_down is not None
    with pytest.raises(EmbeddedFailed, match="shutting down and did not end within 50 ms"):
        acquire(home.path, start_timeout_ms=50)
    keeper_shutting_down.release()


def test_a_killed_keeper_is_replaced_by_the_next_user(home: Home) -> None:
    first = home.user()
    run_id = first.joined()["run_id"]
    home.kill_keeper()
    second = home.user()
    assert second.joined()["run_id"] == run_id
    assert "took over a running server" in home.log()
    first.leave()
    second.leave()
    home.wait_until_stopped()


def test_a_killed_keeper_is_replaced_when_the_last_user_leaves(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        home.kill_keeper()
    assert is_held(home.layout.keeper_lock)
    home.wait_until_stopped()


def test_a_killed_keeper_and_a_killed_user_leave_nothing_that_stops_the_next_one(home: Home) -> None:
    user = home.user()
    user.joined()
    user.ask("SET job 1")
    home.kill_keeper()
    user.kill()
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job") == "1"
    home.wait_until_stopped()


def test_a_killed_server_comes_back_with_its_data(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        with Link.open(home.layout.socket) as link:
            link.call("SET", "job", "1")
            assert link.call("WAITAOF", "1", "0", "5000") == [1, 0]
            before = home.server_pid()
            os.kill(before, signal.SIGKILL)
            with pytest.raises(ConnectionError):
                link.call("BLPOP", "nothing", "0", timeout_ms=10_000)
        home.wait_until_ready()
        assert home.call("GET", "job") == "1"
        assert home.server_pid() != before
        # A client that comes after the crash finds the same, and the same keeper.
        with acquire(home.path, linger_ms=home.linger_ms):
            assert home.call("GET", "job") == "1"
    assert home.log().count("the server has gone") == 1


def test_a_cut_connection_of_the_keeper_is_made_again(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        before = home.server_pid()
        home.call("CLIENT", "KILL", "TYPE", "normal")
    home.wait_until_stopped()
    assert home.log().count("started server") == 1
    assert "the server has gone" not in home.log()
    assert str(before) in home.log()


def test_everything_killed_at_once_loses_nothing_that_was_flushed(home: Home) -> None:
    user = home.user()
    user.joined()
    user.ask("SET job 1")
    assert user.ask("WAITAOF 1 0 5000") == "[1, 0]"
    server = home.server_pid()
    home.kill_keeper()
    os.kill(server, signal.SIGKILL)
    user.kill()
    assert home.layout.socket.exists(), "the stale socket is part of the test"
    with acquire(home.path, linger_ms=home.linger_ms):
        assert home.call("GET", "job") == "1"


def test_a_fork_shares_its_parents_share(home: Home) -> None:
    user = home.user()
    user.joined()
    child = user.ask("fork")
    assert user.process.wait(30) == 0
    assert child != user.process.pid
    assert FileLock.take(home.layout.users_lock, shared=False) is None
    assert user.ask("PING") == "PONG"
    user.leave()
    home.wait_until_stopped()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the child only closes a file and ends
def test_closing_in_a_forked_child_leaves_the_parents_share(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms) as lease:
        child = os.fork()
        if child == 0:
            lease.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert FileLock.take(home.layout.users_lock, shared=False) is None
        assert home.call("PING") == "PONG"


def test_a_removed_socket_is_made_again(home: Home) -> None:
    with acquire(home.path, linger_ms=home.linger_ms):
        home.call("SET", "job", "1")
        home.layout.socket.unlink()
        home.wait_until_ready()
        assert home.call("GET", "job") == "1"


def test_closing_twice_is_as_good_as_once(home: Home) -> None:
    lease = acquire(home.path, linger_ms=home.linger_ms)
    lease.close()
    lease.close()
    home.wait_until_stopped()


@pytest.mark.parametrize("name", ["with spaces  and 'quotes\"", "größe-队列", "l" * 120 + "/" + "m" * 100])
def test_any_path_will_do(make_home: Callable[[str], Home], name: str) -> None:
    home = make_home(name)
    with acquire(home.path, linger_ms=home.linger_ms):
        home.call("SET", "job", "1")
    home.wait_until_stopped()
    with acquire(home.path, linger_ms=home.linger_ms) as lease:
        assert home.call("GET", "job") == "1"
        assert lease.socket_path.parent.stat().st_mode & 0o777 == 0o700
