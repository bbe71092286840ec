"""Fuzzes the module in a real server under the sanitizers (`make fuzz SECONDS=120`).

Two databases of one server hold the same adversarial queue. Each vector is run on the one by the module and on the
other by the script, at one instant, since both stand in one transaction. After each:

* the server lives, and no sanitizer has spoken;
* what was refused has changed nothing;
* where the keys are those that a caller would name, the reply and the whole state are those of the script;
* who may use another queue, or a part of this one, is refused;
* now and then: a replica that has no module is equal.

Keys are in the encodings of large or of small ones. Callers that wait have a program of their own (`fuzz_waiting`).

With --starve the module asks for memory at every step, and is refused it now and then: what it then does is nothing.

A finding ends the run with the seed and the vector; `--seed` and `--world` run that world again.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import cast

from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.catalogue import TRANSITIONS
from tests.harness.module import served_commands
from tests.harness.wire import Wire
from tests.module.fuzz_calls import Vector, vector
from tests.module.fuzz_server import fuzz_server, wait_for_link
from tests.module.fuzz_state import Finding, State, compare_replica, difference, dump, tokens, unclaimed
from tests.module.fuzz_world import world
from tests.servers import free_port

__all__ = ["STARVED", "Fuzz", "main"]

_ROOT = Path(__file__).parents[2]
_CALLS = 12
_STRICTER = ("must be a whole number", "longer than 64 KiB", "is no queue's", "of another queue", "base must be")
STARVED = "the machine gave no memory"
_STARVE_ONE_IN = 60


def _without_texts(reply: Reply) -> object:
    """A reply as far as both speakers must agree: of an error the first word."""
    return ("error", reply.word) if isinstance(reply, ErrorReply) else reply


_USERS = {"whole": ["~emq:{q}:*"], "part": ["~emq:{q}:[a-z]*"], "stranger": ["~emq:{x}:*", "~{q}:*", "~x*"]}
_ENCODINGS = {
    "hash-max-listpack-entries": (512, 512, 0, 3),
    "hash-max-listpack-value": (64, 64, 4),
    "zset-max-listpack-entries": (128, 128, 0, 3),
    "set-max-listpack-entries": (128, 128, 0),
    "list-max-listpack-size": (-2, -2, 1, 2),
}


class Fuzz:
    """One run: its servers' lines, and how much it has tried."""

    def __init__(self, wire: Wire, replica: Wire, seed: int, path: str) -> None:
        self.wire, self.replica, self.seed, self.path = wire, replica, seed, path
        served = served_commands(wire)
        self.transitions = [t for t in TRANSITIONS if t.name in served]
        self.calls = self.compared = self.refused = self.starved = self.worlds = 0
        self.history: list[list[bytes]] = []
        version = cast("bytes", wire.ask("INFO", "server")).split(b"redis_version:")[1].split(b".")
        self.has_one_clock = (int(version[0]), int(version[1])) >= (7, 2)
        self.lets_fields_expire = wire.ask("COMMAND", "INFO", "HPEXPIRE") != [None]
        wire.ask("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        for transition in self.transitions:
            wire.ask("SCRIPT", "LOAD", body_of(transition).text)
        self.users: dict[str, Wire] = {}
        for name, patterns in _USERS.items():
            wire.ask("ACL", "SETUSER", name, "on", "nopass", "+@all", *patterns)
            self.users[name] = Wire(path)
            self.users[name].ask("AUTH", name, "")

    @property
    def summary(self) -> str:
        """How much was tried, in words."""
        return (
            f"{self.worlds} databases, {self.calls} calls, {self.refused} refused, "
            f"{self.compared} compared with the script, {self.starved} without memory"
        )

    def begin(self, rng: Random) -> list[list[bytes]]:
        """Empty the databases, choose the encodings, and return the commands of a world."""
        self.wire.ask("FLUSHALL")
        for name, sizes in _ENCODINGS.items():
            self.wire.ask("CONFIG", "SET", name, rng.choice(sizes))
        seconds, micros = cast("list[bytes]", self.wire.ask("TIME"))
        self.worlds += 1
        commands = world(rng, int(seconds) * 1000 + int(micros) // 1000)
        return [command for command in commands if self.lets_fields_expire or command[0] != b"HPEXPIRE"]

    def run_world(self, number: int) -> None:
        """Make the database of this number and try calls on it. Raises `Finding`."""
        rng = Random(f"{self.seed}/{number}")
        commands = self.begin(rng)
        self.history = commands
        # At one instant, so that both databases forget at one as well.
        self.wire.pipeline(
            [[b"MULTI"], [b"SELECT", 0], *commands, [b"SELECT", 1], *commands, [b"SELECT", 0], [b"EXEC"]]
        )
        time.sleep(0.003)  # what expires in a millisecond is gone
        before = dump(self.wire)
        for _ in range(_CALLS):
            call = vector(rng, self.transitions, tokens(before[0]))
            self.history = [*commands, call.command]
            user = rng.choice([*_USERS]) if rng.random() < 0.05 else ""
            before = self._try(call, before, user=user, bare=rng.random() < 0.1)
            if before[0].keys() != before[1].keys() or unclaimed(before[0]) != unclaimed(before[1]):
                break
        compare_replica(self.wire, self.replica)

    def _try(self, call: Vector, before: list[State], *, user: str, bare: bool) -> list[State]:
        self.calls += 1
        transition, keys = call.transition, len(call.transition.keys)
        script: list[bytes | int] = [b"EVALSHA", body_of(transition).sha1, min(keys, len(call.parts)), *call.parts]
        others: list[Reply] = []
        if user:
            reply = self.users[user].ask(*call.command)
            is_free = transition.name in ("enqueue", "extend") and user == "part"
            if user != "whole" and not is_free and not isinstance(reply, ErrorReply):
                raise Finding(f"{user} is served: {reply!r:.300}")
        elif bare:
            reply = self.wire.ask(*call.command)
        else:
            lines: list[list[bytes | int]] = [[b"SELECT", 0], [*call.command], [b"SELECT", 1], script, [b"SELECT", 0]]
            replies = self.wire.pipeline([[b"MULTI"], *lines, [b"EXEC"]])
            done = replies[-1]
            if isinstance(done, ErrorReply):
                raise Finding(f"EXEC: {done}")
            reply, others = cast("list[Reply]", done)[1], cast("list[Reply]", done)[3:4]
        after = dump(self.wire)
        if isinstance(reply, ErrorReply):
            self.refused += 1
            self.starved += STARVED in reply.text
            left = {key: entry for key, entry in before[0].items() if key in after[0] or cast("int", entry[2]) < 0}
            if left != after[0]:
                raise Finding(f"refused ({reply}), and yet:{difference(left, after[0])}")
        if others and call.is_proper and self.has_one_clock:  # else two commands of one transaction have two instants
            self.compared += 1
            self._compare(reply, others[0], after)
        return after

    def _compare(self, reply: Reply, other: Reply, after: list[State]) -> None:
        if isinstance(reply, ErrorReply) and any(text in str(reply) for text in (*_STRICTER, STARVED)):
            return  # of a number the scripts read more spellings; no name is that long; all keys are of one queue
        if _without_texts(reply) != _without_texts(other):
            raise Finding(f"the module says {reply!r:.2000}\n   the script says {other!r:.2000}")
        one, two = unclaimed(after[0]), unclaimed(after[1])
        if one != two:
            raise Finding(f"the module leaves another state than the script ({reply!r:.300}):{difference(one, two)}")


def _told(history: list[list[bytes]]) -> str:
    return json.dumps([[part.decode("latin-1") for part in command] for command in history])


def main(new_fuzz: type[Fuzz] = Fuzz) -> int:
    """Run the program, by this class."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--world", type=int, default=None, help="run only this world")
    parser.add_argument("--module", default=None)
    parser.add_argument("--starve", action="store_true", help="the module is refused memory now and then")
    parser.add_argument("--plain", action="store_true", help="the module has no sanitizers")
    parser.add_argument("--keep-going", action="store_true", help="tell all findings but deaths, and go on")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="emq-fuzz-"))
    sanitized, starve_one_in = not options.plain, _STARVE_ONE_IN if options.starve else 0
    module = options.module or str(_ROOT / "module" / ("emq-starved.so" if options.starve else "emq-sanitized.so"))
    findings, port = 0, str(free_port())
    try:
        with (
            fuzz_server(
                *(directory / "m", "--port", port, "--loadmodule", module, "--enable-module-command", "yes"),
                sanitized=sanitized,
                starve_one_in=starve_one_in,
            ) as started,
            fuzz_server(
                directory / "r", "--port", "0", "--replicaof", f"127.0.0.1 {port}", sanitized=False
            ) as following,
            Wire(started[0]) as wire,
            Wire(following[0]) as replica,
        ):
            process = started[1]
            wait_for_link(replica)
            fuzz = new_fuzz(wire, replica, options.seed, started[0])
            end, number = time.monotonic() + options.seconds, 0
            while time.monotonic() < end:
                number = options.world if options.world is not None else number
                try:
                    fuzz.run_world(number)
                except Finding as finding:
                    findings += 1
                    print(
                        f"FINDING seed {options.seed} world {number}: {fuzz.history[-1]!r:.1500}\n   {finding}",
                        flush=True,
                    )
                    if not options.keep_going:
                        print(_told(fuzz.history)[:20000])
                        return 1
                except (ConnectionError, OSError) as gone:
                    process.wait(20)
                    print(f"DEATH seed {options.seed} world {number}: {fuzz.history[-1]!r:.3000}\n   {gone!r}")
                    print((directory / "m" / "spoken").read_text(errors="replace")[:6000])
                    log = (directory / "m" / "log").read_text(errors="replace")
                    print(log[max(log.find("BUG REPORT START") - 200, 0) :][:6000])
                    return 1
                if options.world is not None:
                    break
                number += 1
            print(f"seed {options.seed}: {fuzz.summary}, {findings} findings, in {options.seconds:.0f} s")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
