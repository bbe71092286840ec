"""Fuzzes the module in a real server under the sanitizers (`make fuzz SECONDS=120`).

Two databases of one server hold the same adversarial queue. Each vector is run on the one by the module and on the
other by the script, at one instant, since both stand in one transaction. After each:

* the server lives, and no sanitizer has spoken;
* what was refused has changed nothing;
* where the keys are those that a caller would name, the reply and the whole state are those of the script;
* now and then: a replica that has no module is equal.

With --starve the module asks for memory at every step, and is refused it now and then: what it then does is nothing.

A finding ends the run with the seed and the vector; `--seed` and `--world` run that world again.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import cast

from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions._bodies import body_of
from echomq.transitions.catalogue import TRANSITIONS
from tests.harness.module import served_commands
from tests.harness.wire import Wire
from tests.module.fuzz_calls import Vector, vector
from tests.module.fuzz_world import BASE, world
from tests.servers import free_port, server_binary

__all__ = ["STARVED", "Finding", "Fuzz", "State", "dump", "main", "tokens"]

_ROOT = Path(__file__).parents[2]
_CALLS = 12
_STRICTER = ("must be a whole number", "longer than 64 KiB", "is no queue's", "of another queue", "base must be")
_DUMP = b"""
local out = {}
for db = 0, 1 do
  redis.call('SELECT', db)
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local kind, value = redis.call('TYPE', key).ok, ''
    if kind == 'string' then value = redis.call('GET', key)
    elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
    elseif kind == 'set' then value = redis.call('SMEMBERS', key)
    elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif kind == 'hash' then value = redis.call('HGETALL', key) end
    found[#found + 1] = {key, kind, value, redis.call('PEXPIRETIME', key)}
  end
  out[#out + 1] = found
end
return out
"""
State = dict[bytes, tuple[object, ...]]


STARVED = "the machine gave no memory"
_STARVE_ONE_IN = 60


class Finding(Exception):
    """What must not be."""


def _value(kind: bytes, value: Reply) -> object:
    if kind == b"string":
        return value
    parts = cast("list[bytes]", value if isinstance(value, list) else [])
    if kind == b"hash":
        return dict(zip(parts[::2], parts[1::2], strict=True))
    return sorted(parts) if kind == b"set" else parts


def tokens(state: State) -> dict[bytes, bytes]:
    """Return the attempts of all rows by their ids."""
    rows = BASE + b"job:"
    return {
        key[len(rows) :]: value[b"attempts"]
        for key, (_, value, _) in state.items()
        if key.startswith(rows) and isinstance(value, dict) and b"attempts" in value
    }


def dump(wire: Wire) -> list[State]:
    """Return the whole of databases 0 and 1: kind, value and instant of expiry of each key."""
    reply = wire.ask(b"EVAL", _DUMP, 0)
    if isinstance(reply, ErrorReply):
        raise reply
    found: list[State] = []
    for rows in cast("list[list[list[Reply]]]", reply):
        state: State = {}
        for key, kind, value, until in rows:
            assert isinstance(key, bytes)
            assert isinstance(kind, bytes)
            state[key] = (kind, _value(kind, value), until)
        found.append(state)
    return found


def _difference(one: State, other: State) -> str:
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return "".join(f"\n  {name!r:.200}\n    {one.get(name)!r:.900}\n    {other.get(name)!r:.900}" for name in names[:8])


def _without_texts(reply: Reply) -> object:
    """A reply as far as both speakers must agree: of an error the first word."""
    return ("error", reply.word) if isinstance(reply, ErrorReply) else reply


def _unclaimed(state: State) -> State:
    """A state as far as both must agree: `claimed_at` is the module's own, and errors are texts for a person."""
    plain: State = {}
    for key, (kind, value, until) in state.items():
        if isinstance(value, dict):
            plain[key] = (kind, {n: v for n, v in value.items() if n not in (b"claimed_at", b"last_error")}, until)
        else:
            plain[key] = (kind, value, until)
    return plain


def _staying(state: State, until_ms: int) -> State:
    return {key: entry for key, entry in state.items() if not 0 <= cast("int", entry[2]) <= until_ms}


def _preloaded(directory: Path) -> str:
    """Return what a server must have loaded first that loads a sanitized module."""
    shim, source = directory / "shallow.so", Path(__file__).with_name("fuzz_shallow.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], check=True)
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    return f"{shim}:{asan.stdout.strip()}"


@contextmanager
def _server(
    directory: Path, *arguments: str, sanitized: bool, starve_one_in: int = 0
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    directory.mkdir(parents=True)
    path = str(directory / "s.sock")
    env = {"PATH": "/usr/bin:/bin", "EMQ_STARVE_ONE_IN": str(starve_one_in)}
    if sanitized:
        # Freed memory is filled, so that the server, which is not instrumented, falls over it too.
        env["ASAN_OPTIONS"] = (
            "detect_leaks=0:abort_on_error=1:max_free_fill_size=65536:free_fill_byte=253:handle_segv=0:verify_asan_link_order=0"
        )
        env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1:abort_on_error=1"
        env["LD_PRELOAD"] = _preloaded(directory)
    command = [server_binary(), "--unixsocket", path, "--dir", str(directory), "--logfile", str(directory / "log")]
    command += ["--save", "", "--appendonly", "no", "--enable-debug-command", "yes", "--bind", "127.0.0.1", *arguments]
    with (directory / "spoken").open("wb") as spoken:
        process = subprocess.Popen(command, env=env, stdout=spoken, stderr=spoken)
    try:
        for _ in range(2000):
            try:
                Wire(path).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError((directory / "spoken").read_text() + (directory / "log").read_text()) from None
                time.sleep(0.01)  # a server that starts gives no signal to wait for
        else:
            raise RuntimeError("the server does not listen")
        yield path, process
    finally:
        process.kill()
        process.wait()


def _wait_for_link(replica: Wire) -> None:
    for _ in range(2000):
        if b"master_link_status:up" in cast("bytes", replica.ask("INFO", "replication")):
            return
        time.sleep(0.01)  # a replica that catches up gives no signal to wait for
    raise RuntimeError("the replica does not follow")


class Fuzz:
    """One run: its servers' lines, and how much it has tried."""

    def __init__(self, wire: Wire, replica: Wire | None, seed: int, path: str) -> None:
        self.wire, self.replica, self.seed, self.path = wire, replica, seed, path
        served = served_commands(wire)
        self.transitions = [t for t in TRANSITIONS if t.name in served]
        self.calls = self.compared = self.refused = self.starved = self.worlds = 0
        self.history: list[list[bytes]] = []
        wire.ask("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        for transition in self.transitions:
            wire.ask("SCRIPT", "LOAD", body_of(transition).text)

    @property
    def summary(self) -> str:
        """How much was tried, in words."""
        return (
            f"{self.worlds} databases, {self.calls} calls, {self.refused} refused, "
            f"{self.compared} compared with the script, {self.starved} without memory"
        )

    def run_world(self, number: int) -> None:
        """Make the database of this number and try calls on it. Raises `Finding`."""
        rng = Random(f"{self.seed}/{number}")
        seconds, micros = cast("list[bytes]", self.wire.ask("TIME"))
        now_ms = int(seconds) * 1000 + int(micros) // 1000
        commands = world(rng, now_ms)
        self.history = commands
        self.wire.pipeline([[b"FLUSHALL"]])
        # At one instant, so that both databases forget at one as well.
        self.wire.pipeline(
            [[b"MULTI"], [b"SELECT", 0], *commands, [b"SELECT", 1], *commands, [b"SELECT", 0], [b"EXEC"]]
        )
        time.sleep(0.003)  # what expires in a millisecond is gone
        before = dump(self.wire)
        for _ in range(_CALLS):
            call = vector(rng, self.transitions, tokens(before[0]))
            self.history = [*commands, call.command]
            before = self._try(call, before, bare=rng.random() < 0.1)
            if before[0].keys() != before[1].keys() or _unclaimed(before[0]) != _unclaimed(before[1]):
                break
        self.worlds += 1
        self.compare_replica()

    def _try(self, call: Vector, before: list[State], *, bare: bool) -> list[State]:
        self.calls += 1
        transition, keys = call.transition, len(call.transition.keys)
        script: list[bytes | int] = [b"EVALSHA", body_of(transition).sha1, min(keys, len(call.parts)), *call.parts]
        if bare:
            reply = self.wire.ask(*call.command)
            others: list[Reply] = []
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
                raise Finding(f"refused ({reply}), and yet:{_difference(left, after[0])}")
        if others and call.is_proper:
            self.compared += 1
            self._compare(reply, others[0], after)
        return after

    def _compare(self, reply: Reply, other: Reply, after: list[State]) -> None:
        if isinstance(reply, ErrorReply) and any(text in str(reply) for text in (*_STRICTER, STARVED)):
            return  # of a number the scripts read more spellings; no name is that long; all keys are of one queue
        if _without_texts(reply) != _without_texts(other):
            raise Finding(f"the module says {reply!r:.2000}\n   the script says {other!r:.2000}")
        one, two = _unclaimed(after[0]), _unclaimed(after[1])
        if one != two:
            raise Finding(f"the module leaves another state than the script ({reply!r:.300}):{_difference(one, two)}")

    def compare_replica(self) -> None:
        """Find out whether the replica is equal, if there is one."""
        if self.replica is None:
            return
        if self.wire.ask("WAIT", 1, 20000) != 1:
            raise Finding("the replica does not follow")
        state, found = dump(self.wire), dump(self.replica)
        soon = int(time.time() * 1000) + 5000  # what expires by then may be gone in the later of two looks
        for number in (0, 1):
            one, two = _staying(state[number], soon), _staying(found[number], soon)
            if one != two:
                raise Finding(f"the replica differs in database {number}:{_difference(one, two)}")


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
            _server(
                *(directory / "m", "--port", port, "--loadmodule", module),
                sanitized=sanitized,
                starve_one_in=starve_one_in,
            ) as started,
            _server(directory / "r", "--port", "0", "--replicaof", f"127.0.0.1 {port}", sanitized=False) as following,
            Wire(started[0]) as wire,
            Wire(following[0]) as replica,
        ):
            process = started[1]
            _wait_for_link(replica)
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
                    print((directory / "m" / "log").read_text(errors="replace")[-6000:])
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
