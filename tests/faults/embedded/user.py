"""One user of the embedded server as a process: python user.py HOME LINGER_MS [GATE].

It joins (waiting at the GATE lock first, when one is given), prints a line of JSON about the server, then answers each
line of its standard input (one command) with a line of JSON. It leaves at the end of its input. `fork` makes the
parent end without a goodbye while its child goes on.
"""

import fcntl
import json
import os
import sys
from pathlib import Path

from echomq.embedded import acquire
from echomq.embedded.probe import Link


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def main() -> None:
    home, linger_ms, *gate = sys.argv[1:]
    if gate:
        say("waiting")
        with Path(gate[0]).open() as barrier:
            fcntl.flock(barrier, fcntl.LOCK_SH)
    with acquire(Path(home), linger_ms=int(linger_ms)) as lease:
        link = Link.open(lease.socket_path)
        report = str(link.call("INFO", "server"))
        run_id = next(line.split(":")[1] for line in report.splitlines() if line.startswith("run_id:"))
        say({"run_id": run_id, "url": lease.url, "socket": str(lease.socket_path)})
        for line in sys.stdin:
            if line == "fork\n":
                if os.fork():
                    os._exit(0)
                say(os.getpid())
                continue
            reply = link.call(*line.split())
            say(reply if isinstance(reply, str | int | None) else str(reply))
        link.close()


main()
