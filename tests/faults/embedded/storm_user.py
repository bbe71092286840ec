"""A user that comes and goes: python storm_user.py HOME LINGER_MS ROUNDS SEED. Prints each number that it got."""

import random
import sys
import time
from pathlib import Path

from echomq.embedded import acquire
from echomq.embedded.probe import Link


def main() -> None:
    home, linger_ms, rounds, seed = Path(sys.argv[1]), *map(int, sys.argv[2:])
    dice = random.Random(seed)
    for _ in range(rounds):
        with acquire(home, linger_ms=linger_ms) as lease, Link.open(lease.socket_path) as link:
            for _ in range(3):
                print(link.call("INCR", "counted"), flush=True)
        time.sleep(dice.uniform(0, 4 * linger_ms / 1000))


main()
