"""The lane verbs by one name for both speakers of a queue, so that a scenario runs with either in each part."""

from collections.abc import Callable
from typing import Protocol

from echomq.ids import JobId
from echomq.records import (
    AlreadyThere,
    Claimed,
    Empty,
    Enqueued,
    Gone,
    NotInLane,
    Paused,
    Reassigned,
    Token,
)
from echomq.resp.reply import ErrorReply, Reply
from echomq.transitions.complete import complete
from echomq.transitions.depth import depth
from echomq.transitions.gbclaim import gbclaim
from echomq.transitions.gclaim import gclaim
from echomq.transitions.gdrain import gdrain
from echomq.transitions.genqueue import genqueue
from echomq.transitions.glimit import glimit
from echomq.transitions.gpause import gpause
from echomq.transitions.greap_group import greap_group
from echomq.transitions.greassign import greassign
from echomq.transitions.gresume import gresume
from echomq.transitions.gwclaim import gwclaim
from echomq.transitions.gweight import gweight
from echomq.transitions.pause import pause
from echomq.transitions.reap import reap
from echomq.transitions.resume import resume
from tests.harness.case import Case
from tests.harness.state import HOUR
from tests.interop.speaker import Speaker

__all__ = ["Ours", "Part", "Theirs", "Verbs"]

Part = tuple[bytes, int, str]
"""A claimed job: id, token, group."""


class Verbs(Protocol):
    """What either speaker does. Answers are plain values that both can give."""

    def put(self, job: JobId, group: str) -> bool: ...
    def claim(self, lease_ms: int = HOUR) -> list[Part]: ...
    def claim_weighted(self, lease_ms: int = HOUR) -> list[Part]: ...
    def claim_lane(self, lease_ms: int = HOUR) -> list[Part]: ...
    def complete(self, job: bytes, token: int) -> bool: ...
    def weight(self, group: str, weight: int) -> None: ...
    def limit(self, group: str, most: int) -> None: ...
    def pause(self, group: str) -> None: ...
    def resume(self, group: str) -> None: ...
    def pause_queue(self) -> None: ...
    def resume_queue(self) -> None: ...
    def reassign(self, job: JobId, group: str) -> int: ...
    def drain(self, group: str) -> int: ...
    def reap(self) -> int: ...
    def reap_group(self, group: str) -> int: ...
    def depth(self, group: str) -> int: ...


class Ours:
    """echomq's handles on a body."""

    def __init__(self, case: Case) -> None:
        self.body, self.keys = case.body, case.keys

    def put(self, job: JobId, group: str) -> bool:
        return self.body.run(genqueue(self.keys, job, b"p", lane=group)) == Enqueued(job)

    def claim(self, lease_ms: int = HOUR) -> list[Part]:
        answer = self.body.run(gclaim(self.keys, lease_ms=lease_ms))
        return [] if isinstance(answer, Empty | Paused) else [_part(answer)]

    def claim_weighted(self, lease_ms: int = HOUR) -> list[Part]:
        answer = self.body.run(gwclaim(self.keys, lease_ms=lease_ms))
        return [] if isinstance(answer, Paused) else [_part(one) for one in answer]

    def claim_lane(self, lease_ms: int = HOUR) -> list[Part]:
        answer = self.body.run(gbclaim(self.keys, lease_ms=lease_ms))
        return [] if isinstance(answer, Paused) else [_part(one) for one in answer]

    def complete(self, job: bytes, token: int) -> bool:
        return type(self.body.run(complete(self.keys, JobId.of_server(job), Token(token)))).__name__ == "Completed"

    def weight(self, group: str, weight: int) -> None:
        self.body.run(gweight(self.keys, group, weight))

    def limit(self, group: str, most: int) -> None:
        self.body.run(glimit(self.keys, group, most))

    def pause(self, group: str) -> None:
        self.body.run(gpause(self.keys, group))

    def resume(self, group: str) -> None:
        self.body.run(gresume(self.keys, group))

    def pause_queue(self) -> None:
        self.body.run(pause(self.keys))

    def resume_queue(self) -> None:
        self.body.run(resume(self.keys))

    def reassign(self, job: JobId, group: str) -> int:
        match self.body.run(greassign(self.keys, job, group)):
            case Reassigned():
                return 1
            case AlreadyThere():
                return 0
            case Gone():
                return -1
            case NotInLane():
                return -2

    def drain(self, group: str) -> int:
        return self.body.run(gdrain(self.keys, group)).count

    def reap(self) -> int:
        return len(self.body.run(reap(self.keys)).recovered)

    def reap_group(self, group: str) -> int:
        return self.body.run(greap_group(self.keys, group))

    def depth(self, group: str) -> int:
        return self.body.run(depth(self.keys, group))


def _part(claimed: Claimed) -> Part:
    assert claimed.payload == b"p"
    assert claimed.lane is not None
    return bytes(claimed.job), claimed.token, claimed.lane


class Theirs:
    """The verbs of the protocol, from the second speaker."""

    def __init__(self, other: Speaker) -> None:
        self.other = other

    def put(self, job: JobId, group: str) -> bool:
        return self.other.genqueue(job, b"p", group) == 1

    def claim(self, lease_ms: int = HOUR) -> list[Part]:
        reply = _sound(self.other.gclaim(lease_ms))
        return _parts([reply] if reply else [])

    def claim_weighted(self, lease_ms: int = HOUR) -> list[Part]:
        return _parts(_sound(self.other.gwclaim(lease_ms)))

    def claim_lane(self, lease_ms: int = HOUR) -> list[Part]:
        return _parts(_sound(self.other.gbclaim(lease_ms)))

    def complete(self, job: bytes, token: int) -> bool:
        return self.other.complete(job, token) == 1

    def weight(self, group: str, weight: int) -> None:
        assert self.other.gweight(group, weight) == 1

    def limit(self, group: str, most: int) -> None:
        assert self.other.glimit(group, most) == 1

    def pause(self, group: str) -> None:
        assert self.other.gpause(group) == 1

    def resume(self, group: str) -> None:
        assert self.other.gresume(group) == 1

    def pause_queue(self) -> None:
        self.other.wire.ask("HSET", self.other.key("meta"), "paused", "1")

    def resume_queue(self) -> None:
        self.other.wire.ask("HDEL", self.other.key("meta"), "paused")

    def reassign(self, job: JobId, group: str) -> int:
        return _number(self.other.greassign(job, group))

    def drain(self, group: str) -> int:
        return _number(self.other.gdrain(group))

    def reap(self) -> int:
        return _number(self.other.reap())

    def reap_group(self, group: str) -> int:
        return _number(self.other.greap_group(group))

    def depth(self, group: str) -> int:
        return _number(self.other.depth(group))


def _sound(reply: Reply) -> Reply:
    assert not isinstance(reply, ErrorReply), reply
    return reply


def _number(reply: Reply) -> int:
    assert isinstance(reply, int), reply
    return reply


def _parts(reply: Reply) -> list[Part]:
    assert isinstance(reply, list)
    found: list[Part] = []
    for one in reply:
        match one:
            case [bytes(job), b"p", int(token), bytes(group)]:
                found.append((job, token, group.decode()))
            case _:
                raise AssertionError(one)
    return found


Pair = Callable[[], tuple[Verbs, Verbs]]
