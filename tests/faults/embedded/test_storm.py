"""Users that come and go at random while keepers and users are killed: nothing that was answered is lost."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from echomq.embedded import acquire
from tests.faults.embedded.homes import Home, wait_until_free

_USERS = 6
_ROUNDS = 12
_STORM_LINGER_MS = 50
_PROGRAM = Path(__file__).with_name("storm_user.py")


def test_nothing_is_lost_while_users_and_keepers_are_killed(home: Home) -> None:
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    users = [_start(home, seed + number) for number in range(_USERS)]
    counted: list[int] = []
    keepers: set[int] = set()
    for number, user in enumerate(users):
        assert user.stdout is not None
        for line in user.stdout:
            counted.append(int(line))
            if dice.random() < 0.2:
                _kill_a_new_keeper(home, keepers)
            if number % 2 and dice.random() < 0.05:
                user.kill()
        code = user.wait()
        user.stdout.close()
        assert code == 0 or (number % 2 and code == -signal.SIGKILL), f"seed {seed}"
    # Also finds a server whose keeper was killed after its last user, and sees that it stops.
    with acquire(home.path, linger_ms=home.linger_ms):
        stored = int(str(home.call("GET", "counted")))
        if home.keeper_pid() in keepers:
            # A killed process dies a moment later, and a keeper that looks alive is not replaced.
            wait_until_free(home.layout.keeper_lock)
    home.wait_until_stopped()
    # Each number was given once, whichever server gave it; a killed user may leave out a number that it never told.
    assert len(set(counted)) == len(counted), f"seed {seed}"
    assert len(counted) <= stored <= len(counted) + _USERS // 2, f"seed {seed}"
    assert max(counted) <= stored
    assert keepers, f"seed {seed}: no keeper was killed"


def _start(home: Home, seed: int) -> "subprocess.Popen[str]":
    words = [str(home.path), str(_STORM_LINGER_MS), str(_ROUNDS), str(seed)]
    return subprocess.Popen([sys.executable, str(_PROGRAM), *words], stdout=subprocess.PIPE, text=True)


def _kill_a_new_keeper(home: Home, killed: set[int]) -> None:
    with contextlib.suppress(IndexError, ProcessLookupError):
        keeper = home.keeper_pid()
        # Only one that was not killed before: its number may belong to another process by now.
        if keeper not in killed and "stopped" not in home.log().splitlines()[-1]:
            killed.add(keeper)
            os.kill(keeper, signal.SIGKILL)
