"""Attempts that are leased, and what claims answer when there are none."""

from dataclasses import dataclass
from typing import NewType

from echomq.ids import JobId

__all__ = [
    "Awaited",
    "Claimed",
    "ClaimedMany",
    "Empty",
    "Paused",
    "Taken",
    "Token",
]

Token = NewType("Token", int)
"""The attempt's number, from 1 on: the fencing token that each ending of a run carries (protocol 2.4)."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """One attempt of a job, leased to the caller. `payload` is None only if another speaker lost it.

    `lane` is the lane that it was served from, None for the flat set.
    """

    job: JobId
    payload: bytes | None
    token: Token
    lane: str | None = None


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing is ready."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The queue is paused, and nothing was touched."""


@dataclass(frozen=True, slots=True)
class ClaimedMany:
    """Attempts leased on one common deadline, in mint order; possibly none.

    `left` is how many ids are still ready in the flat set. `broken` are ids whose row is no hash: they were moved to
    `dead`, for somebody to look at.
    """

    jobs: tuple[Claimed, ...]
    left: int
    broken: tuple[JobId, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """Attempts leased on one common deadline, in the order of the rota; possibly none.

    `more` says that more could be served at once: take again when a slot is free. `full` says that the queue's ceiling
    left no room, and nothing was looked at. `due` says that scheduled jobs are due or leases have lapsed now: promote
    and reap. Else `wait_ms` is how long the caller may park: until the next of these, if it is the one that watches for
    it, or as long as it offered. `broken` are ids that were moved to `dead`, for somebody to look at.
    """

    jobs: tuple[Claimed, ...]
    more: bool
    full: bool
    due: bool
    wait_ms: int
    broken: tuple[JobId, ...] = ()


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a take that may wait on the server was answered.

    `answer` None: nothing came in its time, or the wait was ended from outside. Ask again; what is due is told then.
    `waited_ms` is for how long it waited on the server, 0 when it was answered at once. `may_wait` False: the server
    does not let this caller wait, so asking again at once would only keep both busy.
    """

    answer: Taken | Paused | None
    waited_ms: int
    may_wait: bool = True
