"""What an operator is told of lanes."""

from dataclasses import dataclass

from echomq.ids import JobId

__all__ = [
    "AlreadyThere",
    "ConcurrencySet",
    "LaneInfo",
    "LanePage",
    "LaneSet",
    "NotInLane",
    "Reassigned",
    "WaitingJobs",
]


@dataclass(frozen=True, slots=True)
class LaneSet:
    """The lane is parked, may run again, or has the limit or weight that was asked for. Repeating changes nothing."""

    lane: str


@dataclass(frozen=True, slots=True)
class Reassigned:
    """The waiting job stands in the other lane now."""

    job: JobId
    lane: str


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    """The job is in that lane already; nothing changed."""

    job: JobId
    lane: str


@dataclass(frozen=True, slots=True)
class NotInLane:
    """The job waits in no lane just now: it is in flight, scheduled or dead; nothing changed."""

    job: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneInfo:
    """One lane: how many jobs wait (`depth`) and run (`in_flight`), and its settings.

    `limit` is None without one, `weight` is 1 without one. `oldest` is the waiting job minted first.
    """

    lane: str
    depth: int
    in_flight: int
    limit: int | None
    weight: int
    paused: bool
    oldest: JobId | None


@dataclass(frozen=True, slots=True)
class LanePage:
    """A slice of the lanes; it can be empty though more follow. Ask on with `cursor`, until that is None."""

    lanes: tuple[LaneInfo, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ConcurrencySet:
    """The queue's ceiling of jobs in flight is set, or taken away."""

    most: int | None


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """How many jobs wait in a slice of the lanes. Ask on with `after`, the name of the last one, until that is None."""

    count: int
    after: bytes | None
